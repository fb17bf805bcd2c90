"""suimon bench: what it prints, and that every decision it times is the right one. No time is judged."""

import json
import subprocess
import unittest

import harness

TIMES = ["clock_ns", "cas16_ns", "dram_ns", "hot_key_ns", "random_key_ns", "batched_ns", "contended_ns", "bucket_ns",
         "single_ns", "pair_ns", "contended_cas16_ns", "fill_ns"]
RATIOS = ["hot_key", "bucket", "random_key", "batched", "pair", "contended"]


def bench(*flags):
    return subprocess.run([harness.program(), "bench", *flags], capture_output=True, text=True, timeout=240)


class Bench(unittest.TestCase):
    def test_every_figure_is_there_and_every_key_kept_what_it_owes(self):
        run = bench("--json", "--keys", "20000")
        self.assertEqual((run.returncode, run.stderr), (0, ""))
        figures = json.loads(run.stdout)
        for name in TIMES:
            self.assertGreater(figures[name], 0, name)
        self.assertEqual(list(figures["ratios"]), RATIOS)
        self.assertEqual(figures["keys"], 20000)
        self.assertLess(figures["bytes_per_key"], 25)
        self.assertLessEqual(figures["evictions"], 40)  # 10 are to be expected
        self.assertLessEqual(figures["lost"], 2 * figures["evictions"] + 4)

    def test_people_get_a_table(self):
        run = bench("--keys", "10000")
        self.assertEqual(run.returncode, 0, run.stderr)
        for words in ["reading the clock", "Limiter, a hot key", "two limits, all or none", "bytes each"]:
            self.assertIn(words, run.stdout)

    def test_too_few_keys_measure_nothing(self):
        run = bench("--keys", "1")
        self.assertEqual(run.returncode, 2)
        self.assertIn("10000", run.stderr)


if __name__ == "__main__":
    unittest.main(verbosity=2)

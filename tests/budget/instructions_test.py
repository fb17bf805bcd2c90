"""How many instructions a decision takes: a budget, because instructions are the same on every machine.

Callgrind counts a short run and a longer one; the difference is what the decisions took. The budgets are
what GCC 12 makes at -O2, and a tenth more. Whoever exceeds one has made the hot path longer: shorten it,
or raise the budget in the same commit and say there what it buys.
"""

import os
import re
import shutil
import subprocess
import tempfile
import unittest

DECISIONS = os.environ["DECISIONS"]
BUDGETS = {
    "allowed": 290,
    "refused": 365,
    "batched": 287,
    "pair": 720,
}


def instructions(kind, count):
    with tempfile.TemporaryDirectory() as folder:
        run = subprocess.run(
            ["valgrind", "--tool=callgrind", f"--callgrind-out-file={folder}/out", DECISIONS, kind, str(count)],
            capture_output=True, text=True, timeout=120)
    counted = re.search(r"Collected : (\d+)", run.stderr)
    if run.returncode != 0 or counted is None:
        raise AssertionError(run.stderr)
    return int(counted.group(1))


@unittest.skipUnless(shutil.which("valgrind"), "valgrind is not installed")
class Instructions(unittest.TestCase):
    def test_a_decision_stays_within_its_budget(self):
        for kind, budget in BUDGETS.items():
            with self.subTest(kind):
                short, long = 1_600, 17_600
                each = (instructions(kind, long) - instructions(kind, short)) / (long - short)
                print(f"{kind}: {each:.1f} instructions of {budget}")
                self.assertLessEqual(each, budget)
                self.assertGreater(each, 50, "nothing was decided")


if __name__ == "__main__":
    unittest.main(verbosity=2)

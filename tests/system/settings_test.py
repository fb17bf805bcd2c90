"""Where the program's settings come from, and that a mistake in one is named where it was made."""

import contextlib
import os
import pathlib
import subprocess
import unittest

from harness import Client, SystemTest, program

POLICY = """\
version: 1
domain: shop
limits:
  - {name: per-user, key: [user], token_bucket: {capacity: 2, refill: 1/min}}
"""


class Settings(SystemTest):
    def run_it(self, *arguments, code, under=(), settings="", **environment):
        """What a command that ends by itself says."""
        policy = self.folder / "limits.yaml"
        policy.write_text(POLICY + settings, encoding="utf-8")
        clean = {k: v for k, v in os.environ.items() if not k.startswith("SUIMON_")}
        done = subprocess.run([*under, program(), *(policy if a == "POLICY" else a for a in arguments)],
                              env={**clean, **environment}, capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, code, done)
        return done.stdout + done.stderr

    def serve(self, *flags, code=2, **more):
        return self.run_it("serve", "--config", "POLICY", "--http", "127.0.0.1:0", "--admin", "off",
                           "--secret-file", self.folder / "secret", *flags, code=code, **more)

    def test_the_environment_of_serve_is_nobody_elses_business(self):
        wrong = {"SUIMON_THREADS": "many", "SUIMON_WHEN_FULL": "perhaps", "SUIMON_LOG_IDENTIFY": "x"}
        told = self.run_it("check", "--config", "POLICY", "user=u", code=0, **wrong)
        self.assertIn('"allowed":true', told)
        self.run_it("validate", "POLICY", code=0, **wrong)
        told = self.run_it("top", "--once", "--admin", "127.0.0.1:1", code=1, **wrong)
        self.assertIn("refused", told)

    def test_a_mistake_in_the_environment_is_named_by_it(self):
        told = self.serve(SUIMON_THREADS="300")
        self.assertIn("300", told)
        self.assertIn("SUIMON_THREADS", told)
        told = self.serve("--threads", "300", SUIMON_THREADS="1")
        self.assertIn("--threads", told)
        self.assertNotIn("SUIMON_THREADS", told)
        self.assertIn("SUIMON_WHEN_FULL", self.serve(SUIMON_WHEN_FULL="x"))

    def test_a_mistake_in_the_file_is_not_said_to_be_a_flags(self):
        told = self.run_it("serve", "--config", "POLICY", "--admin", "off", "--secret-file", self.folder / "secret",
                           code=2, settings="server: {http: nonsense}\n")
        self.assertIn('server.http: "nonsense" has no port', told)
        told = self.run_it("serve", "--config", "POLICY", "--http", "nonsense", "--secret-file", self.folder / "secret",
                           code=2)
        self.assertIn('--http: "nonsense" has no port', told)

    def test_what_a_start_would_refuse_is_told_by_a_reload(self):
        daemon = self.suimon(POLICY)
        start = len(daemon.lines)
        self.assertTrue(daemon.reload(POLICY + "server: {http: nonsense}\n"), "its limits are good")
        daemon.wait_for_line('"nonsense" has no port; .*; a restart would fail', start)

    def test_with_few_descriptors_a_full_admin_listener_leaves_the_others_theirs(self):
        daemon = self.suimon(POLICY, under=("prlimit", "--nofile=64"))
        with contextlib.ExitStack() as full:
            for _ in range(100):
                with contextlib.suppress(ConnectionError):  # those who are one too many
                    full.enter_context(Client(daemon.admin)).send(b"GET")
            held = [full.enter_context(Client(daemon.http)) for _ in range(6)]
            for client in held:
                self.assertEqual(client.ask("GET", "/healthz").status, 200)
            open_now = len(os.listdir(f"/proc/{daemon.pid}/fd"))
            self.assertLess(open_now, 56, "some are left for files")

    def test_a_store_that_cannot_be_is_named_as_it_was_written(self):
        self.assertIn("store memory:///x: write memory://?max_keys=N", self.serve("--store", "memory:///x"))

    def test_an_attribute_that_is_given_twice_is_named_without_its_value(self):
        told = self.run_it("check", "--config", "POLICY", "user=alice", "user=robert", code=2)
        self.assertIn("user is given twice", told)
        self.assertNotIn("robert", told)

    def test_a_token_file_that_is_not_there_is_said_to_be_so(self):
        told = self.run_it("top", "--once", "--token-file", self.folder / "absent", code=2)
        self.assertIn("cannot be read: No such file", told)

    @unittest.skipIf(b"__asan_init" in pathlib.Path(program()).read_bytes(), "sanitizers take terabytes of addresses")
    def test_threads_that_the_system_refuses_end_it_with_the_cure(self):
        told = self.serve("--threads", "256", under=("prlimit", "--as=400000000"), code=1)
        self.assertRegex(told, "threads cannot be started: .*--threads|not enough memory; .* fewer threads")


if __name__ == "__main__":
    unittest.main()

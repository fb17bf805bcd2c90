"""scripts/run, as a newcomer meets it. SUIMON names the built program."""

import os
import pathlib
import re
import signal
import socket
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]


def free_address():
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return "127.0.0.1:%d" % listener.getsockname()[1]


def listens(address):
    host, port = address.split(":")
    with socket.socket() as client:
        return client.connect_ex((host, int(port))) == 0


class Run(unittest.TestCase):
    def setUp(self):
        state = tempfile.TemporaryDirectory()
        self.addCleanup(state.cleanup)
        self.http, self.admin = free_address(), free_address()
        self.environment = {
            **os.environ,
            "SUIMON_HTTP": self.http,
            "SUIMON_ADMIN": self.admin,
            "STATE_DIRECTORY": state.name,
        }

    def start(self):
        run = subprocess.Popen(
            [ROOT / "scripts" / "run"],
            cwd="/",
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self.addCleanup(run.communicate)
        self.addCleanup(run.terminate)
        return run

    def read_until(self, run, last):
        lines = []
        for line in run.stdout:
            lines.append(line)
            if last in line:
                return "".join(lines)
        self.fail(f"ended without {last!r}:\n{''.join(lines)}{run.stderr.read()}")

    def test_shows_ten_allowed_and_five_refused_and_goes_on_until_it_is_stopped(self):
        run = self.start()
        said = self.read_until(run, "Ctrl-C")
        allowed = re.findall(r"^ +(\d+)  allowed  (\d+) left$", said, re.M)
        refused = re.findall(r"^ +(\d+)  429 +0 left, retry after (\d+) s: (.*)$", said, re.M)
        self.assertEqual(allowed, [(str(n), str(10 - n)) for n in range(1, 11)], said)
        self.assertEqual([number for number, _, _ in refused], ["11", "12", "13", "14", "15"], said)
        for _, seconds, sentence in refused:
            self.assertIn(f"{seconds} second", sentence)
        self.assertIn("10 allowed, 5 refused", said)
        self.assertNotIn("\x1b", said)
        self.assertTrue(listens(self.http) and listens(self.admin))

        run.send_signal(signal.SIGTERM)
        self.assertEqual(run.wait(timeout=60), 0)
        self.assertFalse(listens(self.http) or listens(self.admin))

    def test_a_taken_address_is_named_with_the_cure(self):
        for variable, address in (("SUIMON_HTTP", self.http), ("SUIMON_ADMIN", self.admin)):
            host, port = address.split(":")
            with self.subTest(variable), socket.create_server((host, int(port))):
                run = self.start()
                _, complaint = run.communicate(timeout=60)
                self.assertEqual(run.returncode, 1)
                self.assertIn(f"something listens on {address} already", complaint)
                self.assertIn(f"{variable}=127.0.0.1:", complaint)

    def test_a_program_that_ends_at_once_is_reported(self):
        self.environment["SUIMON"] = "/bin/false"
        run = self.start()
        _, complaint = run.communicate(timeout=60)
        self.assertEqual(run.returncode, 1)
        self.assertIn("ended before it was ready (exit code 1)", complaint)


if __name__ == "__main__":
    unittest.main()

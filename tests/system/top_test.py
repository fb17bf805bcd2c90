"""suimon top: what it shows of a running daemon, and how it leaves the terminal."""

import contextlib
import json
import os
import pty
import select
import signal
import socket
import subprocess
import termios
import threading
import time
import unittest

from admin_base import POLICY, AdminTest
from harness import DEADLINE, program


def clean():
    return {name: value for name, value in os.environ.items() if not name.startswith("SUIMON_")}


class Top(AdminTest):
    def address(self):
        admin = self.daemon.admin
        return f"unix:{admin}" if isinstance(admin, str) else "%s:%d" % admin

    def run_top(self, *arguments, address=None):
        return subprocess.run([program(), "top", "--admin", address or self.address(), *arguments],
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=DEADLINE, env=clean())

    def test_once_prints_one_screen(self):
        self.verdicts(*[{"user": "alice"}] * 9)
        for arguments in (("--once",), ()):  # what is no terminal gets one screen
            done = self.run_top(*arguments)
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            self.assertNotIn("\x1b", done.stdout)
            self.assertRegex(done.stdout, r"(?m)^policy +loaded \d+ s ago$")
            self.assertRegex(done.stdout, r"(?m)^table +1 keys, \d+ bytes, 0 evicted, 0 overflowed$")
            self.assertRegex(done.stdout, r"(?m)^shop/per-user +0\.0 +0\.0 +0\.0 +3 +6 +0$")
            self.assertRegex(done.stdout, r"(?m)^shop/per-user +[0-9a-f]{32} +6$")
            self.assertNotIn("alice", done.stdout)

    def test_json_counts_what_happens_in_a_second(self):
        stop, asked = threading.Event(), []

        def traffic():
            while not stop.is_set():
                asked.append(self.check(cost=0).status)

        thread = threading.Thread(target=traffic)
        thread.start()
        try:
            done = self.run_top("--once", "--json")
        finally:
            stop.set()
            thread.join()
        figures = json.loads(done.stdout)
        allowed = figures["requests"]["allowed"]
        self.assertGreaterEqual(figures["interval_s"], 1)
        self.assertGreater(allowed["per_second"], 0)
        self.assertLessEqual(allowed["per_second"] * figures["interval_s"], allowed["total"] + 0.01)
        self.assertLessEqual(allowed["total"], len(asked))
        self.assertEqual([limit["limit"] for limit in figures["limits"]], ["orders", "per-user"])
        self.assertTrue(figures["reload"]["successful"])
        self.assertEqual(figures["top"], [])

    def test_a_failed_reload_and_a_unix_socket(self):
        self.start(POLICY, admin=f"unix:{self.folder}/admin.sock")
        self.assertFalse(self.daemon.reload("version: 2\n"))
        self.assertIn("the last reload FAILED", self.run_top("--once", "--token-file", self.folder / "tokens").stdout)

    def test_where_nobody_answers_it_says_so(self):
        with socket.create_server(("127.0.0.1", 0)) as silent:
            port = silent.getsockname()[1]
        for address, code, words in ((f"127.0.0.1:{port}", 1, "refused"), ("off", 2, "off is nowhere"),
                                     ("nonsense", 2, "--admin"), ("%s:%d" % self.http, 1, "status 404"),
                                     (f"unix:{self.folder}/none", 1, "No such file")):
            with self.subTest(address):
                done = self.run_top("--once", address=address)
                self.assertEqual((done.returncode, done.stdout), (code, ""))
                self.assertIn(words, done.stderr)

    def test_a_server_that_is_no_suimon_does_no_harm(self):
        for answer, words in (
            (b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n\x1b[2Jbad{1", "no sample"),
            (b"SSH-2.0-OpenSSH\r\n", "no HTTP"),
            (b"HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n\r\n", "no HTTP"),
            (b"", "closed without an answer"),
        ):
            with self.subTest(words), socket.create_server(("127.0.0.1", 0)) as server:
                def serve():
                    for _ in range(2):
                        with server.accept()[0] as connection:
                            if connection.recv(1000):
                                connection.sendall(answer)
                thread = threading.Thread(target=serve)
                thread.start()
                done = self.run_top("--once", address="127.0.0.1:%d" % server.getsockname()[1])
                for _ in range(2):  # those that it did not make, if it gave up
                    with contextlib.suppress(OSError):
                        socket.create_connection(server.getsockname(), timeout=DEADLINE).close()
                thread.join()
                self.assertEqual((done.returncode, done.stdout), (1, ""))
                self.assertIn(words, done.stderr)
                self.assertNotIn("\x1b", done.stderr)

    @unittest.skipUnless(os.path.exists("/dev/pts/ptmx"), "no terminals here: /dev/pts is not mounted")
    def test_it_leaves_the_terminal_as_it_was(self):
        for how in ("q", "\x03", signal.SIGTERM):
            with self.subTest(repr(how)):
                ours, theirs = pty.openpty()
                before = termios.tcgetattr(theirs)
                process = subprocess.Popen(
                    [program(), "top", "--admin", self.address()], stdin=theirs, stdout=theirs, stderr=theirs,
                    env=clean(), start_new_session=True,
                    preexec_fn=lambda: os.close(os.open(os.ttyname(0), os.O_RDWR)))  # its controlling terminal
                shown = b""
                try:
                    shown = self.read_until(ours, b"shop/per-user")
                    self.assertIn(b"\x1b[?1049h", shown)
                    self.assertFalse(termios.tcgetattr(theirs)[3] & (termios.ICANON | termios.ECHO))
                    if isinstance(how, str):
                        os.write(ours, how.encode())
                    else:
                        process.send_signal(how)
                    self.assertEqual(process.wait(DEADLINE), 0)
                    shown += self.read_until(ours, b"\x1b[?1049l")
                    self.assertTrue(shown.endswith(b"\x1b[?25h\x1b[?1049l"), shown[-80:])
                    self.assertEqual(termios.tcgetattr(theirs), before)
                finally:
                    if process.poll() is None:
                        process.kill()
                        process.wait()
                    os.close(ours)
                    os.close(theirs)

    def read_until(self, terminal, mark):
        shown, end = b"", time.monotonic() + DEADLINE
        while mark not in shown:
            ready, _, _ = select.select([terminal], [], [], max(0, end - time.monotonic()))
            self.assertTrue(ready, shown)
            shown += os.read(terminal, 65536)
        return shown


if __name__ == "__main__":
    unittest.main()

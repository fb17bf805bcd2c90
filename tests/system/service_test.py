"""The service manager is told how the daemon is: the other end of sd_notify(3) stands here."""

import os
import signal
import socket
import unittest

from harness import DEADLINE, Process, SystemTest, program
from http_base import POLICY


class Service(SystemTest):
    def serve(self, notify_socket):
        policy = self.folder / "limits.yaml"
        policy.write_text(POLICY)
        clean = {k: v for k, v in os.environ.items() if not k.startswith("SUIMON_")}
        return self.ended_with_test(Process(
            program(), "serve", "--config", policy, "--http", f"unix:{self.folder}/http", "--admin", "off",
            "--secret-file", self.folder / "secret", env={**clean, "NOTIFY_SOCKET": str(notify_socket)},
        ))

    def manager(self, address):
        manager = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.addCleanup(manager.close)
        manager.settimeout(DEADLINE)
        manager.bind(address)
        return manager

    def whole_life(self, manager, daemon):
        self.assertEqual(manager.recv(4096), b"READY=1")
        self.assertIn("ready: ", daemon.wait_for_line("ready: ").string)
        daemon.signal(signal.SIGHUP)
        reloading = manager.recv(4096).decode()
        self.assertRegex(reloading, r"\ARELOADING=1\nMONOTONIC_USEC=\d+\Z")
        self.assertEqual(manager.recv(4096), b"READY=1")
        (self.folder / "limits.yaml").write_text("no policy")
        daemon.signal(signal.SIGHUP)
        self.assertIn(b"RELOADING=1", manager.recv(4096))
        self.assertEqual(manager.recv(4096), b"READY=1", "the running policy stays, and so does the service")
        daemon.signal(signal.SIGTERM)
        self.assertEqual(manager.recv(4096), b"STOPPING=1")
        self.assertEqual(daemon.wait(), 0)

    def test_ready_reloading_and_stopping(self):
        path = self.folder / "notify"
        manager = self.manager(str(path))
        self.whole_life(manager, self.serve(path))

    def test_an_abstract_socket(self):
        name = f"suimon-test-{os.getpid()}"
        manager = self.manager("\0" + name)
        self.whole_life(manager, self.serve("@" + name))

    def test_nobody_behind_the_name_and_names_that_are_none(self):
        for name in (self.folder / "nobody", "relative", "/" + "x" * 200, "@"):
            with self.subTest(name):
                daemon = self.serve(name)
                daemon.wait_for_line("ready: ")
                daemon.signal(signal.SIGHUP)
                daemon.wait_for_line("was loaded")
                self.assertEqual(daemon.stop(), 0)


if __name__ == "__main__":
    unittest.main()

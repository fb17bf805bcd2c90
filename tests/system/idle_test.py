"""Ten thousand idle connections: they cost little memory and no time, and decisions go on beside them."""

import os
import pathlib
import resource
import socket
import threading
import time
import unittest

from harness import Client, program, request
from http_base import HttpTest

COUNT = 10_000
POLICY = """\
version: 1
domain: shop
limits:
  - name: per-address
    key: [client_ip]
    token_bucket: {capacity: 1000000, refill: 1/day}
"""


def descriptors(wanted):
    """Raises the limit of open files, which the daemon inherits, or skips."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard != resource.RLIM_INFINITY and hard < wanted:
        try:
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, wanted))
        except (ValueError, OSError):
            raise unittest.SkipTest(f"{wanted} open files are needed, and {hard} are allowed here") from None
    elif soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


class Idle(HttpTest):
    policy = None

    def memory(self):
        text = pathlib.Path(f"/proc/{self.daemon.pid}/status").read_text(encoding="ascii")
        return next(int(line.split()[1]) for line in text.splitlines() if line.startswith("RssAnon")) * 1024

    def cpu_seconds(self):
        text = pathlib.Path(f"/proc/{self.daemon.pid}/stat").read_text(encoding="ascii")
        user, system = text.rpartition(") ")[2].split()[11:13]
        return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")

    def wake_ups(self):
        tasks = pathlib.Path(f"/proc/{self.daemon.pid}/task").iterdir()
        texts = [(task / "status").read_text(encoding="ascii") for task in tasks]
        return sum(int(line.split()[1]) for text in texts for line in text.splitlines()
                   if line.startswith("voluntary_ctxt_switches"))

    def decisions_a_second(self):
        """What one client gets, one request after the other; of three short runs the best."""
        best = 0
        one = request("GET", "/v1/forward-auth", {"X-Forwarded-For": "192.0.2.1"})
        with Client(self.http) as client:
            for _ in range(3):
                begin = time.monotonic()
                for _ in range(500):
                    client.send(one)
                    self.assertEqual(client.read().status, 200)
                best = max(best, 500 / (time.monotonic() - begin))
        return best

    def test_ten_thousand(self):
        descriptors(COUNT + 500)
        self.start(POLICY, threads=1)
        # What every first use touches is there before anything is measured.
        chunked = request("POST", "/v1/check", {"Transfer-Encoding": "chunked"},
                          b"b\r\n" + b'{"cost": 1}' + b"\r\n0\r\n\r\n")
        large = request("POST", "/v1/check", {"Transfer-Encoding": "chunked"},
                        b"f000\r\n" + b"{}".ljust(0xf000) + b"\r\n0\r\n\r\n")
        many = request("GET", "/healthz", [(f"X-{i}", "y") for i in range(90)])
        alone = self.decisions_a_second()
        clients = []
        self.addCleanup(lambda: [client.close() for client in clients])
        before = self.memory()
        for number in range(COUNT):
            client = socket.create_connection(self.http, timeout=30)
            clients.append(client)
            # Most have asked for something; a parser or buffer that each one kept would show.
            kind = number % 4
            if kind != 0:
                client.sendall((b"", chunked, large, many)[kind])
                self.assertTrue(client.recv(4096).startswith(b"HTTP/1.1 200 "))
        each = (self.memory() - before) / COUNT
        beside = self.decisions_a_second()

        cpu, wakes = self.cpu_seconds(), self.wake_ups()
        threading.Event().wait(1)  # what is measured is that nothing happens in it
        cpu, wakes = self.cpu_seconds() - cpu, self.wake_ups() - wakes
        print(f"{COUNT} idle connections: {each:.0f} bytes each; in a second {cpu * 1000:.0f} ms of CPU and "
              f"{wakes} wake-ups; {beside:.0f} decisions a second of one client beside them, {alone:.0f} without",
              flush=True)
        # Sanitizers keep what was freed for a while.
        if b"__asan_init" not in pathlib.Path(program()).read_bytes():
            self.assertLess(each, 2048)
        self.assertLessEqual(cpu, 0.05)
        self.assertLess(wakes, 100)
        for client in clients[::100]:  # they are alive, each of them
            client.sendall(request("GET", "/healthz"))
            self.assertTrue(client.recv(4096).startswith(b"HTTP/1.1 200 "))


if __name__ == "__main__":
    unittest.main()

"""A real Redis server behind a way that fails: late answers, connections that break, half an answer, and nonsense.

What becomes of a request meanwhile says on_store_error; nothing waits for longer than the time-out, and when the
trouble is over the shared limit rules again by itself. Limits refill once a day, so what is admitted in all is the
capacity.
"""

import contextlib
import itertools
import pathlib
import random
import re
import threading
import time
import unittest

from harness import Client, program, request, until
from redis_base import ONE_LIMIT, THREE_WAYS, Redis, RedisTest, check
from tcp_proxy import Proxy

STORE = 'suimon_store_{}{{store="redis"}}'
EVENT = 'suimon_store_events_total{{store="redis",event="{}"}}'


class TroubleTest(RedisTest):
    def setUp(self):
        super().setUp()
        self.redis = Redis(self.folder)
        self.addCleanup(self.redis.kill)
        self.way = Proxy(self.redis.port)
        self.addCleanup(self.way.stop)

    def start(self, policy, options="", name="a"):
        self.running = self.daemon(policy, f"redis://127.0.0.1:{self.way.port}{options}", name, threads=1)
        return self.running

    def wait_for_the_server(self):
        until(lambda: check(self.running.http, user="probe", path="/deny").status != 503, "the server to be asked")

    def event(self, name):
        return self.running.metrics()[EVENT.format(name)]

    def each_way(self, user, count):
        """Statuses by path, and the longest time that one of them took."""
        longest, statuses = 0.0, {}
        for path in ("/local", "/allow", "/deny"):
            for _ in range(count):
                start = time.monotonic()
                statuses.setdefault(path, []).append(check(self.running.http, user=user, path=path).status)
                longest = max(longest, time.monotonic() - start)
        return statuses, longest

    def assert_each_limit_does_as_it_says(self):
        statuses, longest = self.each_way("u", 5)
        self.assertEqual(statuses, {"/local": [200] * 3 + [429] * 2, "/allow": [200] * 5, "/deny": [503] * 5})
        self.assertLess(longest, 5)

    def assert_over_by_itself(self):
        """The server is asked again, for good, and by everybody."""
        self.wait_for_the_server()
        errors = self.running.metrics()[STORE.format("errors_total")]
        for path in ("/local", "/allow", "/deny"):
            got = [check(self.running.http, user="new", path=path).status for _ in range(4)]
            self.assertEqual(got, [200] * 3 + [429])
        self.assertEqual(self.running.metrics()[STORE.format("errors_total")], errors)
        # The admin listener has a connection of its own, which comes back in its own time.
        until(lambda: self.running.metrics()[STORE.format("unavailable")] == 0, "the last connection")

    def load(self, threads, enough):
        """Clients that ask for one user until `enough`; the statuses in the end."""
        statuses, lock = [], threading.Lock()
        body = b'{"attributes": {"user": "everybody"}}'
        asked = request("POST", "/v1/check", {"Content-Type": "application/json"}, body)

        def ask_on():
            with Client(self.running.http) as client:
                while not enough(statuses):
                    client.send(asked)
                    status = client.read().status
                    with lock:
                        statuses.append(status)

        clients = [threading.Thread(target=ask_on) for _ in range(threads)]
        for client in clients:
            client.start()
        return statuses, clients


class Late(TroubleTest):
    def test_answers_that_are_late_but_in_time_are_right_and_batches_grow(self):
        self.start(ONE_LIMIT.format(how="deny", capacity=100), "?timeout=10s")
        self.way.delay = 0.02
        statuses, clients = self.load(16, lambda statuses: len(statuses) >= 400)
        for client in clients:
            client.join()
        self.assertEqual((statuses.count(200), statuses.count(429)), (100, len(statuses) - 100))
        metrics = self.running.metrics()
        self.assertEqual(metrics[STORE.format("errors_total")], 0)
        batches = metrics[STORE.format("request_duration_seconds_count")]
        self.assertGreaterEqual(metrics[STORE.format("request_duration_seconds_sum")], batches * 0.02)
        self.assertGreaterEqual(len(statuses), 3 * batches)

    def test_answers_that_are_too_late_are_not_waited_for(self):
        # The greeting may be late, so that there is a connection all the same.
        daemon = self.start(THREE_WAYS, "?timeout=500ms&connect_timeout=10s")
        self.wait_for_the_server()
        self.assertEqual(self.each_way("u", 1)[0], {"/local": [200], "/allow": [200], "/deny": [200]})
        self.way.delay = 1.0
        self.assert_each_limit_does_as_it_says()
        self.assertGreaterEqual(self.event("unknown"), 1)
        daemon.wait_for_line("no answer .*on_store_error meanwhile")
        self.way.delay = 0
        self.assert_over_by_itself()
        # What came too late was charged all the same: of the three there are two at most.
        self.assertLessEqual([check(daemon.http, user="u", path="/deny").status for _ in range(4)].count(200), 2)
        self.assertEqual(daemon.stop(), 0)


class Broken(TroubleTest):
    CAPACITY = 400

    def test_connections_that_are_reset_in_the_middle_cost_nobody_more_than_the_limit(self):
        daemon = self.start(ONE_LIMIT.format(how="deny", capacity=self.CAPACITY), "?timeout=5s")
        self.way.delay = 0.01  # so that there is always something under way
        statuses, clients = self.load(4, lambda statuses: statuses.count(429) >= 20)
        for i in range(1, 4):
            until(lambda: statuses.count(200) >= 50 * i, "answers")
            lost = self.event("disconnected")
            self.way.reset()
            until(lambda: self.event("disconnected") > lost, "the end of the connection")
        for client in clients:
            client.join()
        self.assertGreaterEqual(statuses.count(503), 1)
        self.assertEqual(set(statuses), {200, 429, 503})
        self.assertLessEqual(statuses.count(200), self.CAPACITY)
        self.assertGreaterEqual(statuses.count(200), self.CAPACITY - self.event("unknown"))
        self.assertEqual(daemon.stop(), 0)

    def test_half_an_answer_and_then_silence_is_no_answer(self):
        daemon = self.start(THREE_WAYS, "?timeout=500ms")
        self.wait_for_the_server()
        self.way.half = True
        self.assert_each_limit_does_as_it_says()
        self.assertGreaterEqual(self.way.broken, 1)
        self.way.half = False
        self.assert_over_by_itself()
        self.assertEqual(daemon.stop(), 0)


def endless(data, first=b""):
    return lambda: itertools.chain([first], itertools.repeat(data))


def noise(seed):
    return lambda: (random.Random(seed).randbytes(4096) for _ in itertools.count())


def greeted(data, first=b""):
    """As a server at first: it answers the greeting."""
    return endless(data, b"+OK\r\n" + first)


SEED = random.randrange(1 << 32)
X = b"x" * 4096
ENDLESS = "pushes"  # RESP3 has them, at any time: they are read and forgotten
NONSENSE = {
    "random bytes": noise(SEED),
    "a line without an end": endless(X, b"+"),
    "an error without an end": greeted(X, b"-ERR "),
    "a string of many bytes": greeted(X, b"$99999999999\r\n"),
    "a string that is just small enough, and goes on": greeted(X, b"$8388608\r\n"),
    "an array of many": greeted(b":1\r\n" * 1000, b"*999999999\r\n"),
    "an array of arrays": endless(b"*1\r\n" * 1000),
    "more than was asked for": endless(b"+OK\r\n" * 1000),
    ENDLESS: greeted(b">2\r\n+a\r\n+b\r\n" * 5000),
    "attributes without an end": greeted(b"|1\r\n+a\r\n+b\r\n" * 300),
    "a web server": endless(b"\r\n", b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n"),
    "an end at once": lambda: iter(()),
    "a greeting and then an end": lambda: iter((b"+OK\r\n",)),
}


SANITIZED = b"__asan_init" in pathlib.Path(program()).read_bytes()


class Nonsense(TroubleTest):
    MANY = 128 << 20  # bytes; far more than anything here may hold

    @contextlib.contextmanager
    def nonsense(self, name, options):
        """A daemon that meets it from its first connection on."""
        with self.subTest(name, seed=SEED):
            self.way.nonsense = NONSENSE[name]
            self.start(THREE_WAYS, options, name.replace(" ", "-"))
            yield
            self.assertEqual(self.running.stop(), 0)
            self.way.reset()

    def memory(self):
        """Bytes that the daemon has in use."""
        text = pathlib.Path(f"/proc/{self.running.pid}/status").read_text(encoding="ascii")
        return int(re.search(r"VmRSS:\s+(\d+) kB", text)[1]) << 10

    def test_each_limit_does_as_it_says_and_then_it_is_over(self):
        for name in NONSENSE:
            before = self.way.accepted
            with self.nonsense(name, "?timeout=500ms"):
                self.assert_each_limit_does_as_it_says()
                until(lambda: self.way.accepted >= before + 3, "three connections")
                self.way.nonsense = None
                self.way.reset()
                self.assert_over_by_itself()
            self.redis.ask("FLUSHALL")

    def test_it_ends_the_connection_and_nothing_grows(self):
        for name in NONSENSE:
            before = self.way.sent
            # So much time that none of it can be what ends the connection.
            with self.nonsense(name, "?timeout=60s&connect_timeout=60s"):
                memory = self.memory()
                if name == ENDLESS:
                    until(lambda: self.way.sent >= before + self.MANY, "many of them")
                    self.assertEqual(self.event("disconnected"), 0)
                else:
                    until(lambda: self.event("disconnected"), "the end of the connection")
                    self.assertLess(self.way.sent, before + self.MANY)
                if not SANITIZED:  # sanitizers keep what was freed for a while
                    self.assertLess(self.memory(), memory + self.MANY * 3 // 4)


if __name__ == "__main__":
    unittest.main()

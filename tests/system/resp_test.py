"""The Redis protocol's door: what it says byte for byte, Debian's own tools, hostile clients, and thousands of
random calls of CL.THROTTLE beside redis-cell's arithmetic."""

import os
import pathlib
import random
import socket
import subprocess
import time
import unittest

from harness import Closed, Suimon, until
from resp_base import POLICY, Problem, RespClient, RespTest

LONG = bool(os.environ.get("SUIMON_LONG"))
SECOND = 1_000_000_000


class RedisCell:
    """CL.THROTTLE as redis-cell computes it: a theoretical arrival time in nanoseconds for each key."""

    def __init__(self):
        self.tat = {}

    @staticmethod
    def seconds(ns):
        whole, rest = divmod(ns, SECOND)
        return whole + (1 if rest // 1_000_000 > 0 else 0)

    def call(self, now, key, max_burst, count, period, quantity=1):
        interval = int(float(period * SECOND) / float(count)) if count else 0
        if interval == 0:
            return "Cell error: Zero rates are not supported"
        tolerance = interval * (max_burst + 1)
        if tolerance >= 1 << 62:  # there it overflows
            return "Cell error: this bucket would need more than 146 years to fill"
        increment = interval * quantity
        tat = self.tat.get(key, now)
        new_tat = max(now, tat) + increment
        ahead = now - (new_tat - tolerance)
        retry_after = -1
        limited = ahead < 0
        if limited:
            if increment <= tolerance:
                retry_after = self.seconds(-ahead)
            ttl = max(0, tat - now)
        else:
            new_tat = max(now, new_tat)  # there an error: here no bucket becomes more than full
            ttl = new_tat - now
            self.tat[key] = new_tat
        left = tolerance - ttl
        remaining = 0
        if left > -interval and interval >= 1000:
            remaining = int(float(left // 1000) / float(interval // 1000))
        return [int(limited), max_burst + 1, remaining, retry_after, self.seconds(ttl)]


class RandomCalls(RespTest):
    def setUp(self):
        super().setUp()
        seed = int(os.environ.get("SUIMON_SEED") or random.getrandbits(31))
        print(f"SUIMON_SEED={seed}", flush=True)
        self.random = random.Random(seed)

    def parameters(self):
        r = self.random
        return r.choice([
            lambda: (r.randrange(0, 50), r.randrange(1, 100), r.randrange(1, 100)),
            lambda: (r.randrange(0, 10**6), r.randrange(1, 10**6), r.randrange(1, 10**6)),
            lambda: (r.randrange(0, 10), r.randrange(1, 10), r.randrange(1, 10)),
            lambda: (r.choice([0, 1, 15, 99, 1000]), r.choice([1, 7, 1000, 1500, 2000, 8000, 10**6]), 1),
            lambda: (r.randrange(0, 100), r.randrange(1, 10**7), r.randrange(1, 10**7)),
            lambda: (r.choice([0, 5]), r.choice([0, 2 * 10**9]), r.choice([0, 1])),
        ])()

    def quantity(self, max_burst):
        r = self.random
        return r.choice([1, 1, 1, 1, 0, 2, -1, max_burst + 1, max_burst + 2, -r.randrange(1, 20),
                         r.randrange(1, max_burst + 2)])

    def compare(self, calls, expected, got):
        for call, right, reply in zip(calls, expected, got, strict=True):
            if isinstance(reply, Problem):
                reply = str(reply)
            self.assertEqual(reply, right, f"CL.THROTTLE {call}; all calls: {calls}")

    def test_calls_at_one_instant(self):
        # Calls that arrive together are decided as of one instant, so whatever it is, replies are known.
        client = self.client()
        sets = 0
        for number in range(4000 if LONG else 1500):
            cell, calls = RedisCell(), []
            for key in range(self.random.randrange(1, 4)):
                parameters = self.parameters()
                sets += 1
                calls += [(f"{number}/{key}", *parameters, self.quantity(parameters[0]))
                          for _ in range(self.random.randrange(1, 10))]
            self.random.shuffle(calls)
            got = client.pipeline([("CL.THROTTLE", *call) for call in calls])
            self.compare(calls, [cell.call(0, *call) for call in calls], got)
            if sets > 3900:  # as many sets of parameters as a daemon keeps: go on with a new one
                self.daemon.stop()
                self.start()
                client, sets = self.client(), 0

    def test_calls_one_after_the_other(self):
        # Where a token takes whole seconds, less than a second changes nothing in any reply.
        client = self.client()
        for number in range(100 if LONG else 30):
            for attempt in range(10):
                key = f"{number}/{attempt}"
                interval = self.random.randrange(2, 100_000)
                count = self.random.randrange(1, 100)
                max_burst = self.random.randrange(0, 20)
                cell, calls, expected, got = RedisCell(), [], [], []
                begun = time.monotonic()
                for moment in range(self.random.randrange(5, 40)):
                    call = (key, max_burst, count, interval * count, self.quantity(max_burst))
                    calls.append(call)
                    got.append(client.call("CL.THROTTLE", *call))
                    expected.append(cell.call(moment, *call))
                if time.monotonic() - begun < 0.9:
                    self.compare(calls, expected, got)
                    break
            else:
                self.fail("a few dozen calls took a second, ten times")


class Protocol(RespTest):
    def test_pipelines_longer_than_a_burst(self):
        got = self.client().pipeline([("CL.THROTTLE", "k", 1000, 1000, 86400)] * 1002)
        self.assertEqual(got[0], [0, 1001, 1000, -1, 87])
        self.assertEqual(got[1], [0, 1001, 999, -1, 173])
        self.assertEqual([reply[0] for reply in got], [0] * 1001 + [1])
        self.assertEqual(got[-1][:3], [1, 1001, 0])
        self.assertIn(got[-1][3], (86, 87))

    def test_one_write_answers_a_pipeline(self):
        client = self.client()
        for _ in range(20):
            client.send(b"".join(client.packed("CL.THROTTLE", "one", 100000, 1, 60) for _ in range(16)))
            first = client.socket.recv(65536)
            self.assertEqual(first.count(b"*5\r\n"), 16, first)

    def test_pipelines_are_not_held_up(self):
        # One write a reply and no TCP_NODELAY would take 40 ms a batch.
        client = self.client()
        begun = time.monotonic()
        for _ in range(100):
            client.pipeline([("CL.THROTTLE", "fast", 100000, 1, 60)] * 16)
        self.assertLess(time.monotonic() - begun, 3)

    def test_a_command_may_come_byte_by_byte(self):
        client = self.client()
        client.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for byte in client.packed("THROTTLE", "slow", 3, 1, 60):
            client.send(bytes([byte]))
        self.assertEqual(client.reply(), [1, 3, 2, 120, 0])

    def test_two_threads_have_one_bucket(self):
        clients = [self.client() for _ in range(8)]
        replies = [client.call("CL.THROTTLE", "shared", 7, 1, 86400) for client in clients]
        self.assertEqual([reply[2] for reply in replies], [7, 6, 5, 4, 3, 2, 1, 0])
        self.assertEqual(self.client().call("CL.THROTTLE", "shared", 7, 1, 86400)[0], 1)

    def test_a_check_is_that_of_the_policy(self):
        client = self.client()
        self.assertEqual(client.call("SUIMON.CHECK", "shop", 1, "user", "u1"), [1, b"per-user", 2, -1, 86400000])
        got = client.call("SUIMON.CHECK", "shop", 3, "user", "u1")
        self.assertEqual(got[:3], [0, b"per-user", 2])
        self.assertLessEqual(got[3], 86400000)
        self.assertEqual(client.call("SUIMON.CHECK", "shop", 1, "plan", "p"), [1, None, -1, -1, 0])
        with self.refused("no such domain"):
            client.call("SUIMON.CHECK", "other", 1, "user", "u1")

    def test_raw_keys_stay_with_the_client(self):
        secret = "SECRET-KEY-4711"
        client = self.client()
        for _ in range(3):
            client.call("CL.THROTTLE", secret, 0, 1, 60)
        self.assertNotIn(secret, "\n".join(self.daemon.metrics()))
        self.assertNotIn(secret, self.daemon.stderr())

    def test_metrics_tell_of_the_door(self):
        self.client().pipeline([("CL.THROTTLE", "m", 0, 1, 60)] * 2 + [("CL.THROTTLE", "m", 0, 1, 60, 2)])
        metrics = self.daemon.metrics()
        for verdict in ("allowed", "limited", "never"):
            self.assertEqual(metrics[f'suimon_requests_total{{door="resp",domain="",verdict="{verdict}"}}'], 1)
            name = f'suimon_limit_decisions_total{{domain="",limit="cl.throttle",verdict="{verdict}"}}'
            self.assertEqual(metrics[name], 1)
        self.assertEqual(metrics["suimon_throttle_sets"], 1)


class Hostile(RespTest):
    def ends(self, data, *words):
        """The door says this error and closes."""
        client = self.client()
        client.send(data)
        with self.refused(*words):
            client.reply()
        with self.assertRaises(Closed):
            client.reply()

    def test_what_is_no_protocol_is_said_and_closed(self):
        self.ends(b"*x\r\n", "ERR Protocol error: invalid multibulk length")
        self.ends(b"*1\r\n$99999999\r\n", "ERR Protocol error: invalid bulk length")
        self.ends(b"*1\r\n!\r\n", "ERR Protocol error: expected '$', got '!'")
        self.ends(b"PING \"\r\n", "ERR Protocol error: unbalanced quotes")
        self.ends(b"a" * 70_000, "ERR Protocol error: too big inline request")
        self.ends(b"POST / HTTP/1.1\r\nHost: x\r\n\r\n", "HTTP has a door of its own")
        self.assertEqual(self.client().call("PING"), "PONG")
        bad = 'suimon_bad_requests_total{door="resp",status="400"}'
        until(lambda: self.daemon.metrics()[bad] == 6, "the count")

    def test_a_tls_client_on_a_plain_door(self):
        client = self.client()
        client.send(b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(512) + b"\r\n")
        self.assertIsInstance(client.reply_or_error(), Problem)
        self.assertEqual(self.client().call("PING"), "PONG")

    def test_invented_parameters_reach_their_bound_and_harm_nobody(self):
        client = self.client()
        known = ("CL.THROTTLE", "known", 9, 1, 86400)
        client.call(*known)
        got = []
        for start in range(0, 6000, 500):
            got += client.pipeline([("CL.THROTTLE", "k", 10 + n, 1, 86400) for n in range(start, start + 500)])
        refused = [reply for reply in got if isinstance(reply, Problem)]
        self.assertEqual(len(refused), 6000 - 4095)
        self.assertEqual(str(refused[0]),
                         "Cell error: 4096 other sets of parameters are in use; try again later")
        self.assertEqual(client.call(*known)[:3], [0, 10, 8])
        metrics = self.daemon.metrics()
        self.assertEqual(metrics["suimon_throttle_sets"], 4096)
        self.assertEqual(metrics["suimon_throttle_sets_refused_total"], len(refused))
        self.assertTrue(self.daemon.reload(POLICY.replace("capacity: 3", "capacity: 4")))
        self.assertEqual(client.call("SUIMON.CHECK", "shop", 0, "user", "u9")[2], 4)

    def test_who_does_not_read_is_not_read(self):
        greedy = self.client()
        greedy.socket.settimeout(0.5)
        asked = RespClient.packed("COMMAND") * 10_000
        with self.assertRaises(OSError):  # the door stops reading, and both buffers fill
            for _ in range(1000):
                greedy.socket.sendall(asked)
        self.assertEqual(self.client().call("PING"), "PONG")
        status = pathlib.Path(f"/proc/{self.daemon.pid}/status").read_text(encoding="ascii")
        resident = int(status.split("VmRSS:")[1].split()[0])
        self.assertLess(resident, 200_000)


class Password(RespTest):
    def start(self, *extra, threads=2):
        file = self.folder / "password"
        file.write_text("open sesame\n", encoding="utf-8")
        file.chmod(0o600)
        super().start("--resp-password-file", str(file), *extra, threads=threads)

    def test_nothing_is_asked_before_the_password_was_shown(self):
        client = self.client()
        for words in (("PING",), ("CL.THROTTLE", "k", 1, 1, 60), ("SUIMON.CHECK", "shop", 1, "user", "u")):
            with self.refused("NOAUTH Authentication required."):
                client.call(*words)
        with self.refused("WRONGPASS"):
            client.call("AUTH", "wrong")
        self.assertEqual(client.call("AUTH", "open sesame"), "OK")
        self.assertEqual(client.call("PING"), "PONG")
        other = self.client()
        self.assertEqual(other.call("HELLO", 3, "AUTH", "default", "open sesame")[b"proto"], 3)
        wrong = 'suimon_bad_requests_total{door="resp",status="401"}'
        until(lambda: self.daemon.metrics()[wrong] == 1, "the count")

    def test_a_password_that_others_may_read_is_refused(self):
        file = self.folder / "readable"
        file.write_text("x\n", encoding="utf-8")
        file.chmod(0o644)
        with self.assertRaises(AssertionError) as raised:
            Suimon(self.folder, POLICY, extra=("--resp", "127.0.0.1:0", "--resp-password-file", str(file)))
        self.assertIn("may be read by others", str(raised.exception))

    def test_redis_cli_shows_it(self):
        run = subprocess.run(["redis-cli", "-h", self.resp[0], "-p", str(self.resp[1]), "PING"], text=True,
                             capture_output=True, timeout=30, env={**os.environ, "REDISCLI_AUTH": "open sesame"})
        self.assertEqual(run.stdout, "PONG\n", run.stderr)


class DebiansTools(RespTest):
    def run_tool(self, name, *words, **options):
        run = subprocess.run([name, "-h", self.resp[0], "-p", str(self.resp[1]), *words], capture_output=True,
                             text=True, timeout=60, **options)
        self.assertEqual(run.returncode, 0, run)
        return run.stdout

    def test_redis_cli(self):
        self.assertEqual(self.run_tool("redis-cli", "CL.THROTTLE", "cli", "15", "30", "60", "1"),
                         "0\n16\n15\n-1\n2\n")
        self.assertEqual(self.run_tool("redis-cli", "THROTTLE", "cli", "3", "1", "60"), "1\n3\n2\n120\n0\n")
        self.assertEqual(self.run_tool("redis-cli", "-3", "--no-raw", "CL.THROTTLE", "cli", "0", "1", "0"),
                         "(error) Cell error: Zero rates are not supported\n")
        self.assertIn("redis_version:7.0.0", self.run_tool("redis-cli", "INFO", "server"))
        self.assertIn("cl.throttle", self.run_tool("redis-cli", "COMMAND", "LIST"))

    def test_redis_cli_as_people_use_it(self):
        # With a terminal or without, it asks for COMMAND DOCS first and then sends what is typed.
        out = self.run_tool("redis-cli", "-3", input="SELECT 3\nHELLO 2\nCLIENT SETNAME me\nCLIENT GETNAME\n"
                                                     "ECHO \"a b\"\nNOSUCH\nPING\n")
        self.assertIn("OK", out)
        self.assertIn("me\na b\n", out)
        self.assertIn("unknown command 'NOSUCH'", out)
        self.assertTrue(out.rstrip().endswith("PONG"), out)

    def test_redis_benchmark(self):
        for depth in ("1", "16"):
            out = self.run_tool("redis-benchmark", "-n", "20000", "-r", "100", "-c", "20", "-P", depth, "-q",
                                "CL.THROTTLE", "bench:__rand_int__", "15", "30", "60")
            self.assertIn("requests per second", out)
            self.assertNotIn("rror", out)
        out = self.run_tool("redis-benchmark", "-n", "10000", "-P", "16", "-q", "-t", "ping")
        self.assertIn("PING_MBULK", out)
        allowed = self.daemon.metrics()['suimon_requests_total{door="resp",domain="",verdict="allowed"}']
        self.assertGreaterEqual(allowed, 1_600)  # every key's bucket, which hundreds of calls have emptied


if __name__ == "__main__":
    unittest.main()

"""The log of refusals as the finished program writes it, and that nothing else names a client."""

import calendar
import json
import os
import re
import resource
import signal
import stat
import subprocess
import threading
import time
import unittest

from harness import Client, Process, ask, program, request, until
from http_base import HttpTest

POLICY = """\
version: 1
domain: shop
attributes:
  user: {header: X-User-Id}
  api_key: {header: X-Api-Key}
limits:
  - name: per-user
    key: [user]
    on_missing: skip
    token_bucket: {capacity: 3, refill: 1/day}
  - name: per-address
    key: [client_ip]
    on_missing: skip
    token_bucket: {capacity: 3, refill: 1/day}
  - name: per-key
    match: {path: /v1/keys/**}
    key: [api_key]
    on_missing: deny
    token_bucket: {capacity: 3, refill: 1/day}
"""
TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")


class EventsTest(HttpTest):
    policy = None

    def start_with(self, *flags, policy=POLICY, **environment):
        """Starts the daemon with its events in self.log, unless the flags say otherwise."""
        self.log = self.folder / "events.log"
        self.policy_file = self.folder / "limits.yaml"
        self.policy_file.write_text(policy, encoding="utf-8")
        clean = {k: v for k, v in os.environ.items() if not k.startswith("SUIMON_")}
        self.daemon = self.ended_with_test(Process(
            program(), "serve", "--config", self.policy_file, "--http", "127.0.0.1:0", "--admin",
            "127.0.0.1:0", "--threads", 2, "--secret-file", self.folder / "secret", *flags,
            env={**clean, **environment}))
        self.daemon.wait_for_line(r"\bready: ")
        self.http, self.admin = (self.address(door) for door in ("http", "admin"))

    def address(self, door):
        host, _, port = self.daemon.wait_for_line(rf"\b{door} listens on (\S+)")[1].rpartition(":")
        return host, int(port)

    def events(self, log=None):
        lines = (log or self.log).read_text(encoding="utf-8").splitlines()
        return [json.loads(line) for line in lines]

    def refusals(self, log=None):
        return [event for event in self.events(log) if "verdict" in event]

    def count(self, name):
        answer = ask(self.admin, "GET", "/metrics")
        return int(re.search(rf"(?m)^{name} (\d+)$", answer.text)[1])


class EventLog(EventsTest):
    def test_off_unless_asked_for(self):
        self.start_with()
        self.assertEqual(self.check(cost=4).status, 429)
        self.assertEqual((self.count("suimon_events_total"), self.count("suimon_events_dropped_total")), (0, 0))
        self.daemon.stop()
        self.assertEqual(sorted(path.name for path in self.folder.iterdir()), ["limits.yaml", "secret"])

    def test_a_refusal_is_a_line_with_figures_and_a_hash(self):
        self.start_with("--log-events", self.folder / "events.log")
        before = time.time()
        self.assertEqual(self.check(cost=3).status, 200)
        self.assertEqual(self.check(cost=2).status, 429)
        self.assertEqual(self.check(cost=4).status, 429)
        self.assertEqual(self.check({"path": "/v1/keys/1"}).status, 429)
        until(lambda: len(self.events()) == 3, "three lines")
        # Lines of different loops that come at the same moment may change places.
        by_name = {(event["limit"], event["verdict"]): event for event in self.events()}
        limited, never, missing = (by_name[name] for name in (
            ("per-user", "limited"), ("per-user", "never"), ("per-key", "never")))
        self.assertTrue(TIME.fullmatch(limited["time"]), limited)
        at = time.strptime(limited["time"].split(".")[0], "%Y-%m-%dT%H:%M:%S")
        self.assertAlmostEqual(calendar.timegm(at), before, delta=60)
        key = limited["key"]
        self.assertRegex(key, r"^[0-9a-f]{32}$")
        wait = limited.pop("retry_after_ms")
        self.assertTrue(0 < wait <= 2 * 86400 * 1000, wait)
        del limited["time"], never["time"], missing["time"]
        figures = {"door": "http", "domain": "shop", "limit": "per-user", "key": key, "capacity": 3}
        self.assertEqual(limited, {**figures, "verdict": "limited", "remaining": 0, "cost": 2})
        self.assertEqual(never, {**figures, "verdict": "never", "remaining": 0, "cost": 4,
                                 "retry_after_ms": None})
        self.assertEqual(missing, {
            "door": "http", "domain": "shop", "limit": "per-key", "verdict": "never", "key": None,
            "remaining": None, "capacity": 3, "cost": None, "retry_after_ms": None, "missing": "api_key"})
        self.assertEqual(stat.S_IMODE(self.log.stat().st_mode) & 0o137, 0)
        self.assertEqual(self.count("suimon_events_total"), 3)

    def test_identify_shows_what_was_asked_for(self):
        for identify, client in (("truncated", {"client_ip": "203.0.113.0/24"}),
                                 ("raw", {"client_ip": "203.0.113.9", "user": "u1"})):
            with self.subTest(identify):
                # By the environment, which a flag would beat.
                self.start_with("--log-events", self.folder / "events.log", SUIMON_LOG_IDENTIFY=identify)
                self.assertEqual(self.check({"user": "u1", "client_ip": "203.0.113.9"}, cost=4).status, 429)
                until(lambda: self.log.read_text(), "a line")
                (event,) = self.events()
                self.assertEqual(event["client"], client)
                self.daemon.stop()
                self.log.unlink()

    def test_the_policy_may_ask_for_it_and_a_flag_beats_it(self):
        log = self.folder / "events.log"
        asked = POLICY + f"log: {{events: {log}, identify: raw, per_second: 5}}\n"
        self.start_with("--log-identify", "truncated", policy=asked)
        check = {"attributes": {"user": "u1", "client_ip": "203.0.113.9"}, "cost": 4}
        self.post("/v1/check/batch", [check] * 16)  # as of one moment
        until(lambda: sum(e.get("dropped", 1) for e in self.events()) == 16, "every refusal to be told")
        self.assertLessEqual(len(self.refusals()), 5)
        self.assertEqual(self.refusals()[0]["client"], {"client_ip": "203.0.113.0/24"})

    def test_to_standard_error(self):
        self.start_with("--log-events", "stderr")
        self.assertEqual(self.check(cost=4).status, 429)
        line = self.daemon.wait_for_line(r'^\{"time".*"verdict":"never"')
        self.assertEqual(json.loads(line.string)["limit"], "per-user")

    def test_rotation_by_rename_and_SIGHUP(self):
        self.start_with("--log-events", self.folder / "events.log")
        old = self.folder / "events.log.1"
        self.check({"user": "a"}, cost=4)
        until(lambda: len(self.events()) == 1, "the first line")
        self.log.rename(old)
        start = len(self.daemon.lines)
        self.daemon.signal(signal.SIGHUP)
        self.daemon.wait_for_line("was loaded", start)
        until(self.log.exists, "the new file")
        self.check({"user": "b"}, cost=4)
        until(lambda: len(self.events()) == 1, "a line in the new file")
        self.assertEqual(len(self.events(old)), 1)

    def test_rotation_by_rename_alone(self):
        self.start_with("--log-events", self.folder / "events.log")
        self.log.rename(self.folder / "events.log.1")
        until(self.log.exists, "the new file")
        self.check({"user": "b"}, cost=4)
        until(lambda: len(self.events()) == 1, "a line in the new file")

    def test_an_attack_is_a_bounded_number_of_lines_and_a_count_of_the_rest(self):
        self.start_with("--log-events", self.folder / "events.log", "--log-events-per-second", 20)
        begin = time.monotonic()
        batch = request("POST", "/v1/check/batch", {"Content-Type": "application/json"},
                        json.dumps([{"attributes": {"user": "u1"}, "cost": 4}] * 1000).encode())

        def attack():
            with Client(self.http) as client:
                for _ in range(25):
                    client.send(batch)
                    self.assertEqual(client.read().status, 200)

        threads = [threading.Thread(target=attack) for _ in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        seconds = time.monotonic() - begin
        until(lambda: sum(e.get("dropped", 1) for e in self.events()) == 50_000, "every refusal to be told")
        lines = self.refusals()
        self.assertGreater(len(lines), 0)
        self.assertLessEqual(len(lines), 20 * (int(seconds) + 2))
        by_second = {}
        for event in lines:
            by_second[event["time"][:19]] = by_second.get(event["time"][:19], 0) + 1
        # A second of the log and one of the decisions begin at different moments.
        self.assertLessEqual(max(by_second.values()), 2 * 20)
        summaries = len(self.events()) - len(lines)
        self.assertLessEqual(summaries, int(seconds) + 3)
        self.assertEqual(self.count("suimon_events_total"), len(lines))
        self.assertEqual(self.count("suimon_events_dropped_total"), 50_000 - len(lines))

    def test_what_is_wrong_is_said_at_the_start(self):
        policy = self.folder / "limits.yaml"
        policy.write_text(POLICY, encoding="utf-8")
        for flags, words in (
            (("--log-events", self.folder / "no/such/folder/log"), ("cannot be opened", "a file, stderr or off")),
            (("--log-events", self.folder), ("Is a directory",)),
            (("--log-identify", "some"), ('"some"', "none, truncated, raw")),
            (("--log-events-per-second", "0"), ("--log-events-per-second", "1")),
        ):
            with self.subTest(flags):
                done = subprocess.run(
                    [program(), "serve", "--config", policy, "--http", "127.0.0.1:0", "--admin", "off",
                     "--secret-file", self.folder / "secret", *flags],
                    capture_output=True, text=True, timeout=60)
                self.assertEqual(done.returncode, 2, done.stderr)
                for word in words:
                    self.assertIn(word, done.stderr + done.stdout)


class Privacy(EventsTest):
    """Unique markers go in by every way; none comes out of anything that is kept or shown."""

    MARKERS = {
        "client_ip": "203.0.113.217", "v6": "2001:db8:1f2e:3d4c::7", "user": "marker-user-7f3a",
        "api_key": "marker-key-91bc", "header": "marker-header-55de", "path": "marker-path-c0ff",
        "query": "marker-query-aa17", "domain": "marker-domain-4b4b", "member": "marker-member-0d0d",
        "host": "marker-host-77aa.example",
    }

    def everything_shown(self):
        shown = {"standard error": self.daemon.stderr()}
        for path in ("/metrics", "/healthz", "/readyz", "/nothing-here"):
            answer = ask(self.admin, "GET", path)
            shown[path] = f"{answer.fields} {answer.text}"
        for file in self.folder.rglob("*"):
            if file.is_file():
                shown[str(file)] = file.read_text(encoding="utf-8", errors="replace")
        return shown

    def test_no_raw_identifier_is_kept_or_shown(self):
        self.start_with("--log-events", self.folder / "events.log")
        m = self.MARKERS
        named = {"user": m["user"], "api_key": m["api_key"], "path": f"/v1/keys/{m['path']}?q={m['query']}"}
        for address in (m["client_ip"], m["v6"]):
            for cost in (1, 3, 4):
                self.check({**named, "client_ip": address}, cost=cost)
        forwarded = {"X-Forwarded-For": m["client_ip"], "X-User-Id": m["user"], "X-Api-Key": m["api_key"],
                     "X-Forwarded-Uri": f"/v1/keys/{m['path']}?q={m['query']}", "X-Forwarded-Method": "GET",
                     "Host": m["host"], "X-Forwarded-Host": m["host"], "X-Marker": m["header"],
                     "User-Agent": m["header"]}
        statuses = [ask(self.http, "GET", "/v1/forward-auth", forwarded).status for _ in range(3)]
        self.assertIn(429, statuses)
        # What is wrong in the same ways: its answer goes to its sender, and nowhere else.
        self.check(named, domain=m["domain"])
        self.post("/v1/check", {m["member"]: 1})
        self.post("/v1/check", b'{"attributes": {"user": "' + m["user"].encode())
        self.check({"path": f"/%zz{m['path']}", "user": m["user"]})
        ask(self.http, "GET", f"/{m['path']}", forwarded)
        ask(self.admin, "GET", f"/{m['path']}?{m['query']}", forwarded)
        with Client(self.http) as client:
            client.send(f"GET /{m['path']} HTTP/1.1\r\nBad {m['header']}\r\n\r\n".encode())
            client.rest()
        start = len(self.daemon.lines)
        self.daemon.signal(signal.SIGHUP)
        self.daemon.wait_for_line("was loaded", start)
        until(lambda: self.refusals(), "refusals in the log")
        shown = self.everything_shown()
        self.daemon.stop()
        shown["standard error to the end"] = self.daemon.stderr()
        self.assertIn("suimon_events_total", shown["/metrics"])
        for place, text in shown.items():
            for name, marker in m.items():
                self.assertNotIn(marker, text, f"{name} stands in {place}")

    def test_a_truncated_address_is_all_that_truncated_shows(self):
        self.start_with("--log-events", self.folder / "events.log", "--log-identify", "truncated")
        m = self.MARKERS
        for address in (m["client_ip"], m["v6"]):
            self.check({"user": m["user"], "client_ip": address}, cost=4)
        until(lambda: len(self.refusals()) == 2, "two lines")
        self.assertEqual([event["client"] for event in self.refusals()],
                         [{"client_ip": "203.0.113.0/24"}, {"client_ip": "2001:db8:1f2e::/48"}])
        for place, text in self.everything_shown().items():
            for name, marker in m.items():
                self.assertNotIn(marker, text, f"{name} stands in {place}")

    def test_a_crash_leaves_no_memory_behind(self):
        def dumps(process):  # as the system says, wherever it puts it
            _, status = os.waitpid(process.pid, 0)
            process.returncode = -os.WTERMSIG(status)
            return os.WCOREDUMP(status)

        before = resource.getrlimit(resource.RLIMIT_CORE)
        self.addCleanup(resource.setrlimit, resource.RLIMIT_CORE, before)
        resource.setrlimit(resource.RLIMIT_CORE, (before[1], before[1]))
        other = subprocess.Popen(["sleep", "60"], cwd=self.folder)
        other.send_signal(signal.SIGABRT)
        if not dumps(other):
            self.skipTest("nothing leaves its memory behind here")
        self.start_with()
        self.daemon.signal(signal.SIGABRT)
        self.assertFalse(dumps(self.daemon.popen))


if __name__ == "__main__":
    unittest.main()

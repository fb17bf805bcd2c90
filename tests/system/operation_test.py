"""What operators meet in the finished program: metrics, reloads, starting and stopping."""

import contextlib
import fcntl
import os
import signal
import subprocess
import threading
import time
import unittest

from harness import ROOT, Client, Closed, Process, ask, program, request, shared_folder, until
from http_base import POLICY, HttpTest


class Operation(HttpTest):
    REQUESTS = 'suimon_requests_total{door="http",domain="shop",verdict="%s"}'
    LIMITS = 'suimon_limit_decisions_total{domain="shop",limit="%s",verdict="%s"}'

    def test_metrics_count_from_0_on(self):
        before = self.daemon.metrics()
        for verdict in ("allowed", "limited", "never"):
            self.assertEqual(before[self.REQUESTS % verdict], 0)
            for limit in ("per-user", "orders"):
                self.assertEqual(before[self.LIMITS % (limit, verdict)], 0)
        for name in ("suimon_table_entries", "suimon_table_evictions_total", "suimon_table_overflow_total"):
            self.assertEqual(before[name], 0)
        self.assertEqual(self.verdicts(*[{"user": "u1"}] * 5), [True] * 3 + [False] * 2)
        self.check(cost=4)
        self.post("/v1/check/batch", [{"attributes": {"user": "u2"}}] * 4)
        self.check({"user": "u3", "path": "/v1/orders", "method": "POST"})
        count = 'suimon_check_duration_seconds_count{door="http"}'
        # Durations are told at the end of a wake-up, which may come after its answers.
        until(lambda: self.daemon.metrics()[count] == 11, "the eleventh duration")
        after = self.daemon.metrics()
        verdicts = ("allowed", "limited", "never")
        self.assertEqual([after[self.REQUESTS % v] for v in verdicts], [7, 3, 1])
        self.assertEqual([after[self.LIMITS % ("per-user", v)] for v in verdicts], [7, 3, 1])
        self.assertEqual([after[self.LIMITS % ("orders", v)] for v in verdicts], [1, 0, 0])
        self.assertEqual(after['suimon_check_duration_seconds_bucket{door="http",le="+Inf"}'], 11)
        self.assertIn('suimon_check_duration_seconds_bucket{door="http",le="1e-06"}', after)
        self.assertEqual(after["suimon_table_entries"], 4)
        self.assertGreater(after["suimon_table_bytes"], 0)
        self.assertEqual(after["suimon_config_last_reload_successful"], 1)
        self.assertAlmostEqual(after["suimon_config_last_success_timestamp_seconds"], time.time(), delta=600)

    def test_metrics_are_in_the_text_format(self):
        answer = ask(self.daemon.admin, "GET", "/metrics")
        self.assertEqual(answer.field("Content-Type"), "text/plain; version=0.0.4; charset=utf-8")
        self.assertTrue(answer.text.endswith("\n"))
        typed, seen = {}, []
        for line in answer.text.splitlines():
            if line.startswith("# TYPE "):
                _, _, name, kind = line.split(" ")
                self.assertNotIn(name, typed, "a family stands together")
                typed[name] = kind
            elif not line.startswith("#"):
                name = line.split("{")[0].split(" ")[0]
                family = name
                for ending in ("_bucket", "_sum", "_count"):
                    if name.endswith(ending) and name.removesuffix(ending) in typed:
                        family = name.removesuffix(ending)
                self.assertEqual(list(typed)[-1], family)
                self.assertEqual(name.endswith("_total"), typed[family] == "counter")
                seen.append(line.rpartition(" ")[0])
        self.assertEqual(len(seen), len(set(seen)), "a sample stands once")

    def test_raw_identifiers_are_nowhere_to_be_seen(self):
        self.check({"user": "someone-in-particular"}, cost=4)
        self.check({"user": "someone-in-particular"})
        for place in (ask(self.daemon.admin, "GET", "/metrics").text, self.daemon.stderr()):
            self.assertNotIn("someone", place)

    def test_C33_a_bad_reload_keeps_the_running_policy(self):
        good = self.daemon.metrics()
        self.assertEqual((good["suimon_config_last_reload_successful"],
                          good['suimon_config_reloads_total{result="failure"}']), (1, 0))
        self.assertEqual(self.check().status, 200)
        for failures, (old, new, place, words) in enumerate((
            ("{capacity: 3, refill: 1/day}", "{capacity: 3}", "limits.yaml:10:", ("refill",)),
            ("refill: 1/day", "refill: 1 per 0s", "limits.yaml:10:", ("0s",)),
            ("refill: 1/day", "refill: 1 per -5s", "limits.yaml:10:", ("-5s",)),
            ("refill: 1/day", 'refill: "10"', "limits.yaml:10:", ("10",)),
            ("capacity: 3, refill", "capacity: 3, refill_rate", "limits.yaml:10:", ("did you mean", "refill")),
            ("version: 1", "version: [", "limits.yaml:", ()),
            ("token_bucket: {capacity: 3", "token_bucket: {capacity: 0", "limits.yaml:10:", ("capacity",)),
        ), start=1):
            with self.subTest(new):
                start = len(self.daemon.lines)
                self.assertFalse(self.daemon.reload(POLICY.replace(old, new, 1)))
                said = "\n".join(self.daemon.lines[start:])
                for word in (place, *words):
                    self.assertIn(word, said)
                self.assertIn("the running policy stays", said)
                figures = self.daemon.metrics()
                self.assertEqual(figures["suimon_config_last_reload_successful"], 0)
                self.assertEqual(figures['suimon_config_reloads_total{result="failure"}'], failures)
                self.assertEqual(figures["suimon_config_last_success_timestamp_seconds"],
                                 good["suimon_config_last_success_timestamp_seconds"])
                self.assertEqual(self.check(cost=0).json()["remaining"], 2)
        self.assertEqual(ask(self.http, "GET", "/readyz").status, 200)
        self.assertTrue(self.daemon.reload(POLICY))
        self.assertEqual(self.daemon.metrics()["suimon_config_last_reload_successful"], 1)

    def test_C33_a_bad_files_of_a_peer_are_refused_by_name(self):
        folder = shared_folder()
        files = sorted((folder / "data/configs/envoyproxy_ratelimit_bad").glob("*.yaml")) if folder else []
        if not files:
            self.skipTest("the peer's files are not beside this checkout")
        self.check()
        for number, file in enumerate(files, start=1):
            with self.subTest(file.name):
                start = len(self.daemon.lines)
                self.assertFalse(self.daemon.reload(file.read_text(encoding="utf-8")))
                self.assertRegex("\n".join(self.daemon.lines[start:]), r"limits\.yaml:\d+:\d+: ")
                self.assertEqual(self.daemon.metrics()['suimon_config_reloads_total{result="failure"}'], number)
                self.assertEqual(self.check(cost=0).json()["remaining"], 2, "the running policy stays")

    def test_a_policy_file_that_is_gone_keeps_the_running_policy(self):
        self.daemon.policy_file.unlink()
        self.assertFalse(self.daemon.reload())
        self.assertEqual(self.check().status, 200)

    def test_C33_b_reloading_the_same_file_a_hundred_times_refills_nothing(self):
        self.assertEqual(self.check(cost=3).status, 200)
        for _ in range(100):
            self.assertTrue(self.daemon.reload())
        self.assertEqual(self.check(cost=0).json()["remaining"], 0)
        self.assertEqual(self.daemon.metrics()['suimon_config_reloads_total{result="success"}'], 101)

    def test_a_reload_says_what_has_changed_and_takes_effect(self):
        self.assertEqual(self.check().status, 200)
        start = len(self.daemon.lines)
        changed = POLICY.replace("capacity: 3", "capacity: 2").replace("name: orders", "name: purchases")
        self.assertTrue(self.daemon.reload(changed))
        said = "\n".join(self.daemon.lines[start:])
        for line in ("changed shop/per-user", "added shop/purchases", "removed shop/orders"):
            self.assertIn(line, said)
        self.assertEqual(self.check(cost=0).json()["limits"][0]["capacity"], 2)
        self.assertEqual(self.daemon.metrics()[self.LIMITS % ("purchases", "allowed")], 0)

    def test_a_bad_policy_does_not_start(self):
        bad = self.folder / "bad.yaml"
        bad.write_text(POLICY.replace("refill: 1/day", "refil: 1/day"), encoding="utf-8")
        started = self.ended_with_test(Process(program(), "serve", "--config", bad, "--http", "127.0.0.1:0",
                                               "--admin", "off", "--secret-file", self.folder / "secret"))
        self.assertEqual(started.wait(), 2)
        self.assertIn("bad.yaml:10:", started.stderr())
        self.assertIn("did you mean", started.stderr())

    def test_the_example_that_ships_starts(self):
        self.start((ROOT / "examples/limits.yaml").read_text(encoding="utf-8"))
        self.assertEqual(sum(self.verdicts(*[{"client_ip": "192.0.2.7"}] * 15)), 10)


class Stopping(HttpTest):
    def test_SIGTERM_answers_what_is_under_way_and_ends_with_0(self):
        whole = request("POST", "/v1/check", body=b'{"attributes":{"user":"u1"}}')
        silent, waiting = Client(self.http), Client(self.http)
        half = [Client(self.http) for _ in range(4)]
        ready = Client(self.http)
        try:
            self.assertEqual(ready.ask("GET", "/readyz").status, 200)
            self.assertEqual(waiting.ask("GET", "/healthz").status, 200)
            for client in half:  # the answer shows that what came with it has been read
                self.assertEqual(client.ask("GET", "/healthz").status, 200)
                client.send(request("GET", "/healthz") + whole[:-5])
                self.assertEqual(client.read().status, 200)
            ready.send(request("GET", "/healthz") + b"GET /readyz HTTP/1.1\r\n")
            self.assertEqual(ready.read().status, 200)
            self.daemon.signal(signal.SIGTERM)
            self.daemon.wait_for_line("draining")
            self.assertEqual(silent.rest(), b"", "who has asked for nothing is let go")
            self.assertEqual(waiting.rest(), b"")
            until(self.nobody_listens, "the listeners to close")
            ready.send(b"Host: a\r\n\r\n")
            answer = ready.read()
            self.assertEqual((answer.status, answer.field("Connection")), (503, "close"))
            for left, client in zip((2, 1, 0, 0), half):
                client.send(whole[-5:])
                answer = client.read()
                self.assertEqual((answer.json()["remaining"], answer.field("Connection")), (left, "close"))
                self.assertEqual(client.rest(), b"")
            for client in (ready, *half):
                client.close()
            self.assertEqual(self.daemon.wait(), 0, self.daemon.stderr())
        finally:
            for client in (silent, waiting, ready, *half):
                client.close()

    def nobody_listens(self):
        try:
            Client(self.http).close()
        except ConnectionError:
            return True
        return False

    def test_a_log_that_nobody_reads_holds_up_nothing(self):
        read_end, write_end = os.pipe()
        fcntl.fcntl(write_end, fcntl.F_SETPIPE_SZ, 4096)
        policy, socket = self.folder / "unread.yaml", self.folder / "unread.sock"
        policy.write_text(POLICY)
        daemon = subprocess.Popen(
            [program(), "serve", "--config", policy, "--http", f"unix:{socket}", "--admin", "off",
             "--secret-file", self.folder / "secret"],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=write_end)
        try:
            os.close(write_end)
            until(lambda: b"ready" in os.read(read_end, 4096), "the daemon to be ready")
            # One mistake a line, and more of them than the pipe can hold.
            policy.write_text("".join(f"unknown-{i}: {'x' * 60}\n" for i in range(100)))
            for _ in range(3):
                daemon.send_signal(signal.SIGHUP)
                with Client(str(socket)) as client:
                    self.assertEqual(client.ask("GET", "/readyz").status, 200)
            daemon.send_signal(signal.SIGTERM)
            self.assertEqual(daemon.wait(10), 0)
        finally:
            daemon.kill()
            daemon.wait()
            os.close(read_end)

    def test_closed_standard_files_are_nobodys_connection(self):
        policy, socket = self.folder / "closed.yaml", self.folder / "closed.sock"
        policy.write_text(POLICY)

        def answers():
            with contextlib.suppress(OSError), Client(str(socket)) as client:
                return client.ask("GET", "/readyz").status == 200

        daemon = subprocess.Popen(
            ["sh", "-c", 'exec "$0" "$@" <&- >&- 2>&-', program(), "serve", "--config", policy,
             "--http", f"unix:{socket}", "--admin", "off", "--secret-file", self.folder / "secret"])
        try:
            until(answers, "the daemon to be ready")
            for number in (0, 1, 2):
                self.assertEqual(os.readlink(f"/proc/{daemon.pid}/fd/{number}"), "/dev/null")
            daemon.send_signal(signal.SIGTERM)
            self.assertEqual(daemon.wait(10), 0)
        finally:
            daemon.kill()
            daemon.wait()

    def test_a_second_SIGTERM_does_not_wait(self):
        with Client(self.http) as client:
            client.send(request("GET", "/healthz") + b"GET /hea")
            self.assertEqual(client.read().status, 200)
            self.daemon.signal(signal.SIGTERM)
            self.daemon.wait_for_line("draining")
            self.daemon.signal(signal.SIGTERM)
            self.assertEqual(self.daemon.wait(5), 0)

    def test_under_load_everybody_is_told_and_nobody_loses_an_answer(self):
        answered, lost = [0] * 4, []

        def run(number):
            fields = {"X-Forwarded-For": f"192.0.2.{number}"}
            try:
                with Client(self.http) as client:
                    while client.ask("GET", "/v1/forward-auth", fields).field("Connection") != "close":
                        answered[number] += 1
            except (Closed, ConnectionError) as error:
                lost.append(error)

        threads = [threading.Thread(target=run, args=(i,)) for i in range(4)]
        for thread in threads:
            thread.start()
        until(lambda: min(answered) > 50, "traffic")
        self.daemon.signal(signal.SIGTERM)
        for thread in threads:
            thread.join()
        self.assertEqual(lost, [])
        self.assertEqual(self.daemon.wait(), 0)

if __name__ == "__main__":
    unittest.main()

"""The admin listener of the finished program: what operators see and change, and who may."""

import threading
import unittest

from admin_base import OTHER, POLICY, TOKEN, AdminTest
from harness import Client, Process, ask, program, request, until

CHANGES = ("/v1/refund", "/v1/keys/reset", "/v1/reload")


class Rights(AdminTest):
    def denied(self, reason):
        return self.daemon.metrics()[f'suimon_admin_denied_total{{reason="{reason}"}}']

    def test_a_change_needs_a_token_and_a_look_does_not(self):
        for target in CHANGES:
            with self.subTest(target):
                answer = self.admin(target, b"{}")
                self.assert_mistake(answer, 401, "Authorization: Bearer TOKEN")
                self.assertEqual(answer.field("WWW-Authenticate"), 'Bearer realm="suimon"')
                answer = self.admin(target, b"{}", "no-token-of-anybody")
                self.assert_mistake(answer, 401, "not known")
                self.assertEqual(answer.field("WWW-Authenticate"), 'Bearer realm="suimon", error="invalid_token"')
                basic = {"Authorization": "Basic ZGVwbG95OmNvcnJlY3Q="}
                self.assert_mistake(self.admin(target, b"{}", fields=basic), 401)
                for token in (TOKEN, OTHER):
                    self.assertNotIn(self.admin(target, b"{}", token).status, (401, 403))
        self.assertEqual((self.denied("missing"), self.denied("wrong")), (6, 3))
        self.assertEqual(self.remaining(), 3)
        for target in ("/v1/limits", "/v1/top", "/metrics"):
            self.assertEqual(self.admin(target, method="GET").status, 200)

    def test_without_a_token_file_nobody_changes_anything(self):
        self.start(POLICY, tokens=None)
        for target in CHANGES:
            for token in (None, TOKEN, ""):
                self.assert_mistake(self.admin(target, b"{}", token), 403, "--admin-token-file")
        self.assertEqual(self.denied("not_configured"), 9)
        self.assertEqual(self.remaining(), 3)

    def test_two_tokens_in_one_request_are_refused(self):
        fields = [("Authorization", f"Bearer {TOKEN}"), ("Authorization", f"Bearer {OTHER}")]
        self.assert_mistake(ask(self.daemon.admin, "POST", "/v1/reload", fields), 400, "twice")

    def test_who_guesses_waits_and_others_do_not(self):
        for i in range(10):
            self.assert_mistake(self.admin("/v1/reload", token=f"a-guess-of-mine-{i}"), 401)
        for token in ("a-guess-of-mine-11", TOKEN):  # also a hit is not told
            answer = self.admin("/v1/reload", token=token)
            self.assert_mistake(answer, 429, "too many wrong tokens")
            self.assertIn(int(answer.field("Retry-After")), range(1, 7))
        self.assertEqual((self.denied("wrong"), self.denied("too_many")), (10, 2))
        self.assertEqual(self.admin("/v1/reload", token=TOKEN, source="127.0.0.2").status, 200)

    def test_a_bad_token_file_does_not_start_and_never_shows_a_token(self):
        file = self.folder / "bad-tokens"
        for text, mode, words in (
            (f"{TOKEN}\n", 0o644, "chmod 600"),
            ("too-short\n", 0o600, "line 1: a token is 16 to 512"),
            (f"{TOKEN}\n{TOKEN}\n", 0o600, "line 2: this token stands in the file twice"),
            ("# none\n", 0o600, "no token in it"),
            (None, 0o600, "cannot be read"),
        ):
            with self.subTest(words):
                file.unlink(missing_ok=True)
                if text is not None:
                    file.write_text(text)
                    file.chmod(mode)
                started = self.ended_with_test(Process(
                    program(), "serve", "--config", self.daemon.policy_file, "--http", "127.0.0.1:0",
                    "--admin", "off", "--secret-file", self.folder / "secret", "--admin-token-file", file))
                self.assertEqual(started.wait(), 2)
                self.assertIn(words, started.stderr())
                self.assertNotIn(TOKEN, started.stderr())

    def test_a_browser_of_another_site_gets_nowhere(self):
        fields = {"Origin": "https://evil.example", "Access-Control-Request-Method": "POST",
                  "Access-Control-Request-Headers": "authorization"}
        for target in CHANGES:
            answer = self.admin(target, method="OPTIONS", fields=fields)
            self.assert_mistake(answer, 405)
            self.assertFalse([name for name, _ in answer.fields if name.lower().startswith("access-control")])
        for target in CHANGES:
            for method in ("GET", "HEAD"):
                self.assertEqual(ask_status(self, target, method), 405)


def ask_status(test, target, method):
    with Client(test.daemon.admin) as client:
        client.send(request(method, target, {"Authorization": f"Bearer {TOKEN}"}))
        return client.read(head=method == "HEAD").status


class Refunds(AdminTest):
    def test_a_refund_gives_back_what_the_request_was_charged(self):
        order = {"user": "u1", "path": "/v1/orders/1", "method": "POST"}
        self.assertEqual(self.check(order).status, 200)
        answer = self.refund("r-1", order)
        self.assertEqual(answer.json(), {"refunded": True, "limits": [
            {"name": "per-user", "tokens": 1, "capacity": 3, "remaining": 3, "reset_after_ms": 0},
            {"name": "orders", "tokens": 5, "capacity": 5, "remaining": 5, "reset_after_ms": 0}]})
        self.assertEqual(self.check(order).status, 200)

    def test_the_same_id_refunds_once(self):
        self.check(cost=3)
        self.assertEqual(self.refund("r-1").json()["refunded"], True)
        for _ in range(3):
            self.assertEqual(self.refund("r-1").json(), {"refunded": False, "limits": []})
        self.assertEqual(self.refund("r-1", {"user": "u2"}).json()["refunded"], False)
        self.assertEqual(self.remaining(), 1)
        figures = self.daemon.metrics()
        self.assertEqual(figures['suimon_refunds_total{result="made"}'], 1)
        self.assertEqual(figures['suimon_refunds_total{result="repeated"}'], 4)

    def test_no_bucket_becomes_more_than_full(self):
        self.check()
        for number in range(5):
            self.assertEqual(self.refund(f"r-{number}", cost=3).status, 200)
        self.assertEqual(self.verdicts(*[{"user": "u1"}] * 4), [True] * 3 + [False])

    def test_a_mistake_is_named_and_its_id_stays_free(self):
        for body, words in (
            (b"", "not JSON"), (b"[]", "must be an object"), (b"{}", "id is missing"),
            ({"id": "r", "attributes": {"user": "u1"}, "cost": 0}, "cost: 0 was never charged"),
            ({"id": "r", "attributes": {"user": "u1"}, "cost": 4}, "above the capacity of the limit per-user"),
            ({"id": "r", "domain": "none"}, 'domain: "none" is not loaded; write one of shop'),
            ({"id": "r", "tokens": 1}, 'unknown member "tokens"'),
        ):
            with self.subTest(words):
                self.assert_mistake(self.admin("/v1/refund", body, TOKEN), 400, words)
        self.check()
        self.assertEqual(self.refund("r").json()["refunded"], True)

    def test_65536_ids_are_remembered_and_then_no_more(self):
        body = b'{"id":"%d","attributes":{"user":"u1"}}'
        fields = {"Authorization": f"Bearer {TOKEN}", "Content-Type": "application/json"}
        with Client(self.daemon.admin) as client:
            for start in range(0, 65536, 256):
                client.send(b"".join(request("POST", "/v1/refund", fields, body % i)
                                     for i in range(start, start + 256)))
                for _ in range(256):
                    self.assertEqual(client.read().status, 200)
        answer = self.refund("one more")
        self.assertEqual(answer.status, 503)
        self.assertEqual(answer.json()["type"], "urn:suimon:problem:overloaded")
        self.assertIn(int(answer.field("Retry-After")), range(1, 601))
        self.assertEqual(self.refund("17").json()["refunded"], False)
        self.assertEqual(self.daemon.metrics()['suimon_refunds_total{result="full"}'], 1)


class Keys(AdminTest):
    def test_a_look_says_where_a_key_stands_and_charges_nothing(self):
        self.check(cost=3)
        for _ in range(3):
            key = self.key()
        self.assertRegex(key.pop("hash"), "^[0-9a-f]{32}$")
        self.assertAlmostEqual(key.pop("retry_after_ms") / 3600_000, 24, delta=1)
        self.assertAlmostEqual(key.pop("reset_after_ms") / 3600_000, 72, delta=1)
        self.assertEqual(key, {"domain": "shop", "limit": "per-user", "tier": None, "capacity": 3, "remaining": 0})
        before = self.daemon.metrics()['suimon_requests_total{door="http",domain="shop",verdict="allowed"}']
        self.assertEqual(before, 1)

    def test_a_reset_fills_the_bucket_and_is_written_down(self):
        self.check(cost=3)
        found = self.key()["hash"]
        answer = self.admin("/v1/keys/reset", {"limit": "per-user", "attributes": {"user": "u1"}}, TOKEN)
        self.assertEqual((answer.json()["remaining"], answer.json()["retry_after_ms"]), (3, None))
        self.assertEqual(self.check().status, 200)
        answer = self.admin("/v1/keys/reset", {"domain": "shop", "limit": "per-user", "hash": found}, OTHER)
        self.assertEqual(answer.json()["remaining"], 3)
        until(lambda: len(self.audits()) == 2, "two audit lines")
        for line, who in zip(self.audits(), ("deploy", "line-2")):
            self.assertRegex(line.pop("time"), r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$")
            self.assertEqual(line, {"who": who, "what": "reset", "domain": "shop", "limit": "per-user",
                                    "hash": found, "result": "done"})
        self.assertNotIn("u1", self.daemon.stderr())
        self.assertNotIn(TOKEN, self.daemon.stderr())
        self.assertEqual(self.daemon.metrics()["suimon_key_resets_total"], 2)

    def test_a_tier_is_named_by_its_attribute_or_beside_the_hash(self):
        self.check({"user": "u1", "plan": "premium", "path": "/v1/orders", "method": "PUT"})
        key = self.key("orders", attributes={"user": "u1", "plan": "premium"})
        self.assertEqual((key["tier"], key["capacity"], key["remaining"]), ("premium", 100, 95))
        again = self.key("orders", hash=key["hash"], tier="premium")
        for seen in (key, again):  # which passes between the two
            self.assertAlmostEqual(seen.pop("reset_after_ms") / 3600_000, 120, delta=1)
        self.assertEqual(again, key)

    def test_mistakes_are_named(self):
        for body, words in (
            ({"limit": "per-usr"}, "write one of per-user, orders"),
            ({"limit": "per-user"}, "attributes.user is missing"),
            ({"limit": "per-user", "hash": "17"}, "32 hexadecimal digits"),
            ({"limit": "per-user", "hash": "0" * 32, "tier": "gold"}, "tier: the limit per-user has none"),
            ({"limit": "orders", "hash": "0" * 32, "tier": "gold"}, "write one of free, premium"),
        ):
            for target, token in (("/v1/keys/read", None), ("/v1/keys/reset", TOKEN)):
                with self.subTest(f"{target} {words}"):
                    self.assert_mistake(self.admin(target, body, token), 400, words)
        answer = self.admin("/v1/keys/read", b"limit=per-user", fields={"Content-Type": "text/plain"})
        self.assert_mistake(answer, 415, "application/json")


class Views(AdminTest):
    def test_limits_shows_the_policy_in_force(self):
        limits = {limit["name"]: limit for limit in
                  self.admin("/v1/limits", method="GET").json()["domains"][0]["limits"]}
        self.assertEqual(list(limits), ["per-user", "orders"])
        self.assertEqual(limits["per-user"], {
            "name": "per-user", "match": [], "key": ["user"], "on_missing": "skip", "algorithm": "token_bucket",
            "tier_from": None, "capacity": 3, "refill": {"tokens": 1, "period_ns": 86400 * 10**9}, "cost": [],
            "advertise": True, "shadow": False, "deny_status": None})
        self.assertEqual({item["attribute"]: item["values"] for item in limits["orders"]["match"]},
                         {"path": ["/v1/orders/**"], "method": ["POST", "PUT"]})
        self.assertEqual([tier["name"] for tier in limits["orders"]["tiers"]], ["free", "premium"])
        self.assertEqual(limits["orders"]["cost"], [{"match": [], "value": 5}])
        self.assertTrue(self.daemon.reload(POLICY.replace("capacity: 3", "capacity: 4")))
        shown = self.admin("/v1/limits", method="GET").json()["domains"][0]["limits"][0]
        self.assertEqual(shown["capacity"], 4)

    def test_top_shows_who_is_refused_most_by_hash(self):
        for user, times in (("alice", 9), ("bob", 5), ("carol", 3)):
            self.verdicts(*[{"user": user}] * times)
        for query, count in (("", 2), ("?limit=1", 1), ("?limit=1000", 2)):
            limits = self.admin("/v1/top" + query, method="GET").json()["limits"]
            self.assertEqual([(one["domain"], one["limit"]) for one in limits], [("shop", "per-user")])
            keys = limits[0]["keys"]
            self.assertEqual([key["refused"] for key in keys], [6, 2][:count])
            self.assertEqual(keys[0]["hash"], self.key(attributes={"user": "alice"})["hash"])
            self.assertEqual(keys[0]["at_most"], 6)
        for query in ("?limit=0", "?limit=1001", "?limit=-1", "?limit=", "?top=1", "?limit=1&limit=2"):
            self.assert_mistake(self.admin("/v1/top" + query, method="GET"), 400, "limit=N")

    def test_405_says_which_method_and_404_which_paths(self):
        for target, allowed in (("/v1/limits", "GET, HEAD"), ("/v1/top", "GET, HEAD"), ("/v1/keys/read", "POST")):
            answer = self.admin(target, b"{}", method="DELETE")
            self.assert_mistake(answer, 405, allowed)
            self.assertEqual(answer.field("Allow"), allowed)
        self.assert_mistake(self.admin("/v1/check", method="GET"), 404, "/v1/keys/reset", "/metrics")


class Reloads(AdminTest):
    def test_a_reload_answers_when_it_is_done(self):
        before = "orders"
        for turn in range(5):
            capacity, name = 7 + turn, f"buys{turn}"
            self.daemon.write(POLICY.replace("capacity: 3", f"capacity: {capacity}").replace("name: orders", f"name: {name}"))
            answer = self.admin("/v1/reload", token=TOKEN).json()
            if answer["added"]:
                break  # else the watch for changed files was faster, on a busy machine
            before = name
        self.assertEqual(answer, {"added": [f"shop/{name}"], "changed": ["shop/per-user"], "removed": [f"shop/{before}"],
                                  "unchanged": 0, "needs_restart": []})
        self.assertEqual(self.remaining(), capacity)
        again = self.admin("/v1/reload", token=TOKEN).json()
        self.assertEqual((again["added"], again["changed"], again["removed"], again["unchanged"]), ([], [], [], 2))

    def test_a_bad_policy_is_told_and_the_running_one_stays(self):
        self.daemon.write(POLICY.replace("refill: 1/day}\n  premium", "refil: 1/day}\n  premium"))
        problem = self.assert_mistake(self.admin("/v1/reload", token=TOKEN), 422, "the running policy stays")
        self.assertIn("limits.yaml:7:", problem["error"])
        self.assertIn("did you mean `refill`", problem["error"])
        self.assertEqual(self.check().status, 200)
        until(lambda: [line["result"] for line in self.audits()] == ["failed"], "the audit line")

    def test_many_at_once_are_all_answered(self):
        clients = [Client(self.daemon.admin) for _ in range(20)]
        for client in clients:
            client.send(request("POST", "/v1/reload", {"Authorization": f"Bearer {TOKEN}"}))
        self.assertEqual({client.read().status for client in clients}, {200})
        for client in clients:
            client.close()

    def test_who_does_not_wait_for_the_answer_breaks_nothing(self):
        for _ in range(20):
            with Client(self.daemon.admin) as client:
                client.send(request("POST", "/v1/reload", {"Authorization": f"Bearer {TOKEN}"}))
        self.assertEqual(self.admin("/v1/reload", token=TOKEN).status, 200)


class Hostile(AdminTest):
    def test_a_body_over_64_KiB_is_413_before_it_comes(self):
        for target in ("/v1/keys/read", "/v1/refund"):
            with Client(self.daemon.admin) as client:
                client.send(request("POST", target, {"Content-Length": (64 << 10) + 1}))
                self.assert_mistake(client.read(), 413)
        deep = b"[" * 60000
        self.assert_mistake(self.admin("/v1/keys/read", deep), 400, "not JSON")
        many = {"limit": "per-user", "attributes": {f"a{i}": "x" for i in range(65)}}
        self.assert_mistake(self.admin("/v1/keys/read", many), 400, "more than 64")

    def test_what_is_no_http_gets_a_problem_and_the_door(self):
        for data in (b"\x16\x03\x01\x02\x00\x01\x00", b"GET /metrics\r\n\r\n", b"POST /v1/reload HTTP/1.1\r\n\r\n"):
            with Client(self.daemon.admin) as client:
                client.send(data + b"\r\n\r\n")
                self.assert_mistake(client.read(), 400)

    def test_slow_readers_and_strangers_do_not_hold_up_decisions(self):
        slow = [Client(self.daemon.admin) for _ in range(50)]
        stop = threading.Event()

        def guess():
            while not stop.is_set():
                self.admin("/v1/keys/reset", b"{}", "a-token-that-is-wrong", source="127.0.0.3")

        guesser = threading.Thread(target=guess)
        try:
            for client in slow:  # asks for much and reads nothing, within what the kernel takes
                client.send(request("GET", "/metrics") * 200 + request("POST", "/v1/keys/read",
                                                                       {"Content-Length": 1000}))
            guesser.start()
            with Client(self.http) as client:
                body = b'{"attributes":{"user":"u9"},"cost":0}'
                for _ in range(300):
                    self.assertEqual(client.ask("POST", "/v1/check", body=body).status, 200)
            self.assertEqual(self.admin("/v1/reload", token=TOKEN).status, 200)
        finally:
            stop.set()
            guesser.join()
            for client in slow:
                client.close()


if __name__ == "__main__":
    unittest.main()

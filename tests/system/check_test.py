"""/v1/check and /v1/check/batch of the finished program, and the cases from production over them."""

import math
import time
import unittest

from harness import Client, Suimon, ask, request
from http_base import DAY, PER_ADDRESS, POLICY, HttpTest


class Check(HttpTest):
    def test_an_allowed_check_says_what_is_left(self):
        answer = self.check(domain="shop", cost=2)
        self.assertEqual(answer.status, 200)
        self.assertEqual(answer.field("Content-Type"), "application/json")
        self.assertEqual(answer.field("Cache-Control"), "no-store")
        self.assertEqual(answer.field("RateLimit-Policy"), f'"per-user";q=3;w={3 * DAY}')
        self.assertEqual(answer.field("RateLimit"), f'"per-user";r=1;t={DAY}')
        self.assertIsNone(answer.field("Retry-After"))
        limit = {"name": "per-user", "allowed": True, "capacity": 3, "remaining": 1, "retry_after_ms": None,
                 "reset_after_ms": 2 * DAY * 1000, "shadow": False}
        self.assertEqual(answer.json(), {
            "allowed": True, "binding": "per-user", "remaining": 1, "retry_after_ms": None,
            "reset_after_ms": 2 * DAY * 1000, "limits": [limit]})

    def test_a_refused_check_says_why_and_when(self):
        self.assertEqual(self.check(cost=3).status, 200)
        answer = self.check(fields={"Accept-Language": "ja"})
        self.assertEqual((answer.status, answer.reason), (429, "Too Many Requests"))
        self.assertEqual(answer.field("Content-Type"), "application/problem+json")
        self.assertEqual(answer.field("Cache-Control"), "no-store")
        self.assertEqual(answer.field("Content-Language"), "ja")
        self.assertEqual(answer.field("Vary"), "Accept, Accept-Language")
        problem = answer.json()
        wait = int(answer.field("Retry-After"))
        self.assertEqual(wait, math.ceil(problem["retry_after_ms"] / 1000))
        self.assertEqual(answer.field("RateLimit"), f'"per-user";r=0;t={wait}')
        self.assertEqual(problem["type"], "https://iana.org/assignments/http-problem-types#quota-exceeded")
        self.assertEqual((problem["status"], problem["allowed"], problem["binding"], problem["remaining"]),
                         (429, False, "per-user", 0))
        self.assertEqual(problem["violated-policies"], ["per-user"])
        self.assertIn(f"{wait}秒待ってから", problem["error"])
        self.assertNotIn("never", problem)
        (limit,) = problem["limits"]
        self.assertEqual((limit["name"], limit["allowed"], limit["capacity"]), ("per-user", False, 3))

    def test_plain_json_where_accept_asks_for_it(self):
        self.check(cost=3)
        for accept, content_type in (
            ("application/json", "application/json"),
            ("application/problem+json", "application/problem+json"),
            ("application/problem+json, application/json", "application/problem+json"),
            ("*/*", "application/problem+json"),
        ):
            with self.subTest(accept):
                answer = self.check(fields={"Accept": accept})
                self.assertEqual((answer.status, answer.field("Content-Type")), (429, content_type))

    def test_nothing_matches(self):
        answer = self.check({})
        self.assertEqual(answer.status, 200)
        self.assertIsNone(answer.field("RateLimit"))
        body = answer.json()
        self.assertEqual((body["allowed"], body["binding"], body["limits"]), (True, None, []))

    def test_cost_0_looks_without_taking(self):
        for _ in range(5):
            answer = self.check(cost=0)
            self.assertEqual((answer.status, answer.json()["remaining"]), (200, 3))
            self.assertEqual(answer.field("RateLimit"), '"per-user";r=3')
        self.assertEqual(self.check(cost=3).status, 200)
        looked = self.check(cost=0)
        self.assertEqual((looked.status, looked.json()["remaining"]), (200, 0))

    def test_a_refused_check_takes_nothing(self):
        self.assertEqual(self.check(cost=2).json()["remaining"], 1)
        for _ in range(5):
            self.assertEqual(self.check(cost=2).status, 429)
        self.assertEqual(self.check(cost=1).json()["remaining"], 0)

    def test_a_cost_above_the_capacity_never_passes(self):
        for cost in (4, 2**63, 2**64 - 1):
            answer = self.check(cost=cost)
            self.assertEqual(answer.status, 429)
            self.assertIsNone(answer.field("Retry-After"))
            problem = answer.json()
            self.assertIs(problem["never"], True)
            self.assertEqual(problem["type"], "urn:suimon:problem:cost-exceeds-capacity")
            self.assertIsNone(problem["retry_after_ms"])
            self.assertEqual(problem["remaining"], 3)
            self.assertIn(str(cost), problem["error"])
        self.assertEqual(self.check(cost=3).status, 200)

    def test_the_cost_of_the_limit_times_that_of_the_request(self):
        order = {"user": "u1", "method": "POST", "path": "/v1/orders/7"}
        body = self.check(order, cost=1).json()
        self.assertEqual(body["binding"], "orders", "one more of these, but two by the other limit")
        body = self.check(order, cost=0).json()
        self.assertEqual({limit["name"]: limit["remaining"] for limit in body["limits"]},
                         {"per-user": 2, "orders": 5})
        refused = self.check(order, cost=2).json()
        self.assertEqual((refused["allowed"], refused["binding"]), (False, "orders"))

    def test_deny_status_is_the_callers_choice(self):
        self.check(cost=3)
        for status in (200, 403, 429, 503):
            answer = self.check(query=f"?deny_status={status}")
            self.assertEqual(answer.status, status)
            problem = answer.json()
            self.assertEqual((problem["allowed"], problem["status"]), (False, status))
            self.assertTrue(answer.field("Retry-After"))

    def test_a_missing_attribute_that_is_needed(self):
        self.daemon.reload(POLICY.replace("on_missing: skip", "on_missing: deny"))
        answer = self.check({})
        self.assertEqual(answer.status, 429)
        problem = answer.json()
        self.assertEqual((problem["allowed"], problem["binding"]), (False, "per-user"))
        self.assertIn('"user"', problem["error"])
        self.assertIsNone(answer.field("Retry-After"))
        empty = self.check({"user": ""})
        self.assertEqual(empty.status, 429, "an empty attribute is a missing one")

    def test_mistakes_are_answered_with_what_is_wrong(self):
        for body, words in (
            ({"atributes": {}}, ('"atributes"', "attributes")),
            (b'{"cost":1,"cost":1}', ('"cost"', "twice")),
            (b'{"cost":1,"co\\u0073t":1}', ('"cost"', "twice")),
            (b'{"attributes":{"user":"a","user":"b"}}', ('"user"', "twice")),
            (b'{"attributes":', ("JSON",)),
            (b"", ("JSON",)),
            (b"{} {}", ("JSON",)),
            (b'{"attributes":{"user":"\xff"}}', ("JSON",)),
            (b"[" * 2000, ("JSON",)),
            ([], ("object",)),
            ({"attributes": []}, ("attributes",)),
            ({"attributes": {"user": 1}}, ("attributes.user", "string")),
            ({"attributes": {"user": None}}, ("attributes.user", "string")),
            ({"attributes": {f"a{i}": "x" for i in range(65)}}, ("64",)),
            ({"cost": -1}, ("cost", "0 or more")),
            ({"cost": 1.5}, ("cost", "whole")),
            ({"cost": "1"}, ("cost",)),
            (b'{"cost":18446744073709551616}', ()),
            ({"domain": 7}, ("domain",)),
            ({"domain": "shpo"}, ("domain", "shop")),
            ({"attributes": {"path": "/a%zz"}}, ("path",)),
            ({"attributes": {"path": "no/slash"}}, ("path",)),
        ):
            with self.subTest(body):
                self.assert_mistake(self.post("/v1/check", body), 400, *words)
        self.assertEqual(self.check(cost=3).status, 200, "none of them was charged")

    def test_mistakes_in_the_query(self):
        for query, word in (("?deny_status=404", "deny_status"), ("?deny_status=", "deny_status"),
                            ("?deny_statsu=403", "deny_status"), ("?x", "deny_status")):
            with self.subTest(query):
                self.assert_mistake(self.check(query=query), 400, word)
                self.assert_mistake(ask(self.http, "GET", "/v1/forward-auth" + query), 400, word)
        self.assert_mistake(self.check(query="?domain=shop"), 400, "domain", "body")
        self.assert_mistake(self.post("/v1/check/batch?domain=shop", []), 400, "domain", "body")

    def test_answers_to_HEAD_have_no_body(self):
        with Client(self.http) as client:
            for target in ("/healthz", "/readyz", "/v1/forward-auth", "/v1/refusal"):
                head = client.ask("HEAD", target)
                get = client.ask("GET", target)
                self.assertEqual((head.status, head.field("Content-Length")),
                                 (get.status, str(len(get.body))), target)
            self.assertEqual(client.ask("HEAD", "/nowhere").status, 404)
            self.assertEqual(client.ask("HEAD", "/v1/check").status, 405)


class Batch(HttpTest):
    def test_answers_stand_in_the_order_of_the_checks(self):
        checks = [{"attributes": {"user": f"u{i % 7}"}} for i in range(100)]
        answer = self.post("/v1/check/batch", checks)
        self.assertEqual((answer.status, answer.field("Content-Type")), (200, "application/json"))
        self.assertEqual(answer.field("Cache-Control"), "no-store")
        seen = {}
        for check, one in zip(checks, answer.json(), strict=True):
            user = check["attributes"]["user"]
            seen[user] = seen.get(user, 0) + 1
            self.assertEqual(one["allowed"], seen[user] <= 3, (user, seen[user]))
            self.assertEqual(one["remaining"], max(0, 3 - seen[user]))

    def test_mistakes_between_good_checks_concern_only_themselves(self):
        good = {"attributes": {"user": "u1"}}
        answer = self.post("/v1/check/batch", [
            good, {"cots": 1}, good, {"domain": "other"}, 7, {"attributes": {"path": "/%zz"}}, good,
            good, {"attributes": {"user": "u2"}, "cost": 4}], {"Accept-Language": "ja"})
        self.assertEqual((answer.status, answer.field("Content-Language")), (200, "ja"))
        elements = answer.json()
        statuses = [200, 400, 200, 400, 400, 400, 200, 429, 429]
        self.assertEqual([e.get("status", 200) for e in elements], statuses)
        self.assertEqual([e.get("remaining") for e in elements], [2, None, 1, None, None, None, 0, 0, 3])
        self.assertIn('"cots"', elements[1]["error"])
        self.assertIn("shop", elements[3]["error"])
        self.assertIn("秒待ってから", elements[7]["error"])
        self.assertIs(elements[8]["never"], True)

    def test_each_element_is_what_a_check_alone_would_have_been_told(self):
        checks = [{"attributes": {"user": "x"}, "cost": cost} for cost in (1, 0, 9, 2, 5)]
        checks += [{"attributes": {}}, {"wrong": 1}, {"domain": "no"}]
        together = self.post("/v1/check/batch?deny_status=403", checks).json()
        for check, batched in zip(checks, together, strict=True):
            if check.get("attributes"):
                check["attributes"]["user"] = "y"
            alone = self.post("/v1/check?deny_status=403", check).json()
            for body in (alone, batched):  # clocks run on between the two
                for part in [body, *body.get("limits", [])]:
                    for wait in ("retry_after_ms", "reset_after_ms"):
                        if part.get(wait):
                            part[wait] = round(part[wait] / DAY / 1000)
                if batched.get("retry_after_ms"):
                    body["error"] = ""
            self.assertEqual(batched, alone)

    def test_a_thousand_and_not_one_more(self):
        one = {"attributes": {"user": "u1"}}
        answer = self.post("/v1/check/batch", [one] * 1000)
        self.assertEqual([e["allowed"] for e in answer.json()], [True] * 3 + [False] * 997)
        self.assert_mistake(self.post("/v1/check/batch", [one] * 1001), 400, "1000")
        self.assertEqual(self.post("/v1/check/batch", []).json(), [])
        self.assert_mistake(self.post("/v1/check/batch", one), 400, "array")
        self.assert_mistake(self.post("/v1/check/batch", b"[{},"), 400, "JSON")


class Cases(HttpTest):
    policy = None  # each its own

    def test_C12_who_waits_as_told_is_not_refused_again_and_never_told_too_long(self):
        """In real time. The promise lies between two readings of our own clock, so that however slow
        the machine is, a refusal after it or an acceptance before it is a fault."""
        self.start("""\
version: 1
domain: shop
limits:
  - {name: lone, key: [user], token_bucket: {capacity: 1, refill: 1 per 300ms}}
""")
        data = request("POST", "/v1/check", {}, b'{"attributes":{"user":"u1"}}')
        with Client(self.http) as client:
            client.send(data)
            self.assertEqual(client.read().status, 200)
            sent = time.monotonic()
            client.send(data)
            refused = client.read()
            heard = time.monotonic()
            self.assertEqual((refused.status, refused.field("Retry-After")), (429, "1"), refused)
            wait = refused.json()["retry_after_ms"] / 1000
            self.assertTrue(0 < wait <= 0.3, wait)
            while True:
                asked = time.monotonic()
                client.send(data)
                answer = client.read()
                answered = time.monotonic()
                if answer.status == 200:
                    break
                self.assertGreaterEqual(int(answer.field("Retry-After")), 1)
                self.assertLess(asked, heard + wait, "refused after the promised wait")
            self.assertGreater(answered, sent + wait - 0.001, "allowed before the promised wait")

    def test_C12_the_header_is_rounded_up(self):
        self.start("""\
version: 1
domain: shop
limits:
  - {name: lone, key: [user], token_bucket: {capacity: 1, refill: 1 per 100000s}}
""")
        self.assertEqual(self.check().status, 200)
        for _ in range(20):
            refused = self.check()
            milliseconds = refused.json()["retry_after_ms"]
            self.assertEqual(int(refused.field("Retry-After")), -(-milliseconds // 1000))
            self.assertRegex(refused.field("RateLimit"), f";t={-(-milliseconds // 1000)}$")

    def test_C13_a_refusal_of_the_narrow_limit_spends_nothing_of_the_broad_one(self):
        self.start("""\
version: 1
domain: shop
limits:
  - {name: g, key: [group], token_bucket: {capacity: 10, refill: 10/day}}
  - {name: r, key: [group, route], token_bucket: {capacity: 3, refill: 3/day}}
""")
        both = {"group": "g", "route": "r"}
        answers = [self.check(both) for _ in range(5)]
        self.assertEqual([answer.status for answer in answers], [200] * 3 + [429] * 2)
        last = answers[-1].json()
        self.assertEqual([(limit["name"], limit["allowed"], limit["remaining"]) for limit in last["limits"]],
                         [("g", True, 7), ("r", False, 0)])
        self.assertEqual((last["binding"], last["violated-policies"]), ("r", ["r"]))
        self.assertEqual(answers[-1].field("RateLimit-Policy"), '"g";q=10;w=86400, "r";q=3;w=86400')
        self.assertEqual(self.verdicts(*[{"group": "g"}] * 8), [True] * 7 + [False])
        metrics = self.daemon.metrics()
        limited = 'suimon_limit_decisions_total{domain="shop",limit="%s",verdict="limited"}'
        self.assertEqual((metrics[limited % "g"], metrics[limited % "r"]), (1, 2))

    def test_C23_an_IPv6_client_rotates_inside_its_64(self):
        clients = ("2001:db8:1:2::1", "2001:db8:1:2:ffff::9", "2001:DB8:1:2:0:0:0:A", "2001:db8:1:3::1",
                   "192.0.2.7", "192.0.2.8")
        checks = [{"client_ip": client} for client in clients]
        for prefix, expected in (
            (64, [True, True, False, True, True, True]),
            (48, [True, True, False, False, True, True]),
            (128, [True, True, True, True, True, True]),
        ):
            with self.subTest(prefix):
                self.start(PER_ADDRESS + f"client_ip: {{ipv6_prefix: {prefix}}}\n")
                self.assertEqual(self.verdicts(*checks), expected)
        self.start(PER_ADDRESS)
        self.assertEqual(self.verdicts(*checks), [True, True, False, True, True, True], "64 is the default")

    def test_C23_one_IPv4_client_under_several_spellings(self):
        self.start(PER_ADDRESS)
        self.assertEqual(self.verdicts({"client_ip": "192.0.2.7"}, {"client_ip": "::ffff:192.0.2.7"},
                                       {"client_ip": "::ffff:c000:207"}), [True, True, False])

    def test_C27_key_and_value_do_not_run_together(self):
        self.start("""\
version: 1
domain: shop
limits:
  - {name: a, match: {a: b}, key: [a], token_bucket: {capacity: 1, refill: 1/day}}
  - {name: b, key: [a_b], token_bucket: {capacity: 1, refill: 1/day}}
  - {name: pair, key: [x, y], token_bucket: {capacity: 1, refill: 1/day}}
""")
        for attributes in ({"a": "b"}, {"a_b": "x"}, {"x": "aa", "y": "b"}, {"x": "a", "y": "ab"}):
            with self.subTest(attributes):
                self.assertEqual(self.verdicts(attributes, attributes), [True, False])

    def test_several_domains(self):
        folder = self.folder / "policies"
        folder.mkdir()
        for domain, capacity in (("shop", 1), ("blog", 2)):
            text = PER_ADDRESS.replace("shop", domain).replace("capacity: 2", f"capacity: {capacity}")
            (folder / f"{domain}.yaml").write_text(text, encoding="utf-8")
        class OfFolder(Suimon):
            def write(self, policy):
                self.policy_file = folder

        self.daemon = self.ended_with_test(OfFolder(self.folder, None))
        self.http = self.daemon.http
        address = {"client_ip": "192.0.2.7"}
        self.assertEqual([self.check(address, domain="shop").status for _ in range(2)], [200, 429])
        self.assertEqual([self.check(address, domain="blog").status for _ in range(3)], [200, 200, 429])
        self.assert_mistake(self.check(address), 400, "shop", "blog")
        self.assert_mistake(ask(self.http, "GET", "/v1/forward-auth"), 400, "shop", "blog")
        got = [ask(self.http, "GET", "/v1/forward-auth?domain=shop").status for _ in range(2)]
        self.assertEqual(got, [200, 429])
        counted = 'suimon_requests_total{door="http",domain="blog",verdict="limited"}'
        self.assertEqual(self.daemon.metrics()[counted], 1)

if __name__ == "__main__":
    unittest.main()

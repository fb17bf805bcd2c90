"""What clients meet at an nginx that asks suimon: refusals, and forgeries that change nothing."""

import unittest

from harness import Client
from nginx_base import THREE_A_DAY, NginxTest


class Refusals(NginxTest):
    def test_the_fourth_of_three_is_told_what_when_and_how_long(self):
        self.start()
        for left in (2, 1, 0):
            answer = self.get("/items?page=1")
            self.assertEqual(answer.status, 200, answer)
            self.assertEqual(answer.field("RateLimit-Policy"), '"per-address";q=3;w=259200')
            self.assertRegex(answer.field("RateLimit"), rf'^"per-address";r={left};t=\d+$')
            self.assertIsNone(answer.field("Retry-After"))
            self.assertEqual(answer.json()["path"], "/items?page=1")
        answer = self.get("/items?page=1")
        self.assertEqual((answer.status, answer.reason), (429, "Too Many Requests"))
        self.assertEqual(answer.field("RateLimit-Policy"), '"per-address";q=3;w=259200')
        wait = int(answer.field("Retry-After"))
        self.assertTrue(0 < wait <= 86400, wait)
        self.assertEqual(answer.field("RateLimit"), f'"per-address";r=0;t={wait}')
        self.assertEqual(answer.field("Content-Type"), "application/problem+json")
        self.assertEqual(answer.field("Cache-Control"), "no-store")
        problem = answer.json()
        self.assertEqual((problem["status"], problem["binding"]), (429, "per-address"))
        self.assertEqual(problem["violated-policies"], ["per-address"])
        self.assertIsNone(answer.field("X-Suimon-Verdict"))
        self.assertEqual(len(self.application.seen), 3, "a refused request never reaches the application")

    def test_other_header_dialects_are_handed_on_too(self):
        self.start(THREE_A_DAY.replace("limits:", "responses: {headers: [x-ratelimit]}\nlimits:"))
        for left in ("2", "1", "0"):
            answer = self.get("/items")
            fields = [answer.field(f"X-RateLimit-{name}") for name in ("Limit", "Remaining")]
            self.assertEqual((answer.status, fields), (200, ["3", left]))
            self.assertTrue(0 < int(answer.field("X-RateLimit-Reset")) <= 3 * 86400)
            self.assertIsNone(answer.field("RateLimit"))
        answer = self.get("/items")
        self.assertEqual((answer.status, answer.field("X-RateLimit-Remaining")), (429, "0"))  # once
        self.assertIsNone(answer.field("RateLimit"))

    def test_the_sentence_is_in_the_callers_language(self):
        self.start()
        self.assertEqual(self.statuses(3), [200] * 3)
        for accepted, language, words in (
            ("ja", "ja", "秒待ってから、もう一度お試しください。"),
            ("it;q=0.9, ja-JP;q=0.8, en;q=0.1", "ja", "秒待ってから、もう一度お試しください。"),
            ("en-GB,ja;q=0.5", "en", "seconds, then try again."),
            ("fr", "fr", "secondes, puis réessayer."),
            ("it", "en", "seconds, then try again."),
        ):
            with self.subTest(accepted):
                answer = self.get(fields={"Accept-Language": accepted})
                self.assertEqual((answer.status, answer.field("Content-Language")), (429, language))
                self.assertEqual(answer.field("Vary"), "Accept, Accept-Language")
                self.assertIn(words, answer.json()["error"])
                self.assertIn("per-address", answer.json()["error"])

    def test_accept_asks_for_plain_json(self):
        self.start()
        self.assertEqual(self.statuses(3), [200] * 3)
        answer = self.get(fields={"Accept": "application/json"})
        self.assertEqual((answer.status, answer.field("Content-Type")), (429, "application/json"))

    def test_two_clients_are_apart(self):
        self.start()
        self.assertEqual(self.statuses(4, source="127.0.0.2"), [200, 200, 200, 429])
        self.assertEqual(self.statuses(4, source="127.0.0.3"), [200, 200, 200, 429])

    def test_over_a_unix_socket(self):
        self.start(unix=True)
        self.assertEqual(self.statuses(4, source="127.0.0.2"), [200, 200, 200, 429])
        self.assertEqual(self.statuses(4, source="127.0.0.3"), [200, 200, 200, 429])

    def test_head_is_charged_and_has_no_body(self):
        self.start()
        with Client(self.address, "127.0.0.2") as client:
            for _ in range(3):
                self.assertEqual(client.ask("HEAD", "/").status, 200)
            refused = client.ask("HEAD", "/")
            self.assertEqual(refused.status, 429)
            self.assertTrue(refused.field("Retry-After"))
            self.assertEqual(client.ask("GET", "/").status, 429, "the connection is in step")

    def test_a_body_reaches_the_application_when_allowed(self):
        self.start()
        fixed = self.get("/orders", method="POST", body=b"one order")
        self.assertEqual((fixed.status, fixed.json()["body"]), (200, "one order"))
        chunked = self.get("/orders", method="PUT", fields={"Transfer-Encoding": "chunked"},
                           body=b"4\r\nfour\r\n6\r\nor ten\r\n0\r\n\r\n")
        self.assertEqual((chunked.status, chunked.json()["body"]), (200, "fouror ten"))
        self.assertEqual(self.get("/orders", method="DELETE").status, 200)
        with Client(self.address, "127.0.0.2") as client:
            refused = client.ask("POST", "/orders", body=b"too many" * 1000)
            self.assertEqual((refused.status, refused.field("Content-Type")), (429, "application/problem+json"))
            self.assertEqual(client.ask("GET", "/").status, 429, "the connection is in step")
        self.assertEqual([body for _, _, body in self.application.seen], [b"one order", b"fouror ten", b""])

    def test_methods_and_paths_reach_the_policy(self):
        self.start(THREE_A_DAY + """\
  - name: payments
    match: {path: /v1/payments/**, method: POST, host: pay.example}
    key: [client_ip]
    token_bucket: {capacity: 1, refill: 1/day}
""")
        pay = {"Host": "pay.example"}
        self.assertEqual(self.get("/v1/payments/7?x=/", pay, method="POST").status, 200)
        refused = self.get("/v1/./x/../payments/8", pay, method="POST")
        self.assertEqual((refused.status, refused.json()["binding"]), (429, "payments"))
        self.assertEqual(self.get("/v1/payments/7", pay, method="GET").status, 200)
        self.assertEqual(self.get("/v1/payments/7", method="POST").status, 200, "another host")

    def test_a_cost_that_never_passes_has_no_retry_after(self):
        self.start(THREE_A_DAY + """\
  - name: uploads
    key: [client_ip]
    on_missing: deny
    token_bucket: {tier: {from: plan, default: large}}
    cost: 50
tiers:
  large: {capacity: 100, refill: 1/day}
  small: {capacity: 10, refill: 1/day}
attributes:
  plan: {header: X-Plan}
""")
        never = self.get(fields={"X-Plan": "small"})
        self.assertEqual((never.status, never.json()["never"]), (429, True), never)
        self.assertIsNone(never.field("Retry-After"))
        self.assertEqual(self.get().status, 200)

    def test_sixteen_limits_with_the_longest_names_fit(self):
        names = [f"{i:02}-".ljust(64, "x") for i in range(16)]
        self.start("version: 1\ndomain: shop\nlimits:\n" + "".join(f"""\
  - name: {name}
    key: [client_ip]
    token_bucket: {{capacity: {1 if name == names[7] else 1000000}, refill: 1/day}}
""" for name in names))
        for host, source in (("shop.example", "127.0.0.2"), ("adverse.example", "127.0.0.3")):
            with self.subTest(host):
                allowed, refused = (self.get(fields={"Host": host}, source=source) for _ in range(2))
                self.assertEqual((allowed.status, refused.status), (200, 429), refused)
                for answer in (allowed, refused):
                    self.assertEqual(answer.field("RateLimit-Policy").count(";q="), 16)
                self.assertEqual(refused.json()["violated-policies"], [names[7]])


class Forgeries(NginxTest):
    def test_a_clients_own_headers_change_nothing(self):
        self.start(THREE_A_DAY + """\
  - name: payments
    match: {path: /pay/**, method: POST, host: shop.example}
    key: [client_ip]
    token_bucket: {capacity: 1, refill: 1/day}
""")
        self.assertEqual(self.get("/pay/1", method="POST").status, 200)
        for number, (name, value) in enumerate((
            ("X-Forwarded-For", "198.51.100.{}"),
            ("x-forwarded-for", "198.51.100.{}, 203.0.113.1"),
            ("X_Forwarded_For", "198.51.100.{}"),
            ("X-Real-IP", "198.51.100.{}"),
            ("Forwarded", "for=198.51.100.{}"),
            ("CF-Connecting-IP", "198.51.100.{}"),
            ("True-Client-IP", "198.51.100.{}"),
            ("X-Forwarded-Method", "GET"),
            ("X-HTTP-Method-Override", "GET"),
            ("X-Forwarded-Uri", "/free"),
            ("X-Original-URI", "/free"),
            ("X-Forwarded-Host", "free.example"),
            ("X-Suimon-Verdict", "1 a 429 payments,a,1,9,1,9,1,1,-,-,"),
            ("X-Suimon-Verdict", "garbage"),
            ("Connection", "close, X-Forwarded-For, X-Forwarded-Uri"),
        )):
            with self.subTest(name):
                for fields in ([(name, value.format(number))], [(name, value.format(number))] * 2):
                    refused = self.get("/pay/2", fields, method="POST")
                    self.assertEqual((refused.status, refused.json()["binding"]), (429, "payments"), refused)
        self.assertEqual(self.counted("allowed"), 1)

    def test_a_forged_verdict_refuses_nobody(self):
        self.start()
        forged = {"X-Suimon-Verdict": "1 l 429 shop per-address,l,1,3,1,0,9,9,9,9,"}
        self.assertEqual(self.statuses(4, fields=forged), [200, 200, 200, 429])

    def test_the_internal_location_is_not_there_for_clients(self):
        self.start()
        self.assertEqual(self.get("/.suimon/check").status, 404)
        self.assertEqual(self.counted("allowed"), 0)

    def test_an_application_that_imitates_a_verdict_is_passed_on(self):
        self.start()
        answer = self.get("/imitates")
        self.assertEqual(answer.status, 200)
        self.assertRegex(answer.field("RateLimit"), r'^"per-address";r=2;')

    def test_C25_a_forged_prefix_counts_on_the_address_that_the_CDN_saw(self):
        self.start(THREE_A_DAY.replace("capacity: 3", "capacity: 2"))

        def got(host, forwarded, source):
            headers = [{"X-Forwarded-For": value} if value else {} for value in forwarded]
            return [self.get(fields={"Host": host, **one}, source=source).status for one in headers]

        for host, client in (("cdn.example", "7.7.7.7"), ("hops.example", "7.7.7.8")):
            with self.subTest(host):
                lists = [f"{forged}, {client}" for forged in ("a.a.a.a", "b.b.b.b", "198.51.100.77")]
                self.assertEqual(got(host, lists, "127.0.0.9"), [200, 200, 429])
        with self.subTest("header absent"):
            self.assertEqual(got("cdn.example", [None] * 3, "127.0.0.9"), [200, 200, 429])
        with self.subTest("somebody who is not the CDN"):
            claims = ["7.7.7.20", "7.7.7.21", "7.7.7.22"]
            self.assertEqual(got("cdn.example", claims, "127.0.0.5"), [200, 200, 429])

    def test_C25_a_two_hops_but_one_entry_is_the_peer(self):
        self.start(THREE_A_DAY.replace("capacity: 3", "capacity: 2") + "client_ip: {trusted_hops: 2}\n")
        through = {"Host": "hops.example", "X-Forwarded-For": "a.a.a.a, 7.7.7.7"}
        self.assertEqual(self.statuses(3, fields=through, source="127.0.0.9"), [200, 200, 429])
        # nginx has added the only entry, so the CDN was passed by: all of these are one client.
        alone = {"Host": "hops.example"}
        got = [self.get(fields=alone, source=f"127.0.0.{i}").status for i in (2, 3, 4)]
        self.assertEqual(got, [200, 200, 429])

    @staticmethod
    def policy_by_key(on_missing):
        return THREE_A_DAY + f"""\
  - name: per-key
    key: [api_key]
    on_missing: {on_missing}
    token_bucket: {{capacity: 1, refill: 1/day}}
attributes:
  api_key: {{header: X-API-Key}}
"""

    def test_C25_b_a_missing_key_is_skipped_and_the_other_limit_applies(self):
        self.start(self.policy_by_key("skip"))
        for source in ("127.0.0.2", "127.0.0.3", "127.0.0.4"):
            self.assertEqual(self.statuses(4, source=source), [200, 200, 200, 429])
        with_key = {"X-API-Key": "k1"}
        refused = [self.get(fields=with_key, source=f"127.0.0.{i}") for i in (5, 6)]
        self.assertEqual([answer.status for answer in refused], [200, 429])
        self.assertEqual(refused[1].json()["binding"], "per-key")

    def test_C25_b_a_missing_key_is_denied_and_charges_nobody(self):
        self.start(self.policy_by_key("deny"))
        for source in ("127.0.0.2", "127.0.0.3", "127.0.0.4"):
            refused = self.get(source=source, fields={"Accept-Language": "ja"})
            self.assertEqual((refused.status, refused.json()["binding"]), (429, "per-key"), refused)
            self.assertIn("「api_key」", refused.json()["error"])
            self.assertIsNone(refused.field("Retry-After"))
        passed = self.get(source="127.0.0.2", fields={"X-API-Key": "k1"})
        self.assertEqual(passed.status, 200)
        self.assertRegex(passed.field("RateLimit"), r'^"per-key";r=0;')
        refused = self.get(source="127.0.0.2", fields={"X-API-Key": "k1"}).json()["limits"]
        (address,) = (limit for limit in refused if limit["name"] == "per-address")
        self.assertEqual(address["remaining"], 2, "only the request that passed was charged")


class OtherStatuses(NginxTest):
    def test_a_403_of_the_application_stays_one(self):
        self.start()
        for target in ("/forbidden", "/intercepted/forbidden"):
            with self.subTest(target):
                answer = self.get(target)
                self.assertEqual(answer.status, 403)
                self.assertIsNone(answer.field("Retry-After"))
                self.assertTrue(answer.field("RateLimit"))
        self.assertIn('"path": "/forbidden"', self.get("/forbidden").text)

    def test_a_500_of_the_application_stays_one(self):
        self.start()
        self.assertEqual(self.get("/broken").status, 500)

    def test_a_403_of_nginx_stays_one(self):
        self.start()
        for _ in range(5):
            answer = self.get("/denied/")
            self.assertEqual(answer.status, 403)
            self.assertIsNone(answer.field("Retry-After"))

    def test_locations_without_limit_are_free(self):
        self.start()
        for _ in range(5):
            answer = self.get("/free/x")
            self.assertEqual((answer.status, answer.field("RateLimit")), (200, None))
        self.assertEqual(self.counted("allowed"), 0)

    def test_an_index_page_is_one_charge(self):
        self.start()
        for target, left in (("/files/", 2), ("/fallback/nothing", 1), ("/longer/nothing", 0)):
            with self.subTest(target):
                answer = self.get(target)
                self.assertEqual((answer.status, answer.text), (200, "a file"))
                self.assertRegex(answer.field("RateLimit"), rf'^"per-address";r={left};')
                self.assertEqual(answer.field("RateLimit-Policy"), '"per-address";q=3;w=259200')
        self.assertEqual(self.get("/files/").status, 429)
        self.assertEqual(self.counted("allowed"), 3)

    def test_a_whole_server_is_limited(self):
        self.start()
        fields = {"Host": "whole.example"}
        for target, left in (("/", 2), ("/files/", 1), ("/x", 0)):
            answer = self.get(target, fields)
            self.assertEqual(answer.status, 200)
            self.assertRegex(answer.field("RateLimit"), rf'^"per-address";r={left};')
            self.assertEqual(answer.field("Strict-Transport-Security"), "max-age=60")
        refused = self.get("/", fields)
        self.assertEqual((refused.status, refused.json()["status"]), (429, 429))
        self.assertRegex(refused.field("RateLimit"), r'^"per-address";r=0;')  # once
        self.assertEqual(refused.field("Strict-Transport-Security"), "max-age=60")
        self.assertEqual((self.counted("allowed"), self.counted("limited")), (3, 1))

    def test_what_suimon_cannot_read_is_no_way_past_it(self):
        self.start()
        for name, fields in (
            ("too large", [(f"X-Large-{i}", "x" * 1000) for i in range(20)]),
            ("too many", [(f"X-Many-{i}", "x") for i in range(120)]),
        ):
            with self.subTest(name):
                answer = self.get(fields=fields)
                self.assertEqual(answer.field("Content-Type"), "application/problem+json")
                self.assertEqual((answer.status, answer.json()["status"]), (400, 400))
                self.assertEqual(answer.field("Cache-Control"), "no-store")
        self.assertEqual(self.application.seen, [])
        self.assertEqual(self.get(fields={"Cookie": "x" * 7000, "Referer": "/" + "y" * 7000}).status, 200)

    def test_strange_targets_never_become_500(self):
        self.start(THREE_A_DAY.replace("capacity: 3", "capacity: 100000"))
        for target in (
            "/" + "a" * 8000, "/%ff", "/%c3%28", "/%2f%2F..%2f", "//a//b/./c/../d", "/a%20b?%zz", "/?%",
            "/;a=b", "/a%25%2525", "/%e3%81%82", "/あ", "/%", "/%4", "/%00", "/../..", "/a/../../b",
            "http://shop.example/x?y", "http://shop.example", "*", "/a\\b", "/" + "%41" * 2600, "/a#b",
        ):
            with self.subTest(target[:40]):
                self.assertIn(self.get(target).status, (200, 400))
        with self.subTest("OPTIONS *"):
            self.assertIn(self.get("*", method="OPTIONS").status, (200, 400))

    def test_nginx_has_nothing_to_complain_about(self):
        self.start()
        for target in ("/", "/files/", "/fallback/x", "/free/x", "/closed/x", "/denied/"):
            self.get(target)
        self.assertEqual(self.nginx.stop(), 0)
        said = [line for line in self.nginx.stderr().splitlines() if "access forbidden by rule" not in line]
        self.assertEqual(said, [])

if __name__ == "__main__":
    unittest.main()

"""/v1/forward-auth and /v1/refusal of the finished program: what reverse proxies ask and are told."""

import unittest

from harness import ask
from http_base import DAY, PER_ADDRESS, HttpTest


class ForwardAuth(HttpTest):
    policy = PER_ADDRESS + """\
  - name: payments
    match: {path: /pay/**, method: POST, host: shop.example}
    key: [client_ip]
    token_bucket: {capacity: 1, refill: 1/day}
  - name: per-user
    key: [user]
    token_bucket: {capacity: 1, refill: 1/day}
attributes:
  user: {header: X-User-Id}
"""
    PAY = {"X_Forwarded_Method": "POST", "X_Forwarded_Uri": "/pay/7", "X_Forwarded_Host": "shop.example"}

    def forward(self, client="192.0.2.7", query="", method="GET", source=None, **fields):
        named = {key.replace("_", "-"): value for key, value in fields.items()}
        if client:
            named["X-Forwarded-For"] = client
        return ask(self.http, method, "/v1/forward-auth" + query, named, source=source)

    def test_the_client_is_who_the_proxy_says(self):
        got = [self.forward(client).status for client in ("192.0.2.7", "192.0.2.7", "192.0.2.7", "192.0.2.8")]
        self.assertEqual(got, [200, 200, 429, 200])

    def test_an_allowed_answer_is_empty_and_carries_the_verdict(self):
        answer = self.forward()
        self.assertEqual((answer.status, answer.body), (200, b""))
        self.assertEqual(answer.field("RateLimit"), f'"per-address";r=1;t={DAY}')
        self.assertEqual(answer.field("Cache-Control"), "no-store")
        self.assertTrue(answer.field("X-Suimon-Verdict"))

    def test_method_path_host_and_headers_reach_the_policy(self):
        pay = {**self.PAY, "X_Forwarded_Uri": "/pay/7?q=1"}
        self.assertEqual(self.forward(**pay).status, 200)
        refused = self.forward(**pay)
        self.assertEqual((refused.status, refused.json()["binding"]), (429, "payments"))
        for name, value in (("X_Forwarded_Method", "GET"), ("X_Forwarded_Uri", "/pax"),
                            ("X_Forwarded_Host", "other.example")):
            other = self.forward("192.0.2.9", **{**pay, name: value})
            self.assertNotIn("payments", other.field("RateLimit-Policy"))
        got = [self.forward(f"192.0.2.{i}", X_User_Id="u1").status for i in (20, 21)]
        self.assertEqual(got, [200, 429])

    def test_only_the_proxys_headers_count_not_the_requests_own_line(self):
        others = {"Host": "shop.example", "X_Original_URI": "/pay/1", "X_Rewrite_URL": "/pay/1"}
        answer = self.forward(method="POST", **others)
        self.assertNotIn("payments", answer.field("RateLimit-Policy"))

    def test_any_method_may_ask(self):
        for i, method in enumerate(("GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "PURGE")):
            self.assertEqual(self.forward(f"192.0.2.{i}", method=method).status, 200)

    def test_a_path_that_cannot_be_decoded_is_400(self):
        self.assert_mistake(self.forward(X_Forwarded_Uri="/%zz"), 400, "path")

    def test_a_domain_can_be_named(self):
        self.assertEqual(self.forward(query="?domain=shop").status, 200)
        self.assert_mistake(self.forward(query="?domain=other&deny_status=403"), 400, "shop")

    def test_C25_a_forged_prefix_counts_on_the_address_that_the_proxy_added(self):
        for rule, policy in (("addresses", ""), ("hops", "client_ip: {trusted_hops: 1}\n")):
            with self.subTest(rule):
                self.start(PER_ADDRESS + policy)
                lists = [f"{forged}, 7.7.7.7" for forged in ("a.a.a.a", "b.b.b.b", "c.c.c.c")]
                self.assertEqual([self.forward(one).status for one in lists], [200, 200, 429])
                absent = [self.forward(None, source="127.0.0.4").status for _ in range(3)]
                self.assertEqual(absent, [200, 200, 429])
                said = self.forward("127.0.0.4", source="127.0.0.4")
                self.assertEqual(said.status, 429, "the peer, as above")

    def test_C25_a_two_hops_but_one_entry_is_the_peer(self):
        self.start(PER_ADDRESS + "client_ip: {trusted_hops: 2}\n")
        got = [self.forward(f"7.7.7.{i}", source="127.0.0.4").status for i in range(3)]
        self.assertEqual(got, [200, 200, 429])
        two = [self.forward(f"{i}.1.1.1, 7.7.7.7, 10.0.0.{i}", source="127.0.0.4").status for i in range(3)]
        self.assertEqual(two, [200, 200, 429])

    def test_C25_b_a_missing_key_follows_on_missing(self):
        keyed = PER_ADDRESS + "attributes: {api_key: {header: X-API-Key}}\n"
        limit = """\
  - {name: per-key, key: [api_key], on_missing: %s, token_bucket: {capacity: 1, refill: 1/day}}
"""
        for on_missing, statuses in (("skip", [200] * 3), ("deny", [429] * 3),
                                     ("{value: anonymous}", [200, 429, 429])):
            with self.subTest(on_missing):
                self.start(keyed.replace("attributes", limit % on_missing + "attributes"))
                peers = [f"192.0.2.{i}" for i in (1, 2, 3)]
                self.assertEqual([self.forward(peer).status for peer in peers], statuses)
                self.assertEqual(self.forward("192.0.2.9", X_API_Key="k").status, 200)
                if on_missing == "skip":  # the second limit still applies
                    self.assertEqual([self.forward(peers[0]).status for _ in range(2)], [200, 429])

    def test_a_stranger_is_believed_nothing(self):
        self.start(self.policy + "client_ip: {trusted_proxies: []}\n")
        got = [self.forward(f"192.0.2.{i}", source="127.0.0.5").status for i in range(3)]
        self.assertEqual(got, [200, 200, 429])
        answer = self.forward(source="127.0.0.6", **self.PAY)
        self.assertNotIn("payments", answer.field("RateLimit-Policy"))

    def test_C23_an_IPv6_client_is_its_64_here_too(self):
        clients = ("2001:db8:1:2::1", "2001:db8:1:2:ffff::9", "2001:DB8:1:2:0:0:0:A", "2001:db8:1:3::1")
        self.assertEqual([self.forward(client).status for client in clients], [200, 200, 429, 200])


class Refusal(HttpTest):
    policy = PER_ADDRESS

    def refused(self):
        fields = {"X-Forwarded-For": "192.0.2.7"}
        answers = [ask(self.http, "GET", "/v1/forward-auth?deny_status=403", fields) for _ in range(3)]
        self.assertEqual([answer.status for answer in answers], [200, 200, 403])
        return answers[-1]

    def test_it_writes_down_what_the_check_has_decided_and_charges_nothing(self):
        refused = self.refused()
        before = self.daemon.metrics()
        for language in ("en", "ja"):
            fields = {"X-Suimon-Verdict": refused.field("X-Suimon-Verdict"), "Accept-Language": language}
            answer = ask(self.http, "GET", "/v1/refusal", fields)
            self.assertEqual(answer.status, 429)
            for name in ("Retry-After", "RateLimit", "RateLimit-Policy", "Cache-Control"):
                self.assertEqual(answer.field(name), refused.field(name), name)
            self.assertEqual(answer.field("Content-Language"), language)
            self.assertEqual(answer.field("Vary"), "Accept, Accept-Language")
            self.assertEqual(answer.field("Content-Type"), "application/problem+json")
            problem = answer.json()
            if language == "en":
                self.assertEqual(problem, {**refused.json(), "status": 429})
            else:
                self.assertIn("秒待ってから", problem["error"])
        after = self.daemon.metrics()
        name = 'suimon_requests_total{door="http",domain="shop",verdict="%s"}'
        for verdict in ("allowed", "limited", "never"):
            self.assertEqual(after[name % verdict], before[name % verdict])

    def test_without_a_verdict_of_ours_it_is_plain(self):
        allowed = ask(self.http, "GET", "/v1/forward-auth").field("X-Suimon-Verdict")
        for verdict in (None, "", "garbage", "1 l", "1 l 999", allowed, "1 l 429 shop a,l,1,1,1,1,1,1,-,-,",
                        "1 l 429 a,l,1,1,1,1,1,1,-,-,",
                        "1 l 429 shop " + "x" * 9000):
            with self.subTest(verdict):
                fields = {"X-Suimon-Verdict": verdict} if verdict is not None else {}
                answer = ask(self.http, "GET", "/v1/refusal", fields)
                self.assertEqual((answer.status, answer.field("Retry-After")), (429, "1"))
                self.assertFalse(answer.json()["allowed"])

    def test_a_strangers_verdict_is_not_written_down(self):
        token = self.refused().field("X-Suimon-Verdict")
        self.start(PER_ADDRESS + "client_ip: {trusted_proxies: []}\n")
        answer = ask(self.http, "GET", "/v1/refusal", {"X-Suimon-Verdict": token})
        self.assertEqual((answer.status, answer.field("Retry-After")), (429, "1"))
        self.assertNotIn("per-address", answer.text)

if __name__ == "__main__":
    unittest.main()

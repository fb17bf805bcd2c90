"""What a policy file says about answers, as callers see it: responses, title, deny, shadow."""

import time
import unittest

from harness import ask
from http_base import DAY, HttpTest

POLICY = """\
version: 1
domain: shop
attributes: {user: {header: X-User-Id}}
responses: {headers: [%s], language: de, deny_status: 403}
limits:
  - name: per-user
    title: {en: requests of one user, de: "Anfragen je \\"Benutzer\\""}
    key: [user]
    token_bucket: {capacity: 2, refill: 1/day}
  - name: whole-service
    key: []
    match: {method: PUT}
    deny: {status: 503}
    token_bucket: {capacity: 1, refill: 1/day}
  - name: trial
    key: [user]
    shadow: true
    token_bucket: {capacity: 1, refill: 1/day}
"""


class Responses(HttpTest):
    policy = POLICY % "ietf"

    def test_the_policys_language_title_and_status(self):
        self.check(cost=2)
        for accepted, language, title in (
            ("", "de", 'das Limit „Anfragen je "Benutzer"“;'), ("it", "de", "Anfragen je"),
            ("en", "en", 'the limit "requests of one user";'), ("fr", "fr", 'Anfragen je "Benutzer"'),
        ):
            with self.subTest(accepted):
                answer = self.check(fields={"Accept-Language": accepted})
                self.assertEqual((answer.status, answer.field("Content-Language")), (403, language))
                problem = answer.json()
                self.assertEqual((problem["status"], problem["binding"]), (403, "per-user"))
                self.assertIn(title, problem["error"])

    def test_the_limits_status_and_the_requests(self):
        put = {"method": "PUT"}
        self.assertEqual(self.check(put).status, 200)
        refused = self.check(put)
        self.assertEqual((refused.status, refused.json()["status"]), (503, 503))
        self.assertIsNotNone(refused.field("Retry-After"))
        self.assertEqual(self.check(put, query="?deny_status=200").status, 200)
        batch = self.post("/v1/check/batch", [{"attributes": put}]).json()
        self.assertEqual((batch[0]["status"], batch[0]["allowed"]), (503, False))

    def test_shadows_are_in_no_header_and_in_no_refusal(self):
        for _ in range(2):
            answer = self.check()
            self.assertEqual(answer.status, 200)
            self.assertNotIn("trial", repr(answer.fields))
        self.assertEqual([(limit["name"], limit["allowed"], limit["shadow"]) for limit in answer.json()["limits"]],
                         [("per-user", True, False), ("trial", False, True)])
        refused = self.check()
        self.assertEqual(refused.status, 403)
        self.assertNotIn("trial", refused.text + repr(refused.fields))

    def test_a_refusal_is_written_down_again_as_the_policy_says(self):
        fields = {"X-User-Id": "u1"}
        answers = [ask(self.http, "GET", "/v1/forward-auth?deny_status=429", fields) for _ in range(3)]
        self.assertEqual([answer.status for answer in answers], [200, 200, 429])
        token = answers[-1].field("X-Suimon-Verdict")
        self.assertNotIn("trial", token)
        again = ask(self.http, "GET", "/v1/refusal", {"X-Suimon-Verdict": token, "Accept-Language": "en"})
        self.assertEqual((again.status, again.json()["status"]), (403, 403), "429 was for the proxy")
        self.assertIn("requests of one user", again.json()["error"])


class Dialects(HttpTest):
    policy = None

    def fields_of(self, dialects, checks=1):
        self.start(POLICY % dialects)
        for _ in range(checks):
            answer = self.check()
        return answer, {name for name, _ in answer.fields if "RateLimit" in name}

    def test_x_ratelimit(self):
        answer, names = self.fields_of("x-ratelimit", checks=3)
        self.assertEqual(names, {f"X-RateLimit-{name}" for name in ("Limit", "Remaining", "Reset")})
        self.assertEqual((answer.field("X-RateLimit-Limit"), answer.field("X-RateLimit-Remaining")), ("2", "0"))
        reset = int(answer.field("X-RateLimit-Reset"))
        self.assertTrue(DAY < reset <= 2 * DAY, reset)
        self.assertTrue(0 < int(answer.field("Retry-After")) <= reset)

    def test_x_ratelimit_epoch(self):
        before = time.time()
        answer, _ = self.fields_of("x-ratelimit-epoch")
        reset = int(answer.field("X-RateLimit-Reset"))
        self.assertTrue(before + DAY <= reset <= time.time() + DAY + 1, (before, reset))

    def test_several_and_none(self):
        _, names = self.fields_of("ietf-11, x-ratelimit")
        self.assertEqual(len(names), 5, names)
        answer, names = self.fields_of("", checks=3)
        self.assertEqual((answer.status, names), (403, set()))
        self.assertIsNotNone(answer.field("Retry-After"))


if __name__ == "__main__":
    unittest.main()

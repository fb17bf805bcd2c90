"""Refusals in the language of whoever reads them, over HTTP."""

import json
import unittest

from harness import ask
from http_base import PER_ADDRESS, HttpTest

# The language, and what the sentence for N seconds says in it.
SENTENCES = {
    "en": "wait {} seconds, then try again",
    "ja": "{}秒待ってから",
    "de": "warten Sie {} Sekunden",
    "fr": "patienter {} secondes",
    "es": "espere {} segundos",
    "pt": "aguarde {} segundos",
    "zh": "等待 {} 秒后重试",
    "ko": "{}초 후에",
}


class Languages(HttpTest):
    policy = PER_ADDRESS
    client = {"client_ip": "192.0.2.7"}

    def setUp(self):
        super().setUp()
        self.check(self.client, cost=2)

    def refused(self, accept_language):
        """A refusal; Accept-Language as one value, or as a list of lines."""
        values = [accept_language] if isinstance(accept_language, str) else accept_language
        fields = [("Content-Type", "application/json")] + [("Accept-Language", v) for v in values]
        body = json.dumps({"attributes": self.client}).encode()
        answer = ask(self.http, "POST", "/v1/check", fields, body)
        self.assertEqual(answer.status, 429)
        self.assertEqual(answer.field("Vary"), "Accept, Accept-Language")
        return answer

    def test_every_language(self):
        titles = set()
        for language, words in SENTENCES.items():
            for accepted in (language, f"{language}-XX;q=0.9, *;q=0.1"):
                with self.subTest(accepted):
                    answer = self.refused(accepted)
                    self.assertEqual(answer.field("Content-Language"), language)
                    problem = answer.json()
                    self.assertIn(words.format(answer.field("Retry-After")), problem["error"])
                    self.assertIn("per-address", problem["error"])
                    titles.add(problem["title"])
        self.assertEqual(len(titles), len(SENTENCES))

    def test_negotiation(self):
        for accepted, language in (
            ("zh-CN", "zh"), ("zh-Hans-SG", "zh"), ("zh-TW", "zh"), ("zh-TW, ja", "ja"),
            ("pt-BR", "pt"), ("pt-PT,pt;q=0.9,en;q=0.8", "pt"), ("de;q=0, *", "en"), ("en;q=0, ko;q=0.1", "ko"),
            ("it", "en"), ("", "en"), (["it", "de;q=0.5", "fr;q=0.7"], "fr"),
        ):
            with self.subTest(accepted):
                self.assertEqual(self.refused(accepted).field("Content-Language"), language)

    def test_a_refusal_that_is_written_down_again_has_the_callers_language(self):
        fields = {"X-Forwarded-For": "192.0.2.7"}
        refused = ask(self.http, "GET", "/v1/forward-auth", fields)
        self.assertEqual(refused.status, 429)
        for language, words in SENTENCES.items():
            with self.subTest(language):
                fields = {"Accept-Language": language}
                plain = ask(self.http, "GET", "/v1/refusal", fields)
                fields["X-Suimon-Verdict"] = refused.field("X-Suimon-Verdict")
                full = ask(self.http, "GET", "/v1/refusal", fields)
                for answer in (plain, full):
                    self.assertEqual((answer.status, answer.field("Content-Language")), (429, language))
                    self.assertEqual(answer.field("Vary"), "Accept, Accept-Language")
                self.assertIn(words.format(full.field("Retry-After")), full.json()["error"])
                self.assertNotIn("per-address", plain.text)

    def test_a_batch_says_its_language_where_there_are_words(self):
        allowed, refused = {"attributes": {"client_ip": "192.0.2.8"}}, {"attributes": self.client}
        answer = self.post("/v1/check/batch", [allowed, refused], {"Accept-Language": "ko"})
        self.assertEqual((answer.field("Content-Language"), answer.field("Vary")), ("ko", "Accept-Language"))
        answer = self.post("/v1/check/batch", [allowed], {"Accept-Language": "ko"})
        self.assertEqual((answer.field("Content-Language"), answer.field("Vary")), (None, None))


if __name__ == "__main__":
    unittest.main()

"""What tests of the HTTP doors share: a daemon with a policy, and how to ask it.

Limits refill once a day, so that nothing depends on how fast the machine is.
"""

import json

from harness import SystemTest, ask

POLICY = """\
version: 1
domain: shop
attributes:
  user: {header: X-User-Id}
  plan: {header: X-Plan}
limits:
  - name: per-user
    key: [user]
    on_missing: skip
    token_bucket: {capacity: 3, refill: 1/day}
  - name: orders
    match: {path: /v1/orders/**, method: [POST, PUT]}
    key: [user]
    token_bucket: {capacity: 10, refill: 1/day}
    cost: 5
"""
PER_ADDRESS = """\
version: 1
domain: shop
limits:
  - name: per-address
    key: [client_ip]
    token_bucket: {capacity: 2, refill: 1/day}
"""
DAY = 86400


class HttpTest(SystemTest):
    policy = POLICY

    def setUp(self):
        super().setUp()
        if self.policy:
            self.start(self.policy)

    def start(self, policy, **options):
        self.daemon = self.suimon(policy, **options)
        self.http = self.daemon.http

    def post(self, target, body, fields=()):
        data = body if isinstance(body, bytes) else json.dumps(body, ensure_ascii=False).encode()
        fields = dict(fields)
        fields.setdefault("Content-Type", "application/json")
        return ask(self.http, "POST", target, fields, data)

    def check(self, attributes=None, query="", fields=(), **members):
        attributes = {"user": "u1"} if attributes is None else attributes
        return self.post("/v1/check" + query, {"attributes": attributes, **members}, fields)

    def verdicts(self, *checks):
        """Whether each of these attributes is allowed, one request after the other."""
        return [self.check(attributes).json()["allowed"] for attributes in checks]

    def assert_mistake(self, answer, status, *words):
        self.assertEqual(answer.status, status, answer)
        self.assertEqual(answer.field("Content-Type"), "application/problem+json")
        self.assertEqual(answer.field("Cache-Control"), "no-store")
        problem = answer.json()
        self.assertEqual(problem["status"], status)
        for word in words:
            self.assertIn(word, problem["error"])
        return problem

"""What tests of the admin listener share: a daemon with tokens, and how to ask it."""

import json

from harness import ask
from http_base import HttpTest

TOKEN = "correct-horse-battery-staple"
OTHER = "another-token-of-another-one"
POLICY = """\
version: 1
domain: shop
attributes:
  user: {header: X-User-Id}
  plan: {header: X-Plan}
tiers:
  free: {capacity: 5, refill: 1/day}
  premium: {capacity: 100, refill: 1/day}
limits:
  - name: per-user
    key: [user]
    token_bucket: {capacity: 3, refill: 1/day}
  - name: orders
    match: {path: /v1/orders/**, method: [POST, PUT]}
    key: [user]
    token_bucket: {tier: {from: plan, default: free}}
    cost: 5
"""


class AdminTest(HttpTest):
    policy = POLICY

    def start(self, policy, tokens=f"deploy:{TOKEN}\n{OTHER}\n", **options):
        more = ()
        if tokens is not None:
            file = self.folder / "tokens"
            file.touch(mode=0o600)
            file.write_text(tokens, encoding="utf-8")
            more = ("--admin-token-file", file)
        super().start(policy, extra=more, **options)

    def admin(self, target, body=b"", token=None, method="POST", fields=(), source=None):
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        fields = dict(fields)
        if data:
            fields.setdefault("Content-Type", "application/json")
        if token:
            fields["Authorization"] = f"Bearer {token}"
        return ask(self.daemon.admin, method, target, fields, data, source)

    def key(self, limit="per-user", **members):
        """Where a key stands, as JSON."""
        answer = self.admin("/v1/keys/read", {"limit": limit, **(members or {"attributes": {"user": "u1"}})})
        self.assertEqual(answer.status, 200, answer)
        return answer.json()

    def remaining(self, user="u1"):
        return self.key(attributes={"user": user})["remaining"]

    def refund(self, number, attributes=None, token=TOKEN, **members):
        return self.admin("/v1/refund", {"id": number, "attributes": attributes or {"user": "u1"}, **members}, token)

    def audits(self):
        """What the log says of changes."""
        lines = [line for line in self.daemon.lines if line and " audit " in line]
        return [json.loads(line.partition(" audit ")[2]) for line in lines]

"""The description at /v1/openapi.json and the daemon agree, says Schemathesis, which makes requests out
of it: no 5xx, no answer that is not described, wrong data is rejected, right data is not.

Schemathesis comes from PyPI (tools.py). The short form makes the same requests each time, because they come
from rules that are not ours; SUIMON_LONG draws new ones and more of them, and SUIMON_SEED repeats a run.
"""

import json
import os
import random
import re
import subprocess
import unittest

from harness import ask
from http_base import POLICY, HttpTest
from tools import installed

LONG = bool(os.environ.get("SUIMON_LONG"))
EXAMPLES = 200 if LONG else 25
# "Any method" has no form in OpenAPI, so that one is described and no other is missed. A batch may hold
# anything, but an integer of more than 64 bits in it cannot be read.
SETTINGS = """
[[operations]]
include-path-regex = "^/v1/(forward-auth|refusal)$"
checks.unsupported_method.enabled = false
[[operations]]
include-path = "/v1/check/batch"
checks.positive_data_acceptance.enabled = false
[warnings]
enabled = false
"""
# Nothing in it can be wrong about a request, so that only what the description says can be.
ANY_PATH = """\
version: 1
domain: shop
attributes:
  user: {header: X-User-Id}
limits:
  - name: per-user
    key: [user]
    token_bucket: {capacity: 1000, refill: 1/day}
  - name: per-address
    key: [client_ip]
    token_bucket: {capacity: 5, refill: 10/s}
"""


class OpenApi(HttpTest):
    policy = None

    def conforms(self, policy, *arguments):
        program = installed("schemathesis") / "bin/schemathesis"
        self.start(policy)
        description = ask(self.http, "GET", "/v1/openapi.json").json()
        # Which domains there are only the policy knows.
        description["components"]["schemas"]["Domain"] = {"enum": ["shop", ""]}
        # Whoever asks for 503 gets it; then every 5xx that is left is a fault.
        description["components"]["parameters"]["DenyStatus"]["schema"]["enum"].remove(503)
        (self.folder / "openapi.json").write_text(json.dumps(description), encoding="utf-8")
        (self.folder / "schemathesis.toml").write_text(SETTINGS, encoding="utf-8")
        seed = os.environ.get("SUIMON_SEED") or (str(random.getrandbits(31)) if LONG else "1")
        print(f"SUIMON_SEED={seed}", flush=True)
        run = subprocess.run(
            [program, "run", "openapi.json", "--url", "http://{}:{}".format(*self.http), "--no-color",
             "--seed", seed, "--max-examples", str(EXAMPLES), "--suppress-health-check", "all", *arguments],
            cwd=self.folder, capture_output=True, text=True, timeout=280, env={**os.environ, "CI": "true"})
        self.assertEqual(run.returncode, 0, f"seed {seed}\n{run.stdout}\n{run.stderr}")
        cases = re.search(r"(\d+) generated", run.stdout)
        self.assertTrue(cases and int(cases[1]) > 100, run.stdout)
        self.assertEqual(ask(self.http, "GET", "/healthz").status, 200)

    def test_the_daemon_does_what_the_description_says(self):
        self.conforms(ANY_PATH)

    def test_whatever_stands_in_paths_the_answers_are_described(self):
        self.conforms(POLICY, "--checks", "not_a_server_error,status_code_conformance,"
                      "content_type_conformance,response_headers_conformance,response_schema_conformance")


class Description(HttpTest):
    def test_it_is_there_for_GET_and_HEAD(self):
        answer = ask(self.http, "GET", "/v1/openapi.json")
        self.assertEqual((answer.status, answer.field("Content-Type")), (200, "application/json"))
        self.assertRegex(answer.json()["info"]["version"], r"^\d+\.\d+\.\d+$")
        head = ask(self.http, "HEAD", "/v1/openapi.json")
        self.assertEqual(head.field("Content-Length"), str(len(answer.body)))
        other = ask(self.http, "POST", "/v1/openapi.json", body=b"{}")
        self.assertEqual((other.status, other.field("Allow")), (405, "GET, HEAD"))

    def test_every_path_that_404_names_is_described(self):
        named = re.findall(r"/[a-z0-9/.-]*[a-z]", ask(self.http, "GET", "/").json()["detail"])
        described = ask(self.http, "GET", "/v1/openapi.json").json()["paths"]
        self.assertLessEqual(set(named), set(described))


if __name__ == "__main__":
    unittest.main()

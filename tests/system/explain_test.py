"""suimon explain and key-hash, and the secret that hashes are made under."""

import json
import os
import subprocess
import unittest

from harness import Suimon, SystemTest, ask, program, until

POLICY = """\
version: 1
domain: shop
attributes: {user: {header: X-User-Id}, plan: {header: X-Plan}}
tiers:
  free: {capacity: 3, refill: 1/day}
  gold: {capacity: 9, refill: 2/day}
limits:
  - name: per-user
    key: [user]
    token_bucket: {tier: {from: plan, default: free}}
    cost: [{match: {method: GET}, value: 1}, {match: {method: POST}, value: 2}]
  - {name: orders, match: {path: "/v1/orders/**", method: [POST, PUT]}, key: [user, client_ip],
     on_missing: deny, token_bucket: {capacity: 5, refill: 1/day}}
  - {name: all, key: [], token_bucket: {capacity: 100, refill: 1/day}}
"""


class CommandTest(SystemTest):
    def setUp(self):
        super().setUp()
        self.policy_file = self.folder / "limits.yaml"
        self.policy_file.write_text(POLICY, encoding="utf-8")

    def run_it(self, command, *arguments, code=0):
        clean = {k: v for k, v in os.environ.items() if not k.startswith("SUIMON_")}
        clean["STATE_DIRECTORY"] = str(self.folder / "state")
        done = subprocess.run([program(), command, "--config", self.policy_file, *arguments],
                              capture_output=True, text=True, timeout=60, env=clean)
        self.assertEqual(done.returncode, code, done.stderr)
        return done.stdout if code == 0 else done.stderr

    def secret(self, name, digits, mode=0o600):
        file = self.folder / name
        file.write_text(digits + "\n")
        file.chmod(mode)
        return file


class Words(CommandTest):
    def told(self, *command, code):
        done = subprocess.run([program(), *command], capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, code, done)
        return done.stderr

    def test_a_name_that_no_limit_looks_at_is_doubted(self):
        for command in ("check", "explain"):
            told = self.told(command, "--config", self.policy_file, "usr=u1", "colour=red", "path=/", code=0)
            self.assertEqual(told.splitlines(), ["warning: no limit looks at usr; did you mean user?",
                                                 "warning: no limit looks at colour"])

    def test_validate_reads_addresses_and_the_stores_url_as_serve_would(self):
        for section, words in (
            ("store: {url: 'etcd://x'}", 'store "etcd://x": this version knows'),
            ("store: {url: 'redis://x:y'}", "store"),
            ("store: {url: 'memory://?max_keys=0'}", "store memory://?max_keys=0: write memory://?max_keys=N"),
            ("server: {http: 8080}", "server: {http: ...}: "),
            ("server: {admin: localhost}", "server: {admin: ...}: "),
        ):
            with self.subTest(section):
                self.policy_file.write_text(POLICY + section + "\n", encoding="utf-8")
                told = self.told("validate", self.policy_file, code=2)
                self.assertTrue(told.startswith(f"{self.policy_file}: {words}"), told)

    def test_an_attribute_that_looks_like_a_flag(self):
        for command in ("check", "explain", "key-hash"):
            told = self.told(command, "--config", self.policy_file, "--user=u1", code=2)
            self.assertIn("If that is an attribute, write it without dashes: user=u1\n", told)
        self.assertNotIn("attribute", self.told("explain", "--config", self.policy_file, "--usr", code=2))

    def test_seconds_that_are_none(self):
        for flag in ("--at", "--every"):
            for text in ("-1", "1e3", "9000000001", "1.1234567891", "1.", "\x1b"):
                with self.subTest(flag=flag, text=text):
                    told = self.told("check", "--config", self.policy_file, f"{flag}={text}", "user=u1", code=2)
                    self.assertEqual(told, f"{flag}: {json.dumps(text)} is no number of seconds; write 0 to "
                                           "9000000000, with up to nine decimals, such as 1.5\n")
            self.told("check", "--config", self.policy_file, f"{flag}=9000000000.999999999", "user=u1", code=0)


class Explain(CommandTest):
    def explained(self, *attributes):
        told = json.loads(self.run_it("explain", "--json", *attributes))
        self.assertEqual(told["domain"], "shop")
        return {limit["name"]: limit for limit in told["limits"]}

    def test_it_says_why_and_why_not(self):
        limits = self.explained("user=u1", "plan=tin", "method=POST", "path=/v1/items?x=1")
        user = limits["per-user"]
        self.assertEqual((user["applies"], user["why"], user["tier"], user["tier_asked"]),
                         (True, "applies", "free", "tin"))
        self.assertEqual((user["cost"], user["cost_rule"], user["remaining"], user["capacity"]), (2, 2, 3, 3))
        orders = limits["orders"]
        self.assertEqual((orders["applies"], orders["why"], orders["missing"], orders["remaining"]),
                         (False, "mismatch", "client_ip", None))
        self.assertEqual({m["attribute"]: (m["value"], m["matches"]) for m in orders["match"]},
                         {"path": ("/v1/items", False), "method": ("POST", True)})
        self.assertEqual(limits["all"]["key"], {})

    def test_a_missing_attribute_skips_or_refuses(self):
        limits = self.explained("method=POST", "path=/v1/orders/1")
        self.assertEqual([limits[n]["why"] for n in ("per-user", "orders", "all")],
                         ["missing", "denied", "applies"])

    def test_for_people(self):
        text = self.run_it("explain", "user=u\x1b[2J", "plan=gold", "method=GET")
        for line in ("per-user: applies", '  key     user "u\\u001b[2J"', "  tier    gold",
                     "  bucket  9 tokens, refilled by 2 per 1d", "  cost    1 by rule 1 of 2",
                     "  state   9 of 9 tokens, for a client that is new",
                     "orders: does not apply: it matches other requests",
                     '  match   path is missing; wanted is "/v1/orders/**"', "  key     client_ip is missing",
                     "  key     none: one bucket for everybody"):
            self.assertIn(line, text.splitlines())

    def test_mistakes_are_those_of_check(self):
        for arguments in (("u1",), ("user=a", "user=b"), ("domain=else",), ("path=/%zz",), ("--cost",)):
            with self.subTest(arguments):
                said = self.run_it("explain", *arguments, code=2)
                if arguments != ("--cost",):
                    self.assertEqual(said, self.run_it("check", *arguments, code=2))
                    self.assertEqual(said, self.run_it(
                        "key-hash", "--secret-file", self.secret("s", "0" * 32), *arguments, code=2))


class KeyHash(CommandTest):
    def hashes(self, *arguments):
        return dict(line.split(" ", 1) for line in self.run_it("key-hash", *arguments).splitlines())

    def test_the_log_of_refusals_knows_the_client_by_it(self):
        log = self.folder / "events.log"
        daemon = self.ended_with_test(Suimon(self.folder, POLICY, extra=("--log-events", log)))
        body = json.dumps({"attributes": {"user": "u1", "client_ip": "203.0.113.9", "method": "PUT",
                                          "path": "/v1/orders/7"}, "cost": 6}).encode()
        self.assertEqual(ask(daemon.http, "POST", "/v1/check", {"Content-Type": "application/json"}, body).status,
                         429)
        until(lambda: log.exists() and log.read_text(), "a line")
        event = json.loads(log.read_text().splitlines()[0])
        hashes = self.hashes("--secret-file", self.folder / "secret", "user=u1", "client_ip=203.0.113.9")
        self.assertEqual(sorted(hashes), ["all", "orders", "per-user"])
        self.assertEqual(event["key"], hashes[event["limit"]])

    def test_limits_whose_key_is_not_given_are_left_out(self):
        secret = self.secret("secret", "0123456789abcdef" * 2)
        self.assertEqual(sorted(self.hashes("--secret-file", secret, "user=u1")), ["all", "per-user"])

    def test_both_hashes_while_a_secret_is_exchanged(self):
        new, old = self.secret("new", "01" * 16), self.secret("old", "02" * 16)
        both = self.run_it("key-hash", "user=u1", "--secret-file", new, "--previous-secret-file", old)
        one = self.run_it("key-hash", "user=u1", "--secret-file", new)
        other = self.run_it("key-hash", "user=u1", "--secret-file", old)
        self.assertEqual(both, one + other.replace("\n", " previous\n"))
        self.assertNotEqual(one, other)

    def test_a_client_whom_no_limit_knows_is_a_mistake(self):
        secret = self.secret("secret", "01" * 16)
        self.policy_file.write_text("version: 1\ndomain: shop\nlimits:\n"
                                    "  - {name: a, key: [user], token_bucket: {capacity: 3, refill: 1/day}}\n")
        said = self.run_it("key-hash", "usr=u1", "--secret-file", secret, code=2)
        self.assertIn("no limit has a key of these attributes alone", said)

    def test_it_never_makes_a_secret(self):
        said = self.run_it("key-hash", "user=u1", code=2)
        self.assertIn("state/secret cannot be read: No such file", said)
        self.assertFalse((self.folder / "state").exists())


class Secret(CommandTest):
    """What serve says of a secret file that is not as it should be; key-hash says the same."""

    def assert_refused(self, file, *words):
        flags = ("--http", "127.0.0.1:0", "--admin", "off", "--secret-file", file)
        for said in (self.run_it("serve", *flags, code=2),
                     self.run_it("key-hash", "user=u1", "--secret-file", file, code=2)):
            for word in words:
                self.assertIn(word, said)

    def test_a_store_that_daemons_share_says_how_to_make_the_first(self):
        file = self.folder / "none"
        said = self.run_it("serve", "--http", "127.0.0.1:0", "--admin", "off", "--store", "redis://127.0.0.1:1",
                           "--secret-file", file, code=2)
        self.assertIn(f"secret file {file} cannot be read", said)
        cure = said[said.index("(umask"):].split("\n", 1)[0]
        self.assertTrue(cure.endswith(f"> {file})"), cure)
        subprocess.run(["sh", "-c", cure], check=True)
        self.assertRegex(self.run_it("key-hash", "user=u1", "--secret-file", file), "per-user [0-9a-f]{32}")

    def test_one_that_others_may_read_is_refused_with_the_cure(self):
        for mode in (0o640, 0o604, 0o660, 0o644, 0o610, 0o602):
            with self.subTest(oct(mode)):
                file = self.secret("secret", "01" * 16, mode)
                self.assert_refused(file, f"secret file {file} may be read by others; run chmod 600 {file}")

    def test_a_link_is_followed_and_what_it_leads_to_must_be_good(self):
        good, bad = self.secret("good", "01" * 16), self.secret("bad", "01" * 16, 0o644)
        link = self.folder / "link"
        link.symlink_to(good)
        direct = self.run_it("key-hash", "user=u1", "--secret-file", good)
        self.assertEqual(self.run_it("key-hash", "user=u1", "--secret-file", link), direct)
        link.unlink()
        link.symlink_to(bad)
        self.assert_refused(link, "chmod 600")
        link.unlink()
        link.symlink_to(self.folder / "nowhere")
        self.assert_refused(link, "cannot be read: No such file")
        self.assertEqual([p.name for p in self.folder.glob("link*")], ["link"], "nothing is left beside it")

    def test_a_folder_a_pipe_and_nonsense_are_refused(self):
        folder, pipe = self.folder / "folder", self.folder / "pipe"
        folder.mkdir(mode=0o700)
        os.mkfifo(pipe, 0o600)
        self.assert_refused(folder, "is not a regular file")
        self.assert_refused(pipe, "is not a regular file")
        for digits in ("", "01" * 15, "01" * 17, "0g" * 16, "-1" + "01" * 15, "0x" + "01" * 15):
            with self.subTest(digits):
                file = self.secret("nonsense", digits)
                self.assert_refused(file, "does not hold 32 hexadecimal digits")


if __name__ == "__main__":
    unittest.main()

"""Who the client is, as Forwarded and lists of proxies tell it to the finished program."""

import unittest

from harness import ask
from http_base import PER_ADDRESS, HttpTest


class Forwarded(HttpTest):
    policy = PER_ADDRESS + "client_ip: {from: forwarded}\n"

    def forward(self, value=None, source=None, **fields):
        if value is not None:
            fields["Forwarded"] = value
        return ask(self.http, "GET", "/v1/forward-auth", fields, source=source).status

    def test_C25_a_forged_prefix_counts_on_the_address_that_the_proxy_added(self):
        for rule, extra in (("addresses", ""), ("hops", ", trusted_hops: 1")):
            with self.subTest(rule):
                self.start(PER_ADDRESS + "client_ip: {from: forwarded%s}\n" % extra)
                forged = ("for=1.1.1.1", 'for="1.1.1.1', "for=unknown;;", '"', "\\")
                got = [self.forward(f"{one}, for=7.7.7.7") for one in forged]
                self.assertEqual(got, [200, 200, 429, 429, 429])
                absent = [self.forward(source="127.0.0.4") for _ in range(3)]
                self.assertEqual(absent, [200, 200, 429])

    def test_C25_a_forged_line_before_the_proxys_own_changes_nothing(self):
        got = []
        for i in range(3):
            fields = [("Forwarded", f'for="{i}.1.1.1'), ("Forwarded", "for=7.7.7.7")]
            got.append(ask(self.http, "GET", "/v1/forward-auth", fields).status)
        self.assertEqual(got, [200, 200, 429])

    def test_C25_a_two_hops_but_one_entry_is_the_peer(self):
        self.start(PER_ADDRESS + "client_ip: {from: forwarded, trusted_hops: 2}\n")
        got = [self.forward(f"for=7.7.7.{i}", source="127.0.0.4") for i in range(3)]
        self.assertEqual(got, [200, 200, 429])

    def test_C25_x_forwarded_for_is_not_looked_at(self):
        got = [self.forward("for=7.7.7.7", **{"X-Forwarded-For": f"8.8.8.{i}"}) for i in range(3)]
        self.assertEqual(got, [200, 200, 429])

    def test_C25_a_stranger_is_believed_nothing(self):
        self.start(PER_ADDRESS + "client_ip: {from: forwarded, trusted_proxies: []}\n")
        got = [self.forward(f"for=7.7.7.{i}", source="127.0.0.5") for i in range(3)]
        self.assertEqual(got, [200, 200, 429])

    def test_C23_an_IPv6_client_is_its_64(self):
        clients = ("[2001:db8:1:2::1]", "[2001:db8:1:2:ffff::9]:443", "[2001:DB8:1:2:0:0:0:A]:_x",
                   "[2001:db8:1:3::1]")
        self.assertEqual([self.forward(f'proto=https;for="{one}"') for one in clients],
                         [200, 200, 429, 200])

    def test_C23_one_IPv4_client_in_every_spelling(self):
        values = ("for=192.0.2.7", 'For="192.0.2.7:47011"', 'for="[::ffff:192.0.2.7]"', "FOR=192.0.2.7;by=_p")
        self.assertEqual([self.forward(one) for one in values], [200, 200, 429, 429])

    def test_a_hidden_or_unknown_client_is_the_proxy_that_says_so(self):
        got = [self.forward(one, source="127.0.0.4") for one in ("for=unknown", 'for="_a"', "proto=http")]
        self.assertEqual(got, [200, 200, 429])


class Lists(HttpTest):
    policy = None
    LISTED = PER_ADDRESS + 'client_ip: {trusted_proxies: ["@edge", "@cloudflare"]}\n'

    def forward(self, value):
        return ask(self.http, "GET", "/v1/forward-auth", {"X-Forwarded-For": value}).status

    def test_a_reload_reads_the_users_list_again(self):
        edge = self.folder / "edge.txt"
        edge.write_text("192.0.2.0/24  # our edge\n")
        self.start(self.LISTED)
        # The last address is a proxy of ours, the one before it Cloudflare's.
        chain = "7.7.7.%d, 173.245.48.1, 192.0.2.1"
        self.assertEqual([self.forward(chain % i) for i in range(3)], [200, 200, 200])
        edge.write_text("198.51.100.0/24\n")
        self.assertTrue(self.daemon.reload())
        got = [self.forward(chain % i) for i in range(3)]
        self.assertEqual(got, [200, 200, 429], "now 192.0.2.1 is a client as any other")

    def test_a_mistake_in_a_list_keeps_the_running_policy_and_names_its_line(self):
        edge = self.folder / "edge.txt"
        edge.write_text("192.0.2.0/24\n")
        self.start(self.LISTED)
        edge.write_text("192.0.2.0/24\n192.0.2.300\n")
        start = len(self.daemon.lines)
        self.assertFalse(self.daemon.reload())
        self.daemon.wait_for_line(r"limits\.yaml:\d+:\d+: trusted_proxies: .*edge\.txt:2: ", start)
        self.assertEqual([self.forward(f"7.7.7.{i}, 192.0.2.1") for i in range(3)], [200, 200, 200])


if __name__ == "__main__":
    unittest.main()

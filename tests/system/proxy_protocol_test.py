"""The PROXY protocol in front of the finished program: whom it names, who is believed, what is refused."""

import os
import socket
import ssl
import struct
import unittest

from harness import Client, SystemTest, ask, request, until
from http_base import PER_ADDRESS
from tls_test import Authority, TlsClient

PROXIED = PER_ADDRESS + "client_ip: {from: proxy-protocol, trusted_proxies: [10.0.0.0/8]}\n"
SIGNATURE = b"\r\n\r\n\0\r\nQUIT\n"


def version_1(client, server="192.0.2.1"):
    family = "TCP6" if ":" in client else "TCP4"
    return f"PROXY {family} {client} {server if family == 'TCP4' else '2001:db8::1'} 56324 443\r\n".encode()


def version_2(client, tlvs=b"", command=1):
    v6 = ":" in client
    family = socket.AF_INET6 if v6 else socket.AF_INET
    rest = socket.inet_pton(family, client) * 2 + struct.pack("!HH", 56324, 443) + tlvs
    return SIGNATURE + bytes([0x20 | command, 0x21 if v6 else 0x11]) + struct.pack("!H", len(rest)) + rest


class ProxyProtocol(SystemTest):
    def setUp(self):
        super().setUp()
        self.daemon = self.suimon(PROXIED)

    def forward(self, first, source="127.0.0.1", fields=()):
        """The status of a check on a connection of its own that begins with `first`."""
        with Client(self.daemon.http, source) as client:
            client.send(first + request("GET", "/v1/forward-auth", fields))
            return client.read().status

    def test_C25_the_client_is_whom_the_header_names_in_both_versions(self):
        for version in (version_1, version_2):
            with self.subTest(version.__name__):
                self.daemon.stop()
                self.daemon = self.suimon(PROXIED)
                clients = ("192.0.2.7", "192.0.2.7", "192.0.2.7", "192.0.2.8")
                self.assertEqual([self.forward(version(one)) for one in clients], [200, 200, 429, 200])

    def test_C25_no_header_of_the_request_changes_who_is_counted(self):
        forged = [{"X-Forwarded-For": f"7.7.7.{i}", "Forwarded": f"for=7.7.7.{i}"} for i in range(3)]
        got = [self.forward(version_1("192.0.2.7"), fields=fields) for fields in forged]
        self.assertEqual(got, [200, 200, 429])

    def test_C23_an_IPv6_client_is_its_64(self):
        clients = ("2001:db8:1:2::1", "2001:db8:1:2:ffff::9", "2001:db8:1:2::a", "2001:db8:1:3::1")
        self.assertEqual([self.forward(version_2(one)) for one in clients], [200, 200, 429, 200])

    def test_C23_one_IPv4_client_in_every_spelling(self):
        first = (version_1("192.0.2.7"), version_2("192.0.2.7"), version_2("::ffff:192.0.2.7"),
                 version_1("64:ff9b::192.0.2.7"))
        self.assertEqual([self.forward(one) for one in first], [200, 200, 429, 429])

    def test_extensions_are_skipped_up_to_their_bound(self):
        tlv = lambda size: b"\x04" + struct.pack("!H", size) + b"x" * size
        got = [self.forward(version_2("192.0.2.7", tlvs)) for tlvs in (tlv(4), tlv(2033), b"")]
        self.assertEqual(got, [200, 200, 429])
        self.assertEqual(self.forward(version_2("192.0.2.8", tlv(2034))), 400)

    def test_a_proxy_that_speaks_for_itself_is_the_peer(self):
        local = SIGNATURE + b"\x20\0\0\0"
        first = (b"PROXY UNKNOWN\r\n", local, version_2("192.0.2.7", command=0))
        self.assertEqual([self.forward(one, "127.0.0.4") for one in first], [200, 200, 429])
        self.assertEqual(self.forward(b"PROXY UNKNOWN\r\n", "127.0.0.5"), 200)

    def test_without_a_header_it_is_400_and_closed_and_counted(self):
        for first in (b"", b"GET / HTTP/1.1\r\n", b"PROXY TCP4 192.0.2.7\r\n", b"\x16\x03\x01\x02\0\x01"):
            with self.subTest(first), Client(self.daemon.http) as client:
                client.send(first + request("GET", "/healthz"))
                answer = client.read()
                self.assertEqual((answer.status, answer.field("Connection")), (400, "close"))
                self.assertIn("PROXY header", answer.json()["error"])
                self.assertEqual(client.rest(), b"")
        # Counters are told at the end of a wake-up, which may come after its answers.
        count = 'suimon_handshake_failures_total{door="http"}'
        until(lambda: self.daemon.metrics()[count] == 4, "the fourth failure to be counted")

    def test_a_second_header_is_no_request(self):
        with Client(self.daemon.http) as client:
            client.send(version_1("192.0.2.7") * 2)
            self.assertEqual(client.read().status, 400)

    def test_the_header_counts_for_the_whole_connection(self):
        with Client(self.daemon.http) as client:
            client.send(version_1("192.0.2.7"))
            got = [client.ask("GET", "/v1/forward-auth").status for _ in range(3)]
            self.assertEqual(got, [200, 200, 429])

    def test_the_header_may_come_in_pieces(self):
        for whole in (version_1("192.0.2.7"), version_2("192.0.2.7", b"\x04\0\1x")):
            with Client(self.daemon.http) as client:
                for i in range(len(whole)):
                    client.send(whole[i:i + 1])
                self.assertEqual(client.ask("GET", "/v1/forward-auth").status, 200)
        self.assertEqual(self.forward(version_1("192.0.2.7")), 429)

    def test_who_is_not_believed_is_taken_as_itself(self):
        self.assertTrue(self.daemon.reload(PROXIED.replace("[10.0.0.0/8]", "[]")))
        got = [self.forward(b"", "127.0.0.6", {"X-Forwarded-For": f"7.7.7.{i}"}) for i in range(3)]
        self.assertEqual(got, [200, 200, 429])
        self.assertEqual(self.forward(version_1("192.0.2.7"), "127.0.0.6"), 400, "no request begins so")

    def test_a_reload_is_seen_by_new_connections_and_old_ones_stay(self):
        with Client(self.daemon.http) as before:
            before.send(version_1("192.0.2.7"))
            self.assertEqual(before.ask("GET", "/v1/forward-auth").status, 200)
            self.assertTrue(self.daemon.reload(PER_ADDRESS))
            self.assertEqual(self.forward(b"", fields={"X-Forwarded-For": "192.0.2.7"}), 200)
            self.assertEqual(self.forward(version_1("192.0.2.7")), 400)
            self.assertTrue(self.daemon.reload(PROXIED))
            self.assertEqual(before.ask("GET", "/v1/forward-auth").status, 429)
            self.assertEqual(self.forward(b""), 400)

    def test_a_unix_socket_is_believed(self):
        path = str(self.folder / "http.sock")
        self.daemon.stop()
        self.daemon = self.suimon(PROXIED, http=f"unix:{path}")
        got = []
        for first in (version_1("192.0.2.7"), version_2("192.0.2.7"), version_1("192.0.2.7"), b""):
            with Client(path) as client:
                client.send(first + request("GET", "/v1/forward-auth"))
                got.append(client.read().status)
        self.assertEqual(got, [200, 200, 429, 400])

    def test_the_admin_listener_knows_no_header(self):
        self.assertEqual(ask(self.daemon.admin, "GET", "/healthz").status, 200)

    def test_it_stands_before_TLS(self):
        authority = Authority(self.folder, "authority")
        certificate, key = authority.sign("server")
        self.daemon.stop()
        self.daemon = self.suimon(PROXIED, extra=["--tls-cert", certificate, "--tls-key", key])
        got = []
        for first in (version_1("192.0.2.7"), version_2("192.0.2.7"), version_1("192.0.2.7")):
            with TlsClient(self.daemon.http, authority, first) as client:
                got.append(client.ask("GET", "/v1/forward-auth").status)
        self.assertEqual(got, [200, 200, 429])
        with self.assertRaises((ssl.SSLError, ConnectionError)):
            TlsClient(self.daemon.http, authority)

    def test_garbage_is_survived(self):
        for data in (SIGNATURE, SIGNATURE + b"\xff" * 40, b"PROXY " + b"x" * 5000, os.urandom(3000),
                     version_2("192.0.2.7")[:20], b"PROXY TCP4 " + b" " * 90):
            with Client(self.daemon.http) as client:
                client.send(data)
                client.socket.shutdown(socket.SHUT_WR)
                client.rest()
        self.assertEqual(self.forward(version_1("192.0.2.7")), 200)


if __name__ == "__main__":
    unittest.main()

"""Hostile HTTP against the finished program. After each attack others are served, on the connections that
they had open and on new ones, and nothing that was smuggled has been decided. Source: RFC 9110, RFC 9112.
"""

import contextlib
import json
import socket
import unittest

from harness import Client, ask, request, until
from http_base import HttpTest

# Every request for a decision counts on one bucket, so that a smuggled one would be seen in it.
POLICY = """\
version: 1
domain: shop
limits:
  - name: all
    key: []
    token_bucket: {capacity: 1000000, refill: 1/day}
"""
POST = b"POST /v1/check HTTP/1.1\r\nHost: a\r\n"
CHUNKED = POST + b"Transfer-Encoding: chunked\r\n\r\n"
INNER = request("POST", "/v1/check", body=b'{"cost": 7}')
RESET = b"\1\0\0\0\0\0\0\0"  # linger for 0 seconds


class HostileTest(HttpTest):
    policy = POLICY

    def setUp(self):
        super().setUp()
        self.bystander = Client(self.http)
        self.addCleanup(self.bystander.close)
        self.spent = 0
        self.serves_others()

    def serves_others(self):
        """The bystander's connection, a new one, and the bucket, which has lost what was asked for."""
        body = b'{"cost": 1}'
        for client in (self.bystander, Client(self.http)):
            answer = client.ask("POST", "/v1/check", body=body)
            self.assertEqual(answer.status, 200, answer)
            self.spent += 1
            self.assertEqual(answer.json()["remaining"], 1_000_000 - self.spent)
            if client is not self.bystander:
                client.close()

    def refused(self, status, data, why=""):
        """All of `data` gets one answer, and its connection ends."""
        with self.subTest(why or data[:80]):
            with Client(self.http) as client:
                with contextlib.suppress(ConnectionError):  # the end may come before all is sent
                    client.send(data)
                answer = client.read()
                self.assertEqual(answer.status, status, answer)
                self.assertEqual(answer.field("Connection"), "close")
                self.assertEqual(answer.field("Content-Type"), "application/problem+json")
                self.assertEqual(client.rest(), b"", "nothing behind it is answered")
            self.serves_others()

    def bad_requests(self):
        """How many were counted, by status, without those that are 0."""
        name = 'suimon_bad_requests_total{door="http",status="'
        return {int(k.removeprefix(name)[:3]): int(v) for k, v in self.daemon.metrics().items()
                if k.startswith(name) and v}


    def counted(self, expected):
        """Counted are all of them, and no other; figures are told at the end of a wake-up."""
        until(lambda: self.bad_requests() == expected, f"the figures {expected}")


class Smuggling(HostileTest):
    def test_two_lengths_are_refused(self):
        size = b"Content-Length: %d\r\n"
        for status, head in (
            (400, size % 5 + b"Transfer-Encoding: chunked\r\n"),
            (400, b"Transfer-Encoding: chunked\r\n" + size % 5),
            (400, size % 5 + size % 5), (400, size % 0 + size % 5),
            (400, b"Content-Length: 5, 5\r\n"), (400, b"Content-Length: 0 5\r\n"), (400, b"Content-Length: +5\r\n"),
            (400, b"Content-Length: 0x5\r\n"), (400, b"Content-Length:\r\n"), (400, b"Content-Length : 5\r\n"),
            (400, b"Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n"),
            (400, b"Transfer-Encoding : chunked\r\n"), (400, b"Transfer-Encoding: x\r\n chunked\r\n"),
            (501, b"Transfer-Encoding: xchunked\r\n"), (501, b"Transfer-Encoding: chunked, identity\r\n"),
            (400, b"Transfer-Encoding: \x0bchunked\r\n"), (501, b"Transfer-Encoding: chunked;\r\n"),
            (413, size % 2**64), (413, b"Content-Length: " + b"9" * 400 + b"\r\n"),
        ):
            self.refused(status, POST + head + b"\r\n0\r\n\r\n" + INNER, head)
        self.refused(400, b"POST /v1/check HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + INNER)
        self.counted({400: 15, 413: 2, 501: 3})

    def test_a_GETs_body_is_a_body_and_no_request(self):
        with Client(self.http) as client:
            client.send(request("GET", "/healthz", {"Content-Length": len(INNER)}, INNER)
                        + request("GET", "/readyz"))
            self.assertEqual([client.read().status for _ in range(2)], [200, 200])
            with self.assertRaises(TimeoutError):
                client.socket.settimeout(0.05)
                client.read()
        self.serves_others()

    def test_lines_that_others_might_repair_are_refused(self):
        for head in (
            b"Host: a\n\r\n", b"Host: a\r\nX: y\n\r\n", b"Host: a\r\nX: y\rZ: z\r\n\r\n", b"Host: a\r\nX: y\r\n z\r\n\r\n",
            b"Host: a\r\nX: y\r\n\tz\r\n\r\n", b"Host: a\r\nX: \0\r\n\r\n", b"Host: a\r\nX\0: y\r\n\r\n", b"Host: a\r\n\n",
            b"Host: a\r\nno colon\r\n\r\n", b"Host: a\r\n: y\r\n\r\n", b"Host: a\r\nHost: b\r\n\r\n", b"Host: a b\r\n\r\n",
            b"Host: a\r\nX (y): z\r\n\r\n", b"Host: a/b\r\n\r\n", b"\r\n", b" Host: a\r\n\r\n", b"Host: a\r\nX: \x7f\r\n\r\n",
        ):
            self.refused(400, b"GET /healthz HTTP/1.1\r\n" + head + INNER, head)

    def test_chunks_that_others_might_read_differently_are_refused(self):
        for status, body in (
            (400, b"5 \r\nhello\r\n0\r\n\r\n"), (400, b"0x0\r\n\r\n"), (400, b"-1\r\n\r\n"), (400, b"+0\r\n\r\n"),
            (400, b"0\n\n"), (400, b"0\n\r\n"), (400, b"0;a\nb\r\n\r\n"),
            (400, b'0;a="\r\n\r\n'), (400, b"0; a\r\n\r\n"), (400, b"0;\r\n\r\n"), (400, b"2\r\n{}0\r\n\r\n"), (400, b"2\r\n{}\n0\r\n\r\n"),
            (400, b"1\r\n{}\r\n0\r\n\r\n"), (400, b"\r\n0\r\n\r\n"), (400, b";a\r\n\r\n"), (400, b"0_0\r\n\r\n"),
            (413, b"FFFFFFFFFFFFFFFF\r\n"), (413, b"10000000000000000\r\n"), (413, b"1" + b"0" * 100 + b"\r\n"),
            (413, b"100001\r\n"), (400, b"0\r\nno colon\r\n\r\n"), (400, b"0\r\nX : y\r\n\r\n"), (400, b"0\r\nX: y\n\r\n"),
            (413, b"1;" + b"x" * 200_000), (413, b"1\r\n{\r\n" * 40_000),
            (431, b"0\r\n" + b"X: y\r\n" * 10_000 + b"\r\n"),
        ):
            self.refused(status, CHUNKED + body + INNER, body[:60])

    def test_extensions_and_trailers_are_read_over(self):
        fine = b'5;a=b;c="d"\r\n{"cos\r\n6;e="\\"\\\\"\r\nt": 1}\r\n000;e\r\nContent-Length: 99\r\nHost: b\r\n\r\n'
        with Client(self.http) as client:
            client.send((CHUNKED + fine) * 3)
            self.assertEqual([client.read().status for _ in range(3)], [200] * 3)
        self.spent += 3
        self.serves_others()


class Targets(HostileTest):
    def test_absolute_targets_are_understood(self):
        for target, status in (("http://shop.example/healthz", 200), ("HTTP://a:80/healthz?x", 200),
                               ("https://a/readyz", 200), ("http://a", 404), ("http://a?/healthz", 404)):
            self.assertEqual(ask(self.http, "GET", target).status, status, target)

    def test_targets_that_name_nothing_here_are_refused(self):
        for target in (b"healthz", b"*", b"ftp://a/healthz", b"a:80", b"/healthz#x", b"http//a", b"//a#", b"?a", b"\\healthz"):
            self.refused(400, b"GET " + target + b" HTTP/1.1\r\nHost: a\r\n\r\n" + INNER)

    def test_OPTIONS_for_the_whole_server(self):
        answer = ask(self.http, "OPTIONS", "*")
        self.assertEqual((answer.status, answer.field("Allow")), (204, "GET, HEAD, POST, OPTIONS"))
        self.assertIsNone(answer.field("Content-Length"))

    def test_a_tunnel_is_refused_and_what_was_sent_into_it_is_no_request(self):
        for target in (b"a:443", b"/v1/check", b"http://a/"):
            self.refused(501, b"CONNECT " + target + b" HTTP/1.1\r\nHost: a\r\n\r\n" + INNER)

    def test_other_protocols(self):
        self.refused(505, b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + b"\0\0\x12\4\0\0\0\0\0" + b"\0" * 18)
        self.refused(505, b"GET / HTTP/3.0\r\nHost: a\r\n\r\n")
        self.refused(400, b"GET /\r\n")  # HTTP/0.9
        self.refused(400, b"*1\r\n$4\r\nPING\r\n")
        self.refused(400, b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(range(256)))
        upgrade = {"Connection": "Upgrade, HTTP2-Settings", "Upgrade": "h2c", "HTTP2-Settings": "AAMAAABkAAQAAP__"}
        answer = ask(self.http, "GET", "/healthz", upgrade)
        self.assertEqual((answer.status, answer.field("Upgrade")), (200, None), "an upgrade may be ignored")

    def test_HEAD_never_has_a_body(self):
        with Client(self.http) as client:
            for target in ("/healthz", "/nowhere", "/v1/check", "/v1/forward-auth", "/v1/refusal"):
                client.send(request("HEAD", target))
                self.assertIn(client.read(head=True).status, (200, 404, 405, 429))
            self.spent += 1  # forward-auth knows any method
            client.send(b"HEAD /healthz HTTP/1.1\r\nHost: a b\r\n\r\n")
            answer = client.read(head=True)
            self.assertEqual((answer.status, client.rest()), (400, b""))
        self.serves_others()


class Sizes(HostileTest):
    def test_header_bombs(self):
        get = b"GET /healthz HTTP/1.1\r\nHost: a\r\n"
        many = [(get + b"X-%d: y\r\n" % 7 * 1_000, 431)]
        many += [(get + b"X: " + b"y" * size, 431) for size in (16_384, 1_000_000)]
        many += [(get + b"y" * 100_000, 431), (b"G" * 100_000, 414), (b"GET /" + b"y" * 100_000, 414)]
        many += [(get + b"A:\r\n" * 5_000 + b"\r\n", 431)]
        for data, status in many:
            self.refused(status, data)
        self.counted({414: 2, 431: len(many) - 2})

    def test_the_answer_names_the_bound(self):
        for data, bound in (
            (b"GET /" + b"y" * 9_000, "8192 bytes"), (b"GET / HTTP/1.1\r\nX: " + b"y" * 20_000, "16384 bytes"),
            (b"GET / HTTP/1.1\r\n" + b"A:\r\n" * 101, "100 fields"), (POST + b"Content-Length: 1048577\r\n\r\n", "1048576 bytes"),
        ):
            with Client(self.http) as client:
                client.send(data)
                self.assertIn(bound, client.read().json()["error"])

    def test_pipelined_requests_whose_answers_nobody_reads(self):
        one = request("GET", "/nowhere", {"X": "y" * 1000})
        data = one * 40_000  # 40 MB, and 20 MB of answers
        before = self.memory_kib()
        with Client(self.http) as greedy:
            sent = 0
            greedy.socket.settimeout(0.5)
            with contextlib.suppress(TimeoutError):  # the daemon reads no more, and the system is full
                while sent < len(data):
                    sent += greedy.socket.send(data[sent:sent + 65536])
            self.assertLess(sent, len(data))
            self.serves_others()
            self.assertLess(self.memory_kib() - before, 16 * 1024, "answers that wait are bounded")
            greedy.socket.settimeout(30)
            whole = sent // len(one)
            self.assertGreater(whole, 1_000)
            self.assertEqual({greedy.read().status for _ in range(whole)}, {404}, "none is lost")
        self.serves_others()

    def memory_kib(self):
        with open(f"/proc/{self.daemon.pid}/status", encoding="ascii") as status:
            return next(int(line.split()[1]) for line in status if line.startswith("RssAnon"))

    def test_garbage_behind_a_good_request(self):
        good = request("POST", "/v1/check", body=b'{"cost": 1}')
        for garbage, status in ((b"\0" * 1000, 400), (b"{}" * 500, 400), (b"GET\r\n\r\n" + INNER, 400),
                                (b"A" * 70_000, 414)):
            with Client(self.http) as client:
                client.send(good * 3 + garbage)
                self.assertEqual([client.read().status for _ in range(4)], [200] * 3 + [status])
                self.assertEqual(client.rest(), b"")
            self.spent += 3
            self.serves_others()

    def test_deep_and_broken_json(self):
        for body in (b"[" * 1_000_000, b'{"attributes":' * 50_000, b'{"a":"' + b"\\u0000" * 100_000, b"\xff" * 1000,
                     b'{"attributes":{"a":"\xc0\xaf"}}', b'{"cost":' + b"9" * 1_000_000 + b"}"):
            self.assert_mistake(self.post("/v1/check", body), 400)
            self.serves_others()


class Endings(HostileTest):
    def test_who_shuts_its_sending_side_gets_all_answers(self):
        with Client(self.http) as client:
            client.send(request("POST", "/v1/check", body=b'{"cost": 1}') * 500)
            client.socket.shutdown(socket.SHUT_WR)
            self.assertEqual([client.read().status for _ in range(500)], [200] * 500)
            self.assertEqual(client.rest(), b"")
        self.spent += 500
        with Client(self.http) as client:  # in the middle of a request
            client.send(INNER + INNER[:-1])
            client.socket.shutdown(socket.SHUT_WR)
            self.assertEqual(client.read().status, 200)
            self.assertEqual(client.rest(), b"")
        self.spent += 7
        self.serves_others()

    def test_resets_at_every_place(self):
        for cut in range(len(INNER) + 1):
            with Client(self.http) as client:
                client.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
                client.send(INNER[:cut])
        # The last one was whole; a reset may come before it is read.
        remaining = self.check({}, cost=0).json()["remaining"]
        self.spent = 1_000_000 - remaining
        self.serves_others()

    def test_HTTP_1_0_keeps_its_connection_when_asked_to(self):
        with Client(self.http) as client:
            for _ in range(3):
                client.send(b"GET /healthz HTTP/1.0\r\nConnection: keep-alive\r\n\r\n")
                answer = client.read()
                self.assertEqual((answer.status, answer.field("Connection")), (200, "keep-alive"))
            client.send(b"GET /healthz HTTP/1.0\r\n\r\n" + INNER)
            answer = client.read()
            self.assertEqual((answer.status, answer.field("Connection")), (200, "close"))
            self.assertEqual(client.rest(), b"")
        self.serves_others()

    def test_expectations(self):
        with Client(self.http) as client:
            for body in (b'{"cost": 1}', b"{"):
                client.send(POST + b"Content-Length: %d\r\nExpect: 100-Continue\r\n\r\n" % len(body))
                self.assertEqual(client.read().status, 100)
                client.send(body)
                self.assertEqual(client.read().status, 200 if body != b"{" else 400)
        self.spent += 1
        self.refused(417, POST + b"Content-Length: 2\r\nExpect: 100-continue, tea\r\n\r\n{}")
        self.refused(413, POST + b"Content-Length: 9999999\r\nExpect: 100-continue\r\n\r\n")
        with Client(self.http) as client:  # HTTP/1.0 has no interim answers
            client.send(b"POST /v1/check HTTP/1.0\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\n{}")
            self.assertEqual(client.read().status, 200)
        self.spent += 1
        self.serves_others()


class Slowness(HostileTest):
    def test_slow_heads_and_bodies_are_told_408_and_silent_clients_nothing(self):
        body = json.dumps({"cost": 1}).encode()
        head = POST + b"Content-Length: %d\r\n\r\n" % len(body)
        halves = [b"P", b"POST /v1", head[:-2], head, head + body[:-1], CHUNKED, CHUNKED + b"5\r\nabc", b"\r\n"]
        slow = [Client(self.http) for _ in range(5) for _ in halves]
        silent = [Client(self.http) for _ in range(5)]
        for client in slow + silent:
            self.addCleanup(client.close)
        for client, half in zip(slow, halves * 5):
            client.send(half)
        # They drip on, which makes the time no longer.
        dripping = [client for client, half in zip(slow, halves * 5) if half == b"P"]

        def drip():
            for client in dripping:
                with contextlib.suppress(ConnectionError):
                    client.send(b"P")
            self.serves_others()
            return self.bad_requests().get(408) == len(slow)

        until(drip, "the end of all slow requests")
        for client in slow:
            answer = client.read()
            self.assertEqual((answer.status, answer.field("Connection")), (408, "close"))
            self.assertEqual(client.rest(), b"")
        self.counted({408: len(slow)})
        timed_out = 'suimon_connections_timed_out_total{door="http"}'
        self.assertEqual(self.daemon.metrics()[timed_out], len(slow))
        for client in silent:
            self.assertEqual(client.ask("GET", "/healthz").status, 200, "who has said nothing may rest longer")


if __name__ == "__main__":
    unittest.main()

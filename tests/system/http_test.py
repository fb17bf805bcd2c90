"""HTTP of the finished program: statuses, connections, and clients that behave badly."""

import json
import os
import socket
import stat
import threading
import unittest

from harness import Client, Process, ask, program, request
from http_base import PER_ADDRESS, HttpTest


class Surface(HttpTest):
    def test_404_names_the_paths(self):
        for target in ("/", "/v1", "/v1/check/", "/v1/checks", "/metrics", "/v1/check/../check"):
            with self.subTest(target):
                self.assert_mistake(ask(self.http, "GET", target), 404, "/v1/check")

    def test_405_says_which_method(self):
        for target, methods, allowed in (
            ("/v1/check", ("GET", "PUT", "DELETE", "OPTIONS", "BREW"), "POST"),
            ("/v1/check/batch", ("GET", "PATCH"), "POST"),
            ("/healthz", ("POST", "DELETE"), "GET, HEAD"),
            ("/readyz", ("POST",), "GET, HEAD"),
        ):
            for method in methods:
                with self.subTest(f"{method} {target}"):
                    answer = ask(self.http, method, target)
                    self.assert_mistake(answer, 405, allowed)
                    self.assertEqual(answer.field("Allow"), allowed)
        admin = ask(self.daemon.admin, "POST", "/metrics")
        self.assertEqual((admin.status, admin.field("Allow")), (405, "GET, HEAD"))

    def test_415_for_what_is_no_json(self):
        body = {"attributes": {"user": "u1"}}
        for content_type in ("text/plain", "application/x-www-form-urlencoded", "application/jsonp", "json"):
            with self.subTest(content_type):
                self.assert_mistake(self.post("/v1/check", body, {"Content-Type": content_type}), 415,
                                    "application/json")
        for content_type in ("application/json; charset=utf-8", "application/json;charset=utf-8",
                             "Application/JSON", "application/vnd.shop+json"):
            with self.subTest(content_type):
                self.assertEqual(self.post("/v1/check", {}, {"Content-Type": content_type}).status, 200)

    def test_413_for_a_body_over_1_MiB(self):
        limit = 1 << 20
        empty = b'{"attributes":{}}'
        self.assertEqual(self.post("/v1/check", empty + b" " * (limit - len(empty))).status, 200)
        with Client(self.http) as client:  # said before the body comes
            client.send(request("POST", "/v1/check", {"Content-Length": limit + 1}))
            self.assert_mistake(client.read(), 413)
        with Client(self.http) as client:
            client.send(request("POST", "/v1/check", {"Transfer-Encoding": "chunked"}, b"100001\r\n"))
            self.assert_mistake(client.read(), 413)
        with Client(self.http) as client:  # said although the client is still sending
            client.send(request("POST", "/v1/check", {"Content-Length": 2 * limit}))
            client.send(b"x" * (2 * limit))
            self.assert_mistake(client.read(), 413)

    def test_431_and_414_for_large_headers(self):
        for fields in ([("X-Large", "x" * 16384)], [(f"X-{i}", "x" * 2000) for i in range(9)],
                       [(f"X-{i}", "x") for i in range(101)]):
            self.assert_mistake(ask(self.http, "GET", "/healthz", fields), 431)
        self.assert_mistake(ask(self.http, "GET", "/" + "x" * 9000), 414)
        self.assertEqual(ask(self.http, "GET", "/healthz", [("X-Large", "x" * 16000)]).status, 200)

    def test_health_and_readiness(self):
        for address in (self.http, self.daemon.admin):
            for target in ("/healthz", "/readyz"):
                answer = ask(address, "GET", target)
                self.assertEqual((answer.status, answer.text), (200, "ok\n"))
        self.assertEqual(ask(self.daemon.admin, "GET", "/v1/check").status, 404)

    def test_a_unix_socket(self):
        self.start(PER_ADDRESS, http=f"unix:{self.folder}/http.sock", admin=f"unix:{self.folder}/admin.sock")
        self.assertEqual(self.http, f"{self.folder}/http.sock")
        mode = stat.S_IMODE(os.stat(self.http).st_mode)
        self.assertEqual(mode & 0o007, 0, "nobody else may connect")
        self.assertEqual(self.verdicts(*[{"client_ip": "192.0.2.7"}] * 3), [True, True, False])
        fields = {"X-Forwarded-For": "192.0.2.8"}  # a unix socket is believed
        got = [ask(self.http, "GET", "/v1/forward-auth", fields).status for _ in range(3)]
        self.assertEqual(got, [200, 200, 429])
        self.assertIn("suimon_build_info", ask(self.daemon.admin, "GET", "/metrics").text)
        self.assertEqual(self.daemon.stop(), 0)
        self.assertFalse(os.path.exists(self.http), "the socket is taken away")

    def test_a_port_that_is_taken_is_said(self):
        taken = "{}:{}".format(*self.http)
        second = self.ended_with_test(Process(
            program(), "serve", "--config", self.daemon.policy_file, "--http", taken, "--admin", "off",
            "--secret-file", self.folder / "secret"))
        self.assertEqual(second.wait(), 1)
        self.assertIn(taken, second.stderr())


class Connections(HttpTest):
    def test_pipelined_requests_are_answered_in_order(self):
        body = json.dumps({"attributes": {"user": "u1"}}).encode()
        with Client(self.http) as client:
            client.send(b"".join([
                request("POST", "/v1/check", body=body), request("GET", "/nowhere"),
                request("HEAD", "/healthz"), request("POST", "/v1/check", body=body),
                request("GET", "/v1/check"), request("POST", "/v1/check", body=b"{"),
                request("POST", "/v1/check", {"Transfer-Encoding": "chunked"},
                        b"%x\r\n%s\r\n0\r\n\r\n" % (len(body), body)),
                request("POST", "/v1/check", body=body), request("GET", "/healthz", {"Connection": "close"}),
                request("GET", "/nowhere")]))
            answers = [client.read(head=number == 2) for number in range(9)]
            self.assertEqual([a.status for a in answers], [200, 404, 200, 200, 405, 400, 200, 429, 200])
            self.assertEqual([a.json()["remaining"] for a in answers if "remaining" in a.text], [2, 1, 0, 0])
            self.assertEqual(client.rest(), b"", "nothing is answered after close")

    def test_a_connection_is_kept_for_any_number_of_requests(self):
        with Client(self.http) as client:
            for _ in range(3000):
                self.assertEqual(client.ask("GET", "/healthz").status, 200)
        with Client(self.http) as client:
            client.send(b"GET /healthz HTTP/1.0\r\n\r\n")
            self.assertEqual(client.read().status, 200)
            self.assertEqual(client.rest(), b"", "HTTP/1.0 closes unless it is asked to keep")

    def test_10000_pipelined_requests(self):
        count = 10000
        with Client(self.http) as client:
            sender = threading.Thread(target=client.send, args=(request("GET", "/healthz") * count,))
            sender.start()
            self.assertTrue(all(client.read().status == 200 for _ in range(count)))
            sender.join()

    def test_100_continue(self):
        body = b'{"attributes":{"user":"u1"}}'
        with Client(self.http) as client:
            client.send(request("POST", "/v1/check", {"Content-Length": len(body), "Expect": "100-continue"}))
            self.assertEqual(client.read().status, 100)
            client.send(body)
            self.assertEqual(client.read().json()["remaining"], 2)
            # With the body already there, nobody waits for it.
            client.send(request("POST", "/v1/check", {"Expect": "100-continue"}, body))
            self.assertEqual(client.read().json()["remaining"], 1)
            client.send(request("POST", "/v1/check", {"Content-Length": 1 << 30, "Expect": "100-continue"}))
            self.assertEqual(client.read().status, 413)
        self.assertEqual(ask(self.http, "GET", "/healthz", {"Expect": "the-impossible"}).status, 417)

    def test_the_bytes_decide_not_how_they_were_cut(self):
        data = request("POST", "/v1/check", {"Transfer-Encoding": "chunked"},
                       b'10\r\n{"attributes": {\r\nE\r\n"user": "u1"}}\r\n0\r\n\r\n')
        with Client(self.http) as client:
            for cut in (1, 7, 50):
                for at in range(0, len(data), cut):
                    client.send(data[at:at + cut])
                self.assertEqual(client.read().status, 200)

    def test_garbage_is_refused_and_others_do_not_notice(self):
        post = b"POST /v1/check HTTP/1.1\r\nHost: a\r\n"
        for data, status in (
            (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(range(256)), 400),
            (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 505),
            (b"GET / HTTP/1.1\r\n\r\n", 400),  # no Host
            (b"GET /healthz HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", 400),
            (post + b"Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n", 400),
            (post + b"Content-Length: 2\r\nContent-Length: 3\r\n\r\n", 400),
            (post + b"Content-Length: -2\r\n\r\n", 400),
            (post + b"Transfer-Encoding: chunked\r\n\r\nzz\r\n", 400),
            (post + b"Transfer-Encoding: gzip\r\n\r\n", 501),
            (b"GET /healthz HTTP/1.1\nHost: a\n\n", 400),
            (b"GET /healthz HTTP/1.1\r\nHost : a\r\n\r\n", 400),
            (b"\0" * 100_000, 400),
        ):
            with self.subTest(data[:60]), Client(self.http) as client:
                client.send(data)
                answer = client.read()
                self.assertEqual(answer.status, status, answer)
                self.assertEqual(answer.field("Connection"), "close")
                self.assertEqual(client.rest(), b"")
        self.assertEqual(self.check().json()["remaining"], 2)

    def test_slow_and_silent_clients_do_not_disturb_others(self):
        whole = request("POST", "/v1/check", body=b'{"attributes":{"user":"slow"}}')
        clients = [Client(self.http) for _ in range(64)]
        try:
            for number, client in enumerate(clients):
                client.send(whole[:number * 3 % len(whole)])  # some of them say nothing at all
            greedy = Client(self.http)
            clients.append(greedy)
            greedy.socket.setblocking(False)
            try:  # sends and never reads
                for _ in range(2000):
                    greedy.socket.send(request("GET", "/nowhere") * 100)
            except BlockingIOError:
                pass
            for _ in range(200):
                self.assertEqual(ask(self.http, "GET", "/healthz").status, 200)
            self.assertEqual(self.check().json()["remaining"], 2)
            self.assertIn("suimon_table_entries", self.daemon.metrics())
            statuses = []
            for number, client in enumerate(clients[:64]):
                client.send(whole[number * 3 % len(whole):])
                statuses.append(client.read().status)
            self.assertEqual(sorted(statuses), [200] * 3 + [429] * 61)
        finally:
            for client in clients:
                client.close()

    def test_clients_that_go_away_in_the_middle(self):
        whole = request("POST", "/v1/check", body=b'{"attributes":{"user":"gone"}}')
        for cut in range(0, len(whole), 5):
            with Client(self.http) as client:
                client.send(whole[:cut])
        for _ in range(50):  # and by a reset, with the answer under way
            with Client(self.http) as client:
                client.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
                client.send(request("GET", "/healthz") * 20)
        self.assertEqual(self.check().json()["remaining"], 2)

    def test_a_client_that_has_said_all_still_gets_its_answer(self):
        with Client(self.http) as client:
            client.send(request("GET", "/healthz") * 3)
            client.socket.shutdown(socket.SHUT_WR)
            self.assertEqual([client.read().status for _ in range(3)], [200] * 3)
            self.assertEqual(client.rest(), b"")

if __name__ == "__main__":
    unittest.main()

"""What nginx makes of a suimon that is down, slow or strange, and what suimon is sent."""

import socket
import threading
import unittest

from harness import Client, free_port
from nginx_base import THREE_A_DAY, FakeSuimon, NginxTest


class Failures(NginxTest):
    def check_down(self):
        opened = self.get("/")
        self.assertEqual((opened.status, opened.field("RateLimit")), (200, None), opened)
        closed = self.get("/closed/x", method="POST", body=b"never seen")
        self.assertEqual((closed.status, closed.field("Retry-After")), (503, "1"), closed)
        self.assertEqual(closed.field("Cache-Control"), "no-store")
        self.assertEqual(closed.field("Content-Type"), "application/problem+json")
        self.assertEqual(closed.json()["type"], "urn:suimon:problem:overloaded")
        self.assertEqual([path for _, path, _ in self.application.seen], ["/"])
        self.application.seen.clear()

    def test_suimon_down_and_back_without_a_reload_of_nginx(self):
        for unix in (True, False):
            with self.subTest(unix=unix):
                if not unix:
                    self.nginx.stop()
                    self.setUp()  # another folder
                port = free_port()
                address = f"unix:{self.folder}/suimon.sock" if unix else f"127.0.0.1:{port}"
                self.start_nginx(address)
                self.check_down()
                for _ in range(2):  # down, and back, and again
                    self.daemon = self.suimon(THREE_A_DAY, http=address)
                    self.assertEqual(self.statuses(4), [200, 200, 200, 429])
                    self.assertEqual(self.get("/closed/x").status, 429)
                    self.application.seen.clear()
                    self.assertEqual(self.daemon.stop(), 0)
                    self.check_down()

    def test_suimon_killed_with_connections_kept(self):
        self.start()
        self.assertEqual(self.statuses(2), [200, 200])
        self.application.seen.clear()
        self.daemon.popen.kill()
        self.daemon.wait()
        self.check_down()

    def test_suimon_stands_still(self):
        self.start()
        self.assertEqual(self.statuses(1), [200])
        self.application.seen.clear()
        with self.daemon.standing_still():
            self.check_down()
        # What had waited was charged when it went on; a client of its own sees all three tokens.
        self.assertEqual(self.statuses(4, source="127.0.0.7"), [200, 200, 200, 429])

    def test_nothing_is_lost_while_the_policy_is_reloaded(self):
        large = THREE_A_DAY.replace("capacity: 3", "capacity: 1000000")
        larger = large.replace("1000000", "1000001")
        self.start(large)
        done, problems, sent = threading.Event(), [], [0] * 4

        def run(number):
            with Client(self.address, f"127.0.0.{10 + number}") as client:
                while not done.is_set() or sent[number] < 100:
                    answer = client.ask("GET", "/closed/x")
                    sent[number] += 1
                    if answer.status != 200 or not answer.field("RateLimit"):
                        problems.append(answer)
                        return

        threads = [threading.Thread(target=run, args=(i,)) for i in range(len(sent))]
        for thread in threads:
            thread.start()
        reloads = [self.daemon.reload(larger if i % 2 == 0 else large) for i in range(20)]
        done.set()
        for thread in threads:
            thread.join()
        self.assertEqual(problems, [])
        self.assertEqual(reloads, [True] * 20)
        self.assertEqual(self.counted("allowed"), sum(sent))
        self.assertEqual(len(self.application.seen), sum(sent))


class Surroundings(NginxTest):
    """What else a user's configuration says must not matter to the check."""

    def test_settings_above_do_not_reach_the_check(self):
        self.start()
        host = {"Host": "adverse.example", "Accept-Language": "ja"}
        for source in ("127.0.0.2", "127.0.0.3"):
            self.assertEqual(self.statuses(3, fields=host, source=source), [200] * 3)
            for _ in range(2):
                refused = self.get(fields=host, source=source)
                self.assertEqual((refused.status, refused.field("Content-Language")), (429, "ja"), refused)
                self.assertEqual(refused.json()["binding"], "per-address")
        self.assertEqual((self.counted("allowed"), self.counted("limited")), (6, 4))
        self.daemon.stop()
        self.assertEqual(self.get("/", host).status, 200)
        closed = self.get("/closed/", host)
        self.assertEqual((closed.status, closed.field("Retry-After")), (503, "1"))
        self.assertEqual(closed.json()["status"], 503)
        large = [*host.items(), *((f"X-Large-{i}", "x" * 1000) for i in range(20))]
        self.suimon(THREE_A_DAY, http="{}:{}".format(*self.daemon.http))
        self.assertEqual(self.get("/", large).json()["status"], 400)
        self.assertEqual({path for _, path, _ in self.application.seen}, {"/"})


class WhatSuimonIsSent(NginxTest):
    ALLOWED = b"HTTP/1.1 200 OK\r\nX-Suimon-Verdict: 1 a 429\r\nContent-Length: 0\r\n\r\n"
    REFUSED = b"HTTP/1.1 403 Forbidden\r\nX-Suimon-Verdict: 1 l 429 x\r\nContent-Length: 2\r\n\r\n{}"

    def fake(self, answer, **options):
        fake = FakeSuimon(answer, **options)
        self.addCleanup(fake.stop)
        self.start_nginx(f"127.0.0.1:{fake.port}")
        return fake

    @staticmethod
    def fields(head):
        lines = head.split("\r\n")
        return lines[0], {key.lower(): value for key, value in (line.split(": ", 1) for line in lines[1:])}

    CLIENTS_FIELDS = [
        ("Host", "Shop.Example:80"), ("X-User-Id", "u1"), ("Accept-Language", "ja"), ("Accept", "text/html"),
        ("Authorization", "Bearer x"), ("Cookie", "c=1"), ("Referer", "/r"), ("Forwarded", "for=1.1.1.1"),
        ("CF-Connecting-IP", "1.1.1.1"), ("True-Client-IP", "1.1.1.1"), ("Fastly-Client-IP", "1.1.1.1"),
        ("X-Real-IP", "1.1.1.1"), ("X-Forwarded-For", "1.1.1.1"), ("X-Forwarded-Proto", "https"),
        ("X-Forwarded-Uri", "/f"), ("X-Forwarded-Method", "F"), ("X-Forwarded-Host", "f"),
        ("X-Suimon-Verdict", "1 a 429 x"), ("TE", "trailers"), ("Connection", "upgrade"),
        ("Upgrade", "websocket"),
    ]

    def test_the_check_has_nginxs_own_knowledge_and_the_headers_that_a_policy_may_name(self):
        fake = self.fake(self.ALLOWED)
        for method, target in (("POST", "/a%2fb/../c?q=1"), ("HEAD", "/")):
            self.assertEqual(self.get(target, self.CLIENTS_FIELDS, method=method).status, 200)
            line, fields = self.fields(fake.heads[-1])
            self.assertEqual(line, "HEAD /v1/forward-auth?deny_status=403 HTTP/1.1")
            self.assertEqual(fields, {
                "host": "shop.example", "x-forwarded-for": "127.0.0.2", "x-forwarded-method": method,
                "x-forwarded-uri": target, "x-forwarded-host": "shop.example", "x-forwarded-proto": "http",
                "x-real-ip": "127.0.0.2", "x-user-id": "u1", "accept-language": "ja", "accept": "text/html",
                "authorization": "Bearer x"})

    def test_a_refusal_is_told_the_verdict_and_the_language_and_nothing_else(self):
        fake = self.fake(self.REFUSED)
        self.get("/a?b", self.CLIENTS_FIELDS, method="POST", body=b"body")
        line, fields = self.fields(fake.heads[-1])
        self.assertEqual(line, "GET /v1/refusal HTTP/1.1")
        self.assertEqual(fields, {"host": "shop.example", "x-suimon-verdict": "1 l 429 x",
                                  "accept-language": "ja", "accept": "text/html"})
        self.get("/a?b")
        _, fields = self.fields(fake.heads[-1])
        self.assertEqual(fields, {"host": "shop.example", "x-suimon-verdict": "1 l 429 x"})

    def test_connections_are_kept(self):
        fake = self.fake(self.ALLOWED)
        with Client(self.address) as client:  # one worker of nginx
            for _ in range(300):
                self.assertEqual(client.ask("GET", "/").status, 200)
        self.assertEqual((len(fake.heads), fake.connections), (300, 1))

    def test_refusals_keep_connections_too(self):
        fake = self.fake(self.REFUSED)
        with Client(self.address) as client:
            for _ in range(50):
                client.ask("POST", "/", body=b"body")
        self.assertEqual(len(fake.heads), 100)
        self.assertEqual(fake.connections, 1)

    def test_a_connection_that_was_closed_in_between_is_no_failure(self):
        fake = self.fake(self.ALLOWED, closes_after=1)
        for host in ("shop.example", "adverse.example"):
            with Client(self.address, "127.0.0.2") as client:
                for _ in range(20):
                    self.assertEqual(client.ask("POST", "/closed/x", {"Host": host}, b"body").status, 200)
        self.assertEqual(len(fake.heads), 40)

    def test_a_refusal_over_a_connection_that_was_closed_in_between(self):
        self.fake(self.REFUSED, closes_after=1)
        for host in ("shop.example", "adverse.example"):
            with Client(self.address, "127.0.0.2") as client:
                for _ in range(5):
                    answer = client.ask("POST", "/closed/x", {"Host": host}, b"body")
                    self.assertEqual((answer.status, answer.text), (403, "{}"), "what the fake says")

    def test_suimon_that_is_gone_between_check_and_refusal(self):
        for host in ("shop.example", "adverse.example"):
            with self.subTest(host):
                if host == "adverse.example":
                    self.nginx.stop()
                    self.setUp()
                self.fake(self.REFUSED, closes_after=1, one_connection=True)
                answer = self.get("/closed/x", {"Host": host})
                self.assertEqual((answer.status, answer.field("Retry-After")), (429, "1"), answer)
                self.assertEqual(answer.field("Cache-Control"), "no-store")
                self.assertEqual(answer.field("Content-Type"), "application/problem+json")
                self.assertEqual(answer.json()["status"], 429)

    def test_suimon_that_accepts_nobody(self):
        """Its queue is full, as when it stands still for long: a connection is not made at all."""
        with socket.create_server(("127.0.0.1", 0), backlog=0) as listener:
            fill = [socket.socket() for _ in range(4)]
            for one in fill:
                one.setblocking(False)
                one.connect_ex(listener.getsockname())
            self.start_nginx("{}:{}".format(*listener.getsockname()))
            for host in ("shop.example", "adverse.example"):
                self.assertEqual(self.get("/", {"Host": host}).status, 200)
                self.assertEqual(self.get("/closed/x", {"Host": host}).status, 503)
            for one in fill:
                one.close()

    def test_what_each_status_of_a_check_becomes(self):
        fake = self.fake(self.ALLOWED)
        expected = {200: (200, 200), 204: (200, 200), 403: (403, 403)}
        expected |= dict.fromkeys((400, 413, 414, 431), (400, 400))
        expected |= dict.fromkeys((500, 502, 503, 504), (200, 503))
        expected |= dict.fromkeys((302, 404, 405, 429), (500, 500))  # that is no suimon
        for status, answers in expected.items():
            with self.subTest(status):
                fake.answer = b"HTTP/1.1 %d Some\r\nContent-Length: 0\r\n\r\n" % status
                self.assertEqual(tuple(self.get(target).status for target in ("/", "/closed/x")), answers)
        fake.answer = b"HTTP/1.1 200 OK\r\nX-Suimon-Verdict: " + b"x" * 9000 + b"\r\n\r\n"
        self.assertEqual(tuple(self.get(target).status for target in ("/", "/closed/x")), (200, 503))

if __name__ == "__main__":
    unittest.main()

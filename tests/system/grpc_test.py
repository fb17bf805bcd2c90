"""The gRPC door as a client that is not ours sees it: Envoy's rate limit service and health."""

import threading
import unittest

from grpc_base import OK, OVER_LIMIT, SERVICE, GrpcTest
from harness import ask, until
from tls_test import Authority

POLICY = """\
version: 1
domain: shop
aliases: {remote_address: client_ip}
responses: {language: de}
limits:
  - name: group
    key: [group]
    token_bucket: {capacity: 10, refill: 10/h}
  - name: route
    title: {ja: 経路}
    match: {route: r}
    key: [group]
    token_bucket: {capacity: 3, refill: 3/h}
  - name: per-address
    key: [client_ip]
    token_bucket: {capacity: 10, refill: 10/h}
"""
OTHER = """\
version: 1
domain: books
limits:
  - name: all
    key: [client_ip]
    token_bucket: {capacity: 10, refill: 10/h}
"""


class RateLimitService(GrpcTest):
    policy = POLICY

    def codes(self, response):
        return [status.code for status in response.statuses]

    def test_C13_what_the_narrow_limit_refuses_the_broad_one_keeps(self):
        both = {"group": "g"}, {"group": "g", "route": "r"}
        for left in (2, 1, 0):
            answer = self.ask(*both)
            self.assertEqual((answer.overall_code, self.codes(answer)), (OK, [OK, OK]))
            self.assertEqual(answer.statuses[1].limit_remaining, left)
        for _ in range(2):
            answer = self.ask(*both)
            self.assertEqual((answer.overall_code, self.codes(answer)), (OVER_LIMIT, [OK, OVER_LIMIT]))
            self.assertEqual(answer.statuses[0].limit_remaining, 7)
        broad = [self.ask({"group": "g"}).overall_code for _ in range(8)]
        self.assertEqual(broad, [OK] * 7 + [OVER_LIMIT])

    def test_C35a_hits(self):
        address = {"remote_address": "192.0.2.1"}

        def left(**members):
            answer = self.ask({**address, **members.pop("own", {})}, **members)
            return answer.overall_code, answer.statuses[0].limit_remaining

        self.assertEqual(left(), (OK, 9))
        self.assertEqual(left(hits=0), (OK, 8))
        self.assertEqual(left(hits=3), (OK, 5))
        self.assertEqual(left(hits=4294967295), (OVER_LIMIT, 5))
        self.assertEqual(left(own={None: 0}), (OK, 5))
        self.assertEqual(left(own={None: 2}, hits=9), (OK, 3))

    def test_what_no_limit_speaks_of_passes(self):
        answer = self.ask({"something": "else"}, {"group": "g"})
        self.assertEqual((answer.overall_code, self.codes(answer)), (OK, [OK, OK]))
        self.assertFalse(answer.statuses[0].HasField("current_limit"))
        self.assertEqual(answer.statuses[1].current_limit.name, "group")
        answer = self.ask({"a": "b"}, domain="unheard-of")
        self.assertEqual((answer.overall_code, self.codes(answer)), (OK, [OK]))
        counted = self.daemon.metrics()
        self.assertEqual(counted['suimon_requests_total{door="grpc",domain="",verdict="error"}'], 1)

    def test_a_domain_may_be_left_out_when_one_is_loaded(self):
        self.assertEqual(self.ask({"group": "g"}, domain="").statuses[0].current_limit.name, "group")
        folder = self.folder / "two"
        folder.mkdir()
        (folder / "a.yaml").write_text(POLICY, encoding="utf-8")
        (folder / "b.yaml").write_text(OTHER, encoding="utf-8")
        self.daemon.stop()
        self.start(None, config=folder)
        self.assert_fails("INVALID_ARGUMENT", "must name one", lambda: self.ask({"group": "g"}, domain=""))

    def test_what_is_wrong_is_said(self):
        self.assert_fails("INVALID_ARGUMENT", "no descriptors", lambda: self.ask())
        self.assert_fails("INVALID_ARGUMENT", "has no entries", lambda: self.ask({}))
        ask_nothing = self.channel.unary_unary(f"/{SERVICE}/Nothing")
        self.assert_fails("UNIMPLEMENTED", "no such method", lambda: ask_nothing(b"", timeout=20))
        ask_raw = self.channel.unary_unary(f"/{SERVICE}/ShouldRateLimit")
        self.assert_fails("INVALID_ARGUMENT", "no RateLimitRequest", lambda: ask_raw(b"\x0a\x7f", timeout=20))
        compressed = self.connect(**{"grpc.default_compression_algorithm": 2})
        big = {"a": "x" * 5000}
        self.assert_fails("UNIMPLEMENTED", "compressed", lambda: self.ask(big, channel=compressed))

    def test_a_refusal_speaks_the_callers_language_else_the_policys(self):
        for _ in range(3):
            self.ask({"group": "g", "route": "r"})
        for said, language in (({"accept_language": "ja-JP, en;q=0.5"}, "ja"), ({}, "de")):
            answer = self.ask({"group": "g", "route": "r", **said})
            headers = {header.key: header.value for header in answer.response_headers_to_add}
            self.assertEqual(headers["content-language"], language)
            self.assertEqual(headers["retry-after"], "1200")
            self.assertIn("経路" if language == "ja" else "route", answer.raw_body.decode("utf-8"))

    def test_threads_of_clients_are_counted_exactly(self):
        answers = []

        def client():
            channel = self.connect()
            for _ in range(20):
                answers.append(self.ask({"group": "all"}, channel=channel).overall_code)

        threads = [threading.Thread(target=client) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual((len(answers), answers.count(OK)), (80, 10))

    def test_other_protocols_are_told_where_they_are(self):
        answer = ask(self.daemon._address("grpc"), "GET", "/")
        self.assertEqual(answer.status, 505)
        # Counters of connections are read at the end of a wake-up, which may be after the answer.
        until(lambda: self.daemon.metrics()['suimon_bad_requests_total{door="grpc",status="505"}'] == 1, "the count")


class Health(GrpcTest):
    policy = POLICY

    def setUp(self):
        super().setUp()
        from grpc_health.v1 import health_pb2, health_pb2_grpc
        self.pb = health_pb2
        self.health = health_pb2_grpc.HealthStub(self.channel)

    def test_check(self):
        for service in ("", SERVICE):
            answer = self.health.Check(self.pb.HealthCheckRequest(service=service), timeout=20)
            self.assertEqual(answer.status, self.pb.HealthCheckResponse.SERVING)
        unknown = self.pb.HealthCheckRequest(service="other")
        self.assert_fails("NOT_FOUND", "no such service", lambda: self.health.Check(unknown, timeout=20))

    def test_watchers_leave_room_for_the_others(self):
        from grpc_health.v1 import health_pb2_grpc
        self.start(POLICY, threads=1)
        watching, refused = [], 0
        for channel in (self.connect(), self.connect()):
            health = health_pb2_grpc.HealthStub(channel)
            for _ in range(600):
                call = health.Watch(self.pb.HealthCheckRequest(), timeout=120)
                try:
                    next(call)
                    watching.append(call)
                except self.grpc.RpcError as error:
                    self.assertEqual(error.code(), self.grpc.StatusCode.RESOURCE_EXHAUSTED)
                    refused += 1
        self.assertEqual((len(watching), refused), (1024, 176))
        self.assertEqual(self.ask({"client_ip": "192.0.2.1"}).overall_code, OK)
        self.assertEqual(self.daemon.metrics()['suimon_calls_refused_total{door="grpc"}'], refused)
        for call in watching:
            call.cancel()

    def test_watchers_hear_of_the_end(self):
        heard = []
        calls = [self.health.Watch(self.pb.HealthCheckRequest(service=s), timeout=30) for s in ("", "other")]

        def listen(call):
            with self.assertRaises(self.grpc.RpcError):
                for answer in call:
                    heard.append(answer.status)

        threads = [threading.Thread(target=listen, args=(call,)) for call in calls]
        for thread in threads:
            thread.start()
        until(lambda: len(heard) == 2, "the first answers")
        self.daemon.signal(15)
        until(lambda: len(heard) == 3, "the end to be told")
        for call in calls:
            call.cancel()
        for thread in threads:
            thread.join()
        response = self.pb.HealthCheckResponse
        self.assertEqual(sorted(heard[:2]), [response.SERVING, response.SERVICE_UNKNOWN])
        self.assertEqual(heard[2], response.NOT_SERVING)
        self.assertEqual(self.daemon.wait(), 0)


class Tls(GrpcTest):
    def test_only_who_shows_a_certificate_of_ours_is_answered(self):
        ours, theirs = Authority(self.folder, "ours"), Authority(self.folder, "theirs")
        certificate, key = ours.sign("server")
        self.start(POLICY, extra=("--tls-cert", certificate, "--tls-key", key, "--tls-client-ca", ours.certificate))
        root = ours.certificate.read_bytes()

        def credentials(authority):
            cert, own = authority.sign("client")
            return self.grpc.ssl_channel_credentials(root, own.read_bytes(), cert.read_bytes())

        answer = self.ask({"group": "g"}, channel=self.connect(credentials(ours)))
        self.assertEqual(answer.overall_code, OK)
        for wrong in (credentials(theirs), self.grpc.ssl_channel_credentials(root), None):
            channel = self.connect(wrong)
            self.assert_fails("UNAVAILABLE", ".", lambda: self.ask({"group": "g"}, channel=channel))


if __name__ == "__main__":
    unittest.main()

"""Envoy asks suimon over TLS, by the lines that stand at the end of integrations/envoy/envoy.yaml: with the certificate
that suimon demands, and with each that is not good enough, on either side."""

import re
import unittest

import yaml

from envoy_base import SHIPPED, EnvoyTest
from harness import until
from tls_test import Authority, TlsClient

NAME = "suimon.internal"


def shipped():
    """The transport socket as it ships, without the marks that make it a comment."""
    text = (SHIPPED / "envoy.yaml").read_text(encoding="utf-8")
    block = text[text.index("    # transport_socket:"):]
    return yaml.safe_load(re.sub("^    # ", "", block, flags=re.MULTILINE))["transport_socket"]


class TlsTest(EnvoyTest):
    def setUp(self):
        super().setUp()
        self.authority = Authority(self.folder, "ca")
        self.strangers = Authority(self.folder, "strangers")
        self.suimons = self.authority.sign("suimon", names=f"DNS:{NAME},DNS:localhost")
        self.envoys = self.authority.sign("envoy")

    def flags(self, certificate=None, demand=True):
        certificate, key = certificate or self.suimons
        demanded = ("--tls-client-ca", self.authority.certificate) if demand else ()
        return ("--tls-cert", certificate, "--tls-key", key, *demanded)

    def transport(self, show=True, trusted=None):
        """The shipped lines with our files: what Envoy shows, and whom it believes."""
        socket = shipped()
        context = socket["typed_config"]["common_tls_context"]
        if show is None:
            del context["tls_certificates"]
        else:
            mine = context["tls_certificates"][0]
            certificate, key = self.envoys if show is True else show
            mine["certificate_chain"]["filename"], mine["private_key"]["filename"] = str(certificate), str(key)
        context["validation_context"]["trusted_ca"]["filename"] = str((trusted or self.authority).certificate)
        return socket

    def metrics(self):
        """As operators see them, who show a certificate as well."""
        with TlsClient(self.daemon.admin, self.authority, certificate=self.envoys) as client:
            lines = client.ask("GET", "/metrics").text.splitlines()
        return {k: float(v) for k, _, v in (s.rpartition(" ") for s in lines if not s.startswith("#"))}

    def handshake_failures(self):
        return self.metrics()['suimon_handshake_failures_total{door="grpc"}']


class Understood(TlsTest):
    def assert_limited(self):
        answers = [self.get() for _ in range(12)]
        self.assertEqual([answer.status for answer in answers], [200] * 10 + [429] * 2)
        self.assertEqual(answers[0].field("X-RateLimit-Remaining"), "9")
        self.assertEqual(answers[-1].json()["binding"], "per-address")
        self.assertGreaterEqual(self.stat("cluster.suimon.ssl.handshake"), 1)
        self.assertGreaterEqual(self.stat("cluster.suimon.upstream_cx_http2_total"), 1)
        self.assertEqual(self.stat("cluster.suimon.ssl.connection_error"), 0)
        self.assertEqual(self.handshake_failures(), 0)

    def test_ten_pass_and_then_none_when_both_show_certificates(self):
        self.start(extra=self.flags(), transport=self.transport())
        with TlsClient(("127.0.0.1", self.port), self.authority, certificate=self.envoys) as client:
            self.assertEqual(client.socket.selected_alpn_protocol(), "h2")
        self.assert_limited()

    def test_ten_pass_and_then_none_when_only_suimon_shows_one(self):
        self.start(extra=self.flags(demand=False), transport=self.transport(show=None))
        self.assert_limited()


class Refused(TlsTest):
    def is_ready_for_suimon(self):
        return self.stat("cluster.suimon.health_check.failure") >= 1

    def assert_open(self):
        """Requests pass as if there were no limits, and suimon has noticed and goes on."""
        answers = [self.get() for _ in range(12)]
        self.assertEqual([answer.status for answer in answers], [200] * 12)
        self.assertEqual({answer.field("X-RateLimit-Limit") for answer in answers}, {None})
        self.assertEqual(self.healthy(), 0)
        until(self.handshake_failures, "suimon to have counted it")
        self.assertEqual(self.metrics()['suimon_requests_total{door="grpc",domain="shop",verdict="allowed"}'], 0)
        self.assertEqual(self.daemon.stop(), 0)

    def test_open_while_Envoy_shows_no_certificate(self):
        self.start(extra=self.flags(), transport=self.transport(show=None))
        self.assert_open()

    def test_open_while_Envoy_shows_a_strangers_certificate(self):
        self.start(extra=self.flags(), transport=self.transport(show=self.strangers.sign("stranger")))
        self.assert_open()

    def test_closed_where_that_is_wanted(self):
        self.start(extra=self.flags(), transport=self.transport(show=None),
                   change=lambda limiting: limiting.update(failure_mode_deny=True))
        self.assertEqual({self.get().status for _ in range(12)}, {503})

    def test_open_while_suimon_shows_a_certificate_for_another_name(self):
        other = self.authority.sign("other", names="DNS:other.internal,DNS:localhost")
        self.start(extra=self.flags(other), transport=self.transport())
        self.assert_open()
        self.assertGreaterEqual(self.stat("cluster.suimon.ssl.fail_verify_san"), 1)

    def test_open_while_suimon_shows_a_certificate_that_Envoy_does_not_believe(self):
        self.start(extra=self.flags(), transport=self.transport(trusted=self.strangers))
        self.assert_open()

    def test_open_while_only_suimon_speaks_TLS(self):
        self.start(extra=self.flags())
        self.assert_open()

    def test_limited_again_when_suimon_gets_the_certificate_that_is_wanted(self):
        other = self.authority.sign("other", names="DNS:other.internal,DNS:localhost")
        self.start(extra=self.flags(other), transport=self.transport())
        self.assertEqual(self.get().status, 200)
        for new, old in zip(self.suimons, other):
            new.replace(old)
        self.assertTrue(self.daemon.reload())
        until(self.healthy, "Envoy to find suimon")
        self.assertEqual([self.get().status for _ in range(11)], [200] * 10 + [429])


if __name__ == "__main__":
    unittest.main()

"""TLS on the listeners: who gets in, what a renewed certificate changes, and what goes wrong at start."""

import os
import re
import shutil
import socket
import ssl
import subprocess
import unittest

from harness import Client, Closed, SystemTest, program, request
from http_base import PER_ADDRESS


def openssl(*arguments):
    subprocess.run(["openssl", *map(str, arguments)], check=True, capture_output=True, timeout=60)


class Authority:
    """A certificate authority in a folder, and what it signs."""

    def __init__(self, folder, name):
        self.folder, self.name = folder, name
        self.certificate, self.key = folder / f"{name}.crt", folder / f"{name}.key"
        openssl("req", "-x509", *self.new_key(self.key), "-out", self.certificate, "-days", 2,
                "-subj", f"/CN={name}")

    @staticmethod
    def new_key(key):
        return ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-keyout", key]

    def sign(self, name, days=2, names="DNS:localhost,IP:127.0.0.1"):
        """The files of a certificate for localhost and 127.0.0.1 or other names, and of its key."""
        certificate, key = self.folder / f"{name}.crt", self.folder / f"{name}.key"
        asked, extra = self.folder / f"{name}.csr", self.folder / f"{name}.ext"
        extra.write_text(f"subjectAltName={names}\n")
        openssl("req", *self.new_key(key), "-out", asked, "-subj", f"/CN={name}")
        openssl("x509", "-req", "-in", asked, "-CA", self.certificate, "-CAkey", self.key,
                "-out", certificate, "-days", days, "-extfile", extra)
        return certificate, key


class TlsClient(Client):
    """A connection that speaks TLS and believes one authority."""

    def __init__(self, address, authority, first=b"", certificate=None, **versions):
        super().__init__(address)
        self.send(first)
        context = ssl.create_default_context(cafile=authority.certificate)
        for name, value in versions.items():
            setattr(context, name, value)
        if certificate:
            context.load_cert_chain(*certificate)
        context.set_alpn_protocols(["h2", "http/1.1"])
        try:
            self.socket = context.wrap_socket(self.socket, server_hostname="localhost")
        except BaseException:
            self.close()
            raise

    @property
    def serial(self):
        return self.socket.getpeercert()["serialNumber"]


class TlsTest(SystemTest):
    def setUp(self):
        super().setUp()
        self.authority = Authority(self.folder, "authority")
        self.certificate, self.key = self.authority.sign("server")

    def start(self, policy=PER_ADDRESS, **options):
        self.daemon = self.suimon(policy, extra=["--tls-cert", self.certificate, "--tls-key", self.key],
                                  **options)

    def client(self, address=None, **options):
        client = TlsClient(address or self.daemon.http, self.authority, **options)
        self.addCleanup(client.close)
        return client

    def forward(self, client, address="192.0.2.7"):
        return client.ask("GET", "/v1/forward-auth", {"X-Forwarded-For": address}).status


class Serving(TlsTest):
    def test_checks_and_metrics_are_asked_over_TLS_1_2_and_1_3(self):
        self.start()
        for version, name in ((ssl.TLSVersion.TLSv1_2, "TLSv1.2"), (ssl.TLSVersion.TLSv1_3, "TLSv1.3")):
            with self.subTest(name):
                client = self.client(minimum_version=version, maximum_version=version)
                self.assertEqual(client.socket.version(), name)
                self.assertEqual(client.socket.selected_alpn_protocol(), "http/1.1")
                self.assertIsNone(client.socket.compression())
                got = [self.forward(client, f"192.0.2.{name[-1]}") for _ in range(3)]
                self.assertEqual(got, [200, 200, 429])
        metrics = self.client(self.daemon.admin).ask("GET", "/metrics")
        self.assertEqual(metrics.status, 200)
        self.assertIn('verdict="limited"} 2', metrics.text)

    def ask_with_openssl(self, *flags, told=b""):
        """What openssl's own client says of a connection."""
        host, port = self.daemon.http
        done = subprocess.run(["openssl", "s_client", "-connect", f"{host}:{port}", *flags], input=told,
                              capture_output=True, timeout=30)
        return (done.stdout + done.stderr).decode("utf-8", "replace")

    def test_older_versions_and_weak_ciphers_are_refused(self):
        self.start()
        for version in ("-tls1", "-tls1_1"):
            told = self.ask_with_openssl(version, "-cipher", "ALL:@SECLEVEL=0")
            self.assertIn("alert protocol version", told)
        told = self.ask_with_openssl("-tls1_2", "-cipher", "AES128-SHA:AES128-GCM-SHA256")
        self.assertIn("alert handshake failure", told)
        self.assertIn("Verify return code", self.ask_with_openssl("-tls1_2"))

    def test_pipelined_requests_and_a_large_body_arrive_whole(self):
        self.start()
        client = self.client()
        client.send(request("GET", "/healthz") * 3000)
        self.assertEqual({client.read().status for _ in range(3000)}, {200})
        body = b'{"domain": "shop", "attributes": {"client_ip": "192.0.2.9", "pad": "%s"}}' % (b"x" * 900)
        batch = b"[" + b",".join([body] * 1000) + b"]"
        answer = client.ask("POST", "/v1/check/batch", {"Content-Type": "application/json"}, batch)
        self.assertEqual((answer.status, len(answer.json())), (200, 1000))

    def test_the_end_is_said_in_TLS(self):
        self.start()
        client = self.client()
        answer = client.ask("GET", "/healthz", {"Connection": "close"})
        self.assertEqual(answer.status, 200)
        self.assertEqual(client.socket.recv(100), b"", "a goodbye, not an end in the middle")

    def test_plain_HTTP_on_a_TLS_port_is_closed_cleanly_and_counted(self):
        self.start()
        with Client(self.daemon.http) as client:
            client.send(request("GET", "/healthz"))
            self.assertEqual(client.socket.recv(1000), b"", "an end and no reset")
        self.assertEqual(self.forward(self.client()), 200)
        text = self.client(self.daemon.admin).ask("GET", "/metrics").text
        self.assertIn('suimon_handshake_failures_total{door="http"} 1', text)

    def test_who_says_nothing_or_half_of_hello_holds_up_nobody(self):
        self.start()
        with Client(self.daemon.http) as silent, Client(self.daemon.http) as half:
            half.send(bytes.fromhex("1603010200010001fc0303"))
            self.assertEqual(self.forward(self.client()), 200)
            silent.close()
        self.assertEqual(self.forward(self.client()), 200)

    def test_garbage_of_every_kind_is_survived(self):
        self.start()
        hello = bytes.fromhex("16030102000100")
        for data in (b"\0" * 300, os.urandom(600), hello + os.urandom(505), b"\x16\x03\x01\xff\xff" * 90,
                     b"\x15\x03\x03\0\x02\x02\x28", b"PROXY TCP4 1.1.1.1 2.2.2.2 1 2\r\n"):
            with self.subTest(data[:10]), Client(self.daemon.http) as client:
                client.send(data)
                client.socket.shutdown(socket.SHUT_WR)
                client.rest()
        self.assertEqual(self.forward(self.client()), 200)

    def test_renegotiation_is_refused(self):
        self.start()
        self.assertIn("no renegotiation", self.ask_with_openssl("-tls1_2", told=b"R\n"))

    def test_a_drain_answers_what_is_under_way(self):
        self.start()
        client = self.client()
        self.assertEqual(self.forward(client), 200)
        self.assertEqual(self.daemon.stop(), 0)

    def test_a_unix_socket_stays_plain(self):
        path = str(self.folder / "http.sock")
        self.start(http=f"unix:{path}?mode=600")
        self.assertEqual(os.stat(path).st_mode & 0o777, 0o600)
        with Client(path) as client:
            self.assertEqual(client.ask("GET", "/healthz").status, 200)


class Clients(TlsTest):
    def test_only_who_shows_a_certificate_of_the_authority_gets_in(self):
        mine, strangers = Authority(self.folder, "clients"), Authority(self.folder, "strangers")
        good, bad = mine.sign("caller"), strangers.sign("stranger")
        self.daemon = self.suimon(PER_ADDRESS, extra=[
            "--tls-cert", self.certificate, "--tls-key", self.key, "--tls-client-ca", mine.certificate])
        self.assertEqual(self.forward(self.client(certificate=good)), 200)
        for name, certificate in (("none", None), ("a stranger's", bad)):
            with self.subTest(name), self.assertRaises((ssl.SSLError, Closed)):
                # With TLS 1.3 the client hears of it only when it reads.
                self.forward(self.client(certificate=certificate))


class Renewal(TlsTest):
    def renew(self, certificate, key):
        """Puts other files in the place of the daemon's, and has it read them."""
        for new, old in ((certificate, self.certificate), (key, self.key)):
            shutil.copy(new, str(old) + ".new")
            os.replace(str(old) + ".new", old)
        return self.daemon.reload()

    def test_new_connections_see_the_new_certificate_and_old_ones_live_on(self):
        self.start()
        before = self.client()
        self.assertEqual(self.forward(before), 200)
        self.assertTrue(self.renew(*self.authority.sign("renewed")))
        self.assertEqual(self.forward(before), 200, "the old connection")
        after = self.client()
        self.assertNotEqual(after.serial, before.serial)
        self.assertEqual(self.forward(after), 429, "the same client, the same bucket")

    def test_a_bad_certificate_changes_nothing_and_is_logged(self):
        self.start()
        serial = self.client().serial
        _, other_key = self.authority.sign("other")
        start = len(self.daemon.lines)
        self.assertTrue(self.renew(self.certificate_copy(), other_key), "the policy is good")
        self.daemon.wait_for_line(r"does not fit .*the running certificate stays", start)
        self.assertEqual(self.client().serial, serial)

    def certificate_copy(self):
        copy = self.folder / "copy.crt"
        shutil.copy(self.certificate, copy)
        return copy


class Mistakes(TlsTest):
    def told(self, *flags, **environment):
        """What `serve` says when it does not start; it must end with 2."""
        policy = self.folder / "limits.yaml"
        policy.write_text(PER_ADDRESS)
        clean = {k: v for k, v in os.environ.items() if not k.startswith("SUIMON_")}
        done = subprocess.run(
            [program(), "serve", "--config", policy, "--http", "127.0.0.1:0", "--admin", "off",
             "--secret-file", self.folder / "secret", *map(str, flags)],
            env={**clean, **environment}, capture_output=True, text=True, timeout=30)
        self.assertEqual(done.returncode, 2, done.stderr)
        return done.stderr

    def test_each_says_the_file_what_is_wrong_and_the_cure(self):
        other = self.authority.sign("other")[1]
        locked = self.folder / "locked.key"
        openssl("pkey", "-in", self.key, "-out", locked, "-aes128", "-passout", "pass:1234")
        no_pem, torn = self.folder / "no.pem", self.folder / "torn.crt"
        no_pem.write_text("hello\n")
        torn.write_text(re.sub("\n.{20}", "\n", self.certificate.read_text(), count=1))
        missing = self.folder / "missing.pem"
        good = {"--tls-cert": self.certificate, "--tls-key": self.key}
        for change, words in (
            ({"--tls-cert": missing}, ["TLS certificate", missing, "No such file"]),
            ({"--tls-key": missing}, ["TLS key", missing, "No such file"]),
            ({"--tls-client-ca": missing}, ["TLS client CA", missing, "No such file"]),
            ({"--tls-cert": self.folder}, ["TLS certificate", self.folder, "directory"]),
            ({"--tls-cert": no_pem}, [no_pem, "no certificate in PEM"]),
            ({"--tls-cert": torn}, [torn, "broken certificate at number 1"]),
            ({"--tls-key": no_pem}, [no_pem, "no private key in PEM"]),
            ({"--tls-key": self.certificate}, [self.certificate, "no private key in PEM"]),
            ({"--tls-key": other}, [other, "does not fit", self.certificate]),
            ({"--tls-key": locked}, [locked, "is encrypted", "openssl pkey"]),
            ({"--tls-key": ""}, ["--tls-cert and --tls-key"]),
        ):
            with self.subTest(change):
                flags = [part for pair in {**good, **change}.items() for part in pair if pair[1] != ""]
                error = self.told(*flags)
                for word in words:
                    self.assertIn(str(word), error)

    def test_the_environment_names_files_and_a_flag_beats_it(self):
        missing = self.folder / "missing.pem"
        self.assertIn("missing.pem", self.told(SUIMON_TLS_CERT=str(missing), SUIMON_TLS_KEY=str(self.key)))
        told = self.told("--tls-cert", self.certificate, SUIMON_TLS_CERT=str(missing),
                         SUIMON_TLS_KEY=str(self.folder / "other.pem"))
        self.assertIn("other.pem", told)

    def test_the_policy_file_may_name_them_and_a_flag_beats_it(self):
        written = PER_ADDRESS + "server: {tls: {cert: %s, key: %s}}\n"
        self.daemon = self.suimon(written % (self.certificate, self.key))
        self.assertEqual(self.forward(self.client()), 200)
        self.daemon.stop()
        other = self.authority.sign("other")
        self.daemon = self.suimon(written % other, extra=["--tls-cert", self.certificate, "--tls-key", self.key])
        subject = dict(pair[0] for pair in self.client().socket.getpeercert()["subject"])
        self.assertEqual(subject["commonName"], "server")

    def test_the_policy_file_may_name_another_and_a_reload_takes_it(self):
        written = PER_ADDRESS + "server: {tls: {cert: %s, key: %s}}\n"
        self.daemon = self.suimon(written % (self.certificate, self.key))
        start = len(self.daemon.lines)
        self.assertTrue(self.daemon.reload(written % self.authority.sign("other")))
        subject = dict(pair[0] for pair in self.client().socket.getpeercert()["subject"])
        self.assertEqual(subject["commonName"], "other")
        self.assertNotIn("restart", "\n".join(line for line in self.daemon.lines[start:] if line))

    def test_an_expired_certificate_is_warned_of(self):
        self.certificate, self.key = self.authority.sign("old", days=-1)
        self.start()
        self.daemon.wait_for_line("has expired on .*clients will refuse it")


if __name__ == "__main__":
    unittest.main()

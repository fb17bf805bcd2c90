"""Real Redis servers for tests, on 127.0.0.1 and each in a folder of its own: one, one behind TLS, or a cluster."""

import contextlib
import json
import pathlib
import random
import socket
import ssl
import unittest

from harness import Process, Suimon, SystemTest, ask, free_port, until
from tls_test import Authority

SERVER = "/usr/bin/redis-server"

ONE_LIMIT = """\
version: 1
domain: shop
limits:
  - name: shared
    key: [user]
    on_store_error: {how}
    token_bucket: {{capacity: {capacity}, refill: 1/day}}
"""
THREE_WAYS = """\
version: 1
domain: shop
limits:
  - {name: local, match: {path: /local}, key: [user], token_bucket: {capacity: 3, refill: 1/day}}
  - {name: allow, match: {path: /allow}, key: [user], on_store_error: allow, token_bucket: {capacity: 3, refill: 1/day}}
  - {name: deny, match: {path: /deny}, key: [user], on_store_error: deny, token_bucket: {capacity: 3, refill: 1/day}}
"""


class Tls:
    """One authority, and one certificate that all servers and all clients show to each other."""

    def __init__(self, folder):
        self.authority = Authority(folder, "redis")
        self.certificate, self.key = self.authority.sign("node")
        self.context = ssl.create_default_context(cafile=self.authority.certificate)
        self.context.load_cert_chain(self.certificate, self.key)

    def server(self, port):
        """Options of a server that speaks nothing but TLS, and only with whom it believes."""
        return ("--port", 0, "--tls-port", port, "--tls-cert-file", self.certificate, "--tls-key-file", self.key,
                "--tls-ca-cert-file", self.authority.certificate, "--tls-replication", "yes", "--tls-cluster", "yes")

    @property
    def client(self):
        """Options of redis-cli."""
        return ("--tls", "--cacert", self.authority.certificate, "--cert", self.certificate, "--key", self.key)

    @property
    def url(self):
        """Options of a URL of suimon's."""
        return f"tls_ca={self.authority.certificate}&tls_cert={self.certificate}&tls_key={self.key}"


def read_answer(stream):
    """An answer: text, a list of answers, or None. Errors are text that begins with "-"."""
    line = stream.readline().decode().rstrip("\r\n")
    if line.startswith("$"):
        size = int(line[1:])
        return stream.read(size + 2)[:-2].decode("latin-1") if size >= 0 else ""
    if line.startswith("*"):
        return [read_answer(stream) for _ in range(int(line[1:]))]
    return line


def command(port, *words, tls=None):
    """One command, one answer; None when nobody answers."""
    text = f"*{len(words)}\r\n" + "".join(f"${len(str(w))}\r\n{w}\r\n" for w in words)
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=5) as plain:
        with tls.context.wrap_socket(plain, server_hostname="127.0.0.1") if tls else plain as link:
            link.sendall(text.encode())
            return read_answer(link.makefile("rb"))
    return None


def check(address, **attributes):
    body = json.dumps({"attributes": attributes}).encode()
    return ask(address, "POST", "/v1/check", {"Content-Type": "application/json"}, body)


class RedisTest(SystemTest):
    """A test with daemons that have the same secret, and so share what is in the store."""

    def daemon(self, policy, url, name, **options):
        folder = pathlib.Path(self.folder) / name
        folder.mkdir()
        secret = folder / "secret"
        secret.write_text("0123456789abcdef0123456789abcdef\n", encoding="ascii")
        secret.chmod(0o600)
        daemon = Suimon(folder, policy, extra=("--store", url), **options)
        self.addCleanup(lambda: daemon.popen.poll() is None and daemon.stop())
        return daemon


def port_for_a_node():
    """A node listens on its port and on that plus 10,000; both below those of outgoing connections."""
    for _ in range(200):
        port = random.randint(10000, 22000)
        with contextlib.suppress(OSError), socket.socket() as one, socket.socket() as other:
            one.bind(("127.0.0.1", port))
            other.bind(("127.0.0.1", port + 10000))
            return port
    raise AssertionError("no free pair of ports")


class Redis(Process):
    def __init__(self, folder, port=None, *options, tls=None):
        self.port = port or free_port()
        self.folder = pathlib.Path(folder) / f"redis-{self.port}"
        self.folder.mkdir(exist_ok=True)
        self.options, self.tls = options, tls
        if not pathlib.Path(SERVER).exists():
            raise unittest.SkipTest("redis-server is not installed")
        ports = tls.server(self.port) if tls else ("--port", self.port)
        super().__init__(SERVER, *ports, "--bind", "127.0.0.1", "--save", "", "--appendonly", "no",
                         "--dir", self.folder, "--logfile", self.folder / "log", *options)
        until(lambda: self.ask("PING") == "+PONG", "redis-server")

    def ask(self, *words):
        return command(self.port, *words, tls=self.tls)

    def again(self):
        """The same server once more, after this one has ended."""
        return Redis(self.folder.parent, self.port, *self.options, tls=self.tls)

    def kill(self):
        self.popen.kill()
        self.wait()


class Cluster:
    """Three masters, each with a replica unless that is not wanted; one that is gone is replaced after two seconds."""

    def __init__(self, folder, replicas=1, tls=None):
        self.nodes, self.tls = [], tls
        for _ in range(3 * (1 + replicas)):
            self.nodes.append(Redis(
                folder, port_for_a_node(), "--cluster-enabled", "yes", "--cluster-config-file", "nodes.conf",
                "--cluster-node-timeout", "2000", "--repl-diskless-sync-delay", "0", tls=tls))
        self.cli("create", *self.addresses, "--cluster-replicas", replicas)
        until(lambda: all(self.works(node) for node in self.nodes), "the cluster")

    @property
    def addresses(self):
        return [f"127.0.0.1:{node.port}" for node in self.nodes]

    def cli(self, *words):
        """What redis-cli does to clusters; it must succeed."""
        done = Process("redis-cli", *(self.tls.client if self.tls else ()), "--cluster", *words, "--cluster-yes")
        if done.wait() != 0:
            raise AssertionError(done.stderr())

    @staticmethod
    def works(node):
        return "cluster_state:ok" in (node.ask("CLUSTER", "INFO") or "")

    @property
    def url(self):
        return ("rediss" if self.tls else "redis") + "-cluster://" + ",".join(self.addresses)

    def alive(self):
        return [node for node in self.nodes if node.popen.poll() is None]

    def masters(self):
        return [node for node in self.alive() if "role:master" in (node.ask("INFO", "replication") or "")]

    def keys(self, node):
        return int((node.ask("DBSIZE") or ":0")[1:])

    def begin_move(self, slot, source, target):
        """From here on the slot is on the move, and its keys go one by one."""
        for node, step, other in ((target, "IMPORTING", source), (source, "MIGRATING", target)):
            said = node.ask("CLUSTER", "SETSLOT", slot, step, other.ask("CLUSTER", "MYID"))
            assert said == "+OK", said

    @staticmethod
    def move_keys(keys, source, target):
        said = source.ask("MIGRATE", "127.0.0.1", target.port, "", 0, 5000, "KEYS", *keys)
        assert said == "+OK", said

    def agrees(self):
        """Whether all nodes say the same about who holds what, without which redis-cli moves nothing."""
        return len({str(sorted(node.ask("CLUSTER", "SLOTS"))) for node in self.nodes}) == 1

    def end_move(self, slot, target):
        """The target first, so that there is always somebody who has it."""
        home = target.ask("CLUSTER", "MYID")
        for node in [target, *(node for node in self.nodes if node is not target)]:
            said = node.ask("CLUSTER", "SETSLOT", slot, "NODE", home)
            assert said == "+OK", said

    def stop(self):
        for node in self.alive():
            node.kill()

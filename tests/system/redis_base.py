"""Real Redis servers for tests: one, or a cluster of six on 127.0.0.1, each in a folder of its own."""

import contextlib
import pathlib
import random
import socket
import unittest

from harness import Process, free_port, until

SERVER = "/usr/bin/redis-server"


def command(port, *words):
    """One command, one answer as text; errors begin with "-". None when nobody answers."""
    text = f"*{len(words)}\r\n" + "".join(f"${len(str(w))}\r\n{w}\r\n" for w in words)
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=5) as link:
        link.sendall(text.encode())
        stream = link.makefile("rb")
        line = stream.readline().decode().rstrip("\r\n")
        if not line.startswith("$"):
            return line
        return stream.read(int(line[1:])).decode() if line != "$-1" else ""
    return None


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
    def __init__(self, folder, port=None, *options):
        self.port = port or free_port()
        self.folder = pathlib.Path(folder) / f"redis-{self.port}"
        self.folder.mkdir(exist_ok=True)
        self.options = options
        if not pathlib.Path(SERVER).exists():
            raise unittest.SkipTest("redis-server is not installed")
        super().__init__(SERVER, "--port", self.port, "--bind", "127.0.0.1", "--save", "", "--appendonly", "no",
                         "--dir", self.folder, "--logfile", self.folder / "log", *options)
        until(lambda: command(self.port, "PING") == "+PONG", "redis-server")

    def again(self):
        """The same server once more, after this one has ended."""
        return Redis(self.folder.parent, self.port, *self.options)

    def kill(self):
        self.popen.kill()
        self.wait()


class Cluster:
    """Three masters, each with a replica. A master that is gone is replaced after about two seconds."""

    def __init__(self, folder):
        self.nodes = []
        for _ in range(6):
            self.nodes.append(Redis(folder, port_for_a_node(), "--cluster-enabled", "yes", "--cluster-config-file", "nodes.conf",
                                    "--cluster-node-timeout", "2000", "--repl-diskless-sync-delay", "0"))
        addresses = [f"127.0.0.1:{node.port}" for node in self.nodes]
        made = Process("redis-cli", "--cluster", "create", *addresses, "--cluster-replicas", "1", "--cluster-yes")
        if made.wait() != 0:
            raise AssertionError(made.stderr())
        until(lambda: all(self.works(node) for node in self.nodes), "the cluster")

    @staticmethod
    def works(node):
        return "cluster_state:ok" in (command(node.port, "CLUSTER", "INFO") or "")

    @property
    def url(self):
        return "redis-cluster://" + ",".join(f"127.0.0.1:{node.port}" for node in self.nodes)

    def alive(self):
        return [node for node in self.nodes if node.popen.poll() is None]

    def masters(self):
        return [node for node in self.alive() if "role:master" in (command(node.port, "INFO", "replication") or "")]

    def keys(self, node):
        return int((command(node.port, "DBSIZE") or ":0")[1:])

    def stop(self):
        for node in self.alive():
            node.kill()

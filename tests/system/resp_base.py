"""What tests of the Redis protocol share: a daemon with that door, and a client of it that reads replies as
they came."""

import contextlib

from harness import Client, SystemTest

POLICY = """\
version: 1
domain: shop
limits:
  - name: per-user
    key: [user]
    on_missing: skip
    token_bucket: {capacity: 3, refill: 1/day}
"""


class Problem(Exception):
    """An error reply."""


class RespClient(Client):
    """Sends commands as arrays of bulk strings, and reads replies of either version of the protocol."""

    def __init__(self, address):
        super().__init__(address)
        self.socket.settimeout(30)

    @staticmethod
    def packed(*words):
        words = [word if isinstance(word, bytes) else str(word).encode() for word in words]
        return b"*%d\r\n" % len(words) + b"".join(b"$%d\r\n%s\r\n" % (len(word), word) for word in words)

    def call(self, *words):
        self.send(self.packed(*words))
        return self.reply()

    def pipeline(self, commands):
        """All at once; the replies in order, errors among them as values."""
        self.send(b"".join(self.packed(*words) for words in commands))
        return [self.reply_or_error() for _ in commands]

    def reply_or_error(self):
        try:
            return self.reply()
        except Problem as problem:
            return problem

    def reply(self):
        line = self._until(b"\r\n")[:-2]
        mark, rest = line[:1], line[1:]
        if mark == b"+":
            return rest.decode()
        if mark == b"-":
            raise Problem(rest.decode(errors="replace"))
        if mark == b":":
            return int(rest)
        if mark == b"_":
            return None
        if mark in b"$=":
            if int(rest) < 0:
                return None
            text = self._exactly(int(rest) + 2)[:-2]
            return text[4:] if mark == b"=" else text
        if mark in b"*~":
            return [self.reply() for _ in range(int(rest))]
        if mark == b"%":
            return {self.reply(): self.reply() for _ in range(int(rest))}
        raise AssertionError(f"no reply begins with {line!r}")


class RespTest(SystemTest):
    policy = POLICY

    def setUp(self):
        super().setUp()
        self.start()

    def start(self, *extra, threads=2):
        self.daemon = self.suimon(self.policy, threads=threads, extra=("--resp", "127.0.0.1:0", *extra))
        self.resp = self.daemon._address("resp")

    def client(self):
        client = RespClient(self.resp)
        self.addCleanup(client.close)
        return client

    @contextlib.contextmanager
    def refused(self, *words):
        with self.assertRaises(Problem) as raised:
            yield
        for word in words:
            self.assertIn(word, str(raised.exception))

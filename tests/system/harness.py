"""What tests of the finished program share: processes, ports and HTTP, all bounded.

SUIMON names the program. Everything listens on 127.0.0.x; every process that is started here is ended
here by its id, and none outlives the test. Nothing sleeps: what takes time is waited for, with a deadline.
"""

import contextlib
import json
import os
import pathlib
import random
import re
import signal
import socket
import subprocess
import tempfile
import threading
import time
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
DEADLINE = 30.0  # seconds for what takes milliseconds on a machine that is not busy


def program():
    return os.environ.get("SUIMON") or str(ROOT / "build/release/suimon")


def shared_folder():
    """The folder with cases and sample data, or None where it is absent."""
    folder = pathlib.Path(os.environ.get("SUIMON_SHARED") or ROOT.parent / "shared")
    return folder if folder.is_dir() else None


def free_port(host="127.0.0.1"):
    """A port that nobody listens on, below those that the system gives to outgoing connections, so
    that it is still free a moment later."""
    for _ in range(200):
        port = random.randint(20000, 32000)
        with socket.socket() as probe:
            with contextlib.suppress(OSError):
                probe.bind((host, port))
                return port
    raise AssertionError("no free port between 20000 and 32000")


def until(condition, what, deadline=DEADLINE):
    """Calls `condition` until it gives something true, and returns that."""
    end = time.monotonic() + deadline
    pause = threading.Event()
    while True:
        got = condition()
        if got:
            return got
        if time.monotonic() > end:
            raise AssertionError(f"waited {deadline:.0f} s in vain for {what}")
        pause.wait(0.002)


class Process:
    """A program in the foreground; its standard error is read line by line as it comes."""

    def __init__(self, *command, **options):
        self.name = pathlib.Path(command[0]).name
        self.lines = []
        self._changed = threading.Condition()
        # If the test itself is killed, the program gets SIGTERM.
        self.popen = subprocess.Popen(
            ["setpriv", "--pdeathsig", "TERM", *map(str, command)],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, **options,
        )
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    @property
    def pid(self):
        return self.popen.pid

    def _read(self):
        with self.popen.stderr as stream:
            for line in stream:
                with self._changed:
                    self.lines.append(line.decode("utf-8", "replace").rstrip("\n"))
                    self._changed.notify_all()
        with self._changed:
            self.lines.append(None)  # no more comes
            self._changed.notify_all()

    def stderr(self):
        return "\n".join(line for line in self.lines if line is not None)

    def wait_for_line(self, pattern, start=0, deadline=DEADLINE):
        """The match of the first line from number `start` on that `pattern` is found in."""
        regex, at, end = re.compile(pattern), start, time.monotonic() + deadline
        with self._changed:
            while True:
                while at < len(self.lines):
                    line = self.lines[at]
                    if line is None:
                        raise AssertionError(f"{self.name} ended without a line {pattern!r}:\n{self.stderr()}")
                    if found := regex.search(line):
                        return found
                    at += 1
                if not self._changed.wait(end - time.monotonic()) and time.monotonic() >= end:
                    raise AssertionError(f"{self.name} wrote no line {pattern!r}:\n{self.stderr()}")

    def signal(self, number):
        self.popen.send_signal(number)

    @contextlib.contextmanager
    def standing_still(self):
        """Stops every thread where it is, and lets them go on at the end."""
        tasks = pathlib.Path(f"/proc/{self.pid}/task")

        def states():  # the field behind the name, which stands in parentheses
            return {(task / "stat").read_text().rpartition(") ")[2][0] for task in tasks.iterdir()}

        self.signal(signal.SIGSTOP)
        try:
            until(lambda: states() == {"T"}, f"{self.name} to stand still")
            yield
        finally:
            self.signal(signal.SIGCONT)

    def wait(self, deadline=DEADLINE):
        """The exit code; -N when signal N ended it."""
        code = self.popen.wait(deadline)
        self._reader.join(deadline)
        return code

    def stop(self, deadline=DEADLINE):
        """SIGTERM, and SIGKILL if that is not enough. Returns the exit code."""
        if self.popen.poll() is None:
            self.signal(signal.SIGTERM)
        try:
            return self.wait(deadline)
        except subprocess.TimeoutExpired:
            self.popen.kill()
            self.wait(deadline)
            raise AssertionError(f"{self.name} did not end on SIGTERM:\n{self.stderr()}") from None


class Suimon(Process):
    """suimon serve on a policy of its own. `http` and `admin` are where it listens."""

    def __init__(self, folder, policy, http="127.0.0.1:0", admin="127.0.0.1:0", threads=2, more=()):
        self.policy_file = pathlib.Path(folder) / "limits.yaml"
        self.write(policy)
        clean = {k: v for k, v in os.environ.items() if not k.startswith("SUIMON_")}
        super().__init__(
            program(), "serve", "--config", self.policy_file, "--http", http, "--admin", admin,
            "--threads", threads, "--secret-file", pathlib.Path(folder) / "secret", *more, env=clean,
        )
        try:
            self.wait_for_line(r"\bready: ")
        except AssertionError:
            self.popen.kill()
            self.wait()
            raise
        self.http = self._address("http")
        self.admin = self._address("admin")

    def _address(self, door):
        text = self.wait_for_line(rf"\b{door} listens on (\S+)")[1]
        if text.startswith("unix:"):
            return text.removeprefix("unix:")
        host, _, port = text.rpartition(":")
        return host, int(port)

    def write(self, policy):
        """Puts a policy in the place of the old one at once, so that nobody reads half a file."""
        beside = self.policy_file.with_suffix(".new")
        beside.write_text(policy, encoding="utf-8")
        beside.replace(self.policy_file)

    def reload(self, policy=None):
        """Reloads; true when the policy was loaded, false when the running one stays."""
        if policy is not None:
            self.write(policy)
        start = len(self.lines)
        self.signal(signal.SIGHUP)
        return self.wait_for_line(r"was (not )?loaded", start)[1] is None

    def metrics(self):
        """Every sample of /metrics: its name with labels, and its value."""
        answer = ask(self.admin, "GET", "/metrics")
        assert answer.status == 200, answer
        lines = answer.text.splitlines()
        return {k: float(v) for k, _, v in (s.rpartition(" ") for s in lines if not s.startswith("#"))}


class Answer:
    """One HTTP response. `fields` are pairs as they came."""

    def __init__(self, status, reason, fields, body, version):
        self.status, self.reason, self.fields, self.body = status, reason, fields, body
        self.version = version

    def all(self, name):
        return [value for key, value in self.fields if key.lower() == name.lower()]

    def field(self, name):
        """The value of a field that stands once; None when it is absent."""
        values = self.all(name)
        assert len(values) <= 1, f"{name} stands {len(values)} times: {self}"
        return values[0] if values else None

    @property
    def text(self):
        return self.body.decode("utf-8")

    def json(self):
        """The body; a member that stands twice is an error."""

        def unique(pairs):
            assert len({key for key, _ in pairs}) == len(pairs), f"a member stands twice: {pairs}"
            return dict(pairs)

        return json.loads(self.body, object_pairs_hook=unique)

    def __repr__(self):
        lines = "".join(f"\n{key}: {value}" for key, value in self.fields)
        return f"{self.status} {self.reason}{lines}\n\n{self.body[:2000]!r}"


class Closed(Exception):
    """The other side has closed the connection before a whole answer had come."""


class Client:
    """One connection that sends exactly the bytes it is given. `address`: (host, port) or a path."""

    def __init__(self, address, source=None):
        if isinstance(address, str):
            self.socket = socket.socket(socket.AF_UNIX)
            self.socket.settimeout(DEADLINE)
            self.socket.connect(address)
        else:
            self.socket = socket.create_connection(
                address, timeout=DEADLINE, source_address=(source, 0) if source else None)
            self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.buffer = b""

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        self.socket.close()

    def send(self, data):
        self.socket.sendall(data)

    def ask(self, method, target, fields=(), body=b""):
        self.send(request(method, target, fields, body))
        return self.read(head=method == "HEAD")

    def read(self, head=False):
        """The next answer; interim ones (1xx) are answers of their own."""
        block = self._until(b"\r\n\r\n")
        lines = block.decode("latin-1").split("\r\n")
        version, status, reason = (lines[0] + " ").split(" ", 2)
        fields = [(k, v.strip()) for k, _, v in (line.partition(":") for line in lines[1:] if line)]
        answer = Answer(int(status), reason.strip(), fields, b"", version)
        if head or answer.status < 200 or answer.status in (204, 304):
            return answer
        if length := answer.field("Content-Length"):
            answer.body = self._exactly(int(length))
        elif (answer.field("Transfer-Encoding") or "").lower() == "chunked":
            while size := int(self._until(b"\r\n").split(b";")[0], 16):
                answer.body += self._exactly(size)
                self._exactly(2)
            self._until(b"\r\n")
        else:
            answer.body = self.rest()
        return answer

    def rest(self):
        """What still comes until the other side closes."""
        with contextlib.suppress(Closed):
            while True:
                self._more()
        rest, self.buffer = self.buffer, b""
        return rest

    def _more(self):
        try:
            data = self.socket.recv(65536)
        except ConnectionError:
            data = b""
        if not data:
            raise Closed(self.buffer[:500])
        self.buffer += data

    def _until(self, mark):
        while mark not in self.buffer:
            self._more()
        block, self.buffer = self.buffer.split(mark, 1)
        return block + mark

    def _exactly(self, count):
        while len(self.buffer) < count:
            self._more()
        block, self.buffer = self.buffer[:count], self.buffer[count:]
        return block


def request(method, target, fields=(), body=b""):
    """The bytes of a request. A Host of our own and Content-Length are added where they are missing."""
    fields = list(fields.items() if isinstance(fields, dict) else fields)
    names = {name.lower() for name, _ in fields}
    if "host" not in names:
        fields.insert(0, ("Host", "shop.example"))
    if (body or method in ("POST", "PUT")) and not names & {"content-length", "transfer-encoding"}:
        fields.append(("Content-Length", len(body)))
    head = f"{method} {target} HTTP/1.1\r\n" + "".join(f"{key}: {value}\r\n" for key, value in fields)
    return head.encode("utf-8") + b"\r\n" + body


def ask(address, method, target, fields=(), body=b"", source=None):
    """One request on a connection of its own."""
    with Client(address, source) as client:
        return client.ask(method, target, fields, body)


class SystemTest(unittest.TestCase):
    """A test with a folder that is gone afterwards and programs that end with it."""

    maxDiff = None

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="suimon-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def ended_with_test(self, process):
        self.addCleanup(process.stop)
        return process

    def suimon(self, policy, **options):
        return self.ended_with_test(Suimon(self.folder, policy, **options))

"""Programs that use Redis clients as they are: redis-py, and in the long form (SUIMON_LONG) go-redis, ioredis and
node-redis.

The clients come from their registries into build/tools, in the versions that redis_py.txt and resp_clients/
name. Where one cannot be had and is not there yet, its test is skipped.
"""

import fcntl
import os
import shutil
import subprocess
import sys
import unittest

from harness import ROOT
from resp_base import RespTest

LONG = bool(os.environ.get("SUIMON_LONG"))
HERE = ROOT / "tests/system"
PASSWORD = "sesame"
REDIS_PY = """
import sys, threading
import redis

host, port, password = sys.argv[1], int(sys.argv[2]), sys.argv[3]
for protocol in (2, 3):
    client = redis.Redis(host, port, db=1, password=password, protocol=protocol, client_name="py", max_connections=8)
    key = f"py-{protocol}"
    assert client.ping()
    assert client.echo("hi") == b"hi"
    assert client.client_getname() in (b"py", "py")
    assert client.client_id() > 0
    assert client.info()["redis_mode"] == "standalone"
    assert client.execute_command("CL.THROTTLE", key, 4, 1, 86400) == [0, 5, 4, -1, 86400]
    with client.pipeline(transaction=False) as pipe:
        for _ in range(5):
            pipe.execute_command("CL.THROTTLE", key, 4, 1, 86400)
        pipe.execute_command("NOSUCH")
        pipe.ping()
        replies = pipe.execute(raise_on_error=False)
    assert replies[4][:3] == [1, 5, 0], replies
    assert isinstance(replies[5], redis.exceptions.ResponseError) and replies[6] is True, replies
    assert client.execute_command("SUIMON.CHECK", "shop", 1, "user", key)[:3] == [1, b"per-user", 2]
    threads = [threading.Thread(target=lambda: [client.execute_command("THROTTLE", key, 1000, 1, 60)
                                                for _ in range(20)]) for _ in range(5)]
    for thread in threads: thread.start()
    for thread in threads: thread.join()
    assert client.execute_command("THROTTLE", key, 1000, 1, 60, 0)[2] == 900
    client.close()
    try:
        redis.Redis(host, port, password="wrong", protocol=protocol).ping()
        raise SystemExit("a wrong password was taken")
    except redis.exceptions.AuthenticationError:
        pass
print("redis-py")
"""


def installed(name, versions, *commands):
    """The folder build/tools/NAME, made by these commands for these files; or the test is skipped."""
    folder = ROOT / "build/tools" / name
    folder.parent.mkdir(parents=True, exist_ok=True)
    mark, wanted = folder / "versions.txt", b"".join(file.read_bytes() for file in versions)
    with open(folder.parent / f"{name}.lock", "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if mark.is_file() and mark.read_bytes() == wanted:
            return folder
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        for file in versions:
            shutil.copy(file, folder)
        for command in commands:
            try:
                done = subprocess.run(command(folder), cwd=folder, capture_output=True, text=True, timeout=250)
            except FileNotFoundError as missing:
                raise unittest.SkipTest(f"{name} needs {missing.filename}") from None
            if done.returncode != 0:
                why = (done.stderr or done.stdout).strip().splitlines()[-1:]
                raise unittest.SkipTest(f"{name} cannot be installed: {why}")
        mark.write_bytes(wanted)
    return folder


class Clients(RespTest):
    def start(self, *extra, threads=2):
        file = self.folder / "password"
        file.write_text(PASSWORD, encoding="utf-8")
        file.chmod(0o600)
        super().start("--resp-password-file", str(file), *extra, threads=threads)

    def run_client(self, *command, folder=None):
        run = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=120)
        self.assertEqual(run.returncode, 0, run.stdout + run.stderr)
        return run.stdout.splitlines()

    def test_redis_py(self):
        folder = installed(
            "redis-py", [HERE / "redis_py.txt"],
            lambda folder: [sys.executable, "-m", "venv", folder / "venv"],
            lambda folder: [folder / "venv/bin/pip", "install", "-q", "--disable-pip-version-check", "-r",
                            folder / "redis_py.txt"])
        script = self.folder / "client.py"
        script.write_text(REDIS_PY, encoding="utf-8")
        self.assertEqual(self.run_client(folder / "venv/bin/python", script, self.resp[0], str(self.resp[1]), PASSWORD),
                         ["redis-py"])

    @unittest.skipUnless(LONG, "SUIMON_LONG is not set")
    def test_go_redis(self):
        sources = [HERE / "resp_clients" / name for name in ("main.go", "go.mod", "go.sum")]
        folder = installed("go-redis", sources, lambda folder: ["go", "build", "-o", "client", "."])
        lines = self.run_client(folder / "client", "{}:{}".format(*self.resp), PASSWORD)
        self.assertEqual(lines, ["PING", "CL.THROTTLE", "pipeline", "THROTTLE from a pool"] * 2)

    @unittest.skipUnless(LONG, "SUIMON_LONG is not set")
    def test_ioredis_and_node_redis(self):
        sources = [HERE / "resp_clients" / name for name in ("client.mjs", "package.json", "package-lock.json")]
        folder = installed("node-redis", sources, lambda folder: ["npm", "ci", "--no-audit", "--no-fund"])
        lines = self.run_client("node", folder / "client.mjs", self.resp[0], str(self.resp[1]), PASSWORD)
        self.assertEqual(lines, ["ioredis", "node-redis 2", "node-redis 3"])


if __name__ == "__main__":
    unittest.main()

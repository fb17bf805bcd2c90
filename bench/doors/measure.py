"""What the benchmarks of the doors share: a redis-server, the load tool, and a server's own processor time."""

import contextlib
import json
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = ROOT / "build/release"
sys.path.insert(0, str(ROOT / "tests/system"))
from harness import Process, free_port, until  # noqa: E402
from resp_base import RespClient  # noqa: E402

KEY = "10.100.100.100"  # the load tool puts a client's number in its place


class Redis(Process):
    def __init__(self, folder):
        self.port = free_port()
        super().__init__("redis-server", "--port", self.port, "--bind", "127.0.0.1", "--save", "", "--appendonly",
                         "no", "--dir", folder, "--loglevel", "warning")

        def answers():
            with contextlib.suppress(OSError), RespClient(("127.0.0.1", self.port)) as client:
                return client.call("PING") == "PONG"

        until(answers, "redis-server")


def build(*targets):
    if not (BUILD / "CMakeCache.txt").is_file():
        subprocess.run(["cmake", "--preset", "release"], cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
    subprocess.run(["cmake", "--build", "--preset", "release", "--target", *targets], cwd=ROOT, check=True,
                   stdout=subprocess.DEVNULL)


def cpu_ns(pid):
    """Time on a processor of all threads of this process."""
    return sum(int((task / "schedstat").read_text(encoding="ascii").split()[0])
               for task in pathlib.Path(f"/proc/{pid}/task").iterdir())


def load(folder, port, words, *, pipeline=1, connections=50, seconds=1.0, rate=None, watched=()):
    """Sends this command for the clients in turn. What the load tool says, and "cpu_us": for each process that is
    watched, its time on a processor for each answer."""
    file = folder / "request"
    file.write_bytes(RespClient.packed(*words))
    before = [cpu_ns(pid) for pid in watched]
    run = subprocess.run([BUILD / "bench/http_load", "--port", str(port), "--request", file, "--protocol", "resp",
                          "--pipeline", str(pipeline), "--connections", str(connections), "--seconds", str(seconds),
                          *([] if rate is None else ["--rate", str(rate)])],
                         capture_output=True, text=True, timeout=120)
    if run.returncode != 0:
        raise SystemExit(f"{words[0]}: {run.stderr}")
    result = json.loads(run.stdout)
    if result["not_200"]:
        raise SystemExit(f"{words[0]}: {result['not_200']} answers were errors")
    result["cpu_us"] = [(cpu_ns(pid) - was) / 1e3 / result["answers"]
                        for pid, was in zip(watched, before, strict=True)]
    result["rate"] = result["answers"] / result["seconds"]
    return result

"""Programs and libraries from PyPI for tests, in fixed versions, once for all build folders.

They stand in build/tools, each set in a virtual environment of its own. Where PyPI cannot be reached and the
folder is not there yet, the test is skipped.
"""

import fcntl
import subprocess
import sys
import unittest

from harness import ROOT


def installed(name):
    """The folder of the environment with what tests/system/NAME.txt lists."""
    versions = ROOT / f"tests/system/{name}.txt"
    folder = ROOT / "build/tools" / name
    folder.parent.mkdir(parents=True, exist_ok=True)
    mark = folder / "versions.txt"
    with open(folder.parent / f"{name}.lock", "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not mark.is_file() or mark.read_bytes() != versions.read_bytes():
            for command in (
                [sys.executable, "-m", "venv", "--clear", folder],
                [folder / "bin/pip", "install", "-q", "--disable-pip-version-check", "-r", versions],
            ):
                done = subprocess.run(command, capture_output=True, text=True, timeout=250)
                if done.returncode != 0:
                    why = (done.stderr or done.stdout).strip().splitlines()[-1:]
                    raise unittest.SkipTest(f"{name} cannot be installed: {why}")
            mark.write_bytes(versions.read_bytes())
    return folder


def packages(name):
    """Makes the packages of that environment importable here."""
    for folder in installed(name).glob("lib/python3*/site-packages"):
        if str(folder) not in sys.path:
            sys.path.insert(0, str(folder))

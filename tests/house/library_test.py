"""The installed library serves another project, by CMake and by pkg-config, at the strictest warnings.

SUIMON_BUILD names the build folder to install from.
"""

import os
import pathlib
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
STRICT = "-std=c++20 -O1 -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Werror".split()

MAIN = """
#include <suimon/limiter.h>
#include <suimon/token_bucket.h>

#include <cstdio>

int main() {
  const suimon::Instant now = suimon::boot_now();
  suimon::TokenBucket bucket({.capacity = 10, .refill = suimon::per_second(2)});
  suimon::Limiter limiter({.limit = {.capacity = 3, .refill = suimon::per_day(1)}, .max_keys = 100});
  int bucket_takes = 0, limiter_takes = 0;
  for (int i = 0; i < 15; ++i) {
    bucket_takes += bucket.try_take(1, now);
    limiter_takes += limiter.check("user:42", 1, now).allowed();
  }
  std::printf("%d %d\\n", bucket_takes, limiter_takes);
}
"""

CMAKE = """
cmake_minimum_required(VERSION 3.25)
project(guest LANGUAGES CXX)
find_package(suimon 0.1 REQUIRED)
add_executable(guest main.cc)
target_link_libraries(guest PRIVATE suimon::suimon)
"""


def run(*command, **options):
    done = subprocess.run(command, capture_output=True, text=True, **options)
    if done.returncode != 0:
        raise AssertionError(f"{' '.join(map(str, command))}: {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


class InstalledLibrary(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.work = pathlib.Path(folder.name)
        cls.prefix = cls.work / "moved" / "here"
        unpacked = cls.work / "unpacked"
        run("cmake", "--install", os.environ["SUIMON_BUILD"], "--prefix", unpacked, "--component", "library")
        cls.prefix.parent.mkdir()
        unpacked.rename(cls.prefix)  # an installed tree can be moved
        (cls.work / "main.cc").write_text(MAIN, encoding="utf-8")

    def test_cmake_finds_it(self):
        (self.work / "CMakeLists.txt").write_text(CMAKE, encoding="utf-8")
        build = self.work / "build"
        run("cmake", "-G", "Ninja", "-S", self.work, "-B", build, f"-DCMAKE_PREFIX_PATH={self.prefix}")
        run("cmake", "--build", build)
        self.assertEqual(run(build / "guest"), "10 3\n")

    def test_pkg_config_finds_it(self):
        (found,) = self.prefix.rglob("suimon.pc")
        flags = run(
            "pkg-config", "--cflags", "--libs", "suimon",
            env={**os.environ, "PKG_CONFIG_PATH": str(found.parent)},
        ).split()
        program = self.work / "by-pkg-config"
        run("g++", *STRICT, self.work / "main.cc", "-o", program, *flags)
        self.assertEqual(run(program), "10 3\n")

    def test_every_public_header_stands_alone(self):
        headers = sorted((self.prefix / "include").rglob("*.h"))
        ours = sorted((ROOT / "include").rglob("*.h"))
        self.assertEqual([header.name for header in headers], [header.name for header in ours])
        for header in headers:
            with self.subTest(header.name):
                run("g++", *STRICT, "-fsyntax-only", "-I", self.prefix / "include", "-include", header,
                    "-x", "c++", "/dev/null")


if __name__ == "__main__":
    unittest.main()

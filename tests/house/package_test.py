"""scripts/package makes packages that Debian takes: what they hold, what they need, what they do."""

import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
# Of lintian's tags these are known: it asks for a bug in Debian's tracker that a first upload closes.
KNOWN_TAGS = {"initial-upload-closes-no-bugs"}


def run(*command, **options):
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, **options)
    if done.returncode != 0:
        raise AssertionError(f"{' '.join(map(str, command))}: {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


@unittest.skipUnless(shutil.which("dpkg-deb") and shutil.which("dpkg-shlibdeps"), "this is no Debian")
class Packages(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        printed = run(ROOT / "scripts/package", env={**os.environ, "SUIMON_DEPS": "skip"})
        files = [ROOT / line for line in printed.splitlines() if line.endswith(".deb")]
        cls.files = {file.name.split("_")[0]: file for file in files}
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.root = pathlib.Path(folder.name)
        for name, file in cls.files.items():
            run("dpkg-deb", "--extract", file, cls.root / name)
            run("dpkg-deb", "--control", file, cls.root / name / "DEBIAN")

    def field(self, package, name):
        return run("dpkg-deb", "--field", self.files[package], name).strip()

    def test_there_are_two(self):
        self.assertEqual(sorted(self.files), ["libsuimon-dev", "suimon"])

    def test_the_program_needs_the_libraries_that_it_was_linked_to(self):
        needs = {need.split()[0] for need in self.field("suimon", "Depends").split(", ")}
        self.assertLessEqual({"libc6", "libstdc++6", "init-system-helpers"}, needs)
        self.assertTrue(any(need.startswith("libyaml") for need in needs), needs)

    def test_the_program_runs_and_takes_the_policy_that_came_with_it(self):
        here = self.root / "suimon"
        self.assertRegex(run(here / "usr/bin/suimon", "--version"), r"\Asuimon \d")
        self.assertIn(": good\n", run(here / "usr/bin/suimon", "validate", here / "etc/suimon/limits.yaml"))

    def test_a_policy_that_was_edited_is_kept(self):
        self.assertEqual((self.root / "suimon/DEBIAN/conffiles").read_text(), "/etc/suimon/limits.yaml\n")

    def test_what_stands_around_the_program(self):
        here = self.root / "suimon"
        for name in ("usr/lib/systemd/system/suimon.service", "usr/share/man/man1/suimon-serve.1.gz",
                     "usr/share/bash-completion/completions/suimon", "usr/share/doc/suimon/copyright",
                     "usr/share/suimon/nginx/suimon.conf",
                     "usr/share/suimon/limits.schema.json", "usr/share/suimon/prometheus/alerts.yaml",
                     "usr/share/suimon/grafana/suimon.json"):
            self.assertTrue((here / name).is_file(), name)
        unit = (here / "usr/lib/systemd/system/suimon.service").read_text()
        self.assertIn("\nExecStart=/usr/bin/suimon serve --config /etc/suimon/limits.yaml\n", unit)

    def test_the_library_serves_another_program(self):
        (found,) = (self.root / "libsuimon-dev").rglob("suimon.pc")
        flags = run("pkg-config", "--cflags", "--libs", "suimon", env={
            **os.environ, "PKG_CONFIG_PATH": str(found.parent)}).split()
        source = self.root / "main.cc"
        source.write_text(
            "#include <suimon/limiter.h>\n"
            "int main() { suimon::Limiter all({.limit = {1, suimon::per_day(1)}, .max_keys = 10});\n"
            '  return all.check("u", 1).allowed() && !all.check("u", 1).allowed() ? 0 : 1; }\n')
        run("g++", "-std=c++20", source, "-o", self.root / "guest", *flags)
        run(self.root / "guest")

    def test_scripts_are_shell_and_install_nothing_by_force(self):
        for name in ("postinst", "prerm", "postrm"):
            script = self.root / "suimon/DEBIAN" / name
            self.assertTrue(os.access(script, os.X_OK))
            run("sh", "-n", script)
            self.assertNotRegex(script.read_text(), r"deb-systemd-invoke +(start|restart)|systemctl +(enable|start)")

    def test_lintian(self):
        if not shutil.which("lintian"):
            self.skipTest("there is no lintian")
        done = subprocess.run(["lintian", "--allow-root", *self.files.values()], capture_output=True, text=True)
        said = [line for line in done.stdout.splitlines() if re.match("[EW]:", line)]
        self.assertEqual([line for line in said if line.split()[2] not in KNOWN_TAGS], [], done.stderr)


if __name__ == "__main__":
    unittest.main()

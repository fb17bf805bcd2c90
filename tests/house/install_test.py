"""What `cmake --install` puts around the program: service, manual pages, policy, completion, nginx.

SUIMON_BUILD names the build folder to install from.
"""

import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = os.environ.get("SUIMON_BUILD") or str(ROOT / "build/release")
MOST_EXPOSURE = 1.5  # of 10, as systemd-analyze counts it


def run(*command, **options):
    return subprocess.run(list(map(str, command)), capture_output=True, text=True, timeout=120, **options)


def install(prefix):
    done = run("cmake", "--install", BUILD, "--prefix", prefix, "--component", "program")
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


class InstalledProgram(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.work = pathlib.Path(folder.name)
        cls.prefix = cls.work / "prefix"
        install(cls.prefix)
        cls.suimon = cls.prefix / "bin/suimon"

    def help(self, *command, **environment):
        done = run(self.suimon, *command, "--help", env={"PATH": os.environ["PATH"], **environment})
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return done.stdout

    def commands(self):
        found = re.findall(r"^  ([a-z][a-z-]*) ", self.help().partition("\nSubcommands:\n")[2], re.M)
        self.assertIn("serve", found)
        return found

    def test_the_program_runs_and_takes_the_policy_that_came_with_it(self):
        self.assertRegex(run(self.suimon, "--version").stdout, r"\Asuimon \d+\.\d+\.\d+\n\Z")
        policy = self.prefix / "etc/suimon/limits.yaml"
        done = run(self.suimon, "validate", policy)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertIn(": good\n", done.stdout)

    def test_a_policy_that_was_edited_is_kept(self):
        prefix = self.work / "again"
        install(prefix)
        policy = prefix / "etc/suimon/limits.yaml"
        policy.write_text("my own", encoding="utf-8")
        self.assertIn(f"Kept: {policy}", install(prefix))
        self.assertEqual(policy.read_text(encoding="utf-8"), "my own")

    def test_help_is_the_same_everywhere(self):
        for command in ([], *([name] for name in self.commands())):
            with self.subTest(command):
                elsewhere = self.help(
                    *command, COLUMNS="20", LANG="ja_JP.UTF-8", TERM="dumb", SUIMON_HTTP="off",
                    SUIMON_THREADS="7", SUIMON_CONFIG="/nowhere",
                )
                self.assertEqual(self.help(*command), elsewhere)
                self.assertIn("\nUsage: suimon" + "".join(f" {word}" for word in command), elsewhere)

    def test_every_command_has_a_manual_page_with_every_flag(self):
        pages = {page.name for page in (self.prefix / "share/man/man1").iterdir()}
        self.assertEqual(pages, {"suimon.1", *(f"suimon-{name}.1" for name in self.commands())})
        for name in self.commands():
            page = (self.prefix / f"share/man/man1/suimon-{name}.1").read_text().replace("\\-", "-")
            flags = re.findall(r"^  (?:-\w,)?(--[a-z-]+)", self.help(name), re.M)
            for flag in flags:
                with self.subTest(f"{name} {flag}"):
                    self.assertRegex(page, rf"(?m)^\\fB(-\w, )?{flag}\\fR")

    def test_manual_pages_render_without_a_warning(self):
        for tool in (["groff", "-man", "-Tutf8", "-ww", "-z"], ["mandoc", "-Tlint", "-Wwarning"]):
            with self.subTest(tool[0]):
                if not shutil.which(tool[0]):
                    self.skipTest(f"there is no {tool[0]}")
                done = run(*tool, *sorted((self.prefix / "share/man/man1").iterdir()))
                self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "", ""))

    def unit(self):
        return self.prefix / "lib/systemd/system/suimon.service"

    def test_the_unit_names_what_was_installed(self):
        command = f"\nExecStart={self.suimon} serve --config {self.prefix}/etc/suimon/limits.yaml\n"
        self.assertIn(command, self.unit().read_text(encoding="utf-8"))

    def test_systemd_understands_the_unit(self):
        if not shutil.which("systemd-analyze"):
            self.skipTest("there is no systemd-analyze")
        done = run("systemd-analyze", "verify", "--man=no", self.unit())
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "", ""))

    def test_the_unit_is_closed_to_what_the_daemon_does_not_need(self):
        if not shutil.which("systemd-analyze"):
            self.skipTest("there is no systemd-analyze")
        done = run("systemd-analyze", "security", "--offline=true", "--no-pager", self.unit())
        exposure = re.search(r"Overall exposure level for \S+: (\d+\.\d+)", done.stdout)
        self.assertTrue(exposure, done.stdout + done.stderr)
        self.assertLessEqual(float(exposure[1]), MOST_EXPOSURE, done.stdout)

    def complete(self, *words):
        script = (
            'source "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _suimon; '
            'printf "%s\\n" "${COMPREPLY[@]}"'
        )
        completion = self.prefix / "share/bash-completion/completions/suimon"
        done = run("bash", "-c", script, "bash", completion, self.suimon, *words, cwd=ROOT)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return done.stdout.split()

    def test_the_shell_completes_commands_flags_and_files(self):
        self.assertEqual(self.complete("se"), ["serve"])
        self.assertEqual(self.complete("--v"), ["--version"])
        self.assertIn("--config", self.complete("serve", "--"))
        self.assertEqual(self.complete("validate", "examples/lim"), ["examples/limits.yaml"])
        self.assertEqual(self.complete("serve", "--config", "examples/lim"), ["examples/limits.yaml"])

    def test_what_nginx_includes_is_there(self):
        ours = {file.name for file in (ROOT / "integrations/nginx").glob("*.conf")}
        self.assertEqual({file.name for file in (self.prefix / "share/suimon/nginx").iterdir()}, ours)


if __name__ == "__main__":
    unittest.main()

"""What the documentation shows is true: its links lead somewhere, its policies load, its commands
print what stands below them, its program compiles, and the two languages have the same parts.

How a page marks what is tested, after the language of a code block:
    yaml policy            passes `suimon validate`
    yaml policy FILE       so does this, and commands on the page find it as FILE
    yaml mistakes FILE     a policy that is wrong on purpose; commands find it as FILE
    text FILE              any other file for the page's commands
    cpp program            compiles as it stands, with the library of this tree; where an `output`
                           block follows and the library is built, it prints that
    console                lines that begin with `$ suimon check`, `explain`, `validate` or `replay` are run
                           in a folder with the page's files and examples/, and print what follows
    console served         its curl commands are sent to `suimon serve --config examples/limits.yaml`,
                           started anew for each block and asked in place of 127.0.0.1:8080; every
                           answer that is shown with its head has one Date, of any value
    console admin          the same, and asked in place of 127.0.0.1:9090 its admin listener, where
                           $TOKEN is a token that it knows

SUIMON names the program, or SUIMON_BUILD its folder.
"""

import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(os.environ.get("SUIMON_SOURCE_DIR") or pathlib.Path(__file__).resolve().parents[2])
BUILD = os.environ.get("SUIMON_BUILD", "")
SUIMON = pathlib.Path(os.environ.get("SUIMON") or pathlib.Path(BUILD) / "suimon").resolve()

NOT_OURS = {"build", ".git", ".cache"}
AT_THE_TOP = ["ARCHITECTURE.md", "CONTRIBUTING.md"]  # their Japanese pages are in docs/ja
LINK = re.compile(r"(?<!!)\[[^\]]*\]\(([^()\s]+)\)")
HEADING = re.compile(r"^(#{1,6}) +(.+?) *$")
RUN = re.compile(r"suimon (check|explain|validate|replay) ")
CURL = re.compile(r"curl ")
TOKEN = "a-token-for-the-examples"
DATE = re.compile(r"^Date: [A-Z][a-z]{2}, \d\d [A-Z][a-z]{2} \d{4} \d\d:\d\d:\d\d GMT$", re.MULTILINE)


class Block:
    def __init__(self, info, line):
        self.words = info.split()
        self.line = line
        self.lines = []

    @property
    def text(self):
        return "".join(line + "\n" for line in self.lines)

    def names_a_file(self):
        return self.words[:2] in (["yaml", "policy"], ["yaml", "mistakes"]) or self.words[:1] == ["text"]

    def file(self):
        at = 1 if self.words[:1] == ["text"] else 2
        return self.words[at] if self.names_a_file() and len(self.words) > at else None


class Page:
    def __init__(self, path):
        self.path = path
        self.name = path.relative_to(ROOT).as_posix()
        self.headings, self.blocks, self.prose = [], [], []
        block = None
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            if line.lstrip().startswith("```"):
                if block is None:
                    block = Block(line.strip()[3:], number)
                    self.blocks.append(block)
                else:
                    block = None
            elif block is not None:
                block.lines.append(line)
            else:
                self.prose.append((number, line))
                if heading := HEADING.match(line):
                    self.headings.append((len(heading[1]), heading[2]))
        if block is not None:
            raise AssertionError(f"{self.name}:{block.line}: the code block has no end")

    def anchors(self):
        seen, anchors = {}, set()
        for _, text in self.headings:
            plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", text).replace("`", "").lower()
            anchor = re.sub(r"[^\w\- ]", "", plain).replace(" ", "-")
            count = seen.get(anchor, 0)
            seen[anchor] = count + 1
            anchors.add(anchor if count == 0 else f"{anchor}-{count}")
        return anchors

    def commands(self, kind=("console",), run=RUN):
        """The commands of its blocks of a kind that are run: (block, line, command, what it prints).

        A command goes on while a line ends with a backslash or a quote is open."""
        for block in self.blocks:
            if tuple(block.words) != kind:
                continue
            found, open_command = [], False
            for offset, line in enumerate(block.lines, 1):
                if open_command:
                    found[-1][1] += "\n" + line
                elif line.startswith("$ "):
                    found.append([block.line + offset, line[2:], ""])
                else:
                    if found:
                        found[-1][2] += line + "\n"
                    continue
                open_command = line.endswith("\\") or found[-1][1].count("'") % 2 == 1
            for line, command, printed in found:
                if run.match(command):
                    yield block, line, command, printed


def pages():
    for path in sorted(ROOT.rglob("*.md")):
        if not NOT_OURS.intersection(path.relative_to(ROOT).parts):
            yield Page(path)


def documentation():
    return [page for page in PAGES if page.name.startswith(("README", "docs/"))]


PAGES = list(pages())


def pairs():
    yield "README.md", "README.ja.md"
    for name in AT_THE_TOP:
        if (ROOT / name).exists():
            yield name, f"docs/ja/{name.lower()}"
    for path in sorted((ROOT / "docs").glob("*.md")):
        yield f"docs/{path.name}", f"docs/ja/{path.name}"


class Links(unittest.TestCase):
    def test_every_relative_link_leads_somewhere(self):
        by_path = {page.path.resolve(): page for page in PAGES}
        for page in PAGES:
            for number, line in page.prose:
                for target in LINK.findall(line):
                    if re.match(r"[a-z][a-z0-9+.-]*:", target):
                        continue
                    path, _, anchor = target.partition("#")
                    goal = (page.path.parent / path).resolve() if path else page.path.resolve()
                    with self.subTest(f"{page.name}:{number}: {target}"):
                        self.assertTrue(goal.exists(), "there is no such file")
                        if anchor and goal in by_path:
                            self.assertIn(anchor, by_path[goal].anchors())


class Promises(unittest.TestCase):
    def test_every_test_that_is_named_exists(self):
        sources = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "tests").rglob("*_test.cc"))
        known = set(re.findall(r"^TEST(?:_[FP])?\((\w+), (\w+)\)", sources, re.MULTILINE))
        named = 0
        for page in documentation():
            for number, line in page.prose:
                for suite, name in re.findall(r"`([A-Z][A-Za-z]+)\.([A-Z]\w*[a-z]\w*)`", line):
                    named += 1
                    with self.subTest(f"{page.name}:{number}: {suite}.{name}"):
                        self.assertIn((suite, name), known)
        self.assertGreater(named, 0)


class Languages(unittest.TestCase):
    def test_both_have_the_same_pages(self):
        english = {path.name for path in (ROOT / "docs").glob("*.md")}
        japanese = {path.name for path in (ROOT / "docs" / "ja").glob("*.md")}
        self.assertEqual(english | {name.lower() for name in AT_THE_TOP if (ROOT / name).exists()},
                         japanese)
        self.assertGreater(len(english), 0)

    def test_pages_have_the_same_parts(self):
        by_name = {page.name: page for page in PAGES}
        for english, japanese in pairs():
            with self.subTest(english):
                self.assertIn(japanese, sorted(by_name))
                ours, theirs = by_name[english], by_name[japanese]
                self.assertEqual([level for level, _ in ours.headings],
                                 [level for level, _ in theirs.headings], "levels of the headings")
                self.assertEqual([block.words for block in ours.blocks],
                                 [block.words for block in theirs.blocks], "kinds of code blocks")


class Served:
    """A daemon with the example policy, on a port that the system chose."""

    def __init__(self, home, block):
        self.block = block
        environment = {name: value for name, value in os.environ.items() if not name.startswith("SUIMON")}
        self.process = subprocess.Popen(
            [SUIMON, "serve", "--config", "examples/limits.yaml", "--http", "127.0.0.1:0",
             "--admin", "127.0.0.1:0", "--threads", "1", "--secret-file", self.file(home, "secret", "5" * 32),
             "--admin-token-file", self.file(home, "tokens", TOKEN)],
            cwd=home, env={**environment, "STATE_DIRECTORY": str(home)}, stderr=subprocess.PIPE, text=True)
        self.address = self.admin = None
        for line in self.process.stderr:
            if found := re.search(r"http listens on (\S+)", line):
                self.address = found[1]
            if found := re.search(r"admin listens on (\S+)", line):
                self.admin = found[1]
            if " ready: " in line:
                return
        raise AssertionError("suimon serve ended before it was ready")

    @staticmethod
    def file(home, name, text):
        """A file that only its owner may read; the same secret each time makes the same hashes."""
        (home / name).touch(mode=0o600)
        (home / name).write_text(text + "\n", encoding="utf-8")
        return home / name

    def stop(self):
        self.process.terminate()
        self.process.stderr.read()
        self.process.wait(timeout=30)
        self.process.stderr.close()


class Examples(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        if not SUIMON.is_file():
            raise AssertionError(f"{SUIMON} is not there; build suimon, or set SUIMON or SUIMON_BUILD")

    def folder_of(self, page):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        home = pathlib.Path(folder.name)
        (home / "examples").symlink_to(ROOT / "examples")
        (home / "bin").mkdir()
        (home / "bin" / "suimon").symlink_to(SUIMON)
        for block in page.blocks:
            if name := block.file():
                (home / name).parent.mkdir(parents=True, exist_ok=True)
                (home / name).write_text(block.text, encoding="utf-8")
        return home

    def run_in(self, home, command):
        keep = {name: value for name, value in os.environ.items() if not name.startswith("SUIMON")}
        return subprocess.run(
            ["bash", "-c", command], cwd=home, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, timeout=60, text=True,
            env={**keep, "PATH": f"{home}/bin:{os.environ['PATH']}", "LC_ALL": "C.UTF-8"})

    def test_policies_load(self):
        count = 0
        for page in documentation():
            home = self.folder_of(page)
            for block in page.blocks:
                if block.words[:2] != ["yaml", "policy"]:
                    continue
                count += 1
                with self.subTest(f"{page.name}:{block.line}"):
                    (home / "policy.yaml").write_text(block.text, encoding="utf-8")
                    done = self.run_in(home, "suimon validate policy.yaml")
                    self.assertEqual(done.returncode, 0, done.stdout)
                    self.assertTrue(done.stdout.endswith(": good\n"), done.stdout)
        self.assertGreater(count, 0)

    def test_every_flag_of_the_command_is_explained(self):
        commands = re.findall(r"(?m)^suimon ([a-z-]+) ", (ROOT / "docs/command.md").read_text(encoding="utf-8"))
        self.assertIn("serve", commands)
        for page in ("docs/command.md", "docs/ja/command.md"):
            text = (ROOT / page).read_text(encoding="utf-8")
            for command in sorted(set(commands)):
                told = subprocess.run([SUIMON, command, "--help"], capture_output=True, text=True, timeout=60, check=True)
                for flag in sorted(set(re.findall(r"--[a-z][a-z-]+", told.stdout)) - {"--help"}):
                    with self.subTest(f"{page}: {command} {flag}"):
                        self.assertRegex(text, re.escape(flag) + r"(?![a-z-])")

    def test_commands_print_what_stands_below_them(self):
        count = 0
        for page in documentation():
            home = self.folder_of(page)
            for _, line, command, printed in page.commands():
                count += 1
                with self.subTest(f"{page.name}:{line}: {command}"):
                    self.assertEqual(self.run_in(home, command).stdout, printed)
        self.assertGreater(count, 0)

    @unittest.skipUnless(shutil.which("curl"), "curl is not installed")
    def test_what_is_served_is_what_stands_below(self):
        count = 0
        for page in documentation():
            home = self.folder_of(page)
            served = None
            commands = [*page.commands(("console", "served"), CURL), *page.commands(("console", "admin"), CURL)]
            for block, line, command, printed in commands:
                count += 1
                if served is None or served.block is not block:
                    if served:
                        served.stop()
                    served = Served(home, block)
                with self.subTest(f"{page.name}:{line}: {command}"):
                    asked = command.replace("127.0.0.1:8080", served.address)
                    asked = asked.replace("127.0.0.1:9090", served.admin)
                    got = subprocess.run(["bash", "-c", asked], env={**os.environ, "TOKEN": TOKEN}, stdout=subprocess.PIPE,
                                         stderr=subprocess.DEVNULL, timeout=60, text=True).stdout
                    got = got.replace("\r", "")
                    dates = re.findall(r"(?mi)^date *:", got)
                    self.assertEqual(len(dates), 1 if got.startswith("HTTP/") else 0, got)
                    # Its value differs at every run; everything else is compared as it stands.
                    got, printed = (DATE.sub("Date: now", text) for text in (got, printed))
                    self.assertEqual(got.rstrip("\n"), printed.rstrip("\n"))
            if served:
                served.stop()
        self.assertGreater(count, 0)

    def test_programs_compile_and_print_what_is_shown(self):
        strict = "-std=c++20 -O1 -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Werror".split()
        library = pathlib.Path(BUILD) / "libsuimon.a"
        done = {}  # the same program stands on the page of each language
        count = 0
        for page in documentation():
            for at, block in enumerate(page.blocks):
                if block.words[:2] != ["cpp", "program"]:
                    continue
                count += 1
                with self.subTest(f"{page.name}:{block.line}"), tempfile.TemporaryDirectory() as folder:
                    following = page.blocks[at + 1] if at + 1 < len(page.blocks) else None
                    wanted = following.text if following and following.words == ["output"] else None
                    if block.text not in done:
                        source = pathlib.Path(folder) / "main.cc"
                        source.write_text(block.text, encoding="utf-8")
                        program = pathlib.Path(folder) / "program"
                        link = bool(BUILD) and library.is_file()
                        how = [library, "-pthread", "-o", program] if link else ["-fsyntax-only"]
                        built = subprocess.run(
                            ["g++", *strict, "-I", ROOT / "include", source, *how],
                            capture_output=True, text=True, timeout=120)
                        self.assertEqual(built.returncode, 0, built.stderr)
                        done[block.text] = link and subprocess.run(
                            [program], stdout=subprocess.PIPE, text=True, timeout=60, check=True).stdout
                    if wanted is not None and done[block.text] is not False:
                        self.assertEqual(done[block.text], wanted)
        self.assertGreater(count, 0)


if __name__ == "__main__":
    unittest.main()

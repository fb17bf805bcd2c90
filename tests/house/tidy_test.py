"""The tree is in order: files are short and say what they are, docs come in pairs, nothing is left over."""

import os
import pathlib
import re
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
NOT_OURS_TO_JUDGE = {".git", "build", "__pycache__"}
CODE = {".h", ".cc", ".py", ".sh", ".cmake", ".js", ".css", ".html"}
LONG, TOO_LONG = 300, 500
# Pages whose English side stands at the root, where everybody looks for it.
AT_THE_ROOT = {"architecture.md": "ARCHITECTURE.md", "contributing.md": "CONTRIBUTING.md"}
LEFT_OVER = re.compile(r"\b(?:TO" r"DO|FIX" r"ME)\b")
# Somebody's home; the checkout's own folder is added where the test runs.
HOMES = re.compile(r"/(?:home|Users)/[A-Za-z0-9._-]+/|/[r]oot/")
SHARED_FOLDERS = {"/", "/tmp", "/src", "/srv", "/opt", "/home", "/usr/src", "/build", "/workspace"}


def files(root):
    """All files of the tree, relative to the root."""
    for folder, folders, names in os.walk(root):
        folders[:] = sorted(name for name in folders if name not in NOT_OURS_TO_JUDGE)
        for name in sorted(names):
            yield (pathlib.Path(folder) / name).relative_to(root)


def text_of(file):
    """The text of a file, or None when it holds bytes that are no text (a fuzzer's corpus, a picture)."""
    data = file.read_bytes()
    if b"\0" in data:
        return None
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return None


def is_shell(root, name):
    return name.suffix == ".sh" or re.match(rb"#!.*\b(?:ba)?sh\b", (root / name).read_bytes()[:80])


def is_code(root, name):
    return name.suffix in CODE or name.name == "CMakeLists.txt" or is_shell(root, name)


def headers_without_their_opening(root):
    for name in files(root):
        if name.suffix == ".h":
            text = (root / name).read_text(encoding="utf-8")
            if not text.startswith("//"):
                yield f"{name}:1: a header opens with a comment: what it is, and its thread rule"
            if not re.search(r"^#pragma once$", text, re.M):
                yield f"{name}: has no #pragma once"


def lengths(root):
    for name in files(root):
        if is_code(root, name):
            yield (root / name).read_bytes().count(b"\n"), name


def too_long(root):
    for lines, name in lengths(root):
        if lines > TOO_LONG:
            yield f"{name}: {lines} lines; {TOO_LONG} is the most, and a file is about one thing"


def left_over(root):
    for name, number, line in lines_of(root):
        if LEFT_OVER.search(line):
            yield f"{name}:{number}: {line.strip()[:80]}"


def private_paths(root):
    own = [str(root)] + ([str(root.parent)] if str(root.parent) not in SHARED_FOLDERS else [])
    mine = re.compile("|".join(rf"(?<![\w.-]){re.escape(folder)}(?:/|\b)" for folder in own))
    for name, number, line in lines_of(root):
        found = HOMES.search(line) or mine.search(line)
        if found:
            yield f"{name}:{number}: {found[0]} is a folder of one machine"


def lines_of(root):
    for name in files(root):
        text = text_of(root / name)
        for number, line in enumerate((text or "").splitlines(), 1):
            yield name, number, line


def unpaired_docs(root):
    docs = [name for name in files(root) if name.parts[0] == "docs" and name.suffix == ".md"]
    japanese = {name.relative_to("docs/ja") for name in docs if name.parts[1] == "ja"}
    english = {name.relative_to("docs") for name in docs if name.parts[1] != "ja"}
    at_the_root = {pathlib.Path(page) for page, name in AT_THE_ROOT.items() if (root / name).is_file()}
    yield from (f"docs/ja/{name} is missing" for name in sorted((english | at_the_root) - japanese))
    for name in sorted(japanese - english - at_the_root):
        yield f"{AT_THE_ROOT.get(str(name), f'docs/{name}')} is missing"
    for name in ("README.md", "README.ja.md"):
        if not (root / name).is_file():
            yield f"{name} is missing"


def broken_shell(root):
    for name in files(root):
        if is_shell(root, name):
            check = subprocess.run(["bash", "-n", name], cwd=root, capture_output=True, text=True)
            if check.returncode != 0:
                yield check.stderr.strip()
            if name.parts[0] in ("scripts", ".ci") and not os.access(root / name, os.X_OK):
                yield f"{name}: has no run bit"


CHECKS = [headers_without_their_opening, too_long, left_over, private_paths, unpaired_docs, broken_shell]


class Tree(unittest.TestCase):
    def test_is_in_order(self):
        self.assertGreater(len(list(files(ROOT))), 50)
        for check in CHECKS:
            with self.subTest(check.__name__):
                found = list(check(ROOT))
                self.assertFalse(found, "\n" + "\n".join(found))

    def test_names_its_long_files(self):
        for lines, name in sorted(lengths(ROOT), reverse=True):
            if lines > LONG:
                print(f"long: {name} ({lines} lines): is it still about one thing?")


class MadeUpTree(unittest.TestCase):
    """What is out of order is said to be so, and nothing else is."""

    GOOD = {
        "README.md": "# x\n",
        "README.ja.md": "# x\n",
        "docs/a.md": "/home is a folder\n",
        "docs/ja/a.md": "x\n",
        "suimon/a.h": "// A thing.\n#pragma once\n",
        "scripts/a": "#!/usr/bin/env bash\necho a\n",
        "fuzz/corpus/a/1": "\0",
        "build/a.h": "\n" * 1000,
    }

    def report(self, change):
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder).resolve() / "checkout"
            for name, text in {**self.GOOD, **change(root)}.items():
                if text is not None:
                    file = root / name
                    file.parent.mkdir(parents=True, exist_ok=True)
                    file.write_text(text, encoding="utf-8")
                    file.chmod(0o755)
            return [line for check in CHECKS for line in check(root)]

    def assert_reported(self, start, name, text):
        report = self.report(lambda root: {name: text(root) if callable(text) else text})
        self.assertEqual(len(report), 1, report)
        self.assertIn(start, report[0])

    def test_good(self):
        self.assertEqual(self.report(lambda root: {}), [])

    def test_headers(self):
        self.assert_reported("b.h:1: a header opens", "suimon/b.h", "#pragma once\n")
        self.assert_reported("b.h: has no #pragma once", "suimon/b.h", "// A thing.\n")

    def test_length(self):
        self.assert_reported("b.cc: 501 lines", "suimon/b.cc", "\n" * 501)
        self.assertEqual(self.report(lambda root: {"suimon/b.cc": "\n" * 500}), [])

    def test_left_over(self):
        self.assert_reported("b.cc:2: // TO" "DO later", "suimon/b.cc", "\n// TO" "DO later\n")

    def test_paths(self):
        self.assert_reported("is a folder of one machine", "docs/a.md", "see /home/" "jo/x\n")
        self.assert_reported("is a folder of one machine", "docs/a.md", lambda root: f"in {root}\n")
        self.assert_reported("is a folder of one machine", "docs/a.md", lambda root: f"{root.parent}/b\n")

    def test_docs(self):
        self.assert_reported("docs/ja/b.md is missing", "docs/b.md", "x\n")
        self.assert_reported("docs/b.md is missing", "docs/ja/b.md", "x\n")
        self.assert_reported("README.ja.md is missing", "README.ja.md", None)
        self.assert_reported("docs/ja/architecture.md is missing", "ARCHITECTURE.md", "x\n")
        self.assert_reported("CONTRIBUTING.md is missing", "docs/ja/contributing.md", "x\n")

    def test_shell(self):
        self.assert_reported("scripts/b: line", "scripts/b", "#!/bin/bash\nif\n")


if __name__ == "__main__":
    unittest.main()

"""The includes of every room follow the arrows, which point one way.

ARROWS is the picture: a room may include itself, the rooms named here, and what those may include.
Every room may include the public headers; those include each other, the standard library and
tl::expected, and nothing else, so that the library stands alone.
"""

import os
import pathlib
import re
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]

ARROWS = {
    "base": [],
    "core": ["base"],
    "policy": ["core"],
    "table": ["core"],
    "store": ["table", "net"],
    "engine": ["policy", "store"],
    "reply": ["engine"],
    "observe": ["engine"],
    "net": ["base"],
    "door": ["reply", "observe", "net"],
    "replay": ["engine"],
    "app": ["door", "replay"],
}
FOLDERS = {"app": "apps/suimon"}  # the others: suimon/ROOM
PUBLIC = "include/suimon"
PUBLIC_MAY_ALSO_INCLUDE = re.compile(r"<[a-z_]+>|<tl/expected\.hpp>")

INCLUDE = re.compile(r'^\s*#\s*include\s*(<[^>]+>|"[^"]+")')


def reach(room):
    """The rooms that `room` may include: itself and all that its arrows lead to."""
    seen, left = set(), [room]
    while left:
        here = left.pop()
        if here not in seen:
            seen.add(here)
            left += ARROWS[here]
    return seen


def room_of(path):
    """The room of a file below the root: a name of ARROWS, "public", or None outside of all."""
    parts = path.parts
    if parts[:2] == ("include", "suimon"):
        return "public"
    if parts[:2] == ("apps", "suimon"):
        return "app"
    if parts[0] == "suimon" and len(parts) > 2:
        return parts[1]
    return None


def find(root, file, written):
    """The file of the tree that an include names, relative to the root; None for one from outside."""
    for start in (file.parent, root / "include", root):
        target = pathlib.Path(os.path.normpath(start / written))
        if target.is_file() and target.is_relative_to(root):
            return target.relative_to(root)
    return None


def sources(root):
    for folder in (PUBLIC, "suimon", "apps"):
        for file in sorted((root / folder).rglob("*")):
            if file.suffix in (".h", ".cc"):
                yield file


def against_the_arrows(root):
    """One line for each include that the picture does not allow, and for each unknown room."""
    found = []
    for file in sources(root):
        name = file.relative_to(root)
        room = room_of(name)
        if room != "public" and room not in ARROWS:
            found.append(f"{name}: in no room that ARROWS in {pathlib.Path(__file__).name} knows")
            continue
        for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1):
            include = INCLUDE.match(line)
            if not include:
                continue
            written = include[1]
            target = find(root, file, written[1:-1])
            if target is None:
                ours = written[1:].startswith(("suimon/", "apps/"))
                if ours:
                    found.append(f"{name}:{number}: {written}: there is no such file")
                elif room == "public" and not PUBLIC_MAY_ALSO_INCLUDE.fullmatch(written):
                    found.append(f"{name}:{number}: {written}: a public header needs only itself")
                continue
            there = room_of(target)
            allowed = {"public"} if room == "public" else reach(room) | {"public"}
            if there not in allowed:
                found.append(f"{name}:{number}: {written}: {room} may include only {sorted(allowed)}")
    return found


class Arrows(unittest.TestCase):
    def test_the_tree_follows_them(self):
        self.assertGreater(len(list(sources(ROOT))), 20)
        self.assertEqual(against_the_arrows(ROOT), [])

    def test_the_build_links_the_same_picture(self):
        text = (ROOT / "CMakeLists.txt").read_text(encoding="utf-8")
        linked = {
            room: re.findall(r"suimon_(\w+)", rest)
            for room, rest in re.findall(r"^suimon_room\((\w+)(.*)\)", text, re.M)
        }
        self.assertEqual(linked, {room: to for room, to in ARROWS.items() if room != "app"})

    def test_no_arrow_leads_back(self):
        for room, direct in ARROWS.items():
            for other in direct:
                self.assertNotIn(room, reach(other))


class MadeUpTree(unittest.TestCase):
    """What would be wrong is said to be wrong."""

    def report(self, files):
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder).resolve()
            for name, text in files.items():
                file = root / name
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_text(text, encoding="utf-8")
            return against_the_arrows(root)

    def assert_reported(self, start, files):
        report = self.report(files)
        self.assertEqual(len(report), 1, report)
        self.assertTrue(report[0].startswith(start), report[0])

    def test_allowed_includes_are_not_reported(self):
        self.assertEqual(
            self.report(
                {
                    "include/suimon/limit.h": "#include <cstdint>\n#include <tl/expected.hpp>\n",
                    "include/suimon/limiter.h": '#include "suimon/limit.h"\n',
                    "suimon/base/clock.h": "#include <time.h>\n",
                    "suimon/core/ledger.h": '#include "suimon/base/clock.h"\n#include <suimon/limit.h>\n',
                    "apps/suimon/serve.cc": '#include "suimon/core/ledger.h"\n#include <boost/asio.hpp>\n',
                }
            ),
            [],
        )

    def test_an_include_against_the_arrows(self):
        self.assert_reported(
            'suimon/core/a.cc:2: "suimon/policy/b.h": core may include only',
            {"suimon/core/a.cc": '\n#include "suimon/policy/b.h"\n', "suimon/policy/b.h": ""},
        )

    def test_an_include_of_a_sister(self):
        self.assert_reported(
            'suimon/policy/a.h:1: "suimon/store/b.h"',
            {"suimon/policy/a.h": '# include "suimon/store/b.h"', "suimon/store/b.h": ""},
        )

    def test_a_relative_include_hides_nothing(self):
        self.assert_reported(
            'suimon/base/a.h:1: "../core/b.h"',
            {"suimon/base/a.h": '#include "../core/b.h"', "suimon/core/b.h": ""},
        )

    def test_a_public_header_that_needs_a_room(self):
        self.assert_reported(
            'include/suimon/a.h:1: "suimon/core/b.h"',
            {"include/suimon/a.h": '#include "suimon/core/b.h"', "suimon/core/b.h": ""},
        )

    def test_a_public_header_that_needs_another_library(self):
        self.assert_reported(
            "include/suimon/a.h:1: <fmt/core.h>",
            {"include/suimon/a.h": "#include <fmt/core.h>"},
        )

    def test_a_room_that_looks_into_the_app_or_the_tests(self):
        self.assert_reported(
            'suimon/door/a.h:1: "apps/suimon/b.h"',
            {"suimon/door/a.h": '#include "apps/suimon/b.h"', "apps/suimon/b.h": ""},
        )
        self.assert_reported(
            'suimon/door/a.h:1: "tests/b.h"',
            {"suimon/door/a.h": '#include "tests/b.h"', "tests/b.h": ""},
        )

    def test_an_unknown_room_and_a_missing_file(self):
        self.assert_reported("suimon/attic/a.h: in no room", {"suimon/attic/a.h": ""})
        self.assert_reported(
            'suimon/core/a.h:1: "suimon/core/gone.h": there is no such file',
            {"suimon/core/a.h": '#include "suimon/core/gone.h"'},
        )


if __name__ == "__main__":
    unittest.main()

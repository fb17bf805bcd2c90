"""The JSON Schema of the policy file says what the program says, as far as a schema can."""

import os
import pathlib
import re
import subprocess
import tempfile
import unittest

import json
import jsonschema
import yaml

ROOT = pathlib.Path(__file__).resolve().parents[2]
SUIMON = pathlib.Path(os.environ.get("SUIMON_BUILD", ROOT / "build/release")) / "suimon"

# What no schema sees: what depends on another part of the file, and the words inside a value.
BEYOND = re.compile(
    r"^(alias_(for_built_in|of_alias|of_itself)|anchor|tag|duplicate_key|attribute_(built_in|client_ip|in_key|spaces)"
    r"|attributes_too_many|capacity_too_large|cost_(above|list_above)_.*|cost_unreached|hops_with_single_header"
    r"|match_(attribute_name|empty_text|long_value|path_.*)|name_twice|on_missing_empty_value"
    r"|proxies_(bad_range|bits|prefix)|proxy_(list|protocol)_.*|refill_.*|responses_headers_same_fields"
    r"|server_timeout_long|tier_choice_(no_tiers|other|unknown)|title_control)$"
)


class Loader(yaml.SafeLoader):
    """YAML 1.2, as editors read it: yes and no are words."""


Loader.yaml_implicit_resolvers = {
    first: [(tag, regexp) for tag, regexp in resolvers if tag not in ("tag:yaml.org,2002:bool", "tag:yaml.org,2002:timestamp", "tag:yaml.org,2002:int", "tag:yaml.org,2002:merge")]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}
Loader.add_implicit_resolver("tag:yaml.org,2002:bool", re.compile(r"^(true|false)$"), list("tf"))
Loader.add_implicit_resolver("tag:yaml.org,2002:int", re.compile(r"^[-+]?[0-9]+$"), list("-+0123456789"))


def load(text):
    return yaml.load(text, Loader)


class SchemaTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.schema = json.loads((ROOT / "data/limits.schema.json").read_text(encoding="utf-8"))
        jsonschema.Draft7Validator.check_schema(cls.schema)
        cls.validator = jsonschema.Draft7Validator(cls.schema)

    def mistakes(self, text):
        return [error.message for error in self.validator.iter_errors(load(text))]

    def test_every_policy_that_ships_or_stands_in_the_docs_is_right(self):
        texts = {str(path): path.read_text(encoding="utf-8") for path in ROOT.glob("examples/**/*.yaml")}
        for page in [*ROOT.glob("docs/*.md"), ROOT / "README.md"]:
            blocks = re.findall(r"```yaml policy[^\n]*\n(.*?)```", page.read_text(encoding="utf-8"), re.S)
            for number, block in enumerate(blocks):
                texts[f"{page}, {number}"] = block
        self.assertGreater(len(texts), 4)
        for where, text in texts.items():
            with self.subTest(where):
                self.assertEqual(self.mistakes(text), [])

    def test_every_mistake_that_a_schema_can_see_is_seen(self):
        seen = 0
        for path in sorted((ROOT / "tests/policy/bad").glob("*.yaml")):
            if BEYOND.match(path.stem):
                continue
            with self.subTest(path.stem):
                try:
                    self.assertNotEqual(self.mistakes(path.read_text(encoding="utf-8")), [])
                    seen += 1
                except (yaml.YAMLError, TypeError, UnicodeDecodeError):
                    pass  # no YAML at all, or aliases: an editor says so itself
        self.assertGreater(seen, 100)

    def test_its_words_are_the_words_of_the_program(self):
        """An unknown key makes the program list the keys that it knows."""
        unknown = "qqqqqqqqqq: 1"
        limit = "{name: a, key: [user], preset: payment-gateway%s}"
        head = "version: 1\ndomain: d\n"
        plain = f"limits: [{limit % ''}]\n"
        properties = self.schema["properties"]
        of_limit = properties["limits"]["items"]["properties"]
        places = {
            head + plain + unknown: self.schema,
            head + plain + f"client_ip: {{{unknown}}}": properties["client_ip"],
            head + plain + f"responses: {{{unknown}}}": properties["responses"],
            head + plain + f"server: {{{unknown}}}": properties["server"],
            head + plain + f"server: {{timeouts: {{{unknown}}}}}": properties["server"]["properties"]["timeouts"],
            head + plain + f"store: {{{unknown}}}": properties["store"],
            head + plain + f"log: {{{unknown}}}": properties["log"],
            head + f"limits: [{limit % (', ' + unknown)}]\n": {"properties": of_limit},
        }
        for text, part in places.items():
            with self.subTest(text), tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
                file.write(text + "\n")
                file.flush()
                told = subprocess.run([SUIMON, "validate", file.name], capture_output=True, text=True, check=False)
                known = re.search(r"unknown key `q+`; .* has (.*)", told.stderr + told.stdout)
                self.assertIsNotNone(known, told)
                self.assertEqual(set(known.group(1).split(", ")), set(part["properties"]))

    def test_an_editor_gets_a_description_of_every_word_that_needs_one(self):
        for name in ("limits", "token_bucket", "key", "match", "advertise", "shadow"):
            part = self.schema["properties"]["limits"]["items"]["properties"].get(name, {"description": "x"})
            self.assertIn("description", part, name)


if __name__ == "__main__":
    unittest.main()

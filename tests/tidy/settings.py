#!/usr/bin/env python3
"""Settings of tarnd that documents name are those of docs/configuration.md: in code (`s3.hosts`), in blocks of YAML that are a
configuration, and as variables (`TARN_S3_HOSTS`), which may also be of another program here."""

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
REFERENCE = "docs/configuration.md"
ROW = re.compile(r"^\| `([a-z0-9_.]+)` \| [^|]* \| `(TARN_[A-Z0-9_]+)` \|", re.MULTILINE)
NAMED = re.compile(r"`([a-z0-9_]+(?:\.[a-z0-9_]+)+)(?::[^`]*)?`")
BLOCK = re.compile(r"^( *)```ya?ml\n(.*?)^\1```", re.MULTILINE | re.DOTALL)
KEY = re.compile(r"( *)([a-z0-9_]+):(?: +(.*))?$")
VARIABLE = re.compile(r"\bTARN_[A-Z0-9_]*[A-Z0-9]\b")
# Settings of other programs, and a section whose keys the operator chooses.
OTHER = {"server.endpoint_url", "s3.endpoint", "store.s3_stores"}
# Read by a file of packaging/compose.
OTHER_VARIABLES = {"TARN_IMAGE"}
# Pages for users. docs/design/ names columns of the schema in the same form, READMEs of sources their files.
PLACES = ("docs/", "examples/", "clients/", "packaging/", "README.md")


def settings_of(text):
    """The settings of a block of YAML, each with its sections; None if it has something that no configuration has."""
    sections, out = [], []
    for line in text.splitlines():
        bare = re.sub(r"(^|\s)#.*", "", line).rstrip()
        if not bare:
            continue
        found = KEY.match(bare)
        if not found:
            return None
        depth, key, value = len(found[1]), found[2], found[3]
        sections = [(at, name) for at, name in sections if at < depth]
        if value is None:
            sections.append((depth, key))
        else:
            out.append(".".join([name for _, name in sections] + [key]))
    return out


def is_known(name, settings):
    """Whether it is a setting, a section of settings, or below a setting whose keys the operator chooses."""
    return any(f"{setting}.".startswith(f"{name}.") or name.startswith(f"{setting}.") for setting in settings)


def unknown(text, settings):
    """Names in code that begin as a setting does, and keys of configurations, that are no settings."""
    sections = {name.split(".")[0] for name in settings if "." in name}
    heads = {name.split(".")[0] for name in settings}
    out = [name for name in NAMED.findall(text) if name.split(".")[0] in sections and not is_known(name, settings)]
    for _, block in BLOCK.findall(text):
        named = settings_of(block)
        if named and all(name.split(".")[0] in heads for name in named):
            out += [name for name in named if not is_known(name, settings)]
    return out


def main():
    listed = subprocess.run(["git", "-C", ROOT, "ls-files"], capture_output=True, text=True, check=True).stdout.splitlines()
    texts = {name: (ROOT / name).read_bytes().decode(errors="replace") for name in listed if (ROOT / name).is_file()}
    rows = dict(ROW.findall(texts[REFERENCE]))
    settings = set(rows) | OTHER
    named = [name for name in texts if name.startswith(PLACES) and not name.startswith("docs/design/")]
    pages = {name: texts[name] for name in named if name.endswith(".md")}
    documents = {name: texts[name] for name in named if name in pages or name.startswith("packaging/")}
    programs = "".join(text for name, text in texts.items() if name not in documents)
    variables = set(rows.values()) | OTHER_VARIABLES | set(VARIABLE.findall(programs))
    problems = [f"{page}: there is no setting {name}" for page, text in pages.items() for name in unknown(text, settings)]
    for name, text in documents.items():
        problems += [f"{name}: no program reads {variable}" for variable in set(VARIABLE.findall(text)) - variables]
    if len(rows) < 80:
        problems.append(f"only {len(rows)} settings were found in {REFERENCE}")
    print("\n".join(problems) or f"settings: {len(rows)}, and documents name no other")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())

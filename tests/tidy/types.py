#!/usr/bin/env python3
"""Checks that a folder declares in its own namespace (`core/gc` in `tarn::gc`), and that a name stands for one type in each
namespace of the program: two definitions in different files are undefined behaviour that no compiler reports. Prints what
differs and exits 1."""

import re
import sys
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SOURCES = ("core", "server", "s3gateway", "cli")
TEST_FILE = re.compile(r"(_test|_pgtest)\.cc$|/testing/")
# Namespaces and their types begin in the first column: .clang-format indents neither.
NAMESPACE = re.compile(r"^(?:inline )?namespace ([\w:]*) ?\{$")
END = re.compile(r"^\}  // namespace")
# Folders whose namespace has another name. `tarn` itself has the values and tools that all others say.
NAMESPACES = {
    "core/base": "tarn",
    "core/metrics": "tarn",
    "core/model": "tarn",
    "core/xml": "tarn",
    "s3gateway": "tarn::s3",
    "server/assembly": "tarn::server",
}
# Namespaces that belong to a part of a folder, and that of support for tests.
NESTED = ("tarn::actions::lua", "tarn::api::json", "tarn::log", "tarn::metrics", "tarn::reason", "tarn::s3::xml", "tarn::testing")
FORWARD = re.compile(r"^(?:(?:class|struct|enum class) \w+(?: : \w+)?;)?$")
TYPE = re.compile(
    r"^(?:struct|class|union|enum(?: class)?) (?:TARN_\w+(?:\([^)]*\))? )?([\w:]+)(?: final)?(?: :[^:].*)?(?: \{.*)?$"
)


def types(text):
    """(namespace, name, number of the line) of each type; those of unnamed namespaces belong to one file and are left out."""
    spaces = []
    for number, line in enumerate(text.splitlines(), 1):
        if found := NAMESPACE.match(line):
            spaces.append(found[1])
        elif END.match(line):
            spaces.pop()
        elif (found := TYPE.match(line)) and "" not in spaces:
            yield "::".join(spaces), found[1], number


def namespace_of(path):
    """The namespace of core/gc, of server/api and of cli; that of server/api holds in server/api/handlers."""
    for folder in (str(Path(*path.parts[:2])), path.parts[0]):
        if folder in NAMESPACES:
            return NAMESPACES[folder]
    return f"tarn::{path.parts[1] if len(path.parts) > 2 and path.parts[0] != 'cli' else path.parts[0]}"


def foreign(path, text):
    """(namespace, number of the line) of each block that is not of the file's folder and has more than declarations of types."""
    own, lines = namespace_of(path), text.splitlines()
    for number, line in enumerate(lines, 1):
        found = NAMESPACE.match(line)
        if not found or not found[1].startswith("tarn") or found[1] == own or found[1] in NESTED:
            continue
        ends = (at for at in range(number, len(lines)) if lines[at].startswith("}"))
        if not all(FORWARD.match(one) for one in lines[number : next(ends)]):
            yield found[1], number


def main():
    wrong = 0
    places = defaultdict(list)
    for top in SOURCES:
        for file in sorted((ROOT / top).rglob("*")):
            path = str(file.relative_to(ROOT))
            if file.suffix in (".h", ".cc") and not TEST_FILE.search(path):
                text = file.read_text()
                for space, name, number in types(text):
                    places[space, name].append(f"{path}:{number}")
                for space, number in foreign(Path(path), text):
                    wrong += 1
                    print(f"{path}:{number}: declares in {space}, its folder is {namespace_of(Path(path))}")
    twice = {key: where for key, where in places.items() if len(where) > 1}
    for (space, name), where in twice.items():
        print(f"{space}::{name} is defined in {', '.join(where)}")
    print(
        f"types: {len(twice)} names stand for several, {wrong} blocks are in the namespace of another folder"
        if twice or wrong
        else f"types: {len(places)}, each defined once, in the namespace of its folder"
    )
    return 1 if twice or wrong else 0


if __name__ == "__main__":
    sys.exit(main())

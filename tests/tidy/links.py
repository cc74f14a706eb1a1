#!/usr/bin/env python3
"""Every relative link of a Markdown file leads to a tracked file and to a heading of it, every page of docs/ that tracked text
names is there, and so is every source that a Markdown file names by its path."""

import re
import subprocess
import sys
from pathlib import Path
from posixpath import dirname, normpath
from urllib.parse import unquote

ROOT = Path(__file__).resolve().parents[2]
FENCED = re.compile(r"^ *(```+|~~~+).*?^ *\1[`~]*\s*?$", re.MULTILINE | re.DOTALL)
CODE = re.compile(r"(`+)(?!`).+?(?<!`)\1(?!`)")
LINK = re.compile(r"\]\(([^()\s]+(?:\([^()\s]*\)[^()\s]*)*)(?:\s+\"[^\"]*\")?\)")
HEADING = re.compile(r"^#{1,6}\s+(.+?)\s*#*$", re.MULTILINE)
ELSEWHERE = re.compile(r"[a-z][a-z0-9+.-]*:", re.IGNORECASE)
NAMED_PAGE = re.compile(r"(?<![\w./-])docs/[\w./-]+\.md\b")
NAMED_SOURCE = re.compile(r"`((?:bench|cli|clients|core|migrations|s3gateway|server|tests|web)/[\w./-]+\.\w+)`")
# Names of objects in tests.
OBJECTS = {"docs/first.md", "docs/second.md", "docs/ABOUT.md"}


def tracked():
    names = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    return [name for name in names.split("\0") if name and (ROOT / name).is_file()]


def anchors(text):
    """The anchors of the headings, as GitHub makes them."""
    found = set()
    for heading in HEADING.findall(FENCED.sub("", text)):
        plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).lower()
        anchor = re.sub(r"[^\w\- ]", "", plain).replace(" ", "-")
        number, name = 0, anchor
        while name in found:
            number += 1
            name = f"{anchor}-{number}"
        found.add(name)
    return found


def blank(match):
    """Blanks of the same length and lines, so that the numbers of lines stay."""
    return re.sub(r"[^\n]", " ", match[0])


def links(text):
    """(number of the line, target) of each link outside code."""
    prose = CODE.sub(blank, FENCED.sub(blank, text))
    return [(prose.count("\n", 0, match.start()) + 1, match[1]) for match in LINK.finditer(prose)]


def broken_links(pages, places):
    """`pages`: {name: text} of the Markdown files; `places`: names of all tracked files and of their folders."""
    out = []
    headings = {name: anchors(text) for name, text in pages.items()}
    for page, text in pages.items():
        for number, target in links(text):
            if ELSEWHERE.match(target):
                continue
            path, _, anchor = target.partition("#")
            name = normpath(f"{dirname(page)}/{unquote(path)}".lstrip("/")) if path else page
            if name not in places:
                out.append(f"{page}:{number}: {target}: there is no such file")
            elif anchor and name in headings and anchor not in headings[name]:
                out.append(f"{page}:{number}: {target}: there is no such heading")
    return out


def main():
    names = tracked()
    places = {str(place) for name in names for place in (Path(name), *Path(name).parents)}
    pages = {name: (ROOT / name).read_text() for name in names if name.endswith(".md")}
    problems = broken_links(pages, places)
    known = places | OBJECTS
    for page, text in pages.items():
        problems += [f"{page}: there is no {source}" for source in NAMED_SOURCE.findall(text) if source not in places]
    for name in names:
        data = (ROOT / name).read_bytes()
        if b"\0" in data[:4096]:
            continue
        for number, line in enumerate(data.decode(errors="replace").splitlines(), 1):
            problems += [f"{name}:{number}: there is no {page}" for page in NAMED_PAGE.findall(line) if page not in known]
    count = sum(len(links(text)) for text in pages.values())
    if count < 300:
        problems.append(f"only {count} links were found")
    print("\n".join(problems) or f"links: {count} in {len(pages)} pages, each leads somewhere")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())

"""Draws docs/images/performance.svg, growth.svg, scale.svg and scale-memory.svg: time, and memory, against size, from the files of bench/results.

chart.py [--check]: --check only says whether the images are those of the results.
"""

import json
import math
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "bench" / "results"
IMAGES = ROOT / "docs" / "images"
LOG = "log of an object that two commits changed"

WIDTH, HEIGHT = 860, 480
LEFT, RIGHT, TOP, BOTTOM = 78, 300, 24, 56
# Told apart in any colours, and without: each series has a mark of its own.
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#8a6d00", "#444444", "#e69f00")
MARKS = ("circle", "square", "diamond", "triangle", "circle", "square", "diamond", "triangle")


def rows(name):
    return [json.loads(line) for line in (RESULTS / name).read_text().splitlines()]


def growth():
    """{name: [(size, milliseconds)]} of one program at all sizes."""
    names = {
        "import_s": "import by reference",
        "stat_ms": "stat of an object",
        "page_of_1000_ms": "page of 1,000 objects",
        "branch_ms": "new branch",
        "commit_of_1_ms": "commit of one change",
        "commit_of_1000_ms": "commit of 1,000 changes",
        "diff_of_1000_ms": "diff of 1,000 changes",
        "merge_1000_1000_ms": "merge of 1,000 and 1,000",
    }
    out = {}
    for row in rows("growth-two-processors.jsonl"):
        for key, name in names.items():
            if "objects" in row and key in row:
                out.setdefault(name, []).append((row["objects"], row[key] * (1000 if key.endswith("_s") else 1)))
    return {name: sorted(points) for name, points in out.items()}


def times():
    """{name: [(size, milliseconds)]}"""
    out = {}
    for row in rows("history-two-processors.jsonl"):
        if row.get("measured") == LOG:
            out.setdefault(f"log of an object, {row['label']}", []).append((row["commits"], row["then_ms"]))
    for row in rows("web-two-processors.jsonl"):
        if row.get("bench") == "web_objects":
            out.setdefault("import by reference", []).append((row["keys"], 1000 * row["import_s"]))
            out.setdefault("first rows of the page of objects", []).append((row["keys"], row["first_rows_from_click_ms"]))
    names = {
        "main logical by 1000 folders": "sizes of 1,000 folders",
        "main exact, stored": "exact stored size of a branch",
        "verify structure of all branches": "verification of the structure",
    }
    for row in rows("collection-two-processors.jsonl"):
        if row.get("measured") in names:
            out.setdefault(names[row["measured"]], []).append((row["objects"], 1000 * row["seconds"]))
    return {name: sorted(points) for name, points in out.items()}


def scale():
    """{name: [(size, milliseconds)]} against other sizes than that of a tree."""
    names = {
        ("branches", "new_branch_ms"): "new branch, of N branches",
        ("branches", "page_of_1000_branches_ms"): "page of 1,000 of N branches",
        ("commits", "commit_ms"): "commit after N commits",
        ("repositories", "new_repository_ms"): "new repository, of N",
        ("connections", "stat_ms"): "stat, with N connections open",
        ("staged", "page_of_1000_objects_ms"): "page of 1,000 of N staged",
        ("staged", "commit_of_all_ms"): "commit of N staged",
        ("uploads", "complete_upload_ms"): "completion, of N uploads",
    }
    out = {}
    for (dimension, key), name in names.items():
        out[name] = sorted(
            (row["size"], row[key]) for row in rows("scale-two-processors.jsonl") if row.get("dimension") == dimension
        )
    return out


def memory():
    """{name: [(size, MiB at most)]}"""
    out = {}
    for row in rows("scale-two-processors.jsonl"):
        if "dimension" in row:
            out.setdefault(
                {"staged": "staged objects", "uploads": "uploads of 64 parts", "connections": "open connections"}.get(
                    row["dimension"], row["dimension"]
                ),
                [],
            ).append((row["size"], row["peak_MiB"]))
    for row in rows("growth-two-processors.jsonl"):
        if "objects" in row:
            out.setdefault("objects", []).append((row["objects"], row["peak_MiB"]))
    return {name: sorted(points) for name, points in out.items()}


def x_of(size, decades):
    low, high = decades
    return LEFT + (math.log10(size) - low) / (high - low) * (WIDTH - LEFT - RIGHT)


def y_of(milliseconds, decades):
    low, high = decades
    at = min(max(math.log10(milliseconds), low), high)
    return HEIGHT - BOTTOM - (at - low) / (high - low) * (HEIGHT - TOP - BOTTOM)


def text(x, y, words, anchor="start"):
    return f'<text x="{x:.0f}" y="{y:.0f}" text-anchor="{anchor}">{words}</text>'


def mark(kind, x, y, colour):
    shapes = {
        "circle": f'<circle cx="{x:.1f}" cy="{y:.1f}" r="5"',
        "square": f'<rect x="{x - 4.5:.1f}" y="{y - 4.5:.1f}" width="9" height="9"',
        "diamond": f'<path d="M{x:.1f} {y - 6:.1f} l6 6 -6 6 -6 -6z"',
        "triangle": f'<path d="M{x:.1f} {y - 6:.1f} l6 11 -12 0z"',
    }
    return f'{shapes[kind]} fill="{colour}"/>'


def drawn(found, decades, decades_y, sizes, labels=None, what="Time"):
    labels = labels or {-1: "0.1 ms", 0: "1 ms", 1: "10 ms", 2: "0.1 s", 3: "1 s", 4: "10 s", 5: "100 s", 6: "1,000 s"}
    out = [
        (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif" font-size="13" '
            f'role="img" aria-label="{what} against size, both on logarithmic scales">'
        ),
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#ffffff"/>',
        '<g stroke="#dddddd">',
    ]
    for decade in range(decades_y[0], decades_y[1] + 1):
        y = y_of(10**decade, decades_y)
        out.append(f'<path d="M{LEFT} {y:.1f} H{WIDTH - RIGHT}"/>')
    for decade in range(decades[0], decades[1] + 1):
        out.append(f'<path d="M{x_of(10**decade, decades):.1f} {TOP} V{HEIGHT - BOTTOM}"/>')
    out.append('</g><g fill="#333333">')
    out += [
        text(LEFT - 8, y_of(10**decade, decades_y) + 4, label, "end")
        for decade, label in labels.items()
        if decade <= decades_y[1]
    ]
    for decade in range(decades[0], decades[1] + 1):
        out.append(
            text(
                x_of(10**decade, decades),
                HEIGHT - BOTTOM + 20,
                f"{10**decade:,}" if decade < 6 else f"{10 ** (decade - 6)} M",
                "middle",
            )
        )
    out.append(text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 12, sizes, "middle"))
    out.append("</g>")
    for number, (name, points) in enumerate(found.items()):
        colour, kind = COLOURS[number % len(COLOURS)], MARKS[number % len(MARKS)]
        places = [(x_of(size, decades), y_of(time, decades_y)) for size, time in points]
        line = " L".join(f"{x:.1f} {y:.1f}" for x, y in places)
        out.append(f'<path d="M{line}" fill="none" stroke="{colour}" stroke-width="2"/>')
        out += [mark(kind, x, y, colour) for x, y in places]
        y = TOP + 14 + 26 * number
        out.append(mark(kind, WIDTH - RIGHT + 24, y - 4, colour))
        out.append(text(WIDTH - RIGHT + 38, y, name))
    out.append("</svg>")
    return "\n".join(out) + "\n"


def main(check):
    charts = {
        "performance.svg": drawn(times(), (2, 7), (-1, 5), "objects, or commits of the history"),
        "growth.svg": drawn(growth(), (4, 8), (-1, 6), "objects of the repository"),
        "scale.svg": drawn(scale(), (0, 6), (-1, 5), "N"),
        "scale-memory.svg": drawn(
            memory(), (0, 8), (0, 3), "N", {0: "1 MiB", 1: "10 MiB", 2: "100 MiB", 3: "1,000 MiB"}, "Memory"
        ),
    }
    for name, image in charts.items():
        file = IMAGES / name
        if not check:
            file.write_text(image)
        elif not file.exists() or file.read_text() != image:
            sys.exit(f"{file.relative_to(ROOT)} is not that of the results: run bench/chart.py")


if __name__ == "__main__":
    main("--check" in sys.argv[1:])

"""Times of the table of runs, of runs side by side, of curves, and of a comparison of refs, one line of JSON each.

usage: PYTHON bench/web/experiments.py [RUNS [METRICS [CHANGES]]]      10000, 200 and 1000000 unless named; needs ./dev build and nothing beside it
"""

import json
import math
import os
import statistics
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests/support"), str(ROOT / "tests/web")]

import browser  # noqa: E402
import outcome  # noqa: E402
import servers  # noqa: E402
from playwright.sync_api import sync_playwright  # noqa: E402

ROUNDS = 5
THREADS = 8
COMPARED = 200
CURVES = 50
STEPS = 1000
WAIT_MS = 120_000

UNTIL = """(looked) => new Promise(resolve => {
    const look = () => document.querySelector(looked) ? resolve(performance.now()) : requestAnimationFrame(look);
    look();
})"""

SCROLL = """async ([label, rows]) => {
    const table = document.querySelector(`[aria-label="${label}"]`);
    const frames = [];
    let before = performance.now();
    for (let row = 0; row < rows; row += 10) {
        table.scrollTop += 320;
        const now = await new Promise(requestAnimationFrame);
        frames.push(now - before);
        before = now;
    }
    frames.sort((a, b) => a - b);
    return {frames: frames.length, over_50_ms: frames.filter(ms => ms > 50).length, median: frames[frames.length >> 1], longest: frames[frames.length - 1]};
}"""


def say(bench, **figures):
    print(
        json.dumps(
            {
                "bench": bench,
                "load": os.getloadavg()[0],
                **{name: round(value, 1) if isinstance(value, float) else value for name, value in figures.items()},
            }
        ),
        flush=True,
    )


def values(number, metrics):
    return {f"m{k:03d}": (number * 7919 + k * 104729) % 1000 / 1000 for k in range(metrics)}


def record_runs(server, rest, runs, metrics):
    rest.repository("table")
    rest.upload("table", "a", "a")
    rest.commit("table")

    def some(first):
        own = outcome.Outcome(server)
        for number in range(first, runs, THREADS):
            own.record("table", "main", metrics=values(number, metrics), params={"rate": number % 10})

    with ThreadPoolExecutor(THREADS) as pool:
        list(pool.map(some, range(THREADS)))


def record_curves(server, rest):
    rest.repository("curves")
    rest.upload("curves", "a", "a")
    rest.commit("curves")
    ids = []
    for number in range(COMPARED):
        branch = f"b{number:03d}"
        rest.branch("curves", branch)
        lines = "".join(f"{step},{math.exp(-step * (number + 1) / 5000):.6f}\n" for step in range(STEPS))
        rest.upload("curves", "metrics/curve.csv", "step,loss\n" + lines, branch=branch)
        rest.commit("curves", branch, branch=branch)
        ids.append(rest.record("curves", branch, metrics=values(number, 20), params={"rate": number % 10})["id"])
    return ids


def bench_table(window, runs, metrics):
    page, first = window.page, []
    for _ in range(ROUNDS):
        page.goto("/r/table/-/runs")
        first.append(page.evaluate(UNTIL, '[aria-label="Runs"] [aria-rowindex="2"] a'))
    sorted_in, filtered_in = [], []
    for _ in range(ROUNDS):
        page.goto("/r/table/-/runs?order=-metrics.m001")
        sorted_in.append(page.evaluate(UNTIL, '[aria-label="Runs"] [aria-rowindex="2"] a'))
        page.goto("/r/table/-/runs?where=metrics.m001>0.9")
        filtered_in.append(page.evaluate(UNTIL, '[aria-label="Runs"] [aria-rowindex="2"] a'))
    columns = "&".join(f"column=metrics.m{k:03d}" for k in range(metrics))
    page.goto(f"/r/table/-/runs?{columns}")
    wide = page.evaluate(UNTIL, '[aria-label="Runs"] [aria-rowindex="2"] a')
    scrolled = page.evaluate(SCROLL, ["Runs", 3000])
    say(
        "web_runs",
        runs=runs,
        metrics=metrics,
        first_row_ms=statistics.median(first),
        sorted_first_row_ms=statistics.median(sorted_in),
        filtered_first_row_ms=statistics.median(filtered_in),
        all_columns_first_row_ms=wide,
        cells=page.locator("[aria-label=Runs] [role=gridcell]").count(),
        **scrolled,
    )


def bench_compared(window, ids):
    page, beside, drawn = window.page, [], []
    for _ in range(ROUNDS):
        page.goto("/r/curves/-/runs?view=side&" + "&".join(f"run={run}" for run in ids))
        beside.append(page.evaluate(UNTIL, f'[aria-label="Table"] tr > :nth-child({len(ids)})'))
        page.goto("/r/curves/-/runs?view=curves&metric=metrics.loss&" + "&".join(f"run={run}" for run in ids[:CURVES]))
        page.get_by_text(f"{CURVES} curves of {CURVES} runs").wait_for(timeout=WAIT_MS)
        drawn.append(page.evaluate(UNTIL, "canvas"))
    say(
        "web_compared",
        side_by_side_runs=len(ids),
        side_by_side_ms=statistics.median(beside),
        curves=CURVES,
        steps=STEPS,
        curves_ms=statistics.median(drawn),
    )


def bench_changes(server, window, rest, changes):
    source = server.import_root / "many"
    for folder in range(100):
        (source / f"{folder:02d}").mkdir(parents=True)
        for number in range(changes // 100):
            (source / f"{folder:02d}" / f"{number:05d}").touch()
    rest.repository("changes")
    rest.branch("changes", "many")
    made = rest.post(
        "/repositories/changes/branches/many/import",
        {"paths": [{"type": "common_prefix", "path": f"local://{source}/", "destination": "k/"}], "commit": {"message": "many"}},
    )
    while not (state := rest.get("/repositories/changes/branches/many/import", id=made["id"]))["completed"]:
        assert "error" not in state, state
        time.sleep(0.5)
    subprocess.run(["rm", "-rf", str(source)], check=True)
    page, counts, rows = window.page, [], []
    for _ in range(ROUNDS):
        page.goto("/r/changes/-/compare/main/many?prefix=k/07/")
        rows.append(page.evaluate(UNTIL, '[role=grid] [aria-rowindex="2"]'))
        begun = time.monotonic()
        page.get_by_text(f"{changes:,}").first.wait_for(timeout=WAIT_MS)
        counts.append(rows[-1] + 1000 * (time.monotonic() - begun))
    label = page.locator("[role=grid]").first.get_attribute("aria-label")
    say(
        "web_changes",
        changes=changes,
        first_row_ms=statistics.median(rows),
        counted_ms=statistics.median(counts),
        **page.evaluate(SCROLL, [label, 5000]),
    )


def main(runs=10_000, metrics=200, changes=1_000_000):
    directory = servers.scratch_directory("web-bench")
    server = servers.Tarnd(directory).start()
    try:
        rest = outcome.Outcome(server)
        with sync_playwright() as playwright:
            chromium = browser.launch(playwright)
            window = browser.Window(chromium, server).sign_in()
            window.context.set_default_timeout(WAIT_MS)
            bench_compared(window, record_curves(server, rest))
            record_runs(server, rest, runs, metrics)
            bench_table(window, runs, metrics)
            bench_changes(server, window, rest, changes)
            chromium.close()
    finally:
        server.stop()
        subprocess.run(["rm", "-rf", str(directory)], check=False)


if __name__ == "__main__":
    main(*(int(text) for text in sys.argv[1:]))

"""Times of the page of objects with many keys under one prefix, one line of JSON each.

usage: PYTHON bench/web/objects.py [KEYS ...]      100000 and 1000000 unless named; needs ./dev build and nothing beside it
"""

import json
import statistics
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests/support"), str(ROOT / "tests/web")]

import browser  # noqa: E402
import outcome  # noqa: E402
import servers  # noqa: E402
from playwright.sync_api import sync_playwright  # noqa: E402

ROUNDS = 7
SCROLLED_ROWS = 10_000
ROW = 32

# Milliseconds from the start of the navigation to the first row, as the page itself sees it.
FIRST_ROW = """() => new Promise(resolve => {
    const look = () => document.querySelector('[aria-label="Objects"] [aria-rowindex="2"] a') ? resolve(performance.now()) : requestAnimationFrame(look);
    look();
})"""

SCROLL = """async ([rows, height]) => {
    const table = document.querySelector('[aria-label="Objects"]');
    const frames = [];
    let before = performance.now();
    const end = table.scrollTop + rows * height;
    while (table.scrollTop < end - 1) {
        const at = table.scrollTop;
        table.scrollTop = Math.min(end, at + 10 * height);
        const now = await new Promise(requestAnimationFrame);
        frames.push(now - before);
        before = now;
        if (table.scrollTop === at) await new Promise(resolve => setTimeout(resolve, 20));
    }
    frames.sort((a, b) => a - b);
    return {frames: frames.length, over_50_ms: frames.filter(ms => ms > 50).length, median: frames[frames.length >> 1], longest: frames[frames.length - 1]};
}"""


def fill(server, rest, keys):
    source = server.import_root / f"flat-{keys}"
    source.mkdir()
    for number in range(keys):
        (source / f"{number:07d}.png").touch()
    name = f"flat-{keys}"
    rest.repository(name)
    begun = time.monotonic()
    made = rest.post(
        f"/repositories/{name}/branches/main/import",
        {"paths": [{"type": "common_prefix", "path": f"local://{source}/", "destination": "k/"}], "commit": {"message": "many"}},
    )
    while not (state := rest.get(f"/repositories/{name}/branches/main/import", id=made["id"]))["completed"]:
        assert "error" not in state, state
        time.sleep(0.5)
    subprocess.run(["rm", "-rf", str(source)], check=True)
    return name, time.monotonic() - begun


def main(counts):
    directory = servers.scratch_directory("web-bench")
    server = servers.Tarnd(directory).start()
    try:
        rest = outcome.Outcome(server)
        with sync_playwright() as playwright:
            chromium = browser.launch(playwright)
            for keys in counts:
                name, imported = fill(server, rest, keys)
                window = browser.Window(chromium, server).sign_in()
                cold, warm = [], []
                for _ in range(ROUNDS):
                    window.page.goto(f"/r/{name}/main/data?path=k/")
                    cold.append(window.page.evaluate(FIRST_ROW))
                    window.page.goto(f"/r/{name}/main/data")
                    window.page.get_by_role("link", name="k/").wait_for()
                    warm.append(
                        window.page.evaluate("""async () => {
                        const begun = performance.now();
                        [...document.querySelectorAll('a')].find(link => link.textContent === 'k/').click();
                        while (!document.querySelector('[aria-label="Objects"] [aria-rowindex="2"] a')?.textContent.startsWith('0000000')) await new Promise(requestAnimationFrame);
                        return performance.now() - begun;
                    }""")
                    )
                window.page.goto(f"/r/{name}/main/data?path=k/")
                window.page.evaluate(FIRST_ROW)
                scrolled = window.page.evaluate(SCROLL, [SCROLLED_ROWS, ROW])
                print(
                    json.dumps(
                        {
                            "bench": "web_objects",
                            "keys": keys,
                            "import_s": round(imported, 1),
                            "first_rows_from_navigation_ms": round(statistics.median(cold)),
                            "first_rows_from_click_ms": round(statistics.median(warm)),
                            "scrolled_rows": SCROLLED_ROWS,
                            **{key: round(value, 1) for key, value in scrolled.items()},
                        }
                    ),
                    flush=True,
                )
                window.close()
            chromium.close()
    finally:
        server.stop()
        subprocess.run(["rm", "-rf", str(directory)], check=False)


if __name__ == "__main__":
    main([int(text) for text in sys.argv[1:]] or [100_000, 1_000_000])

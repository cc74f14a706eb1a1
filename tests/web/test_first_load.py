"""The cost of the first view of a repository."""

import gzip

from playwright.sync_api import expect

SCRIPT_BYTES_MAX = 250 * 1024


def test_scripts_of_the_first_load_are_small_compressed_and_kept(open_window, rest, tarn):
    window = open_window().sign_in()
    rest.repository("first")
    scripts = {}
    window.page.on(
        "response",
        lambda response: scripts.update({response.url: response}) if response.request.resource_type == "script" else None,
    )
    page = window.load("/r/first/main/data")
    expect(page.get_by_text("There are no objects here yet.")).to_be_visible()
    assert scripts
    sizes = {}
    for url, response in scripts.items():
        headers = response.all_headers()
        assert headers["cache-control"] == "public, max-age=31536000, immutable", url
        assert headers["x-content-type-options"] == "nosniff"
        sizes[url] = len(gzip.compress(response.body(), 9))
    print("\nfirst load:", sum(sizes.values()), "bytes of compressed script in", len(sizes), "files")
    assert sum(sizes.values()) < SCRIPT_BYTES_MAX, sizes
    index = window.context.request.get("/")
    assert index.headers["cache-control"] == "no-store"

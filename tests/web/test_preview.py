"""Previews of each kind, in whole or in part."""

import io
import json
import struct
import wave

import hostile
import pyarrow
import pyarrow.parquet
import pytest
from PIL import Image
from playwright.sync_api import expect


def png(width, height, colour):
    out = io.BytesIO()
    Image.new("RGB", (width, height), colour).save(out, "PNG")
    return out.getvalue()


def parquet(rows, compression):
    out = io.BytesIO()
    table = pyarrow.table({"id": list(range(rows)), "name": [f"n-{n}" for n in range(rows)], "loss": [n / 7 for n in range(rows)]})
    pyarrow.parquet.write_table(table, out, compression=compression, row_group_size=1000)
    return out.getvalue()


def npy():
    header = "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }".ljust(117) + "\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + struct.pack("<6f", 1, 2.5, 3, 4, 5, 6)


def safetensors():
    head = json.dumps({"__metadata__": {"format": "pt"}, "layer.weight": {"dtype": "F32", "shape": [4, 2], "data_offsets": [0, 32]}}).encode()
    return struct.pack("<Q", len(head)) + head + bytes(32)


def wav():
    out = io.BytesIO()
    with wave.open(out, "wb") as sound:
        sound.setparams((1, 2, 8000, 0, "NONE", ""))
        sound.writeframes(bytes(16000))
    return out.getvalue()


CARD = "---\nlicense: mit\ntags: [digits]\n---\n# Model card\n\nTrained on [the data](images/) with **care**.\n\n- one\n- [x] done\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n![A digit](images/a.png)\n"

FILES = {
    "train.py": ("import torch\n\n\ndef train(epochs: int) -> float:\n    # the loop\n    return 0.5 * epochs\n", lambda panel: expect(panel.locator(".hljs-keyword").first).to_be_visible()),
    "README.md": (CARD, lambda panel: expect(panel.get_by_role("heading", name="Model card")).to_be_visible()),
    "params.json": (json.dumps({"lr": 0.1, "layers": [1, 2, 3], "name": "résnet"}), lambda panel: expect(panel.get_by_text('"résnet"')).to_be_visible()),
    "params.yaml": ("lr: 0.1\nlayers: [1, 2]\n", lambda panel: expect(panel.get_by_role("button", name="layers")).to_be_visible()),
    "rows.csv": ("id,name\n" + "".join(f"{n},\"row {n}, quoted\"\n" for n in range(500)), lambda panel: expect(panel.get_by_text("500 rows, 2 columns")).to_be_visible()),
    "rows.tsv": ("id\tname\n1\ta\n", lambda panel: expect(panel.get_by_text("1 row, 2 columns")).to_be_visible()),
    "snappy.parquet": (parquet(2500, "snappy"), lambda panel: expect(panel.get_by_text("2,500 rows, 3 columns, 3 row groups")).to_be_visible()),
    "zstd.parquet": (parquet(10, "zstd"), lambda panel: expect(panel.get_by_role("gridcell", name="n-9")).to_be_visible()),
    "image.png": (png(300, 200, "teal"), lambda panel: expect(panel.get_by_text("300 × 200 pixels")).to_be_visible()),
    "drawing.svg": ('<svg xmlns="http://www.w3.org/2000/svg" width="60" height="40"><rect width="60" height="40" fill="teal"/></svg>', lambda panel: expect(panel.get_by_text("60 × 40 pixels")).to_be_visible()),
    "sound.wav": (wav(), lambda panel: expect(panel.locator("audio")).to_be_visible()),
    "paper.pdf": (hostile.pdf(), lambda panel: expect(panel.get_by_text("Page 1 of 1")).to_be_visible()),
    "notebook.ipynb": (json.dumps({"cells": [{"cell_type": "markdown", "source": "# Title of cells"}, {"cell_type": "code", "source": "1 + 1", "outputs": [{"output_type": "execute_result", "data": {"text/plain": "2"}}]}], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}),
                       lambda panel: expect(panel.get_by_role("heading", name="Title of cells")).to_be_visible()),
    "array.npy": (npy(), lambda panel: expect(panel.get_by_text("1, 2.5, 3, 4, 5, 6")).to_be_visible()),
    "model.safetensors": (safetensors(), lambda panel: expect(panel.get_by_text("1 tensor, 8 parameters")).to_be_visible()),
    "weights.bin": (b"\x00\x01", lambda panel: expect(panel.get_by_text("bin has no preview.")).to_be_visible()),
    "empty.txt": (b"", lambda panel: expect(panel.get_by_text("The object is empty.")).to_be_visible()),
    "broken.json": ("{", lambda panel: expect(panel.get_by_text("This is not valid JSON")).to_be_visible()),
    "broken.parquet": (b"PAR1 but not really, PAR1", lambda panel: expect(panel.get_by_text("This object cannot be shown")).to_be_visible()),
    "broken.png": (b"not a picture", lambda panel: expect(panel.get_by_text("the browser cannot decode this image")).to_be_visible()),
    "broken.npy": (b"nothing", lambda panel: expect(panel.get_by_text("This is not a NumPy file.")).to_be_visible()),
    "long.log": ("".join(f"line {n}\n" for n in range(200_000)), lambda panel: expect(panel.get_by_text("The first 66 KB of 2.3 MB are shown.")).to_be_visible()),
}

PICTURES = {"README.md": "preview-model-card", "snappy.parquet": "preview-parquet", "train.py": "preview-code", "params.json": "preview-json", "image.png": "preview-image",
            "notebook.ipynb": "preview-notebook", "long.log": "preview-in-part", "paper.pdf": "preview-pdf", "model.safetensors": "preview-safetensors"}


@pytest.fixture(scope="module")
def shown(tarn):
    import outcome
    rest = outcome.Outcome(tarn)
    rest.repository("shown")
    for path, (data, _) in FILES.items():
        rest.upload("shown", path, data)
    rest.upload("shown", "images/a.png", png(32, 32, "navy"))
    rest.commit("shown", "files")
    return "shown"


@pytest.mark.parametrize("path", list(FILES))
def test_it_is_shown(window, shown, path):
    page = window.go(f"/r/{shown}/main/data?object={path}")
    panel = page.get_by_role("complementary", name="Details")
    FILES[path][1](panel)
    if path in PICTURES:
        window.review(PICTURES[path])
    else:
        window.axe()


def test_more_of_a_large_text_is_shown_on_demand(window, shown):
    page = window.go(f"/r/{shown}/main/data?object=long.log")
    page.get_by_role("button", name="Show more").click()
    expect(page.get_by_text("The first 262 KB of 2.3 MB are shown.")).to_be_visible()


def test_pages_of_parquet_are_read_by_ranges(window, rest, shown):
    page = window.page
    ranges = []
    page.on("request", lambda request: ranges.append(request.headers.get("range")) if "objects?path=snappy" in request.url else None)
    page.goto(f"/r/{shown}/main/data?object=snappy.parquet")
    page.get_by_role("button", name="Next").click()
    expect(page.get_by_text("1,001 to 2,000")).to_be_visible()
    expect(page.get_by_role("gridcell", name="n-1000")).to_be_visible()
    assert ranges and all(ranges)


def test_relative_links_of_a_card_lead_to_objects(window, shown):
    page = window.go(f"/r/{shown}/main/data?object=README.md")
    page.get_by_role("link", name="the data").click()
    page.wait_for_url(f"**/r/{shown}/main/data?path=images/")
    expect(page.get_by_role("link", name="a.png")).to_be_visible()

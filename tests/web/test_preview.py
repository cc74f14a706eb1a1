"""Previews of each kind, in whole or in part."""

import io
import json
import random
import re
import struct
import wave

import browser as browsers
import hostile
import numpy
import pyarrow
import pyarrow.feather
import pyarrow.parquet
import pytest
from long_tests import LONG
from PIL import Image
from playwright.sync_api import expect


def png(width, height, colour):
    out = io.BytesIO()
    Image.new("RGB", (width, height), colour).save(out, "PNG")
    return out.getvalue()


def parquet(rows, compression):
    out = io.BytesIO()
    table = pyarrow.table(
        {"id": list(range(rows)), "name": [f"n-{n}" for n in range(rows)], "loss": [n / 7 for n in range(rows)]}
    )
    pyarrow.parquet.write_table(table, out, compression=compression, row_group_size=1000)
    return out.getvalue()


def arrow(compression=None, stream=False):
    table = pyarrow.table(
        {
            "id": list(range(1200)),
            "name": [f"n-{n}" for n in range(1200)],
            "when": pyarrow.array([0] * 1200, pyarrow.timestamp("s")),
        }
    )
    out = io.BytesIO()
    options = pyarrow.ipc.IpcWriteOptions(compression=compression)
    with (pyarrow.ipc.new_stream if stream else pyarrow.ipc.new_file)(out, table.schema, options=options) as writer:
        writer.write_table(table, max_chunksize=500)
    return out.getvalue()


def swollen(data):
    """With buffers that say that they become terabytes."""
    for magic in (b"\x04\x22\x4d\x18", b"\x28\xb5\x2f\xfd"):
        at = data.find(magic)
        while at >= 0:
            data = data[: at - 8] + struct.pack("<q", 1 << 42) + data[at:]
            at = data.find(magic, at + 1)
    return data


def tiff(compression, pages=1, mode="RGB"):
    out = io.BytesIO()
    images = [
        Image.new(mode, (90, 60), colour) for colour in (["teal", "navy", "red"] if mode == "RGB" else [200, 100, 0])[:pages]
    ]
    images[0].save(out, "TIFF", compression=compression, save_all=True, append_images=images[1:])
    return out.getvalue()


PLACES = json.dumps(
    {
        "type": "FeatureCollection",
        "features": [
            {
                "type": "Feature",
                "properties": {"name": "Lake", "area": 12.5},
                "geometry": {"type": "Polygon", "coordinates": [[[10, 47], [11, 47], [11, 48], [10.5, 48.4], [10, 47]]]},
            },
            {
                "type": "Feature",
                "properties": {"name": "Path"},
                "geometry": {"type": "LineString", "coordinates": [[9.5, 47], [10.2, 47.4], [11.4, 48.2]]},
            },
            {"type": "Feature", "properties": {"name": "Post"}, "geometry": {"type": "Point", "coordinates": [10.7, 47.6]}},
        ],
    }
)


def npy():
    header = "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }".ljust(117) + "\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + struct.pack("<6f", 1, 2.5, 3, 4, 5, 6)


def npz(save):
    out = io.BytesIO()
    save(
        out,
        weights=numpy.arange(12, dtype="<f4").reshape(3, 4),
        labels=numpy.random.default_rng(1).integers(0, 9, 50_000),
        names=numpy.array(["a", "é"]),
    )
    return out.getvalue()


def safetensors():
    head = json.dumps(
        {"__metadata__": {"format": "pt"}, "layer.weight": {"dtype": "F32", "shape": [4, 2], "data_offsets": [0, 32]}}
    ).encode()
    return struct.pack("<Q", len(head)) + head + bytes(32)


def wav():
    out = io.BytesIO()
    with wave.open(out, "wb") as sound:
        sound.setparams((1, 2, 8000, 0, "NONE", ""))
        sound.writeframes(bytes(16000))
    return out.getvalue()


def film(kind):
    """Two seconds of 48 × 32 pixels."""
    return (browsers.ROOT / f"tests/fixtures/film.{kind}").read_bytes()


def long_film():
    """Its index comes after so many bytes that a player must ask for its end."""
    data = film("mp4")
    at = data.rindex(b"moov") - 4
    return data[:at] + struct.pack(">I4s", FILLER_BYTES, b"free") + bytes(FILLER_BYTES - 8) + data[at:]


def has_cells(panel):
    expect(panel.get_by_role("heading", name="Title of cells")).to_be_visible()
    table = panel.get_by_title("Table of output 2 of cell 2")
    expect(table.content_frame.get_by_role("cell", name="0.75")).to_be_visible()
    expect(table).to_have_attribute("sandbox", "")
    expect(panel.get_by_text("0  0.75")).to_have_count(0)


def has_arrays(panel):
    for name, kind, shape in (("weights", "float32", "(3, 4)"), ("labels", "int64", "(50000)"), ("names", "<U1", "(2)")):
        expect(panel.get_by_role("row").filter(has_text=name)).to_contain_text(kind)
        expect(panel.get_by_role("row").filter(has_text=name)).to_contain_text(shape)


def plays(panel):
    video = panel.locator("video")
    expect(video).to_be_visible()
    assert video.evaluate(
        "async (video) => { video.muted = true; await video.play(); return [video.duration, video.videoWidth, video.videoHeight] }"
    ) == [2, 48, 32]


def has_aligned_columns(grid):
    """Of a table that scrolls sideways."""
    head, first = grid.get_by_role("row").evaluate_all(
        "rows => rows.slice(0, 2).map((row) => [...row.children].map((cell) => Math.round(cell.getBoundingClientRect().left)))"
    )
    assert head == first
    assert grid.evaluate("grid => grid.scrollWidth > grid.clientWidth")


FILLER_BYTES = 8 << 20
CARD = "---\nlicense: mit\ntags: [digits]\n---\n# Model card\n\nTrained on [the data](images/) with **care**.\n\n- one\n- [x] done\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n![A digit](images/a.png)\n"

FILES = {
    "train.py": (
        "import torch\n\n\ndef train(epochs: int) -> float:\n    # the loop\n    return 0.5 * epochs\n",
        lambda panel: expect(panel.locator(".hljs-keyword").first).to_be_visible(),
    ),
    "README.md": (
        CARD,
        lambda panel: (
            expect(panel.get_by_role("heading", name="Model card")).to_be_visible(),
            expect(panel.get_by_role("definition").first).to_have_text("mit"),
        ),
    ),
    "params.json": (
        json.dumps({"lr": 0.1, "layers": [1, 2, 3], "name": "résnet"}),
        lambda panel: expect(panel.get_by_text('"résnet"')).to_be_visible(),
    ),
    "params.yaml": (
        "lr: 0.1\nlayers: [1, 2]\n",
        lambda panel: expect(panel.get_by_role("button", name="layers")).to_be_visible(),
    ),
    "rows.csv": (
        "id,name\n" + "".join(f'{n},"row {n}, quoted"\n' for n in range(500)),
        lambda panel: expect(panel.get_by_text("500 rows, 2 columns")).to_be_visible(),
    ),
    "rows.tsv": (
        "a\tb\tc\td\te\n" + "\t".join(["x" * 40, "1", "2", "3" * 40, "4"]) + "\n",
        lambda panel: (
            expect(panel.get_by_text("1 row, 5 columns")).to_be_visible(),
            has_aligned_columns(panel.get_by_role("grid")),
        ),
    ),
    "snappy.parquet": (
        parquet(2500, "snappy"),
        lambda panel: expect(panel.get_by_text("2,500 rows, 3 columns, 3 row groups")).to_be_visible(),
    ),
    "zstd.parquet": (parquet(10, "zstd"), lambda panel: expect(panel.get_by_role("gridcell", name="n-9")).to_be_visible()),
    "image.png": (png(300, 200, "teal"), lambda panel: expect(panel.get_by_text("300 × 200 pixels")).to_be_visible()),
    "drawing.svg": (
        '<svg xmlns="http://www.w3.org/2000/svg" width="60" height="40"><rect width="60" height="40" fill="teal"/></svg>',
        lambda panel: expect(panel.get_by_text("60 × 40 pixels")).to_be_visible(),
    ),
    "sound.wav": (wav(), lambda panel: expect(panel.locator("audio")).to_be_visible()),
    "paper.pdf": (hostile.pdf(), lambda panel: expect(panel.get_by_text("Page 1 of 1")).to_be_visible()),
    "notebook.ipynb": (
        json.dumps(
            {
                "cells": [
                    {"cell_type": "markdown", "source": "# Title of cells"},
                    {
                        "cell_type": "code",
                        "source": "1 + 1",
                        "outputs": [
                            {"output_type": "execute_result", "data": {"text/plain": "2"}},
                            {
                                "output_type": "execute_result",
                                "data": {
                                    "text/plain": "   loss\n0  0.75",
                                    "text/html": '<table border="1" class="dataframe"><tr><th></th><th>loss</th></tr>'
                                    "<tr><th>0</th><td>0.75</td></tr></table>",
                                },
                            },
                        ],
                    },
                ],
                "metadata": {},
                "nbformat": 4,
                "nbformat_minor": 5,
            }
        ),
        has_cells,
    ),
    "array.npy": (npy(), lambda panel: expect(panel.get_by_text("1, 2.5, 3, 4, 5, 6")).to_be_visible()),
    "arrays.npz": (npz(numpy.savez), has_arrays),
    "compressed.npz": (npz(numpy.savez_compressed), has_arrays),
    "broken.npz": (
        b"PK nothing",
        lambda panel: expect(panel.get_by_text("This is not a ZIP archive, or its end is missing.")).to_be_visible(),
    ),
    "film.mp4": (film("mp4"), plays),
    "film.webm": (film("webm"), plays),
    "model.safetensors": (safetensors(), lambda panel: expect(panel.get_by_text("1 tensor, 8 parameters")).to_be_visible()),
    "rows.arrow": (
        arrow(),
        lambda panel: expect(panel.get_by_text("1,200 rows, 3 columns; the first 1,000 rows")).to_be_visible(),
    ),
    "lz4.feather": (arrow("lz4"), lambda panel: expect(panel.get_by_role("gridcell", name="n-9", exact=True)).to_be_visible()),
    "zstd.arrows": (
        arrow("zstd", stream=True),
        lambda panel: expect(panel.get_by_role("gridcell", name="n-9", exact=True)).to_be_visible(),
    ),
    "bomb.feather": (
        swollen(arrow("lz4")),
        lambda panel: expect(panel.get_by_text("it is larger than 512 MiB without its compression")).to_be_visible(),
    ),
    "bomb.arrows": (
        swollen(arrow("zstd", stream=True)),
        lambda panel: expect(panel.get_by_text("it is larger than 512 MiB without its compression")).to_be_visible(),
    ),
    "broken.arrow": (
        b"ARROW1\x00\x00" + bytes(100),
        lambda panel: expect(panel.get_by_text("This object cannot be shown")).to_be_visible(),
    ),
    "places.geojson": (PLACES, lambda panel: expect(panel.get_by_role("img", name="Drawing of places.geojson")).to_be_visible()),
    "other.geojson": ('{"type": "Topology"}', lambda panel: expect(panel.get_by_text("This is not GeoJSON.")).to_be_visible()),
    "lzw.tiff": (tiff("tiff_lzw", 3), lambda panel: expect(panel.get_by_text("Page 1 of 3")).to_be_visible()),
    "deflate.tif": (tiff("tiff_adobe_deflate"), lambda panel: expect(panel.get_by_text("90 × 60 pixels")).to_be_visible()),
    "grey.tif": (tiff("raw", mode="L"), lambda panel: expect(panel.get_by_text("90 × 60 pixels")).to_be_visible()),
    "broken.tif": (
        b"II*\x00\x08\x00\x00\x00\xff\xff",
        lambda panel: expect(panel.get_by_text("This object cannot be shown")).to_be_visible(),
    ),
    "Makefile": (
        "all:\n\techo hi\n",
        lambda panel: expect(panel.get_by_role("region", name="Text of Makefile")).to_contain_text("echo hi"),
    ),
    "weights.bin": (b"\x00\x01", lambda panel: expect(panel.get_by_text("bin has no preview.")).to_be_visible()),
    "empty.txt": (b"", lambda panel: expect(panel.get_by_text("The object is empty.")).to_be_visible()),
    "broken.json": ("{", lambda panel: expect(panel.get_by_text("This is not valid JSON")).to_be_visible()),
    "broken.parquet": (
        b"PAR1 but not really, PAR1",
        lambda panel: expect(panel.get_by_text("This object cannot be shown")).to_be_visible(),
    ),
    "broken.png": (
        b"not a picture",
        lambda panel: expect(panel.get_by_text("the browser cannot decode this image")).to_be_visible(),
    ),
    "broken.npy": (b"nothing", lambda panel: expect(panel.get_by_text("This is not a NumPy file.")).to_be_visible()),
    "long.log": (
        "".join(f"line {n:>5} {'.' * 180}\n" for n in range(12_000)),
        lambda panel: expect(panel.get_by_text("The first 66 KB of 2.3 MB are shown.")).to_be_visible(),
    ),
}

PICTURES = {
    "README.md": "preview-model-card",
    "snappy.parquet": "preview-parquet",
    "train.py": "preview-code",
    "params.json": "preview-json",
    "image.png": "preview-image",
    "notebook.ipynb": "preview-notebook",
    "long.log": "preview-in-part",
    "paper.pdf": "preview-pdf",
    "model.safetensors": "preview-safetensors",
    "arrays.npz": "preview-npz",
    "film.mp4": "preview-video",
    "places.geojson": "preview-geojson",
}

# Of the other files, one of each kind of view that no picture has; axe-core looks at all of them in long runs.
LOOKED_AT = {"broken.parquet", "sound.wav", "empty.txt"}


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


# One after another in a page that is loaded once: each shows a sentence.
BROKEN = [path for path in FILES if path.startswith(("bomb.", "broken.")) and path not in LOOKED_AT]


def test_it_is_said_why_the_others_cannot_be_shown(window, shown):
    page = window.go(f"/r/{shown}/main/data")
    for path in BROKEN:
        window.walk(f"/r/{shown}/main/data?object={path}")
        panel = page.get_by_role("complementary", name="Details")
        expect(panel.get_by_role("heading", name=path)).to_be_visible()
        FILES[path][1](panel)


@pytest.mark.parametrize("path", [path for path in FILES if path not in BROKEN])
def test_it_is_shown(window, shown, path):
    page = window.go(f"/r/{shown}/main/data?object={path}")
    panel = page.get_by_role("complementary", name="Details")
    FILES[path][1](panel)
    if path in PICTURES:
        window.review(PICTURES[path])
    elif LONG or path in LOOKED_AT:
        window.axe()


def test_more_of_a_large_text_is_shown_on_demand(window, shown):
    page = window.go(f"/r/{shown}/main/data?object=long.log")
    page.get_by_role("button", name="Show more").click()
    expect(page.get_by_text("The first 262 KB of 2.3 MB are shown.")).to_be_visible()


def test_a_film_is_played_and_sought_by_ranges(window, rest, shown):
    rest.upload("shown", "long.mp4", long_film())
    page = window.page
    starts = []
    page.on(
        "request",
        lambda request: (
            starts.append(int(re.match(r"bytes=(\d+)-", request.headers["range"])[1]))
            if "objects?path=long" in request.url
            else None
        ),
    )
    window.go("/r/shown/main/data?object=long.mp4")
    plays(page.get_by_role("complementary", name="Details"))
    assert max(starts) > FILLER_BYTES / 2, "its end was asked for without what is before"
    page.locator("video").evaluate(
        "(video) => new Promise((done) => { video.pause(); video.onseeked = done; video.currentTime = 1.8 })"
    )


def test_pages_of_parquet_are_read_by_ranges(window, rest, shown):
    page = window.page
    ranges = []
    page.on(
        "request", lambda request: ranges.append(request.headers.get("range")) if "objects?path=snappy" in request.url else None
    )
    window.go(f"/r/{shown}/main/data?object=snappy.parquet")
    page.get_by_role("button", name="Next").click()
    expect(page.get_by_text("1,001 to 2,000")).to_be_visible()
    expect(page.get_by_role("gridcell", name="n-1000")).to_be_visible()
    assert ranges and all(ranges)


def test_relative_links_of_a_card_lead_to_objects(window, shown):
    page = window.go(f"/r/{shown}/main/data?object=README.md")
    page.get_by_role("complementary", name="Details").get_by_role("link", name="the data").click()
    page.wait_for_url(f"**/r/{shown}/main/data?path=images/")
    expect(page.get_by_role("link", name="a.png")).to_be_visible()


def test_pixels_of_tiff_are_those_of_the_file(window, shown):
    page = window.go(f"/r/{shown}/main/data?object=deflate.tif")
    expect(page.get_by_text("90 × 60 pixels")).to_be_visible()
    assert page.evaluate("[...document.querySelector('canvas').getContext('2d').getImageData(45, 30, 1, 1).data]") == [
        0,
        128,
        128,
        255,
    ]


@pytest.mark.parametrize(
    "path, query, rows",
    [
        ("rows.csv", "SELECT count(*) AS n, max(id) AS most FROM object WHERE name LIKE '%9, quoted'", [["50", "499"]]),
        (
            "snappy.parquet",
            "SELECT name, loss FROM object WHERE id >= 2498 ORDER BY id DESC",
            [["n-2499", "357.0"], ["n-2498", "356.85714285714283"]],
        ),
        ("rows.arrow", "SELECT name FROM object WHERE id >= 1198 ORDER BY id DESC", [["n-1199"], ["n-1198"]]),
        ("zstd.parquet", "SELECT sum(id) AS total FROM object", [["45"]]),
    ],
)
def test_sql_over_tables(window, shown, path, query, rows):
    page = window.go(f"/r/{shown}/main/data?object={path}")
    page.get_by_role("button", name="SQL").click()
    panel = page.get_by_role("region", name="SQL")
    panel.get_by_label("SELECT").fill(query)
    page.keyboard.press("Control+Enter")
    result = panel.get_by_role("grid", name="Result of the query")
    expect(result.get_by_role("row")).to_have_count(len(rows) + 1)
    found = [[cell.inner_text() for cell in row.get_by_role("gridcell").all()][1:] for row in result.get_by_role("row").all()[1:]]
    assert found == rows
    # A wrong query says why, an endless one is stopped.
    panel.get_by_label("SELECT").fill("SELECT missing FROM object")
    panel.get_by_role("button", name="Run").click()
    expect(panel.get_by_role("alert")).to_contain_text("missing")
    if path == "snappy.parquet":
        panel.get_by_label("SELECT").fill(
            "SELECT count(*) FROM object a JOIN object b ON a.id <> b.id JOIN object c ON b.id <> c.id"
        )
        panel.get_by_role("button", name="Run").click()
        panel.get_by_role("button", name="Stop").click()
        expect(panel.get_by_role("alert")).to_contain_text("The query was stopped.")
        panel.get_by_label("SELECT").fill(query)
        panel.get_by_role("button", name="Run").click()
        expect(result).to_be_visible()
        window.page.set_viewport_size({"width": 1440, "height": 900})
        window.axe()
        window.shoot("preview-sql-1440-light") if window.screenshots else None


def test_sql_reads_only_the_columns_that_it_names(window, rest, shown):
    out = io.BytesIO()
    noise = random.Random(7)
    table = pyarrow.table({"id": list(range(4000)), "text": [noise.randbytes(200).hex() for _ in range(4000)]})
    pyarrow.parquet.write_table(table, out, row_group_size=1000)
    rest.upload(shown, "wide.parquet", out.getvalue())
    page = window.page
    read = {}
    window.go(f"/r/{shown}/main/data?object=wide.parquet")
    page.get_by_role("button", name="SQL").click()
    panel = page.get_by_role("region", name="SQL")
    for query in (
        "SELECT sum(id) AS total FROM object",
        "SELECT text FROM object LIMIT 3",
        "SELECT max(text) AS last FROM object",
    ):
        panel.get_by_label("SELECT").fill(query)
        panel.get_by_role("button", name="Run").click()
        expect(
            panel.get_by_role("columnheader", name=re.compile(query.split(" ")[3] if " AS " in query else "text"))
        ).to_be_visible()
        amount, unit = re.search(r"([0-9.]+) ([KM]B) read", panel.get_by_role("status").inner_text()).groups()
        read[query] = float(amount) * (1000 if unit == "MB" else 1)
    whole, text, limited = (
        len(out.getvalue()) / 1000,
        read["SELECT max(text) AS last FROM object"],
        read["SELECT text FROM object LIMIT 3"],
    )
    assert read["SELECT sum(id) AS total FROM object"] < whole / 5
    assert text > whole / 2
    assert limited < text / 2  # one row group

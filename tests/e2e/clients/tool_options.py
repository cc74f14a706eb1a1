"""Settings that several tools of KIND "tools" share."""

import sys
from pathlib import Path


def s3fs_options(box):
    return {
        "key": box.access_key,
        "secret": box.secret_key,
        "client_kwargs": {"endpoint_url": box.url, "region_name": "us-east-1"},
    }


def tarn_options(box):
    """Options of tarn:// paths, for which the package of this tree is registered."""
    import fsspec

    sys.path.append(str(Path(__file__).resolve().parents[3] / "clients/python"))
    fsspec.register_implementation("tarn", "tarn_data.filesystem.TarnFileSystem", clobber=True)
    return {"endpoint": box.url, "access_key": box.access_key, "secret_key": box.secret_key}


def commit(box):
    """Commits the branch dev and returns the id of the commit."""
    return box.rest("POST", "/branches/dev/commits", json={"message": "by a tool"})["id"]


def paths(box, ref, below=""):
    return [entry["path"] for entry in box.rest("GET", f"/refs/{ref}/objects/ls", prefix=below, amount=1000)["results"]]

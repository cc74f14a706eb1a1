"""Settings that several tools of KIND "tools" share."""

import re
import sys
import traceback
from pathlib import Path

# The refusal of a write to a missing branch, as clients quote it.
NO_BRANCH = r"[Bb]ranch [\\'\"]+nowhere[\\'\"]+ (does\s+not exist|not found)"


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


def refused_without_branch(write):
    """`write` goes to the branch "nowhere", which does not exist: it must fail, and say so."""
    try:
        write()
    except Exception as error:
        said = "".join(traceback.format_exception(error))  # what it was raised from among it
        assert re.search(NO_BRANCH, said), f"says something else: {said}"
    else:
        raise AssertionError("the write was taken")

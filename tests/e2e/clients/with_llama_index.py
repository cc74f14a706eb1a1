"""LlamaIndex: documents of a branch by its reader for S3, and by tarn:// paths."""

import fsspec
from llama_index.core import SimpleDirectoryReader
from llama_index.readers.s3 import S3Reader
from tool_options import commit, refused_without_branch, s3fs_options, tarn_options

NAME = "llama-index-readers-s3 0.7.0"
ENVIRONMENT = "documents"
KIND = "tools"
HEAVY = True


def texts(documents):
    return sorted(document.text for document in documents)


def loads(box, scheme, options, load):
    """`load`: the documents of a repository's ref below a directory."""

    def write(ref, text):
        with fsspec.open(f"{scheme}://{box.repo}/{ref}/{scheme}/deep/cat.md", "w", **options) as file:
            file.write(text)

    write("dev", "A cat.")
    kept = commit(box)
    write("dev", "Another cat.")
    assert texts(load(f"{kept}/{scheme}")) == ["A cat."]
    assert texts(load(f"dev/{scheme}")) == ["Another cat."]
    refused_without_branch(lambda: write("nowhere", ""))
    try:
        load(f"nowhere/{scheme}")
    except (ValueError, OSError) as error:
        assert "nowhere" in str(error)
    else:
        raise AssertionError("documents where no branch is were loaded")


def also_loads_over_s3(box):
    keys = {"aws_access_id": box.access_key, "aws_access_secret": box.secret_key, "s3_endpoint_url": box.url}
    loads(box, "s3", s3fs_options(box), lambda prefix: S3Reader(bucket=box.repo, prefix=prefix, **keys).load_data())


def also_loads_tarn_paths(box):
    options = tarn_options(box)
    files = fsspec.filesystem("tarn", **options)

    def load(place):
        return SimpleDirectoryReader(f"{box.repo}/{place}", recursive=True, fs=files).load_data()

    loads(box, "tarn", options, load)

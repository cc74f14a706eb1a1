"""Hugging Face datasets: files of a branch as a data set, which is kept at a commit; over S3 and tarn:// paths."""

import datasets
import fsspec
from tool_options import commit, refused_without_branch, s3fs_options, tarn_options

NAME = "datasets 5.2.0"
ENVIRONMENT = "datasets"
KIND = "tools"
HEAVY = True


def loads_and_saves(box, scheme, options):
    """datasets adds settings of its own to the options that it gets."""
    place = f"{scheme}://{box.repo}/dev/{scheme}"
    for part in range(2):
        with fsspec.open(f"{place}/train-{part}.csv", "w", **options) as file:
            file.write("id,label\n" + "".join(f"{part * 50 + row},cat\n" for row in range(50)))
    files = {"train": f"{place}/train-*.csv"}
    cache = f"{box.scratch}/cache-{scheme}"
    loaded = datasets.load_dataset("csv", data_files=files, storage_options={**options}, cache_dir=cache)["train"]
    assert sorted(loaded["id"]) == list(range(100))
    streamed = datasets.load_dataset("csv", data_files=files, storage_options={**options}, streaming=True)["train"]
    assert sorted(row["id"] for row in streamed) == list(range(100))
    loaded.filter(lambda row: row["id"] % 2 == 0).save_to_disk(f"{place}/even", storage_options={**options})
    kept = commit(box)
    loaded.select(range(3)).save_to_disk(f"{place}/even", storage_options={**options})
    again = datasets.load_from_disk(f"{scheme}://{box.repo}/{kept}/{scheme}/even", storage_options={**options})
    assert sorted(again["id"]) == list(range(0, 100, 2))
    assert datasets.load_from_disk(f"{place}/even", storage_options={**options}).num_rows == 3
    nowhere = f"{scheme}://{box.repo}/nowhere/even"
    refused_without_branch(lambda: loaded.save_to_disk(nowhere, storage_options={**options}))


def also_loads_and_saves_over_s3(box):
    loads_and_saves(box, "s3", s3fs_options(box))


def also_loads_and_saves_tarn_paths(box):
    loads_and_saves(box, "tarn", tarn_options(box))

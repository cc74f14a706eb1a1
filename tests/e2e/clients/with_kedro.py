"""Kedro: a catalog whose data sets, versions of one among them, are objects of a branch; over S3."""

import pandas
from kedro.io import DataCatalog, Version
from kedro_datasets.pandas import CSVDataset
from tool_options import commit, refused_without_branch, s3fs_options

NAME = "kedro 1.7.0"
ENVIRONMENT = "kedro"
KIND = "tools"
HEAVY = True
FRAME = pandas.DataFrame({"id": [1, 2, 3], "label": ["cat", "dog", "bird"]})


def also_keeps_data_sets(box):
    place, options = f"s3://{box.repo}/dev/kedro", s3fs_options(box)
    settings = {
        "type": "pandas.CSVDataset",
        "filepath": f"{place}/animals.csv",
        "credentials": "tarn",
        "save_args": {"index": False},
    }
    catalog = DataCatalog.from_config({"animals": settings}, credentials={"tarn": options})
    assert not catalog.exists("animals")
    catalog.save("animals", FRAME)
    assert catalog.exists("animals") and catalog.load("animals").equals(FRAME)
    kept = commit(box)
    catalog.save("animals", FRAME.head(1))
    at_commit = CSVDataset(filepath=f"s3://{box.repo}/{kept}/kedro/animals.csv", credentials=options)
    assert at_commit.load().equals(FRAME) and len(catalog.load("animals")) == 1
    nowhere = CSVDataset(filepath=f"s3://{box.repo}/nowhere/animals.csv", credentials=options)
    refused_without_branch(lambda: nowhere.save(FRAME))
    versions = []
    for count in (1, 2):
        versioned = CSVDataset(
            filepath=f"{place}/versions.csv", credentials=options, version=Version(None, None), save_args={"index": False}
        )
        versioned.save(FRAME.head(count))
        versions.append(versioned.resolve_load_version())
        assert len(versioned.load()) == count
    first = CSVDataset(filepath=f"{place}/versions.csv", credentials=options, version=Version(versions[0], None))
    assert len(first.load()) == 1

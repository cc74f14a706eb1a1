"""pyarrow's parquet and datasets over its own S3FileSystem."""

import pyarrow
import pyarrow.compute as compute
import pyarrow.dataset as dataset
import pyarrow.parquet as parquet
from with_pyarrow import system

NAME = "pyarrow dataset 26.0.1"
ENVIRONMENT = "analytics"
HEAVY = True
KIND = "tables"
NOT_OFFERED = {"concurrent_appends": "files, no commits"}


def rows(count):
    return pyarrow.table(
        {
            "id": range(count),
            "label": [f"row {n}" for n in range(count)],
            "value": [n / 2 for n in range(count)],
            "part": [n % 4 for n in range(count)],
        }
    )


def write_table(box, place, count):
    parquet.write_table(rows(count), f"{box.repo}/{place}/a.parquet", filesystem=system(box))


def write_partitions(box, place, count):
    dataset.write_dataset(
        rows(count),
        f"{box.repo}/{place}",
        format="parquet",
        filesystem=system(box),
        partitioning=dataset.partitioning(pyarrow.schema([("part", pyarrow.int64())]), flavor="hive"),
    )


def read_table(box, place):
    ids = dataset.dataset(f"{box.repo}/{place}", format="parquet", filesystem=system(box)).to_table(columns=["id"])["id"]
    return [len(ids), compute.sum(ids).as_py()]


def read_ids(box, place, first, end):
    found = dataset.dataset(f"{box.repo}/{place}", format="parquet", filesystem=system(box)).to_table(
        columns=["id"], filter=(dataset.field("id") >= first) & (dataset.field("id") < end)
    )
    return sorted(found["id"].to_pylist())


def refused(box, place, count):
    try:
        write_table(box, place, count)
    except OSError as error:
        return str(error)
    return None

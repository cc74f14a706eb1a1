"""pyarrow's parquet and datasets over its own S3FileSystem."""

import pyarrow
import pyarrow.dataset as dataset
import pyarrow.parquet as parquet
from arrow_rows import rows, summary
from table_rows import refusal
from with_pyarrow import system

NAME = "pyarrow dataset 26.0.1"
ENVIRONMENT = "analytics"
HEAVY = True
KIND = "tables"
NOT_OFFERED = {"concurrent_appends": "files, no commits"}


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
    return summary(dataset.dataset(f"{box.repo}/{place}", format="parquet", filesystem=system(box)).to_table(columns=["id"]))


def read_ids(box, place, first, end):
    found = dataset.dataset(f"{box.repo}/{place}", format="parquet", filesystem=system(box)).to_table(
        columns=["id"], filter=(dataset.field("id") >= first) & (dataset.field("id") < end)
    )
    return sorted(found["id"].to_pylist())


def refused(box, place, count):
    return refusal(lambda: write_table(box, place, count))

"""pandas: CSV and parquet through s3fs."""

import pandas
from table_rows import columns, refusal

NAME = "pandas 3.1.1"
ENVIRONMENT = "analytics"
HEAVY = True
KIND = "tables"
NOT_OFFERED = {"concurrent_appends": "files, no commits"}


def options(box):
    return {"key": box.access_key, "secret": box.secret_key, "endpoint_url": box.url, "use_listings_cache": False}


def rows(count):
    return pandas.DataFrame(columns(count))


def write_table(box, place, count):
    rows(count).to_parquet(f"s3://{box.repo}/{place}/a.parquet", storage_options=options(box))


def write_partitions(box, place, count):
    rows(count).to_parquet(f"s3://{box.repo}/{place}", partition_cols=["part"], storage_options=options(box))


def read_table(box, place):
    ids = pandas.read_parquet(f"s3://{box.repo}/{place}", columns=["id"], storage_options=options(box))["id"]
    return [len(ids), int(ids.sum())]


def read_ids(box, place, first, end):
    found = pandas.read_parquet(
        f"s3://{box.repo}/{place}/a.parquet",
        columns=["id"],
        storage_options=options(box),
        filters=[("id", ">=", first), ("id", "<", end)],
    )
    return sorted(int(n) for n in found["id"])


def refused(box, place, count):
    return refusal(lambda: write_table(box, place, count))


def also_csv(box):
    rows(100).to_csv(f"s3://{box.repo}/dev/rows.csv", index=False, storage_options=options(box))
    assert pandas.read_csv(f"s3://{box.repo}/dev/rows.csv", storage_options=options(box)).equals(rows(100))

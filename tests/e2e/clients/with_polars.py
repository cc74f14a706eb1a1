"""polars (the object_store library): suffix ranges for the footer of parquet, CRC64NVME of what it writes."""

import fsspec
import polars
from table_rows import columns, refusal
from tool_options import tarn_options

NAME = "polars 2.1.0"
ENVIRONMENT = "analytics"
HEAVY = True
KIND = "tables"
NOT_OFFERED = {"concurrent_appends": "files, no commits"}


def options(box):
    return {
        "aws_endpoint_url": box.url,
        "aws_region": "us-east-1",
        "aws_access_key_id": box.access_key,
        "aws_secret_access_key": box.secret_key,
        "aws_allow_http": "true",
        "aws_virtual_hosted_style_request": "false",
        "max_retries": 1,
    }


def rows(count):
    return polars.DataFrame(columns(count))


def write_table(box, place, count):
    rows(count).write_parquet(f"s3://{box.repo}/{place}/a.parquet", storage_options=options(box))


def write_partitions(box, place, count):
    rows(count).write_parquet(f"s3://{box.repo}/{place}", partition_by="part", storage_options=options(box))


def read_table(box, place):
    found = (
        polars.scan_parquet(f"s3://{box.repo}/{place}/**/*.parquet", storage_options=options(box))
        .select(polars.len(), polars.col("id").sum())
        .collect()
    )
    return list(found.row(0))


def read_ids(box, place, first, end):
    found = polars.scan_parquet(f"s3://{box.repo}/{place}/*.parquet", storage_options=options(box))
    return sorted(found.filter(polars.col("id").is_between(first, end, closed="left")).select("id").collect()["id"])


def refused(box, place, count):
    return refusal(lambda: write_table(box, place, count))


def also_reads_and_writes_opened_tarn_paths(box):
    fs = fsspec.filesystem("tarn", **tarn_options(box))
    place = f"{box.repo}/dev/opened.parquet"
    with fs.open(place, "wb") as file:
        rows(100).write_parquet(file)
    with fs.open(place) as file:
        assert polars.read_parquet(file).equals(rows(100))

"""deltalake: commits by creating a log entry that must not exist yet (If-None-Match)."""

import concurrent.futures

import polars
from deltalake import DeltaTable, write_deltalake
from deltalake.exceptions import DeltaError
from with_polars import rows

NAME = "deltalake 1.6.6"
ENVIRONMENT = "tables"
KIND = "tables"
HEAVY = True


def options(box):
    return {"AWS_ENDPOINT_URL": box.url, "AWS_REGION": "us-east-1", "AWS_ACCESS_KEY_ID": box.access_key,
            "AWS_SECRET_ACCESS_KEY": box.secret_key, "AWS_ALLOW_HTTP": "true",
            "AWS_VIRTUAL_HOSTED_STYLE_REQUEST": "false", "AWS_CONDITIONAL_PUT": "etag"}


def write_table(box, place, count, **more):
    write_deltalake(f"s3://{box.repo}/{place}", rows(count), mode="overwrite", storage_options=options(box), **more)


def write_partitions(box, place, count):
    write_table(box, place, count, partition_by=["part"])


def scanned(box, place):
    return polars.scan_delta(f"s3://{box.repo}/{place}", storage_options=options(box))


def read_table(box, place):
    return list(scanned(box, place).select(polars.len(), polars.col("id").sum()).collect().row(0))


def read_ids(box, place, first, end):
    found = scanned(box, place).filter(polars.col("id").is_between(first, end, closed="left")).select("id").collect()
    return sorted(found["id"])


def append_at_once(box, place, count, writers):
    def append(_):
        write_deltalake(f"s3://{box.repo}/{place}", rows(count), mode="append", storage_options=options(box))
    with concurrent.futures.ThreadPoolExecutor(writers) as pool:
        list(pool.map(append, range(writers)))


def refused(box, place, count):
    try:
        write_table(box, place, count)
    except (DeltaError, OSError) as error:
        return str(error)
    return None


def also_goes_back_in_its_own_history(box):
    write_table(box, "dev/history", 10)
    write_table(box, "dev/history", 20)
    first = DeltaTable(f"s3://{box.repo}/dev/history", version=0, storage_options=options(box))
    assert polars.read_delta(first).height == 10

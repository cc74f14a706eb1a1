"""Lance: a version is a manifest that must not exist yet (If-None-Match)."""

import concurrent.futures

import lance
import pyarrow
from arrow_rows import rows, summary
from table_rows import refusal

NAME = "lance 14.0.2"
ENVIRONMENT = "tables"
KIND = "tables"
HEAVY = True
NOT_OFFERED = {"partitions": "fragments, no directories by value"}


def options(box):
    return {
        "aws_endpoint": box.url,
        "aws_region": "us-east-1",
        "aws_access_key_id": box.access_key,
        "aws_secret_access_key": box.secret_key,
        "allow_http": "true",
        "aws_virtual_hosted_style_request": "false",
    }


def write_table(box, place, count, mode="overwrite"):
    lance.write_dataset(rows(count), f"s3://{box.repo}/{place}", mode=mode, storage_options=options(box))


def opened(box, place):
    return lance.dataset(f"s3://{box.repo}/{place}", storage_options=options(box))


def read_table(box, place):
    return summary(opened(box, place).to_table(columns=["id"]))


def read_ids(box, place, first, end):
    found = opened(box, place).to_table(columns=["id"], filter=f"id >= {first} AND id < {end}")
    return sorted(found["id"].to_pylist())


def append_at_once(box, place, count, writers):
    with concurrent.futures.ThreadPoolExecutor(writers) as pool:
        list(pool.map(lambda _: write_table(box, place, count, "append"), range(writers)))


def refused(box, place, count):
    return refusal(lambda: write_table(box, place, count))


def also_searches_near_vectors(box):
    vectors = pyarrow.FixedSizeListArray.from_arrays(pyarrow.array([float(n % 97) for n in range(800)], pyarrow.float32()), 8)
    place = f"s3://{box.repo}/dev/vectors"
    lance.write_dataset(pyarrow.table({"id": range(100), "vector": vectors}), place, storage_options=options(box))
    found = lance.dataset(place, storage_options=options(box)).to_table(
        nearest={"column": "vector", "q": vectors[42].as_py(), "k": 1}
    )
    assert found["id"].to_pylist() == [42]

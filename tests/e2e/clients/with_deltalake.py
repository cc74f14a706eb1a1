"""deltalake: commits by creating a log entry that must not exist yet (If-None-Match)."""

import concurrent.futures
import urllib.error

import polars
from deltalake import DeltaTable, write_deltalake
from deltalake.exceptions import CommitFailedError, DeltaError
from table_rows import refusal
from with_polars import rows

NAME = "deltalake 1.6.6"
ENVIRONMENT = "tables"
KIND = "tables"
HEAVY = True


def options(box):
    return {
        "AWS_ENDPOINT_URL": box.url,
        "AWS_REGION": "us-east-1",
        "AWS_ACCESS_KEY_ID": box.access_key,
        "AWS_SECRET_ACCESS_KEY": box.secret_key,
        "AWS_ALLOW_HTTP": "true",
        "AWS_VIRTUAL_HOSTED_STYLE_REQUEST": "false",
        "AWS_CONDITIONAL_PUT": "etag",
    }


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
    return refusal(lambda: write_table(box, place, count), (DeltaError, OSError))


def also_goes_back_in_its_own_history(box):
    write_table(box, "dev/history", 10)
    write_table(box, "dev/history", 20)
    first = DeltaTable(f"s3://{box.repo}/dev/history", version=0, storage_options=options(box))
    assert polars.read_delta(first).height == 10


def table(box, place, **more):
    return DeltaTable(f"s3://{box.repo}/{place}", storage_options=options(box), **more)


def also_lets_one_of_two_conflicting_changes_through(box):
    """Both delete rows of the version they have read; the second gets an error and leaves nothing behind."""
    write_table(box, "dev/conflict", 100)
    first, second = table(box, "dev/conflict"), table(box, "dev/conflict")
    first.delete("id < 10")
    try:
        second.delete("id < 50")
    except CommitFailedError as error:
        assert "concurrent" in str(error).lower(), error
    else:
        raise AssertionError("both changes of one version were taken")
    assert read_table(box, "dev/conflict") == [90, sum(range(10, 100))]
    assert table(box, "dev/conflict").version() == 1


def also_says_what_a_vacuum_would_remove(box):
    write_table(box, "dev/vacuum", 10)
    write_table(box, "dev/vacuum", 20)

    def keys():
        page = box.rest("GET", "/refs/dev/objects/ls", prefix="vacuum/", amount=1000)
        return sorted(entry["path"] for entry in page["results"])

    before = keys()
    unused = table(box, "dev/vacuum").vacuum(retention_hours=0, enforce_retention_duration=False, dry_run=True)
    assert len(unused) == 1 and f"vacuum/{unused[0]}" in before
    assert keys() == before
    assert polars.read_delta(f"s3://{box.repo}/dev/vacuum", version=0, storage_options=options(box)).height == 10
    table(box, "dev/vacuum").vacuum(retention_hours=0, enforce_retention_duration=False, dry_run=False)
    assert f"vacuum/{unused[0]}" not in keys()
    assert read_table(box, "dev/vacuum") == [20, 190]


def also_conflicts_between_branches_that_both_appended(box):
    """Both make the same entry of the log: without the conflict the rows of one would be lost."""
    write_table(box, "dev/both", 10)
    box.rest("POST", "/branches/dev/commits", json={"message": "a table"})
    box.rest("POST", "/refs/dev/merge/main", json={})
    for branch in ("dev", "main"):
        append_at_once(box, f"{branch}/both", 5, 1)
        box.rest("POST", f"/branches/{branch}/commits", json={"message": "more rows"})
    try:
        box.rest("POST", "/refs/dev/merge/main", json={})
    except urllib.error.HTTPError as error:
        assert error.code == 409, error
    else:
        raise AssertionError("one of two entries of the log was lost")
    assert read_table(box, "main/both") == read_table(box, "dev/both") == [15, 55]
    # The following requests find both branches alike.
    box.rest("POST", "/refs/dev/merge/main", json={"strategy": "source-wins"})
    assert read_table(box, "main/both") == [15, 55]

"""DuckDB's httpfs: listings read as text, HEAD and ranged GETs."""

import functools
from pathlib import Path

import duckdb
import duckdb_extension_httpfs
import s3fs

NAME = "duckdb 1.5.5"
ENVIRONMENT = "analytics"
HEAVY = True
KIND = "tables"
NOT_OFFERED = {"concurrent_appends": "files, no commits"}


@functools.cache
def database(box):
    connection = duckdb.connect(config={"allow_unsigned_extensions": "false", "home_directory": box.scratch})
    extension = next(Path(duckdb_extension_httpfs.__file__).parent.glob("extensions/*/httpfs.duckdb_extension"))
    connection.execute(f"LOAD '{extension}'")
    connection.execute(f"""CREATE SECRET (TYPE s3, KEY_ID '{box.access_key}', SECRET '{box.secret_key}',
        REGION 'us-east-1', ENDPOINT '{box.address}', URL_STYLE 'path', USE_SSL false)""")
    return connection


def rows(count):
    return f"SELECT range AS id, 'row ' || range AS label, range / 2 AS value, range % 4 AS part FROM range({count})"


def write_table(box, place, count):
    database(box).execute(f"COPY ({rows(count)}) TO 's3://{box.repo}/{place}/a.parquet'")


def write_partitions(box, place, count):
    database(box).execute(f"COPY ({rows(count)}) TO 's3://{box.repo}/{place}' (FORMAT parquet, PARTITION_BY (part))")


def read_table(box, place):
    found = database(box).execute(f"SELECT count(*), sum(id)::BIGINT FROM 's3://{box.repo}/{place}/**/*.parquet'")
    return list(found.fetchone())


def read_ids(box, place, first, end):
    found = database(box).execute(
        f"SELECT id FROM 's3://{box.repo}/{place}/*.parquet' WHERE id >= {first} AND id < {end} ORDER BY id"
    )
    return [row[0] for row in found.fetchall()]


def refused(box, place, count):
    try:
        write_table(box, place, count)
    except duckdb.Error as error:
        return str(error)
    return None


def also_reads_through_a_file_system_of_python(box):
    """Where no extension can be loaded: s3fs, registered; files by glob."""
    write_partitions(box, "dev/registered", 1000)
    connection = duckdb.connect(config={"home_directory": box.scratch})
    connection.register_filesystem(
        s3fs.S3FileSystem(
            key=box.access_key, secret=box.secret_key, endpoint_url=box.url, use_listings_cache=False, skip_instance_cache=True
        )
    )
    found = connection.execute(f"""SELECT part, count(*), sum(id)::BIGINT
        FROM read_parquet('s3://{box.repo}/dev/registered/*/*.parquet', hive_partitioning = true)
        GROUP BY part ORDER BY part""").fetchall()
    assert found == [(part, 250, sum(range(part, 1000, 4))) for part in range(4)]

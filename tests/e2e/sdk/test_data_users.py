"""Data frames and query engines over S3 and lakefs-spec: tables as directories, on branches that are merged."""

import bisect
import concurrent.futures
import random

import clients
import deltalake
import lakefs
import lakefs_spec
import pandas
import pyarrow
import pyarrow.dataset
import pytest
from pyarrow import fs, parquet

ROWS = 300


def frame(count, start=0):
    return pandas.DataFrame({"id": range(start, start + count), "part": [n % 3 for n in range(start, start + count)]})


@pytest.fixture
def dev(repo):
    """The branch that is written to; main has an object that nothing may touch."""
    repo.branch("main").object("other/kept").upload(data=b"kept", mode="wb")
    repo.branch("main").commit(message="before")
    return repo.branch("dev").create(source_reference="main")


def merged(repo, dev):
    """Commits dev and merges it; both must then have the same objects, and main what it had before."""
    before = paths(repo.ref("dev"))
    dev.commit(message="a table")
    dev.merge_into("main")
    assert paths(repo.ref("main")) == paths(repo.ref("dev")) == before
    assert repo.ref("main").object("other/kept").reader(mode="rb").read() == b"kept"


def paths(ref):
    return [item.path for item in ref.objects(max_amount=10_000)]


@pytest.fixture
def s3_options(tarn):
    return {
        "key": tarn.access_key,
        "secret": tarn.secret_key,
        "endpoint_url": tarn.url,
        "use_listings_cache": False,
        "skip_instance_cache": True,
    }


@pytest.fixture
def lakefs_options(tarn):
    return {
        "host": tarn.url,
        "username": tarn.access_key,
        "password": tarn.secret_key,
        "use_listings_cache": False,
        "skip_instance_cache": True,
    }


@pytest.fixture
def arrow(tarn):
    return fs.S3FileSystem(
        access_key=tarn.access_key,
        secret_key=tarn.secret_key,
        region="us-east-1",
        scheme="http",
        endpoint_override=tarn.url.removeprefix("http://"),
    )


# lakefs-spec


def test_pandas_writes_and_reads_by_lakefs_spec(repo, dev, lakefs_options):
    address = f"lakefs://{repo.id}/dev/table/a.parquet"
    frame(ROWS).to_parquet(address, storage_options=lakefs_options)
    frame(ROWS).to_csv(f"lakefs://{repo.id}/dev/table.csv", index=False, storage_options=lakefs_options)
    with pytest.raises(FileNotFoundError):
        pandas.read_parquet(address.replace("/dev/", "/main/"), storage_options=lakefs_options)
    merged(repo, dev)
    for ref in ("dev", "main"):
        read = pandas.read_parquet(f"lakefs://{repo.id}/{ref}/table/a.parquet", storage_options=lakefs_options)
        assert read.equals(frame(ROWS))
        text = pandas.read_csv(f"lakefs://{repo.id}/{ref}/table.csv", storage_options=lakefs_options)
        assert text.equals(frame(ROWS))


def test_a_dataset_of_partitions_by_lakefs_spec(repo, dev, lakefs_options):
    system = lakefs_spec.LakeFSFileSystem(**lakefs_options)
    pyarrow.dataset.write_dataset(
        pyarrow.Table.from_pandas(frame(ROWS)),
        f"{repo.id}/dev/parts",
        format="parquet",
        partitioning=["part"],
        partitioning_flavor="hive",
        filesystem=system,
    )
    merged(repo, dev)
    read = pyarrow.dataset.dataset(f"{repo.id}/main/parts/", filesystem=system, format="parquet", partitioning="hive")
    assert sorted(read.to_table().column("id").to_pylist()) == list(range(ROWS))
    some = read.to_table(filter=pyarrow.dataset.field("part") == 1).column("id").to_pylist()
    assert sorted(some) == list(range(1, ROWS, 3))


# Keys that do not exist, and markers of directories


def test_what_pyarrow_does_not_find(repo, dev, arrow):
    root = f"{repo.id}/dev"
    for missing in ("nope", "nope/", "nope/deep/a.parquet", "other/kept/below"):
        assert arrow.get_file_info(f"{root}/{missing}".rstrip("/")).type == fs.FileType.NotFound, missing
    with pytest.raises(FileNotFoundError):
        arrow.open_input_file(f"{root}/nope").read()
    with pytest.raises(FileNotFoundError):
        arrow.get_file_info(fs.FileSelector(f"{root}/nope"))
    assert arrow.get_file_info(fs.FileSelector(f"{root}/nope", allow_not_found=True)) == []
    with pytest.raises(FileNotFoundError):
        parquet.read_table(f"{root}/nope.parquet", filesystem=arrow)
    for branch in ("absent", "absent/deep"):
        assert arrow.get_file_info(f"{repo.id}/{branch}").type == fs.FileType.NotFound
    assert arrow.get_file_info(f"{root}/other").type == fs.FileType.Directory
    assert arrow.get_file_info(f"{root}/other/kept").size == 4


def test_markers_of_directories_do_not_disturb_a_table(repo, dev, arrow, s3_options):
    root = f"{repo.id}/dev"
    arrow.create_dir(f"{root}/table/empty", recursive=True)
    assert arrow.get_file_info(f"{root}/table/empty").type == fs.FileType.Directory
    assert "table/empty/" in paths(repo.ref("dev"))
    for n in range(3):
        parquet.write_table(pyarrow.Table.from_pandas(frame(100, n * 100)), f"{root}/table/{n}.parquet", filesystem=arrow)
    merged(repo, dev)
    for ref in ("dev", "main"):
        at = f"{repo.id}/{ref}/table"
        assert arrow.get_file_info(f"{at}/empty").type == fs.FileType.Directory
        table = pyarrow.dataset.dataset(at, filesystem=arrow, format="parquet").to_table()
        assert sorted(table.column("id").to_pylist()) == list(range(ROWS))
        # s3fs takes a marker below the table for a file, on every S3 server.
        found = pandas.concat(pandas.read_parquet(f"s3://{at}/{n}.parquet", storage_options=s3_options) for n in range(3))
        assert sorted(found["id"]) == list(range(ROWS))
    # The marker of the table itself disturbs nobody.
    arrow.delete_dir(f"{root}/table/empty")
    assert "table/" in paths(repo.ref("dev"))
    assert sorted(pandas.read_parquet(f"s3://{root}/table", storage_options=s3_options)["id"]) == list(range(ROWS))
    # A directory whose last file goes is still one, and goes with its own deletion.
    parquet.write_table(pyarrow.Table.from_pandas(frame(1)), f"{root}/alone/a.parquet", filesystem=arrow)
    arrow.delete_file(f"{root}/alone/a.parquet")
    assert arrow.get_file_info(f"{root}/alone").type == fs.FileType.Directory
    arrow.delete_dir(f"{root}/alone")
    arrow.delete_dir(f"{root}/table")
    assert paths(repo.ref("dev")) == ["other/kept"]
    merged(repo, dev)


def test_pandas_says_that_a_file_is_missing(repo, dev, s3_options):
    for address in (f"s3://{repo.id}/dev/nope.parquet", f"s3://{repo.id}/absent/nope.parquet"):
        with pytest.raises(FileNotFoundError):
            pandas.read_parquet(address, storage_options=s3_options)
    with pytest.raises(FileNotFoundError):
        pandas.read_csv(f"s3://{repo.id}/dev/nope.csv", storage_options=s3_options)


# Listings of query engines


PARTITIONS, FILES = 50, 45


@pytest.fixture(scope="module")
def lake(tarn, session_scratch):
    """(repository, the keys of its branch main): a table of more keys than three pages, with markers and neighbours."""
    name = "listed-by-engines"
    keys = {f"sales/day={day:02}/{file:03}.parquet" for day in range(PARTITIONS) for file in range(FILES)}
    keys |= {"sales/_SUCCESS", "sales.csv", "sales-old/a", "sales/day=07-x/a", "sales/.hidden/a", "ünder/a"}
    source = tarn.import_root / name
    for key in keys:
        (source / key).parent.mkdir(parents=True, exist_ok=True)
        (source / key).touch()
    repo = lakefs.repository(name, client=clients.lakefs_client(tarn)).create(storage_namespace=f"local://{name}")
    repo.branch("main").import_data(commit_message="the table").prefix(f"local://{source}/", destination="").run()
    markers = {"sales/"} | {f"sales/day={day:02}/" for day in range(PARTITIONS)}
    s3 = clients.boto3_client(tarn)
    for key in markers:
        s3.put_object(Bucket=name, Key=f"main/{key}", Body=b"")
    return name, sorted((f"main/{key}" for key in keys | markers), key=str.encode)


def expected(keys, prefix, delimiter, after):
    """(keys, common prefixes) as S3 groups them."""
    found, groups = [], set()
    for key in keys:
        if not key.startswith(prefix) or key.encode() <= after.encode():
            continue
        head, mark, _ = key[len(prefix) :].partition(delimiter) if delimiter else (key, "", "")
        if mark:
            groups.add(prefix + head + mark)
        else:
            found.append(key)
    # A marker inside a group leaves what is left of it; the group as the marker passes it.
    return found, sorted(groups - {after}, key=str.encode)


def listed(s3, bucket, **options):
    found, groups = [], []
    for page in s3.get_paginator("list_objects_v2").paginate(Bucket=bucket, **options):
        assert page["KeyCount"] <= page["MaxKeys"] == 1000
        found += [item["Key"] for item in page.get("Contents", [])]
        groups += [group["Prefix"] for group in page.get("CommonPrefixes", [])]
    return found, groups


@pytest.mark.parametrize("delimiter", ["", "/"])
@pytest.mark.parametrize(
    "prefix",
    [
        "main/",
        "main/sales",
        "main/sales/",
        "main/sales/day=07",
        "main/sales/day=07/",
        "main/sales/day=",
        "main/sales/day=07/00",
        "main/nope",
        "main/nope/",
    ],
)
def test_listings_of_engines(s3, lake, prefix, delimiter):
    bucket, keys = lake
    middle = keys[bisect.bisect(keys, prefix) + 1200] if prefix in ("main/sales", "main/sales/") else prefix + "0"
    for after in ("", prefix, middle, "main/sales/day=25/", "main/sales/day=25/010.parquet", "zzz"):
        assert listed(s3, bucket, Prefix=prefix, Delimiter=delimiter, StartAfter=after, MaxKeys=1000) == expected(
            keys, prefix, delimiter, after
        ), after


def test_listings_of_many_workers_at_once(s3, lake):
    """Each its own partition, as engines list them: all are whole while the branch is written to."""
    bucket, keys = lake
    days = [f"main/sales/day={day:02}/" for day in range(PARTITIONS)] * 4
    random.Random(7).shuffle(days)
    with concurrent.futures.ThreadPoolExecutor(12) as pool:
        writing = [pool.submit(s3.put_object, Bucket=bucket, Key=f"main/elsewhere/{n}", Body=b"x") for n in range(100)]
        for day, (found, groups) in zip(
            days, pool.map(lambda day: listed(s3, bucket, Prefix=day, Delimiter="/"), days), strict=True
        ):
            assert groups == [] and found == [key for key in keys if key.startswith(day)], day
        for write in writing:
            write.result()
    for n in range(100):
        s3.delete_object(Bucket=bucket, Key=f"main/elsewhere/{n}")
    whole = listed(s3, bucket, Prefix="main/")
    assert whole == (keys, [])


def test_delta_tables_at_lakefs_addresses_are_merged_by_transactions(tarn, repo):
    """delta-rs makes a branch for each transaction, writes there over S3, commits and merges over REST."""
    options = {
        "endpoint": tarn.url,
        "access_key_id": tarn.access_key,
        "secret_access_key": tarn.secret_key,
        "allow_http": "true",
        "region": "us-east-1",
    }
    address = f"lakefs://{repo.id}/main/delta"
    for start in (0, 10):
        deltalake.write_deltalake(
            address, pyarrow.table({"id": range(start, start + 10)}), mode="append", storage_options=options
        )
    table = deltalake.DeltaTable(address, storage_options=options)
    assert (table.version(), table.to_pyarrow_table().num_rows) == (1, 20)
    table.delete("id < 5")
    assert deltalake.DeltaTable(address, storage_options=options).to_pyarrow_table().num_rows == 15
    assert [branch.id for branch in repo.branches()] == ["main"]
    assert list(repo.branch("main").uncommitted()) == []
    assert len([commit for commit in repo.ref("main").log() if "delta" in commit.message]) == 3

"""Ranges and metaranges as files: a reader that is built as lakeFS's finds the same objects in them as REST lists."""

import base64
import datetime
import hashlib

import clients
import lakefs
import pytest
import requests
import sstables

MIB = 1024 * 1024


class Reader:
    """Goes from a commit to its objects as lakeFS's Spark client does: commit, metarange, ranges."""

    def __init__(self, rest, repository, fetch, directory):
        self.rest, self.repository, self.fetch, self.directory = rest, repository, fetch, directory

    def table(self, kind, name):
        path = self.directory / f"{kind}-{name}"
        path.write_bytes(self.fetch(kind, name))
        return sstables.read(path)

    def ranges(self, commit):
        metarange = self.rest("GET", f"/repositories/{self.repository}/commits/{commit}").json()["meta_range_id"]
        properties, rows = self.table("meta_range", metarange)
        assert properties["type"] == "metaranges"
        assert (properties["min_key"], properties["max_key"]) == (rows[0]["key"].decode(), rows[-1]["key"].decode())
        return rows

    def objects(self, commit):
        out = []
        for one in self.ranges(commit):
            properties, rows = self.table("range", one["identity"])
            assert properties["type"] == "ranges"
            listed = {name: one["message"][name] for name in ("min_key", "max_key", "count")}
            assert listed == {
                "min_key": base64.b64encode(rows[0]["key"]).decode(),
                "max_key": base64.b64encode(rows[-1]["key"]).decode(),
                "count": str(len(rows)),
            }
            assert one["key"] == rows[-1]["key"] and int(one["message"]["estimated_size"]) > 0
            assert (properties["min_key"], properties["max_key"]) == (rows[0]["key"].decode(), rows[-1]["key"].decode())
            out += rows
        assert [row["key"] for row in out] == sorted(row["key"] for row in out)
        return out


def listed(rest, repository, ref):
    after, out = "", []
    while True:
        page = rest("GET", f"/repositories/{repository}/refs/{ref}/objects/ls?amount=1000&after={after}").json()
        out += page["results"]
        if not page["pagination"]["has_more"]:
            return out
        after = requests.utils.quote(page["pagination"]["next_offset"])


def seconds(timestamp):
    whole, _, _ = timestamp.rstrip("Z").partition(".")
    return int(datetime.datetime.fromisoformat(whole).replace(tzinfo=datetime.UTC).timestamp())


def assert_same(objects, listing, namespace):
    assert [row["key"].decode() for row in objects] == [item["path"] for item in listing]
    for row, item in zip(objects, listing, strict=True):
        message = row["message"]
        assert int(message.get("size", 0)) == item["size_bytes"], item
        assert message["e_tag"] == item["checksum"]
        assert seconds(message["last_modified"]) == item["mtime"]
        assert message.get("content_type", "") == item["content_type"]
        assert message.get("metadata", {}) == item.get("metadata", {})
        where = message["address"]
        if message["address_type"] == "RELATIVE":
            assert f"{namespace}/{where}" == item["physical_address"] and where.startswith("data/")
        elif not where.startswith("tarn-parts://"):
            assert message["address_type"] == "FULL" and where == item["physical_address"]


def fill(rest, repository, s3):
    """Objects of every kind but imported ones, committed; some more are staged, which no commit shows."""
    rest("PUT", f"/repositories/{repository}/settings/paths", json={"paths": "any"})
    base = f"/repositories/{repository}/branches/main"
    for n in range(40):
        rest("POST", f"{base}/objects?path=dir/{n:03}.csv", data=b"x" * n, headers={"Content-Type": "text/csv"})
    for path in ("a", "a/b//c", "grün/ß.txt", "z" * 1000):
        rest(
            "POST",
            f"{base}/objects?path={requests.utils.quote(path)}",
            data=path.encode(),
            headers={"Content-Type": "application/octet-stream"},
        )
    s3.put_object(Bucket=repository, Key="main/meta", Body=b"m", ContentType="text/plain", Metadata={"color": "red", "b": "2"})
    part = {"Bucket": repository, "Key": "main/parts"}
    upload = s3.create_multipart_upload(**part)["UploadId"]
    done = [
        {"PartNumber": n, "ETag": s3.upload_part(**part, UploadId=upload, PartNumber=n, Body=b"p" * 5 * MIB)["ETag"]}
        for n in (1, 2)
    ]
    s3.complete_multipart_upload(**part, UploadId=upload, MultipartUpload={"Parts": done})
    commit = rest("POST", f"{base}/commits", json={"message": "m"}).json()["id"]
    rest("POST", f"{base}/objects?path=staged", data=b"x")
    return commit


@pytest.fixture
def reader(rest, repo, tmp_path):
    def fetch(kind, name):
        # A range is known once the metarange was asked for, so this order is every client's.
        answer = rest("GET", f"/repositories/{repo.id}/metadata/object/{kind}/{name}")
        assert answer.status_code == 200 and answer.headers["Content-Type"] == "application/octet-stream"
        return answer.content

    return Reader(rest, repo.id, fetch, tmp_path)


def test_a_reader_of_lakefs_finds_what_is_listed(rest, repo, s3, reader):
    commit = fill(rest, repo.id, s3)
    objects, listing = reader.objects(commit), listed(rest, repo.id, commit)
    assert len(listing) == 46
    assert_same(objects, listing, f"local://{repo.id}")
    by_key = {row["key"].decode(): row["message"] for row in objects}
    assert by_key["parts"]["address"].startswith(f"tarn-parts://{repo.id}/")
    assert by_key["meta"]["metadata"] == {"color": "red", "b": "2"}


def test_imported_objects_have_full_addresses(tarn, rest, repo, reader):
    source = tarn.import_root / repo.id
    source.mkdir(parents=True)
    for n in range(300):
        (source / f"{n:04}.bin").write_bytes(b"y" * (n % 7))
    repo.branch("main").import_data("lake").prefix(f"local://{source}/", destination="raw/").run()
    commit = repo.branch("main").get_commit().id
    objects = reader.objects(commit)
    assert len(objects) == 300
    assert {row["message"]["address_type"] for row in objects} == {"FULL"}
    assert objects[7]["message"]["address"] == f"local://{source}/0007.bin"
    assert_same(objects, listed(rest, repo.id, commit), f"local://{repo.id}")


def test_commits_with_equal_objects_have_equal_ranges(rest, repo, s3, reader):
    first = fill(rest, repo.id, s3)
    repo.branch("topic").create(first)
    before = reader.ranges(first)
    repo.branch("topic").object("new").upload(b"x")
    second = repo.branch("topic").commit("more").get_commit().id
    assert reader.ranges(second) != before
    repo.branch("topic").object("new").delete()
    third = repo.branch("topic").commit("as before").get_commit().id
    assert reader.ranges(third) == before


def test_a_client_of_the_store_reads_them_there(tarn_s3, versitygw, name, tmp_path):
    rest = clients.Rest(tarn_s3)
    namespace = f"s3://lake/{name}"
    lakefs.repository(name, client=clients.lakefs_client(tarn_s3)).create(storage_namespace=namespace)
    store = clients.boto3_client(versitygw)
    base = f"/repositories/{name}/metadata"

    def fetch(kind, of):
        answer = rest("GET", f"{base}/{kind}/{of}")
        location = answer.json()["location"]
        assert answer.headers["Location"] == location and location.startswith("_tarn/sstables/")
        there = store.get_object(Bucket="lake", Key=f"{name}/{location}")["Body"].read()
        redirect = rest("GET", f"{base}/object/{kind}/{of}?presign=true")
        assert redirect.status_code == 302
        signed = requests.get(redirect.headers["Location"], timeout=30)
        assert signed.status_code == 200 and signed.content == there
        assert rest("GET", f"{base}/object/{kind}/{of}").content == there
        return there

    commit = fill(rest, name, clients.boto3_client(tarn_s3))
    reader = Reader(rest, name, fetch, tmp_path)
    objects = reader.objects(commit)
    assert_same(objects, listed(rest, name, commit), namespace)
    # Addresses below the namespace are where the bytes are.
    one = next(row["message"] for row in objects if row["key"] == b"dir/007.csv")
    body = store.get_object(Bucket="lake", Key=f"{name}/{one['address']}")["Body"].read()
    assert body == b"x" * 7 and hashlib.md5(body).hexdigest() == one["e_tag"]


def test_files_that_were_removed_are_written_again(tarn, rest, repo, s3, reader):
    commit = fill(rest, repo.id, s3)
    before = reader.objects(commit)
    files = sorted((tarn.objects_dir / repo.id / "_tarn/sstables").rglob("*.sst"))
    assert len(files) == 2
    for file in files:
        file.unlink()
    assert reader.objects(commit) == before
    assert repo.ref(commit).object("dir/007.csv").reader().read() == b"x" * 7

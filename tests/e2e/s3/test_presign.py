"""URLs that carry their own permission: over a store that signs none (then the server serves them) and over S3."""

import base64
import concurrent.futures
import datetime
import hashlib
import time
import urllib.parse

import clients
import lakefs
import lakefs_sdk
import pytest
import requests
import servers
from lakefs_sdk import models

MIB = 1024 * 1024


@pytest.fixture(params=["local", "s3"])
def lake(request, name):
    """A server with a repository: its own store is a local directory, or a bucket of another server."""
    server = request.getfixturevalue("tarn" if request.param == "local" else "tarn_s3")
    namespace = f"local://{name}" if request.param == "local" else f"s3://lake/{name}"
    client = clients.lakefs_client(server)
    repo = lakefs.repository(name, client=client).create(storage_namespace=namespace)
    store = server.url if request.param == "local" else request.getfixturevalue("versitygw").url
    return Lake(server, client, repo, store)


class Lake:
    def __init__(self, server, client, repo, store):
        self.server, self.client, self.repo, self.store = server, client, repo, store
        self.main = repo.branch("main")
        self.rest = clients.Rest(server)
        self.here = f"/repositories/{repo.id}"
        self.uploads = client.sdk_client.experimental_api

    def stored(self, path):
        return self.rest("GET", f"{self.here}/refs/main/objects", params={"path": path}).content


def anonymous(method, url, **options):
    return requests.request(method, url, timeout=60, allow_redirects=False, **options)


def test_bytes_sent_again_after_they_were_linked_are_not_shown(lake):
    here = f"{lake.here}/branches/main/staging/backing"
    asked = lake.rest("GET", here, params={"path": "a", "presign": "true"}).json()
    given = {"staging": {"physical_address": asked["physical_address"]}, "checksum": "any", "size_bytes": 4}
    over_s3 = lake.store != lake.server.url
    assert anonymous("PUT", asked["presigned_url"], data=b"good").status_code == 200
    assert lake.rest("PUT", here, params={"path": "a"}, json=given).status_code == 200
    assert lake.stored("a") == b"good"
    lake.main.commit("approved")
    assert anonymous("PUT", asked["presigned_url"], data=b"evil").status_code == (200 if over_s3 else 409)
    answer = lake.rest("GET", f"{lake.here}/refs/main/objects", params={"path": "a"})
    if over_s3:
        assert answer.status_code == 410 and b"evil" not in answer.content
        empty = lake.rest("GET", here, params={"path": "b", "presign": "true"}).json()["physical_address"]
        refused = lake.rest("PUT", here, params={"path": "b"}, json={**given, "staging": {"physical_address": empty}})
        assert (refused.status_code, refused.json()["code"]) == (400, "link_address_empty")
    else:
        assert answer.content == b"good"


def test_the_wrapper_moves_bytes_by_urls_alone(lake):
    assert lake.client.storage_config_by_id("").pre_sign_support
    data = bytes(range(256)) * 1000
    sent = []
    pool = lake.client.sdk_client.objects_api.api_client.rest_client.pool_manager
    plain_request = pool.request
    pool.request = lambda method, url, **options: (sent.append((method, url)), plain_request(method, url, **options))[1]
    lake.main.object("dir/a b+%.bin").upload(data=data, content_type="image/x", metadata={"k": "v"})
    pool.request = plain_request
    bytes_to, link_to = [url for method, url in sent if method != "GET"]
    assert bytes_to.startswith(lake.store + ("/_blocks/" if lake.store == lake.server.url else "/lake/"))
    assert "/data/" in bytes_to and "/staging/backing" in link_to
    stats = lake.main.object("dir/a b+%.bin").stat()
    assert (stats.checksum, stats.size_bytes) == (hashlib.md5(data).hexdigest(), len(data))
    assert (stats.content_type, stats.metadata) == ("image/x", {"k": "v"})
    with lake.main.object("dir/a b+%.bin").reader(mode="rb") as reader:
        reader.seek(1000)
        assert reader.read(10) == data[1000:1010]
        assert reader.read() == data[1010:]
        assert reader.read() == b""
    lake.main.object("empty").upload(data=b"")
    assert lake.main.object("empty").reader(mode="rb").read(10) == b""
    with pytest.raises(lakefs.exceptions.ObjectExistsException):
        lake.main.object("empty").upload(mode="xb", data=b"x")


def test_everybody_who_has_the_url_reads_that_object(lake):
    lake.main.object("a.txt").upload(data=b"hello", content_type="text/plain")
    answer = lake.rest("GET", f"{lake.here}/refs/main/objects?path=a.txt&presign=true")
    assert answer.status_code == 302 and answer.content == b""
    stat = lake.rest("GET", f"{lake.here}/refs/main/objects/stat?path=a.txt&presign=true").json()
    listed = lake.rest("GET", f"{lake.here}/refs/main/objects/ls?presign=true").json()["results"][0]
    assert abs(stat["physical_address_expiry"] - time.time() - 900) < 60
    for url in (answer.headers["Location"], stat["physical_address"], listed["physical_address"]):
        assert url.startswith(lake.store)
        read = anonymous("GET", url)
        assert (read.status_code, read.content) == (200, b"hello")
        assert read.headers["ETag"] == f'"{hashlib.md5(b"hello").hexdigest()}"'
        assert read.headers["Content-Type"].startswith("text/plain")
        part = anonymous("GET", url, headers={"Range": "bytes=1-2"})
        assert (part.status_code, part.content) == (206, b"el")
        assert anonymous("GET", url, headers={"Range": "bytes=5-"}).status_code == 416
        assert anonymous("PUT", url, data=b"x").status_code == 403
        assert anonymous("GET", url.replace("/data/", "/dbta/")).status_code == 403
        assert anonymous("DELETE", url).status_code == 403
    assert lake.stored("a.txt") == b"hello"


def test_urls_of_imported_objects(tarn_s3, versitygw, name):
    source = clients.boto3_client(versitygw)
    source.put_object(Bucket="lake", Key=f"{name}/in/a b.txt", Body=b"imported")
    repo = lakefs.repository(name, client=clients.lakefs_client(tarn_s3)).create(f"s3://lake/{name}/repository")
    repo.branch("main").import_data().prefix(f"s3://lake/{name}/in/", "in/").run()
    url = repo.branch("main").object("in/a b.txt").stat(pre_sign=True).physical_address
    assert url.startswith(versitygw.url) and anonymous("GET", url).content == b"imported"


def test_a_large_body_passes_and_is_checked(tarn, repo, rest):
    asked = rest("GET", f"/repositories/{repo.id}/branches/main/staging/backing?path=big&presign=true").json()
    data = hashlib.sha256(b"seed").digest() * (MIB // 2)
    other = base64.b64encode(hashlib.md5(b"other").digest()).decode()
    assert anonymous("PUT", asked["presigned_url"], data=data, headers={"Content-MD5": other}).status_code == 400
    for _ in range(2):
        put = anonymous("PUT", asked["presigned_url"], data=data)
        assert put.status_code == 200
        assert base64.b64decode(put.headers["Content-MD5"]) == hashlib.md5(data).digest()
    assert anonymous("PUT", asked["presigned_url"], data=b"other").status_code == 409
    chunked = rest("GET", f"/repositories/{repo.id}/branches/main/staging/backing?path=chunked&presign=true").json()
    put = anonymous("PUT", chunked["presigned_url"], data=iter([b"in ", b"chunks"]))
    assert put.headers["ETag"] == f'"{hashlib.md5(b"in chunks").hexdigest()}"'


def parallel_puts(urls, parts):
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        return list(pool.map(lambda pair: anonymous("PUT", pair[0], data=pair[1]), zip(urls, parts, strict=True)))


def test_an_upload_in_parts_as_the_command_line_client_does_it(lake):
    parts = [bytes([65 + n]) * (5 * MIB) for n in range(3)] + [b"end"]
    where = (lake.repo.id, "main")
    begun = lake.uploads.create_presign_multipart_upload(*where, path="big/file", parts=len(parts))
    assert len(begun.presigned_urls) == len(parts) and "," in begun.physical_address
    for url in begun.presigned_urls:
        query = urllib.parse.parse_qs(urllib.parse.urlsplit(url).query)
        issued = datetime.datetime.strptime(query["X-Amz-Date"][0], "%Y%m%dT%H%M%S%z")
        assert abs(issued - datetime.datetime.now(datetime.UTC)) < datetime.timedelta(minutes=1)
        assert int(query["X-Amz-Expires"][0]) == 900
    again = models.UploadPartFrom(physical_address=begun.physical_address)
    begun.presigned_urls[1] = lake.uploads.upload_part(*where, begun.upload_id, "big/file", 2, again).presigned_url
    sent = parallel_puts(begun.presigned_urls, parts)
    assert [put.status_code for put in sent] == [200] * 4
    assert lake.rest("HEAD", f"{lake.here}/refs/main/objects?path=big/file").status_code == 404
    completion = models.CompletePresignMultipartUpload(
        physical_address=begun.physical_address,
        content_type="text/x",
        user_metadata={"k": "v"},
        parts=[models.UploadPart(part_number=n, etag=put.headers["ETag"]) for n, put in enumerate(sent, 1)],
    )
    done = lake.uploads.complete_presign_multipart_upload(*where, begun.upload_id, "big/file", completion)
    digest = hashlib.md5(b"".join(hashlib.md5(part).digest() for part in parts)).hexdigest()
    assert (done.checksum, done.size_bytes) == (f"{digest}-4", sum(map(len, parts)))
    assert (done.content_type, done.metadata, done.path) == ("text/x", {"k": "v"}, "big/file")
    lake.main.commit(message="large")
    assert lake.repo.ref("main").object("big/file").reader(mode="rb").read() == b"".join(parts)


def test_parts_are_copied_from_objects(lake):
    data = hashlib.sha256(b"seed").digest() * (6 * MIB // 32)
    lake.main.object("source").upload(data=data)
    where = (lake.repo.id, "main")
    begun = lake.uploads.create_presign_multipart_upload(*where, path="joined")
    assert begun.presigned_urls is None
    etags = []
    for number, byte_range in enumerate((f"bytes=0-{5 * MIB - 1}", None), 1):
        copy = models.UploadPartCopyFrom(
            physical_address=begun.physical_address,
            copy_source=models.CopyPartSource(repository=lake.repo.id, ref="main", path="source", range=byte_range),
        )
        answer = lake.uploads.upload_part_copy_with_http_info(*where, begun.upload_id, "joined", number, copy)
        assert answer.status_code == 204
        etags.append(answer.headers["ETag"])
    done = lake.uploads.complete_presign_multipart_upload(
        *where,
        begun.upload_id,
        "joined",
        models.CompletePresignMultipartUpload(
            physical_address=begun.physical_address,
            parts=[models.UploadPart(part_number=n, etag=etag) for n, etag in enumerate(etags, 1)],
        ),
    )
    assert done.size_bytes == 11 * MIB
    assert lake.main.object("joined").reader(mode="rb").read() == data[: 5 * MIB] + data


def test_an_aborted_upload_leaves_nothing(lake):
    where = (lake.repo.id, "main")
    begun = lake.uploads.create_presign_multipart_upload(*where, path="gone", parts=1)
    assert anonymous("PUT", begun.presigned_urls[0], data=b"x").status_code == 200
    given = models.AbortPresignMultipartUpload(physical_address=begun.physical_address)
    lake.uploads.abort_presign_multipart_upload(*where, begun.upload_id, "gone", given)
    assert anonymous("PUT", begun.presigned_urls[0], data=b"x").status_code == 404
    completion = models.CompletePresignMultipartUpload(
        physical_address=begun.physical_address, parts=[models.UploadPart(part_number=1, etag="x")]
    )
    with pytest.raises(lakefs_sdk.exceptions.ApiException):
        lake.uploads.complete_presign_multipart_upload(*where, begun.upload_id, "gone", completion)
    assert lake.rest("HEAD", f"{lake.here}/refs/main/objects?path=gone").status_code == 404


def test_urls_hold_on_every_server_and_end_with_their_key(two_tarnds, name):
    first, second = two_tarnds
    second.access_key, second.secret_key = first.access_key, first.secret_key
    admin = clients.lakefs_client(first)
    repo = lakefs.repository(name, client=admin).create(f"local://{name}")
    auth = admin.sdk_client.auth_api
    auth.create_user(user_creation=models.UserCreation(id="ann"))
    auth.add_group_membership("Developers", "ann")
    key = auth.create_credentials("ann")
    repo.branch("main").object("a").upload(data=b"hello")
    asked = requests.get(
        f"{first.url}/api/v1/repositories/{name}/refs/main/objects?path=a&presign=true",
        timeout=10,
        auth=(key.access_key_id, key.secret_access_key),
        allow_redirects=False,
    )
    elsewhere = asked.headers["Location"].replace(first.url, second.url)
    assert elsewhere.startswith(second.url) and anonymous("GET", elsewhere).content == b"hello"
    auth.delete_credentials("ann", key.access_key_id)
    assert anonymous("GET", asked.headers["Location"]).status_code == 403
    began = asked = time.monotonic()
    while anonymous("GET", elsewhere).status_code != 403:
        assert asked - began < 1.2
        time.sleep(0.02)
        asked = time.monotonic()


def test_turned_off_clients_go_through_the_api(scratch_dir, initialised_data, name):
    server = servers.Tarnd(scratch_dir / "tarnd", environment={"TARN_AUTH_PRESIGN": "off"})
    server.copy_data_of(initialised_data).start()
    try:
        client = clients.lakefs_client(server)
        assert not client.storage_config_by_id("").pre_sign_support
        branch = lakefs.repository(name, client=client).create(f"local://{name}").branch("main")
        branch.object("a").upload(data=b"hello")
        assert branch.object("a").reader(mode="rb").read() == b"hello"
        rest = clients.Rest(server)
        assert rest("GET", f"/repositories/{name}/refs/main/objects?path=a&presign=true").status_code == 400
        assert rest("POST", f"/repositories/{name}/branches/main/staging/pmpu?path=a").status_code == 501
    finally:
        server.stop()


def test_s3_readers_that_follow_redirects_get_the_bytes_from_the_store(lake):
    lake.main.object("dir/big").upload(data=b"0123456789" * 10_000, content_type="image/x", pre_sign=False)
    url = clients.boto3_client(lake.server).generate_presigned_url(
        "get_object", Params={"Bucket": lake.repo.id, "Key": "main/dir/big"}
    )
    able = {"User-Agent": "reader s3RedirectionSupport"}
    # The store would give out other bytes for as long as the upload's URL is good.
    lake.main.object("dir/sent").upload(data=b"x", pre_sign=True)
    assert anonymous("GET", url.replace("dir/big", "dir/sent"), headers=able).status_code != 307
    plain = anonymous("GET", url)
    assert (plain.status_code, len(plain.content)) == (200, 100_000)
    sent = anonymous("GET", url, headers=able)
    if lake.store == lake.server.url:
        assert sent.status_code == 200  # nowhere else to go
        return
    assert (sent.status_code, sent.content) == (307, b"")
    assert sent.headers["Location"].startswith(lake.store)
    followed = requests.get(url, headers=able | {"Range": "bytes=5-14"}, timeout=60)
    assert (followed.status_code, followed.content) == (206, b"5678901234")
    assert followed.url.startswith(lake.store) and followed.headers["Content-Type"] == "image/x"
    assert anonymous("GET", url, headers=able | {"If-Match": '"other"'}).status_code == 412
    assert anonymous("HEAD", url.replace("dir/big", "dir/none"), headers=able).status_code in (403, 404)


def test_imported_bytes_that_may_change_are_not_redirected_to(tarn_s3, versitygw, name):
    # The server notices that they changed; the store would give them out.
    bucket = clients.boto3_client(versitygw)
    bucket.create_bucket(Bucket=name)
    bucket.put_object(Bucket=name, Key="in/x", Body=b"first")
    repo = lakefs.repository(name, client=clients.lakefs_client(tarn_s3)).create(storage_namespace=f"s3://lake/{name}")
    repo.branch("main").import_data("import").prefix(f"s3://{name}/in/", "").run()
    url = clients.boto3_client(tarn_s3).generate_presigned_url("get_object", Params={"Bucket": name, "Key": "main/x"})
    able = {"User-Agent": "s3RedirectionSupport"}
    assert anonymous("GET", url, headers=able).content == b"first"
    bucket.put_object(Bucket=name, Key="in/x", Body=b"second")
    assert anonymous("GET", url, headers=able).status_code == 410

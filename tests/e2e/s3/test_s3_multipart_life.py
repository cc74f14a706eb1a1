"""Multipart uploads through what happens around them: kills, commits, merges, deleted branches, a store behind S3, memory."""

import http.client
import os
import random
import urllib.parse

import clients
import pytest
import s3_requests
import servers
from botocore.exceptions import ClientError

MIB = 1024 * 1024
PART = 5 * MIB


def rss_bytes(pid):
    with open(f"/proc/{pid}/status") as status:
        return next(int(line.split()[1]) * 1024 for line in status if line.startswith("VmRSS"))


def make_repository(server, name, namespace):
    answer = clients.Rest(server)("POST", "/repositories", json={"name": name, "storage_namespace": namespace})
    assert answer.status_code == 201, answer.text


def complete(s3, bucket, key, upload, etags):
    return s3.complete_multipart_upload(
        Bucket=bucket,
        Key=key,
        UploadId=upload,
        MultipartUpload={"Parts": [{"PartNumber": n, "ETag": etag} for n, etag in enumerate(etags, 1)]},
    )


def test_an_upload_lives_through_kills_commits_and_merges(scratch_dir, initialised_data):
    server = servers.Tarnd(scratch_dir).copy_data_of(initialised_data).start()
    make_repository(server, "lives", "local://lives")
    rest = clients.Rest(server)
    assert rest("POST", "/repositories/lives/branches", json={"name": "dev", "source": "main"}).status_code == 201
    parts = [os.urandom(PART), os.urandom(PART), b"tail"]
    s3 = clients.boto3_client(server)

    def again():
        nonlocal s3, rest
        server.kill()
        server.start()
        s3, rest = clients.boto3_client(server), clients.Rest(server)

    upload = s3.create_multipart_upload(Bucket="lives", Key="dev/big", Metadata={"k": "v"})["UploadId"]
    again()
    etags = []
    for number, body in enumerate(parts, 1):
        etags.append(s3.upload_part(Bucket="lives", Key="dev/big", UploadId=upload, PartNumber=number, Body=body)["ETag"])
        again()
    # A commit in between does not end it either.
    s3.put_object(Bucket="lives", Key="dev/other", Body=b"o")
    assert rest("POST", "/repositories/lives/branches/dev/commits", json={"message": "m"}).status_code == 201
    made = complete(s3, "lives", "dev/big", upload, etags)
    again()
    assert complete(s3, "lives", "dev/big", upload, etags)["ETag"] == made["ETag"], "the answer may have been lost"

    def check(ref):
        head = s3.head_object(Bucket="lives", Key=f"{ref}/big")
        assert (head["ETag"], head["Metadata"]) == (made["ETag"], {"k": "v"})
        assert s3.get_object(Bucket="lives", Key=f"{ref}/big")["Body"].read() == b"".join(parts)
        across = s3.get_object(Bucket="lives", Key=f"{ref}/big", Range=f"bytes={PART - 3}-{2 * PART + 1}")
        assert across["Body"].read() == b"".join(parts)[PART - 3 : 2 * PART + 2]
        for number, body in enumerate(parts, 1):
            got = s3.get_object(Bucket="lives", Key=f"{ref}/big", PartNumber=number)
            assert (got["Body"].read(), got["PartsCount"]) == (body, 3)
        stats = rest("GET", f"/repositories/lives/refs/{ref}/objects/stat", params={"path": "big"}).json()
        assert stats["checksum"] == made["ETag"].strip('"') and stats["size_bytes"] == 2 * PART + 4
        return stats["physical_address"]

    address = check("dev")
    assert rest("POST", "/repositories/lives/branches/dev/commits", json={"message": "m"}).status_code == 201
    again()
    assert check("dev") == address
    assert rest("POST", "/repositories/lives/refs/dev/merge/main", json={}).status_code == 200
    assert rest("DELETE", "/repositories/lives/branches/dev").status_code == 204
    again()
    assert check("main") == address
    s3.copy_object(Bucket="lives", Key="main/copy", CopySource="lives/main/big")
    stats = rest("GET", "/repositories/lives/refs/main/objects/stat", params={"path": "copy"}).json()
    assert stats["physical_address"] == address
    server.stop()


def test_an_upload_dies_with_its_branch(tarn, repo, s3):
    repo.branch("dev").create("main")
    upload = s3.create_multipart_upload(Bucket=repo.id, Key="dev/a")["UploadId"]
    etag = s3.upload_part(Bucket=repo.id, Key="dev/a", UploadId=upload, PartNumber=1, Body=b"x")["ETag"]
    repo.branch("dev").delete()
    repo.branch("dev").create("main")
    for call in (
        lambda: complete(s3, repo.id, "dev/a", upload, [etag]),
        lambda: s3.upload_part(Bucket=repo.id, Key="dev/a", UploadId=upload, PartNumber=2, Body=b"y"),
        lambda: s3.list_parts(Bucket=repo.id, Key="dev/a", UploadId=upload),
    ):
        with pytest.raises(ClientError) as error:
            call()
        assert error.value.response["Error"]["Code"] == "NoSuchUpload"


def test_copies_between_repositories_share_their_bytes(tarn, repo, s3, rest):
    other = repo.id + "-b"
    make_repository(tarn, other, f"local://{other}")
    parts = [os.urandom(PART), b"tail"]
    upload = s3.create_multipart_upload(Bucket=repo.id, Key="main/big")["UploadId"]
    etags = [
        s3.upload_part(Bucket=repo.id, Key="main/big", UploadId=upload, PartNumber=n, Body=body)["ETag"]
        for n, body in enumerate(parts, 1)
    ]
    made = complete(s3, repo.id, "main/big", upload, etags)
    s3.put_object(Bucket=repo.id, Key="main/plain", Body=b"plain")
    directory = (tarn if hasattr(tarn, "objects_dir") else tarn.servers[0]).objects_dir / other
    for key in ("big", "plain"):
        s3.copy_object(Bucket=other, Key=f"main/{key}", CopySource=f"{repo.id}/main/{key}")
    joined = s3.create_multipart_upload(Bucket=other, Key="main/joined")["UploadId"]
    copied = s3.upload_part_copy(
        Bucket=other, Key="main/joined", UploadId=joined, PartNumber=1, CopySource=f"{repo.id}/main/plain"
    )["CopyPartResult"]
    assert copied["ChecksumCRC32"]  # what boto3 sent with the object
    complete(s3, other, "main/joined", joined, [copied["ETag"]])
    written = [f for f in directory.rglob("*") if f.is_file() and "data" in f.relative_to(directory).parts]
    assert written == [], "no byte was written"
    got = s3.get_object(Bucket=other, Key="main/big")
    assert (got["Body"].read(), got["ETag"]) == (b"".join(parts), made["ETag"])
    assert s3.get_object(Bucket=other, Key="main/big", PartNumber=2)["Body"].read() == b"tail"
    assert s3.get_object(Bucket=other, Key="main/joined")["Body"].read() == b"plain"


def bytes_moved(tarn, call):
    """How many bytes of files tarnd reads and writes during the call."""

    def moved():
        with open(f"/proc/{tarn.process.pid}/io") as io:
            return sum(int(line.split()[1]) for line in io if line.startswith(("rchar", "wchar")))

    before = moved()
    call()
    return moved() - before


def test_one_part_moves_no_more_bytes_than_a_put(tarn, repo):
    """Three requests for one, of which two carry no bytes; completing must not write the part a second time."""
    size = 16 * MIB
    body = random.Random(1).randbytes(size)

    def put():
        assert s3_requests.signed(tarn, "PUT", f"/{repo.id}/main/put", body=body).status == 200

    def multipart():
        key = f"/{repo.id}/main/mpu"
        upload = s3_requests.signed(tarn, "POST", key + "?uploads").xml.findtext("UploadId")
        sent = s3_requests.signed(tarn, "PUT", f"{key}?partNumber=1&uploadId={upload}", body=body)
        done = s3_requests.signed(
            tarn,
            "POST",
            f"{key}?uploadId={upload}",
            body=(
                "<CompleteMultipartUpload><Part><PartNumber>1</PartNumber><ETag>"
                + sent.headers["etag"]
                + "</ETag></Part></CompleteMultipartUpload>"
            ).encode(),
        )
        assert done.status == 200

    plain, parted = bytes_moved(tarn, put), bytes_moved(tarn, multipart)
    print(f"put {plain / size:.3f}, upload of one part {parted / size:.3f} times its size")
    assert plain >= size and parted < plain + size // 4


def test_memory_of_a_part_is_bounded_over_an_s3_store(tarn_s3, name, long_tests):
    """1 GiB when long, else 256 MiB, in one part, through to versitygw."""
    make_repository(tarn_s3, name, f"s3://lake/{name}")
    s3 = clients.boto3_client(tarn_s3)
    upload = s3.create_multipart_upload(Bucket=name, Key="main/big")["UploadId"]
    size = (1024 if long_tests else 256) * MIB
    before, peak, block = rss_bytes(tarn_s3.process.pid), 0, random.Random(2).randbytes(MIB)

    class Body:
        """Sends the block over and over, and looks at the server while it does."""

        def __init__(self):
            self.sent = 0

        def read(self, count):
            nonlocal peak
            peak = max(peak, rss_bytes(tarn_s3.process.pid))
            count = min(count, size - self.sent, MIB - self.sent % MIB) if self.sent < size else 0
            at = self.sent % MIB
            self.sent += count
            return block[at : at + count]

    url = s3.generate_presigned_url(
        "upload_part", Params={"Bucket": name, "Key": "main/big", "UploadId": upload, "PartNumber": 1}
    )
    parts = urllib.parse.urlsplit(url)
    connection = http.client.HTTPConnection(parts.hostname, parts.port, timeout=120)
    connection.request("PUT", f"{parts.path}?{parts.query}", body=Body(), headers={"Content-Length": str(size)})
    answer = connection.getresponse()
    assert answer.status == 200, answer.read()
    complete(s3, name, "main/big", upload, [answer.getheader("ETag")])
    assert s3.head_object(Bucket=name, Key="main/big")["ContentLength"] == size
    tail = s3.get_object(Bucket=name, Key="main/big", Range=f"bytes={size - 100}-")["Body"].read()
    assert tail == block[-100:]
    print(f"{size // MIB} MiB in one part: the server grew by {(peak - before) / MIB:.1f} MiB")
    assert peak - before < 64 * MIB  # a few pieces of 8 MiB are on their way at once

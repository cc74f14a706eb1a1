"""Large objects of an S3 store, whose bytes go from the store's socket to the client's: whole and in part they are what was stored, also while other clients leave."""

import random
from concurrent.futures import ThreadPoolExecutor

import clients
import pytest
import requests
import servers

MIB = 1 << 20
SINGLE = random.Random(1).randbytes(40 * MIB + 1)
PARTS = [random.Random(2).randbytes(20 * MIB), random.Random(3).randbytes(20 * MIB), random.Random(4).randbytes(3)]
JOINED = b"".join(PARTS)


@pytest.fixture(scope="module")
def lake(session_scratch, initialised_data, versitygw):
    """A server over an S3 store, which holds an object of one piece and one of three parts."""
    clients.boto3_client(versitygw).create_bucket(Bucket="large-reads")
    server = (
        servers.Tarnd(session_scratch / "large-reads", environment=versitygw.tarnd_environment())
        .copy_data_of(initialised_data)
        .start()
    )
    made = clients.Rest(server)("POST", "/repositories", json={"name": "large", "storage_namespace": "s3://large-reads/space"})
    assert made.status_code == 201, made.text
    s3 = clients.boto3_client(server)
    s3.put_object(Bucket="large", Key="main/single", Body=SINGLE)
    upload = s3.create_multipart_upload(Bucket="large", Key="main/joined")["UploadId"]
    etags = [
        s3.upload_part(Bucket="large", Key="main/joined", UploadId=upload, PartNumber=n, Body=part)["ETag"]
        for n, part in enumerate(PARTS, 1)
    ]
    s3.complete_multipart_upload(
        Bucket="large",
        Key="main/joined",
        UploadId=upload,
        MultipartUpload={"Parts": [{"PartNumber": n, "ETag": etag} for n, etag in enumerate(etags, 1)]},
    )
    yield server
    server.stop()


def rest_bytes(server, path, **headers):
    answer = requests.get(
        f"{server.url}/api/v1/repositories/large/refs/main/objects",
        params={"path": path},
        headers=headers,
        auth=(server.access_key, server.secret_key),
        timeout=60,
    )
    assert answer.status_code in (200, 206), answer.text
    return answer.content


@pytest.mark.parametrize("path, content", [("single", SINGLE), ("joined", JOINED)])
def test_the_whole_and_ranges_are_what_was_stored(lake, path, content):
    s3 = clients.boto3_client(lake)
    assert s3.get_object(Bucket="large", Key=f"main/{path}")["Body"].read() == content
    assert rest_bytes(lake, path) == content
    for first, last in ((5, len(content) - 1), (MIB, 30 * MIB), (19 * MIB, 39 * MIB)):
        ranged = f"bytes={first}-{last}"
        assert s3.get_object(Bucket="large", Key=f"main/{path}", Range=ranged)["Body"].read() == content[first : last + 1]
        assert rest_bytes(lake, path, Range=ranged) == content[first : last + 1]


def test_readers_that_leave_disturb_no_others(lake):
    s3 = clients.boto3_client(lake)

    def leave(size):
        body = s3.get_object(Bucket="large", Key="main/joined")["Body"]
        body.read(size)
        body.close()

    def read(path):
        return s3.get_object(Bucket="large", Key=f"main/{path}")["Body"].read()

    with ThreadPoolExecutor(6) as pool:
        left = [pool.submit(leave, size) for size in (1, MIB, 5 * MIB, 25 * MIB, 39 * MIB) * 3]
        single, joined = [pool.submit(read, "single") for _ in range(6)], [pool.submit(read, "joined") for _ in range(6)]
        for one in left:
            one.result()
        assert all(one.result() == SINGLE for one in single)
        assert all(one.result() == JOINED for one in joined)

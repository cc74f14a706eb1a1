"""Multipart uploads over S3."""

import concurrent.futures
import hashlib
import io
import os

import boto3.s3.transfer
import pytest
import s3_requests
from botocore.exceptions import ClientError
from s3_requests import failure

MIB = 1024 * 1024
PART = 5 * MIB


@pytest.fixture
def repo(repo):
    return repo.id


def joined_etag(parts):
    digests = b"".join(hashlib.md5(p).digest() for p in parts)
    return f'"{hashlib.md5(digests).hexdigest()}-{len(parts)}"'


def upload(s3, repo, key, parts, **create):
    """Uploads the parts; the answer of the completion."""
    upload_id = s3.create_multipart_upload(Bucket=repo, Key=key, **create)["UploadId"]
    algorithm = {k: v for k, v in create.items() if k == "ChecksumAlgorithm"}
    done = []
    for number, body in enumerate(parts, 1):
        answer = s3.upload_part(Bucket=repo, Key=key, UploadId=upload_id, PartNumber=number, Body=body, **algorithm)
        done.append(
            {
                "PartNumber": number,
                "ETag": answer["ETag"],
                **{k: v for k, v in answer.items() if k.startswith("Checksum") and k != "ChecksumType"},
            }
        )
    return s3.complete_multipart_upload(Bucket=repo, Key=key, UploadId=upload_id, MultipartUpload={"Parts": done})


def test_managed_transfer_of_twenty_mebibytes(s3, repo):
    body = os.urandom(20 * MIB)
    config = boto3.s3.transfer.TransferConfig(multipart_threshold=8 * MIB, multipart_chunksize=8 * MIB)
    s3.upload_fileobj(io.BytesIO(body), repo, "main/big", Config=config)
    parts = [body[i : i + 8 * MIB] for i in range(0, len(body), 8 * MIB)]
    head = s3.head_object(Bucket=repo, Key="main/big")
    assert (head["ContentLength"], head["ETag"]) == (len(body), joined_etag(parts))
    assert s3.list_objects_v2(Bucket=repo, Prefix="main/big")["Contents"][0]["ETag"] == head["ETag"]
    got = io.BytesIO()
    s3.download_fileobj(repo, "main/big", got, Config=config)
    assert got.getvalue() == body
    ranged = s3.get_object(Bucket=repo, Key="main/big", Range=f"bytes={8 * MIB - 10}-{8 * MIB + 9}")
    assert ranged["Body"].read() == body[8 * MIB - 10 : 8 * MIB + 10]
    s3.copy({"Bucket": repo, "Key": "main/big"}, repo, "main/copied", Config=config)
    assert s3.get_object(Bucket=repo, Key="main/copied")["Body"].read() == body


def test_parts_can_be_read_one_by_one(s3, repo):
    parts = [os.urandom(PART), os.urandom(PART), b"tail"]
    complete = upload(s3, repo, "main/a", parts, ContentType="text/plain", Metadata={"m": "1"})
    assert complete["ETag"] == joined_etag(parts)
    for number, body in enumerate(parts, 1):
        got = s3.get_object(Bucket=repo, Key="main/a", PartNumber=number)
        assert (got["Body"].read(), got["PartsCount"], got["ETag"]) == (body, 3, complete["ETag"])
        assert got["ResponseMetadata"]["HTTPStatusCode"] == 206
    with pytest.raises(ClientError) as error:
        s3.get_object(Bucket=repo, Key="main/a", PartNumber=4)
    assert failure(error) == (400, "InvalidPart")
    head = s3.head_object(Bucket=repo, Key="main/a")
    assert (head["ContentType"], head["Metadata"]) == ("text/plain", {"m": "1"})
    attributes = s3.get_object_attributes(Bucket=repo, Key="main/a", ObjectAttributes=["ObjectParts", "ObjectSize"])
    assert attributes["ObjectParts"]["TotalPartsCount"] == 3
    s3.put_object(Bucket=repo, Key="main/plain", Body=b"xyz")
    single = s3.get_object(Bucket=repo, Key="main/plain", PartNumber=1)
    assert (single["Body"].read(), single["ContentRange"]) == (b"xyz", "bytes 0-2/3")


def test_one_small_part_is_enough(s3, repo):
    upload(s3, repo, "main/small", [b"tiny"])
    assert s3.get_object(Bucket=repo, Key="main/small")["Body"].read() == b"tiny"
    head = s3.head_object(Bucket=repo, Key="main/small", PartNumber=1)
    assert (head["ETag"], head["PartsCount"]) == (joined_etag([b"tiny"]), 1)


def test_a_part_sent_again_replaces_the_first(s3, repo):
    upload_id = s3.create_multipart_upload(Bucket=repo, Key="main/a")["UploadId"]

    def send(body):
        return s3.upload_part(Bucket=repo, Key="main/a", UploadId=upload_id, PartNumber=1, Body=body)["ETag"]

    old, new = send(b"old"), send(b"new")

    def complete(etag):
        return s3.complete_multipart_upload(
            Bucket=repo, Key="main/a", UploadId=upload_id, MultipartUpload={"Parts": [{"PartNumber": 1, "ETag": etag}]}
        )

    with pytest.raises(ClientError) as error:
        complete(old)
    assert failure(error) == (400, "InvalidPart")
    complete(new)
    assert s3.get_object(Bucket=repo, Key="main/a")["Body"].read() == b"new"


def test_parts_copied_from_objects(tarn, s3, repo):
    body = os.urandom(PART + 100)
    s3.put_object(Bucket=repo, Key="main/source", Body=body)
    upload_id = s3.create_multipart_upload(Bucket=repo, Key="main/a")["UploadId"]
    source = {"Bucket": repo, "Key": "main/source"}
    first = s3.upload_part_copy(Bucket=repo, Key="main/a", UploadId=upload_id, PartNumber=1, CopySource=source)
    second = s3.upload_part_copy(
        Bucket=repo, Key="main/a", UploadId=upload_id, PartNumber=2, CopySource=source, CopySourceRange="bytes=10-19"
    )
    s3.complete_multipart_upload(
        Bucket=repo,
        Key="main/a",
        UploadId=upload_id,
        MultipartUpload={
            "Parts": [
                {"PartNumber": 1, "ETag": first["CopyPartResult"]["ETag"]},
                {"PartNumber": 2, "ETag": second["CopyPartResult"]["ETag"]},
            ]
        },
    )
    assert s3.get_object(Bucket=repo, Key="main/a")["Body"].read() == body + body[10:20]
    other = s3.create_multipart_upload(Bucket=repo, Key="main/b")["UploadId"]
    for bad in ["0-2", "bytes=0", "bytes=hello-world", "bytes=0-2,3-5"]:
        answer = s3_requests.signed(
            tarn,
            "PUT",
            f"/{repo}/main/b?partNumber=1&uploadId={other}",
            {"x-amz-copy-source": f"{repo}/main/source", "x-amz-copy-source-range": bad},
        )
        assert (answer.status, answer.code) == (400, "InvalidArgument"), bad
    with pytest.raises(ClientError) as error:
        s3.upload_part_copy(
            Bucket=repo, Key="main/b", UploadId=other, PartNumber=1, CopySource=source, CopySourceRange=f"bytes=0-{len(body)}"
        )
    assert failure(error) == (416, "InvalidRange")


def test_completions_that_are_refused(s3, repo):
    upload_id = s3.create_multipart_upload(Bucket=repo, Key="main/a")["UploadId"]
    etags = [s3.upload_part(Bucket=repo, Key="main/a", UploadId=upload_id, PartNumber=n, Body=b"x")["ETag"] for n in (1, 2)]

    def part(n, etag=None):
        return {"PartNumber": n, "ETag": etag or etags[n - 1]}

    for parts, expected in [
        ([part(2), part(1)], (400, "InvalidPartOrder")),
        ([part(1), part(2)], (400, "EntityTooSmall")),
        ([part(1, '"' + "0" * 32 + '"')], (400, "InvalidPart")),
        ([part(1), part(3, etags[0])], (400, "InvalidPart")),
        ([], (400, "MalformedXML")),
    ]:
        with pytest.raises(ClientError) as error:
            s3.complete_multipart_upload(Bucket=repo, Key="main/a", UploadId=upload_id, MultipartUpload={"Parts": parts})
        assert failure(error) == expected
    with pytest.raises(ClientError) as error:
        s3.complete_multipart_upload(
            Bucket=repo, Key="main/a", UploadId=upload_id, MpuObjectSize=7, MultipartUpload={"Parts": [part(1)]}
        )
    assert failure(error)[0] == 400
    with pytest.raises(ClientError) as error:
        s3.get_object(Bucket=repo, Key="main/a")
    assert failure(error) == (404, "NoSuchKey")


def test_an_upload_belongs_to_its_key(tarn, s3, repo):
    s3_requests.create_branch(tarn, repo, "dev")
    upload_id = s3.create_multipart_upload(Bucket=repo, Key="main/a")["UploadId"]
    for key, this in [
        ("main/b", upload_id),
        ("dev/a", upload_id),
        ("main/a", "unknown"),
        ("nobranch/a", upload_id),
        ("main/", upload_id),
    ]:
        for verb, more in [
            (s3.upload_part, {"PartNumber": 1, "Body": b"x"}),
            (s3.list_parts, {}),
            (s3.abort_multipart_upload, {}),
            (s3.complete_multipart_upload, {"MultipartUpload": {"Parts": [{"PartNumber": 1, "ETag": '"x"'}]}}),
        ]:
            with pytest.raises(ClientError) as error:
                verb(Bucket=repo, Key=key, UploadId=this, **more)
            assert failure(error) == (404, "NoSuchUpload"), key
    s3.abort_multipart_upload(Bucket=repo, Key="main/a", UploadId=upload_id)
    with pytest.raises(ClientError) as error:
        s3.upload_part(Bucket=repo, Key="main/a", UploadId=upload_id, PartNumber=1, Body=b"x")
    assert failure(error) == (404, "NoSuchUpload")
    for number in ["0", "10001", "x", ""]:
        answer = s3_requests.signed(tarn, "PUT", f"/{repo}/main/a?partNumber={number}&uploadId={upload_id}", body=b"x")
        assert (answer.status, answer.code) == (400, "InvalidArgument"), number


def test_uploads_and_parts_are_listed(tarn, s3, repo):
    s3_requests.create_branch(tarn, repo, "dev")
    ids = {
        key: s3.create_multipart_upload(Bucket=repo, Key=key, ChecksumAlgorithm="CRC32")["UploadId"]
        for key in ["dev/a", "main/a", "main/d/1", "main/d/2", "main/e"]
    }
    for number in (1, 3, 7):
        s3.upload_part(Bucket=repo, Key="main/a", UploadId=ids["main/a"], PartNumber=number, Body=b"x" * number)
    parts = s3.list_parts(Bucket=repo, Key="main/a", UploadId=ids["main/a"])
    assert [(p["PartNumber"], p["Size"]) for p in parts["Parts"]] == [(1, 1), (3, 3), (7, 7)]
    page = s3.list_parts(Bucket=repo, Key="main/a", UploadId=ids["main/a"], MaxParts=1, PartNumberMarker=1)
    assert ([p["PartNumber"] for p in page["Parts"]], page["IsTruncated"], page["NextPartNumberMarker"]) == ([3], True, 3)

    everything = s3.list_multipart_uploads(Bucket=repo)
    assert [(u["Key"], u["UploadId"]) for u in everything["Uploads"]] == sorted(ids.items())
    below = s3.list_multipart_uploads(Bucket=repo, Prefix="main/", Delimiter="/")
    assert [u["Key"] for u in below["Uploads"]] == ["main/a", "main/e"]
    assert [p["Prefix"] for p in below["CommonPrefixes"]] == ["main/d/"]
    seen, markers = [], {}
    while True:
        page = s3.list_multipart_uploads(Bucket=repo, MaxUploads=1, Prefix="main/", Delimiter="/", **markers)
        seen += [u["Key"] for u in page.get("Uploads", [])] + [p["Prefix"] for p in page.get("CommonPrefixes", [])]
        if not page["IsTruncated"]:
            break
        markers = {"KeyMarker": page["NextKeyMarker"], "UploadIdMarker": page.get("NextUploadIdMarker", "")}
    assert seen == ["main/a", "main/d/", "main/e"]


@pytest.mark.parametrize(
    "algorithm,kind",
    [
        ("CRC32", "COMPOSITE"),
        ("CRC32C", "COMPOSITE"),
        ("SHA1", "COMPOSITE"),
        ("SHA256", "COMPOSITE"),
        ("CRC64NVME", "FULL_OBJECT"),
        ("CRC32", "FULL_OBJECT"),
        ("CRC32C", "FULL_OBJECT"),
    ],
)
def test_checksums_of_joined_parts(s3, repo, algorithm, kind):
    parts = [os.urandom(PART), b"tail"]
    field = "Checksum" + algorithm
    s3.put_object(Bucket=repo, Key="main/whole", Body=b"".join(parts), ChecksumAlgorithm=algorithm)
    complete = upload(s3, repo, "main/a", parts, ChecksumAlgorithm=algorithm, ChecksumType=kind)
    head = s3.head_object(Bucket=repo, Key="main/a", ChecksumMode="ENABLED")
    assert (complete[field], complete["ChecksumType"]) == (head[field], kind)
    if kind == "FULL_OBJECT":
        assert head[field] == s3.head_object(Bucket=repo, Key="main/whole", ChecksumMode="ENABLED")[field]
    else:
        assert head[field].endswith("-2")
    assert s3.get_object(Bucket=repo, Key="main/a", ChecksumMode="ENABLED")["Body"].read() == b"".join(parts)


def test_a_wrong_checksum_of_the_whole_is_refused(s3, repo):
    upload_id = s3.create_multipart_upload(Bucket=repo, Key="main/a", ChecksumAlgorithm="CRC64NVME")["UploadId"]
    etag = s3.upload_part(
        Bucket=repo, Key="main/a", UploadId=upload_id, PartNumber=1, Body=b"123456789", ChecksumAlgorithm="CRC64NVME"
    )["ETag"]

    def complete(checksum):
        return s3.complete_multipart_upload(
            Bucket=repo,
            Key="main/a",
            UploadId=upload_id,
            ChecksumType="FULL_OBJECT",
            ChecksumCRC64NVME=checksum,
            MultipartUpload={"Parts": [{"PartNumber": 1, "ETag": etag}]},
        )

    with pytest.raises(ClientError) as error:
        complete("AAAAAAAAAAA=")
    assert failure(error) == (400, "BadDigest")
    assert complete("rosUhgp5mIg=")["ChecksumCRC64NVME"] == "rosUhgp5mIg="


def test_conditions_hold_at_completion(s3, repo):
    upload_id = s3.create_multipart_upload(Bucket=repo, Key="main/a")["UploadId"]
    etag = s3.upload_part(Bucket=repo, Key="main/a", UploadId=upload_id, PartNumber=1, Body=b"x")["ETag"]
    s3.put_object(Bucket=repo, Key="main/a", Body=b"first")
    with pytest.raises(ClientError) as error:
        s3.complete_multipart_upload(
            Bucket=repo,
            Key="main/a",
            UploadId=upload_id,
            IfNoneMatch="*",
            MultipartUpload={"Parts": [{"PartNumber": 1, "ETag": etag}]},
        )
    assert failure(error) == (412, "PreconditionFailed")
    assert s3.get_object(Bucket=repo, Key="main/a")["Body"].read() == b"first"


def test_completing_again_gives_the_same_answer(s3, repo):
    upload_id = s3.create_multipart_upload(Bucket=repo, Key="main/a")["UploadId"]
    etag = s3.upload_part(Bucket=repo, Key="main/a", UploadId=upload_id, PartNumber=1, Body=b"x")["ETag"]

    def complete():
        return s3.complete_multipart_upload(
            Bucket=repo, Key="main/a", UploadId=upload_id, MultipartUpload={"Parts": [{"PartNumber": 1, "ETag": etag}]}
        )

    assert complete()["ETag"] == complete()["ETag"]


def test_identical_completions_at_once_give_one_answer(s3, repo):
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        for n in range(10):
            key = f"main/{n}"
            upload_id = s3.create_multipart_upload(Bucket=repo, Key=key)["UploadId"]
            etag = s3.upload_part(Bucket=repo, Key=key, UploadId=upload_id, PartNumber=1, Body=b"x")["ETag"]
            answers = [
                pool.submit(
                    s3.complete_multipart_upload,
                    Bucket=repo,
                    Key=key,
                    UploadId=upload_id,
                    MultipartUpload={"Parts": [{"PartNumber": 1, "ETag": etag}]},
                )
                for _ in range(4)
            ]
            assert {answer.result()["ETag"] for answer in answers} == {joined_etag([b"x"])}
            s3.put_object(Bucket=repo, Key=key, Body=b"later")
            with pytest.raises(ClientError) as error:
                s3.complete_multipart_upload(
                    Bucket=repo, Key=key, UploadId=upload_id, MultipartUpload={"Parts": [{"PartNumber": 1, "ETag": etag}]}
                )
            assert failure(error) == (404, "NoSuchUpload")
            assert s3.get_object(Bucket=repo, Key=key)["Body"].read() == b"later"


def test_of_complete_and_abort_at_once_one_succeeds(s3, repo):
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        for n in range(10):
            key = f"main/{n}"
            upload_id = s3.create_multipart_upload(Bucket=repo, Key=key)["UploadId"]
            etag = s3.upload_part(Bucket=repo, Key=key, UploadId=upload_id, PartNumber=1, Body=b"x")["ETag"]
            completed = pool.submit(
                s3.complete_multipart_upload,
                Bucket=repo,
                Key=key,
                UploadId=upload_id,
                MultipartUpload={"Parts": [{"PartNumber": 1, "ETag": etag}]},
            )
            aborted = pool.submit(s3.abort_multipart_upload, Bucket=repo, Key=key, UploadId=upload_id)
            failed = [call.exception() for call in (completed, aborted)]
            assert [error is None for error in failed].count(True) == 1, failed
            loser = next(error for error in failed if error)
            assert loser.response["Error"]["Code"] == "NoSuchUpload"
            there = "Contents" in s3.list_objects_v2(Bucket=repo, Prefix=key)
            assert there == (failed[0] is None)

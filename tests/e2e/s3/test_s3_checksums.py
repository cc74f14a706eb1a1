"""Checksums of objects: what is computed, compared, kept and shown, through everything that happens to an object."""

import base64
import hashlib
import io
import os
import time
import zlib

import clients
import pytest
import s3_requests
from boto3.s3.transfer import TransferConfig
from botocore.exceptions import ClientError
from s3_requests import failure, signed

BODY = b"123456789"
KNOWN = {
    "CRC32": "y/Q5Jg==",
    "CRC32C": "4waSgw==",
    "CRC64NVME": "rosUhgp5mIg=",
    "SHA1": base64.b64encode(hashlib.sha1(BODY).digest()).decode(),
    "SHA256": base64.b64encode(hashlib.sha256(BODY).digest()).decode(),
}
PART = 5 * 1024 * 1024


@pytest.fixture
def repo(repo):
    return repo.id


def shown(s3, repo, key, **options):
    """The checksums that HEAD shows, by algorithm, and their type."""
    return checksums_in(s3.head_object(Bucket=repo, Key=key, ChecksumMode="ENABLED", **options))


def checksums_in(answer):
    return {a: answer["Checksum" + a] for a in KNOWN if "Checksum" + a in answer}, answer.get("ChecksumType")


def read_with_checksums(s3, repo, key, **options):
    """The bytes, which boto3 compares, and what shown() returns."""
    answer = s3.get_object(Bucket=repo, Key=key, ChecksumMode="ENABLED", **options)
    return answer["Body"].read(), *checksums_in(answer)


@pytest.mark.parametrize("algorithm", KNOWN)
def test_a_checksum_stays_with_its_object(tarn, s3, repo, algorithm):
    header = {f"x-amz-checksum-{algorithm.lower()}": KNOWN[algorithm]}
    put = signed(tarn, "PUT", f"/{repo}/main/a", header, BODY)
    assert put.headers[f"x-amz-checksum-{algorithm.lower()}"] == KNOWN[algorithm]
    expected = ({algorithm: KNOWN[algorithm]}, "FULL_OBJECT")
    assert shown(s3, repo, "main/a") == expected
    copied = s3.copy_object(Bucket=repo, Key="main/copy", CopySource=f"{repo}/main/a")
    assert copied["CopyObjectResult"]["Checksum" + algorithm] == KNOWN[algorithm]
    s3.copy_object(Bucket=repo, Key="main/new", CopySource=f"{repo}/main/a", MetadataDirective="REPLACE", Metadata={"k": "v"})
    other = repo + "-b"
    s3_requests.rest(tarn, "POST", "/repositories", json={"name": other, "storage_namespace": f"local://{other}"})
    s3.copy_object(Bucket=other, Key="main/foreign", CopySource=f"{repo}/main/a")
    s3_requests.create_branch(tarn, repo, "dev")
    s3.copy_object(Bucket=repo, Key="dev/merged", CopySource=f"{repo}/main/a")
    s3_requests.commit(tarn, repo, "main")
    commit = s3_requests.commit(tarn, repo, "dev")
    s3_requests.rest(tarn, "POST", f"/repositories/{repo}/refs/dev/merge/main", json={})
    for bucket, key in (
        (repo, "main/a"),
        (repo, "main/copy"),
        (repo, "main/new"),
        (repo, f"{commit}/merged"),
        (repo, "main/merged"),
        (other, "main/foreign"),
    ):
        assert shown(s3, bucket, key) == expected, key
    attributes = s3.get_object_attributes(Bucket=repo, Key="main/merged", ObjectAttributes=["Checksum"])
    assert attributes["Checksum"] == {"Checksum" + algorithm: KNOWN[algorithm], "ChecksumType": "FULL_OBJECT"}


def test_they_are_shown_only_when_asked_and_never_on_a_range(s3, repo):
    s3.put_object(Bucket=repo, Key="main/a", Body=BODY, ChecksumAlgorithm="SHA256")
    plain = s3.head_object(Bucket=repo, Key="main/a")["ResponseMetadata"]["HTTPHeaders"]
    ranged = s3.get_object(Bucket=repo, Key="main/a", Range="bytes=0-8", ChecksumMode="ENABLED")
    for headers in (plain, ranged["ResponseMetadata"]["HTTPHeaders"]):
        assert not [name for name in headers if name.startswith("x-amz-checksum")]


@pytest.mark.parametrize(
    "header,value",
    [
        ("crc32", "AAAAAA=="),
        ("crc32", "!"),
        ("crc32c", "y/Q5Jg=="),
        ("crc64nvme", "AAAA"),
        ("sha1", KNOWN["SHA256"]),
        ("sha256", base64.b64encode(bytes(32)).decode()),
    ],
)
def test_what_does_not_fit_is_refused(tarn, s3, repo, header, value):
    well_formed = {"crc32": "AAAAAA==", "crc32c": "y/Q5Jg==", "sha256": base64.b64encode(bytes(32)).decode()}
    answer = signed(tarn, "PUT", f"/{repo}/main/a", {f"x-amz-checksum-{header}": value}, BODY)
    code = "BadDigest" if well_formed.get(header) == value else "InvalidRequest"
    assert (answer.status, answer.code) == (400, code)
    with pytest.raises(ClientError):
        s3.head_object(Bucket=repo, Key="main/a")


@pytest.mark.parametrize("header,digest_bytes", [("md5", 16), ("sha512", 64), ("xxhash64", 8), ("xxhash3", 8), ("xxhash128", 16)])
def test_one_that_cannot_be_verified_is_not_implemented(tarn, repo, header, digest_bytes):
    value = base64.b64encode(bytes(digest_bytes)).decode()
    answer = signed(tarn, "PUT", f"/{repo}/main/a", {f"x-amz-checksum-{header}": value}, BODY)
    assert (answer.status, answer.code) == (501, "NotImplemented")
    assert signed(tarn, "HEAD", f"/{repo}/main/a").status == 404


def begin(s3, repo, key="main/a", **options):
    return s3.create_multipart_upload(Bucket=repo, Key=key, **options)


def send_parts(s3, repo, upload, parts, key="main/a", **options):
    return [
        {
            "PartNumber": n,
            **{
                k: v
                for k, v in s3.upload_part(Bucket=repo, Key=key, UploadId=upload, PartNumber=n, Body=body, **options).items()
                if k == "ETag" or (k.startswith("Checksum") and k != "ChecksumType")
            },
        }
        for n, body in enumerate(parts, 1)
    ]


def complete(s3, repo, upload, parts, key="main/a", **options):
    return s3.complete_multipart_upload(Bucket=repo, Key=key, UploadId=upload, MultipartUpload={"Parts": parts}, **options)


@pytest.mark.parametrize(
    "algorithm,kind",
    [
        ("CRC64NVME", "FULL_OBJECT"),
        ("CRC32", "COMPOSITE"),
        ("CRC32C", "COMPOSITE"),
        ("SHA1", "COMPOSITE"),
        ("SHA256", "COMPOSITE"),
    ],
)
def test_each_algorithm_has_its_kind_when_none_is_named(s3, repo, algorithm, kind):
    created = begin(s3, repo, ChecksumAlgorithm=algorithm)
    assert (created["ChecksumAlgorithm"], created["ChecksumType"]) == (algorithm, kind)
    parts = send_parts(s3, repo, created["UploadId"], [b"x" * PART, BODY], ChecksumAlgorithm=algorithm)
    listed = s3.list_parts(Bucket=repo, Key="main/a", UploadId=created["UploadId"])
    assert [p["Checksum" + algorithm] for p in listed["Parts"]] == [p["Checksum" + algorithm] for p in parts]
    done = complete(s3, repo, created["UploadId"], parts)
    assert shown(s3, repo, "main/a") == ({algorithm: done["Checksum" + algorithm]}, kind)
    s3.copy_object(Bucket=repo, Key="main/copy", CopySource=f"{repo}/main/a")
    assert shown(s3, repo, "main/copy") == shown(s3, repo, "main/a")


@pytest.mark.parametrize("algorithm", ["SHA1", "SHA256"])
def test_hashes_cannot_be_merged_to_the_whole(s3, repo, algorithm):
    with pytest.raises(ClientError) as error:
        begin(s3, repo, ChecksumAlgorithm=algorithm, ChecksumType="FULL_OBJECT")
    assert failure(error) == (400, "InvalidRequest")


def test_an_upload_without_algorithm_gets_one_of_the_whole(tarn, s3, repo):
    parts = [b"x" * PART, BODY]
    upload = begin(s3, repo)["UploadId"]
    etags = []
    for number, body in enumerate(parts, 1):
        sent = signed(tarn, "PUT", f"/{repo}/main/a?partNumber={number}&uploadId={upload}", body=body)
        etags.append({"PartNumber": number, "ETag": sent.headers["etag"]})
    done = complete(s3, repo, upload, etags)
    signed(tarn, "PUT", f"/{repo}/main/whole", body=b"".join(parts))
    assert shown(s3, repo, "main/a") == shown(s3, repo, "main/whole")
    assert shown(s3, repo, "main/a") == ({"CRC64NVME": done["ChecksumCRC64NVME"]}, "FULL_OBJECT")


def test_parts_are_held_to_the_algorithm_of_their_upload(tarn, s3, repo):
    upload = begin(s3, repo, ChecksumAlgorithm="CRC32")["UploadId"]
    target = f"/{repo}/main/a?partNumber=1&uploadId={upload}"
    other = signed(tarn, "PUT", target, {"x-amz-checksum-sha1": KNOWN["SHA1"]}, BODY)
    assert (other.status, other.code) == (400, "InvalidRequest")
    wrong = signed(tarn, "PUT", target, {"x-amz-checksum-crc32": "AAAAAA=="}, BODY)
    assert (wrong.status, wrong.code) == (400, "BadDigest")
    # One that names none still has the digest that completion joins.
    assert signed(tarn, "PUT", target, body=BODY).status == 200
    listed = s3.list_parts(Bucket=repo, Key="main/a", UploadId=upload)["Parts"][0]
    assert listed["ChecksumCRC32"] == KNOWN["CRC32"]
    with pytest.raises(ClientError) as error:
        complete(s3, repo, upload, [{"PartNumber": 1, "ETag": listed["ETag"], "ChecksumCRC32": "AAAAAA=="}])
    assert failure(error) == (400, "InvalidPart")
    with pytest.raises(ClientError) as error:
        complete(s3, repo, upload, [{"PartNumber": 1, "ETag": listed["ETag"]}], MpuObjectSize=10)
    assert failure(error) == (400, "InvalidRequest")
    with pytest.raises(ClientError) as error:
        complete(s3, repo, upload, [{"PartNumber": 1, "ETag": listed["ETag"]}], ChecksumCRC32="AAAAAA==-1")
    assert failure(error) == (400, "BadDigest")
    composite = base64.b64encode(zlib.crc32(base64.b64decode(KNOWN["CRC32"])).to_bytes(4, "big")).decode() + "-1"
    done = complete(s3, repo, upload, [{"PartNumber": 1, "ETag": listed["ETag"]}], MpuObjectSize=9, ChecksumCRC32=composite)
    assert done["ChecksumCRC32"] == composite


@pytest.mark.parametrize("algorithm", KNOWN)
def test_copied_parts_have_checksums(s3, repo, algorithm):
    """Of ranges, which are read, and of whole objects, which are only pointed at when they have the checksum."""
    s3.put_object(Bucket=repo, Key="main/large", Body=os.urandom(PART), ChecksumAlgorithm="CRC64NVME")
    s3.put_object(Bucket=repo, Key="main/source", Body=b"__" + BODY + b"__", ChecksumAlgorithm="CRC64NVME")
    upload = begin(s3, repo, ChecksumAlgorithm=algorithm)["UploadId"]
    first = s3.upload_part_copy(Bucket=repo, Key="main/a", UploadId=upload, PartNumber=1, CopySource=f"{repo}/main/large")
    second = s3.upload_part_copy(
        Bucket=repo, Key="main/a", UploadId=upload, PartNumber=2, CopySource=f"{repo}/main/source", CopySourceRange="bytes=2-10"
    )
    copied = [first["CopyPartResult"], second["CopyPartResult"]]
    assert copied[1]["Checksum" + algorithm] == KNOWN[algorithm]
    listed = s3.list_parts(Bucket=repo, Key="main/a", UploadId=upload)["Parts"]
    assert [p["Checksum" + algorithm] for p in listed] == [p["Checksum" + algorithm] for p in copied]
    done = complete(
        s3,
        repo,
        upload,
        [
            {"PartNumber": n, "ETag": part["ETag"], "Checksum" + algorithm: part["Checksum" + algorithm]}
            for n, part in enumerate(copied, 1)
        ],
    )
    assert done["Checksum" + algorithm]
    assert shown(s3, repo, "main/a")[0] == {algorithm: done["Checksum" + algorithm]}


@pytest.mark.parametrize("algorithm", KNOWN)
def test_a_copy_gets_the_checksum_that_it_asks_for(tarn, s3, repo, algorithm):
    other = next(name for name in KNOWN if name != algorithm)
    s3.put_object(Bucket=repo, Key="main/a", Body=BODY, ChecksumAlgorithm=other)
    copied = s3.copy_object(Bucket=repo, Key="main/b", CopySource=f"{repo}/main/a", ChecksumAlgorithm=algorithm)
    expected = {algorithm: KNOWN[algorithm]}, "FULL_OBJECT"
    assert checksums_in(copied["CopyObjectResult"]) == expected
    assert shown(s3, repo, "main/b") == expected
    assert read_with_checksums(s3, repo, "main/b") == (BODY, *expected)
    assert shown(s3, repo, "main/a") == ({other: KNOWN[other]}, "FULL_OBJECT")
    s3.copy_object(
        Bucket=repo,
        Key="main/a",
        CopySource=f"{repo}/main/a",
        ChecksumAlgorithm=algorithm,
        MetadataDirective="REPLACE",
        Metadata={"k": "v"},
    )
    assert shown(s3, repo, "main/a") == expected
    refused = signed(tarn, "PUT", f"/{repo}/main/c", {"x-amz-copy-source": f"{repo}/main/a", "x-amz-checksum-algorithm": "MD5"})
    assert (refused.status, refused.code) == (400, "InvalidRequest")


@pytest.mark.parametrize("kind", ["COMPOSITE", "FULL_OBJECT"])
def test_a_part_says_of_what_type_the_checksum_of_its_object_is(s3, repo, kind):
    upload = begin(s3, repo, ChecksumAlgorithm="CRC32", ChecksumType=kind)["UploadId"]
    parts = [
        s3.upload_part(Bucket=repo, Key="main/a", UploadId=upload, PartNumber=number, Body=body, ChecksumAlgorithm="CRC32")
        for number, body in ((1, b"x" * PART), (2, BODY))
    ]
    complete(
        s3,
        repo,
        upload,
        [{"PartNumber": n, "ETag": part["ETag"], "ChecksumCRC32": part["ChecksumCRC32"]} for n, part in enumerate(parts, 1)],
    )
    assert shown(s3, repo, "main/a")[1] == kind
    assert shown(s3, repo, "main/a", PartNumber=2) == ({"CRC32": KNOWN["CRC32"]}, kind)
    assert read_with_checksums(s3, repo, "main/a", PartNumber=2) == (BODY, {"CRC32": KNOWN["CRC32"]}, kind)
    attributes = s3.get_object_attributes(Bucket=repo, Key="main/a", ObjectAttributes=["Checksum", "ObjectParts"])
    assert attributes["Checksum"]["ChecksumType"] == kind
    assert attributes["ObjectParts"]["Parts"][1]["ChecksumCRC32"] == KNOWN["CRC32"]


def test_an_upload_of_one_part_shows_it(s3, repo):
    upload = begin(s3, repo, ChecksumAlgorithm="CRC32", ChecksumType="FULL_OBJECT")["UploadId"]
    part = s3.upload_part(Bucket=repo, Key="main/a", UploadId=upload, PartNumber=1, Body=BODY, ChecksumAlgorithm="CRC32")
    complete(s3, repo, upload, [{"PartNumber": 1, "ETag": part["ETag"], "ChecksumCRC32": part["ChecksumCRC32"]}])
    parts = s3.get_object_attributes(Bucket=repo, Key="main/a", ObjectAttributes=["ObjectParts"])["ObjectParts"]
    assert parts["TotalPartsCount"] == 1
    assert parts["Parts"] == [{"PartNumber": 1, "Size": len(BODY), "ChecksumCRC32": KNOWN["CRC32"]}]
    assert s3.head_object(Bucket=repo, Key="main/a", PartNumber=1)["PartsCount"] == 1
    s3.put_object(Bucket=repo, Key="main/b", Body=BODY)
    assert "ObjectParts" not in s3.get_object_attributes(Bucket=repo, Key="main/b", ObjectAttributes=["ObjectParts"])


def test_an_import_shows_what_its_source_keeps(tarn_s3, versitygw, name):
    """HEAD asks the source, which says it to GET with the bytes; a source that changed since has nothing to say about
    what was imported."""
    source, s3 = clients.boto3_client(versitygw), clients.boto3_client(tarn_s3)
    large = os.urandom(3 * PART)
    source.upload_fileobj(
        io.BytesIO(large),
        "lake",
        f"in-{name}/large",
        ExtraArgs={"ChecksumAlgorithm": "CRC32"},
        Config=TransferConfig(multipart_threshold=PART, multipart_chunksize=PART),
    )
    for key, algorithm in (("crc", "CRC32C"), ("sha", "SHA256"), ("changed", "CRC32")):
        source.put_object(Bucket="lake", Key=f"in-{name}/{key}", Body=BODY, ChecksumAlgorithm=algorithm)
    kept = source.head_object(Bucket="lake", Key=f"in-{name}/crc", ChecksumMode="ENABLED")
    assert kept["ChecksumCRC32C"] == KNOWN["CRC32C"], "the store keeps them"
    rest = s3_requests.rest
    rest(tarn_s3, "POST", "/repositories", json={"name": name, "storage_namespace": f"s3://lake/{name}"})
    job = rest(
        tarn_s3,
        "POST",
        f"/repositories/{name}/branches/main/import",
        json={
            "paths": [{"type": "common_prefix", "path": f"s3://lake/in-{name}/", "destination": "d/"}],
            "commit": {"message": "m"},
        },
    )["id"]
    for _ in range(200):
        status = rest(tarn_s3, "GET", f"/repositories/{name}/branches/main/import", params={"id": job})
        if status["completed"]:
            break
        time.sleep(0.1)
    assert status["completed"] and "error" not in status, status
    assert shown(s3, name, "main/d/crc") == ({"CRC32C": KNOWN["CRC32C"]}, "FULL_OBJECT")
    assert shown(s3, name, "main/d/sha") == ({"SHA256": KNOWN["SHA256"]}, "FULL_OBJECT")
    assert read_with_checksums(s3, name, "main/d/crc") == (BODY, {"CRC32C": KNOWN["CRC32C"]}, "FULL_OBJECT")
    assert read_with_checksums(s3, name, "main/d/sha") == (BODY, {"SHA256": KNOWN["SHA256"]}, "FULL_OBJECT")
    assert read_with_checksums(s3, name, "main/d/crc", Range="bytes=0-8") == (BODY, {}, None)
    assert read_with_checksums(s3, name, "main/d/large") == (large, *shown(s3, name, "main/d/large"))
    assert shown(s3, name, "main/d/large")[0]
    assert "ChecksumCRC32C" not in s3.get_object(Bucket=name, Key="main/d/crc", ChecksumMode="DISABLED")
    source.put_object(Bucket="lake", Key=f"in-{name}/changed", Body=b"other", ChecksumAlgorithm="CRC32")
    assert shown(s3, name, "main/d/changed") == ({}, None)
    with pytest.raises(ClientError) as error:
        s3.get_object(Bucket=name, Key="main/d/changed", ChecksumMode="ENABLED")
    assert failure(error) == (410, "SourceChanged")

"""Every operation of ObjectsApi and StagingApi, and what other API classes do with objects: effect and refusal."""

import hashlib

import pytest
import requests
from lakefs_sdk import models
from sdk import refused


def md5(data):
    return hashlib.md5(data).hexdigest()


def paths(sdk, repo, ref="main"):
    return [item.path for item in sdk.objects.list_objects(repo.id, ref).results]


# ObjectsApi


def test_upload_object(sdk, repo, upload):
    made = upload("dir/a", "hello")
    assert (made.path, made.path_type, made.size_bytes, made.checksum) == ("dir/a", "object", 5, md5(b"hello"))
    assert made.physical_address.startswith(repo.properties.storage_namespace + "/data/")
    assert sdk.objects.get_object(repo.id, "main", "dir/a") == b"hello"
    assert upload("b", "", if_none_match="*").checksum == md5(b"")
    for status, options in ((412, {"if_none_match": "*"}), (501, {"if_match": "x"}), (501, {"if_none_match": '"x"'})):
        refused(status, upload, "dir/a", "other", **options)
    assert sdk.objects.get_object(repo.id, "main", "dir/a") == b"hello"
    refused(404, upload, "a", branch="nope", code="branch_not_found")
    refused(400, upload, "x" * 1025)


def test_get_object(sdk, repo, upload):
    upload("a", "0123456789")
    answer = sdk.objects.get_object_with_http_info(repo.id, "main", "a")
    assert answer.data == b"0123456789"
    assert answer.headers["ETag"] == f'"{md5(b"0123456789")}"' and answer.headers["Content-Length"] == "10"
    part = sdk.objects.get_object_with_http_info(repo.id, "main", "a", range="bytes=2-4")
    assert (part.data, part.status_code, part.headers["Content-Range"]) == (b"234", 206, "bytes 2-4/10")
    # The SDK takes "not modified" for an exception.
    refused(304, sdk.objects.get_object, repo.id, "main", "a", if_none_match=answer.headers["ETag"])
    past = refused(416, sdk.objects.get_object, repo.id, "main", "a", range="bytes=10-")
    assert dict(past.headers)["Content-Range"] == "bytes */10"
    refused(404, sdk.objects.get_object, repo.id, "main", "nope", code="object_not_found")
    refused(404, sdk.objects.get_object, repo.id, "nope", "a", code="object_not_found")


def test_head_object(sdk, repo, upload):
    made = upload("a", "hello")
    answer = sdk.objects.head_object_with_http_info(repo.id, "main", "a")
    assert (answer.headers["Content-Length"], answer.headers["ETag"]) == ("5", f'"{made.checksum}"')
    assert sdk.objects.head_object_with_http_info(repo.id, "main", "a", range="bytes=1-2").status_code == 206
    refused(404, sdk.objects.head_object, repo.id, "main", "nope")


def test_stat_object(sdk, repo, upload):
    made = upload("dir/a")
    found = sdk.objects.stat_object(repo.id, "main", "dir/a")
    assert (found, found.metadata) == (made, {})
    refused(404, sdk.objects.stat_object, repo.id, "main", "dir/", code="object_not_found")


def test_list_objects(sdk, repo, upload):
    made = {path: upload(path) for path in ("a", "dir/b", "dir/c", "e")}
    listed = sdk.objects.list_objects(repo.id, "main").results
    assert {item.path: item.checksum for item in listed} == {path: stats.checksum for path, stats in made.items()}
    folded = sdk.objects.list_objects(repo.id, "main", delimiter="/", amount=2)
    assert [(item.path, item.path_type) for item in folded.results] == [("a", "object"), ("dir/", "common_prefix")]
    assert (folded.pagination.has_more, folded.pagination.next_offset) == (True, "dir/")
    rest = sdk.objects.list_objects(repo.id, "main", delimiter="/", after="dir/").results
    assert [item.path for item in rest] == ["e"]
    below = sdk.objects.list_objects(repo.id, "main", prefix="dir/").results
    assert [item.path for item in below] == ["dir/b", "dir/c"]
    refused(404, sdk.objects.list_objects, repo.id, "nope", code="ref_not_found")


def test_copy_object(sdk, repo, upload):
    upload("a", "hello")
    sdk.branches.create_branch(repo.id, models.BranchCreation(name="dev", source="main"))
    copied = sdk.objects.copy_object(repo.id, "dev", "b", models.ObjectCopyCreation(src_path="a", src_ref="main"))
    assert (copied.path, copied.checksum) == ("b", md5(b"hello"))
    assert sdk.objects.stat_object(repo.id, "dev", "b") == copied
    assert sdk.objects.get_object(repo.id, "dev", "b") == b"hello"
    refused(404, sdk.objects.copy_object, repo.id, "main", "c", models.ObjectCopyCreation(src_path="nope"))
    refused(404, sdk.objects.copy_object, repo.id, "nope", "c", models.ObjectCopyCreation(src_path="a", src_ref="main"))
    assert paths(sdk, repo) == ["a"] and paths(sdk, repo, "dev") == ["b"]


def test_delete_object(sdk, repo, upload):
    upload("a")
    assert sdk.objects.delete_object(repo.id, "main", "a") is None
    assert paths(sdk, repo) == []
    assert sdk.objects.delete_object(repo.id, "main", "a") is None
    refused(404, sdk.objects.delete_object, repo.id, "nope", "a", code="branch_not_found")


def test_delete_objects(sdk, repo, upload):
    for path in ("a", "b", "c"):
        upload(path)
    assert sdk.objects.delete_objects(repo.id, "main", models.PathList(paths=["a", "c", "nope"])).errors == []
    assert paths(sdk, repo) == ["b"]
    refused(400, sdk.objects.delete_objects, repo.id, "main", models.PathList(paths=[str(n) for n in range(1001)]), says="1000")
    assert paths(sdk, repo) == ["b"]


def test_get_underlying_properties(sdk, repo, upload):
    upload("a")
    assert sdk.objects.get_underlying_properties(repo.id, "main", "a").storage_class is None
    refused(404, sdk.objects.get_underlying_properties, repo.id, "main", "nope", code="object_not_found")


@pytest.mark.parametrize("api", ["objects", "experimental"])
def test_update_object_user_metadata(sdk, repo, upload, api):
    update = getattr(sdk, api).update_object_user_metadata
    before = upload("a", "hello")
    sdk.commits.commit(repo.id, "main", models.CommitCreation(message="m"))
    update(repo.id, "main", "a", models.UpdateObjectUserMetadata(set={"Key": "v"}))
    after = sdk.objects.stat_object(repo.id, "main", "a")
    assert after.metadata == {"Key": "v"} and after.checksum == before.checksum
    assert [d.type for d in sdk.branches.diff_branch(repo.id, "main").results] == ["changed"]
    refused(404, update, repo.id, "main", "nope", models.UpdateObjectUserMetadata(set={}), code="object_not_found")


# InternalApi, what concerns objects


def test_stage_object(sdk, repo, upload):
    source = upload("a", "hello")
    stage = models.ObjectStageCreation(
        physical_address=source.physical_address,
        checksum=source.checksum,
        size_bytes=5,
        mtime=1700000000,
        metadata={"k": "v"},
        content_type="text/plain",
    )
    made = sdk.internal.stage_object(repo.id, "main", "b", stage)
    assert (made.checksum, made.mtime, made.content_type) == (source.checksum, 1700000000, "text/plain")
    found = sdk.objects.stat_object(repo.id, "main", "b")
    assert (found.metadata, found.mtime) == ({"k": "v"}, 1700000000)
    assert sdk.objects.get_object(repo.id, "main", "b") == b"hello"
    foreign = stage.copy(update={"physical_address": "elsewhere://x/y"})
    refused(400, sdk.internal.stage_object, repo.id, "main", "c", foreign)
    refused(404, sdk.internal.stage_object, repo.id, "nope", "c", stage, code="branch_not_found")
    assert paths(sdk, repo) == ["a", "b"]


def test_upload_object_preflight(sdk, repo):
    assert sdk.internal.upload_object_preflight(repo.id, "main", "a") is None
    assert paths(sdk, repo) == []
    refused(404, sdk.internal.upload_object_preflight, "no-such-repository", "main", "a", code="repository_not_found")


def test_create_symlink_file(tarn, sdk, repo, upload):
    upload("table/part-1")
    before = set(tarn.stored())
    made = sdk.internal.create_symlink_file(repo.id, "main", location="table")
    assert made.location.startswith(repo.properties.storage_namespace)
    assert [name for name in set(tarn.stored()) - before if name.endswith("symlink.txt")]
    refused(404, sdk.internal.create_symlink_file, repo.id, "nope", code="ref_not_found")


# StagingApi


def test_get_physical_address(sdk, repo):
    first = sdk.staging.get_physical_address(repo.id, "main", "a")
    second = sdk.staging.get_physical_address(repo.id, "main", "a")
    for place in (first, second):
        assert place.physical_address.startswith(repo.properties.storage_namespace + "/data/")
    assert first.physical_address != second.physical_address and paths(sdk, repo) == []
    refused(404, sdk.staging.get_physical_address, "no-such-repository", "main", "a", code="repository_not_found")


def test_link_physical_address(sdk, repo):
    def handed_out():
        place = sdk.staging.get_physical_address(repo.id, "main", "a", presign=True)
        assert requests.put(place.presigned_url, data=b"hello", timeout=60).status_code == 200
        return place

    empty = sdk.staging.get_physical_address(repo.id, "main", "a")
    refused(
        400,
        sdk.staging.link_physical_address,
        repo.id,
        "main",
        "a",
        models.StagingMetadata(staging=empty, checksum="abc", size_bytes=5),
        code="link_address_empty",
    )
    place = handed_out()
    for false in ({"checksum": "0" * 32, "size_bytes": 5}, {"checksum": "abc", "size_bytes": 4}):
        refused(
            400,
            sdk.staging.link_physical_address,
            repo.id,
            "main",
            "a",
            models.StagingMetadata(staging=place, **false),
            code="link_address_differs",
        )
    staging = models.StagingMetadata(staging=place, checksum='"abc"', size_bytes=5, user_metadata={"Key": "v"})
    made = sdk.staging.link_physical_address(repo.id, "main", "a", staging)
    assert (made.checksum, made.size_bytes, made.physical_address) == (md5(b"hello"), 5, place.physical_address)
    assert sdk.objects.stat_object(repo.id, "main", "a").metadata == {"Key": "v"}
    again = sdk.staging.link_physical_address(repo.id, "main", "a", staging, if_none_match="*")
    assert again.checksum == md5(b"hello"), "a link that is sent again succeeds while the path shows its address"
    other = models.StagingMetadata(staging=handed_out(), checksum="abc", size_bytes=5)
    refused(412, sdk.staging.link_physical_address, repo.id, "main", "a", other, if_none_match="*")
    refused(404, sdk.staging.link_physical_address, repo.id, "nope", "a", staging)
    refused(400, sdk.staging.link_physical_address, repo.id, "main", "other", staging)
    assert paths(sdk, repo) == ["a"]


def test_presigned_bytes_arrive(sdk, repo):
    place = sdk.staging.get_physical_address(repo.id, "main", "a", presign=True)
    answer = requests.put(place.presigned_url, data=b"hello", timeout=60)
    assert answer.status_code == 200 and answer.headers["ETag"].strip('"') == md5(b"hello")
    staging = models.StagingMetadata(staging=place, checksum=answer.headers["ETag"], size_bytes=5)
    made = sdk.staging.link_physical_address(repo.id, "main", "a", staging)
    assert made.checksum == md5(b"hello") and sdk.objects.get_object(repo.id, "main", "a") == b"hello"
    found = sdk.objects.stat_object(repo.id, "main", "a", presign=True)
    assert requests.get(found.physical_address, timeout=60).content == b"hello"
    assert sdk.objects.get_object(repo.id, "main", "a", presign=True) == b"hello"
    assert [item.physical_address[:4] for item in sdk.objects.list_objects(repo.id, "main", presign=True).results] == ["http"]


# ExperimentalApi: presigned multipart uploads


def put_part(url, data):
    answer = requests.put(url, data=data, timeout=60)
    assert answer.status_code == 200
    return answer.headers["ETag"]


def test_complete_presign_multipart_upload(sdk, repo):
    api = sdk.experimental
    upload = api.create_presign_multipart_upload(repo.id, "main", "big", parts=2)
    assert upload.upload_id and len(upload.presigned_urls) == 2 and paths(sdk, repo) == []
    etags = [put_part(url, data) for url, data in zip(upload.presigned_urls, (b"a" * 5_242_880, b"end"), strict=True)]
    parts = [models.UploadPart(part_number=number, etag=etag) for number, etag in enumerate(etags, 1)]
    complete = models.CompletePresignMultipartUpload(
        physical_address=upload.physical_address, parts=parts, user_metadata={"Key": "v"}, content_type="text/plain"
    )
    made = api.complete_presign_multipart_upload(repo.id, "main", upload.upload_id, "big", complete)
    assert (made.size_bytes, made.content_type) == (5_242_883, "text/plain")
    assert sdk.objects.get_object(repo.id, "main", "big", range="bytes=5242878-") == b"aaend"
    assert sdk.objects.stat_object(repo.id, "main", "big").metadata == {"Key": "v"}
    refused(404, api.create_presign_multipart_upload, repo.id, "nope", "big", parts=1, code="branch_not_found")
    refused(
        400, api.complete_presign_multipart_upload, repo.id, "main", upload.upload_id, "big", complete.copy(update={"parts": []})
    )


def test_abort_presign_multipart_upload(sdk, repo):
    api = sdk.experimental
    upload = api.create_presign_multipart_upload(repo.id, "main", "big", parts=1)
    etag = put_part(upload.presigned_urls[0], b"data")
    abort = models.AbortPresignMultipartUpload(physical_address=upload.physical_address)
    assert api.abort_presign_multipart_upload(repo.id, "main", upload.upload_id, "big", abort) is None
    complete = models.CompletePresignMultipartUpload(
        physical_address=upload.physical_address, parts=[models.UploadPart(part_number=1, etag=etag)]
    )
    refused(404, api.complete_presign_multipart_upload, repo.id, "main", upload.upload_id, "big", complete)
    assert paths(sdk, repo) == []
    refused(404, api.abort_presign_multipart_upload, repo.id, "nope", upload.upload_id, "big", abort)


def test_upload_part(sdk, repo):
    api = sdk.experimental
    upload = api.create_presign_multipart_upload(repo.id, "main", "big")
    assert not upload.presigned_urls
    where = models.UploadPartFrom(physical_address=upload.physical_address)
    to = api.upload_part(repo.id, "main", upload.upload_id, "big", 1, where)
    etag = put_part(to.presigned_url, b"data")
    complete = models.CompletePresignMultipartUpload(
        physical_address=upload.physical_address, parts=[models.UploadPart(part_number=1, etag=etag)]
    )
    api.complete_presign_multipart_upload(repo.id, "main", upload.upload_id, "big", complete)
    assert sdk.objects.get_object(repo.id, "main", "big") == b"data"
    refused(404, api.upload_part, repo.id, "main", "no-such-upload", "big", 1, where)


def test_upload_part_copy(sdk, repo, upload):
    api = sdk.experimental
    upload("source", "0123456789")
    begun = api.create_presign_multipart_upload(repo.id, "main", "big")
    source = models.CopyPartSource(repository=repo.id, ref="main", path="source", range="bytes=2-4")
    where = models.UploadPartCopyFrom(physical_address=begun.physical_address, copy_source=source)
    copied = api.upload_part_copy_with_http_info(repo.id, "main", begun.upload_id, "big", 1, where)
    complete = models.CompletePresignMultipartUpload(
        physical_address=begun.physical_address, parts=[models.UploadPart(part_number=1, etag=copied.headers["ETag"])]
    )
    api.complete_presign_multipart_upload(repo.id, "main", begun.upload_id, "big", complete)
    assert sdk.objects.get_object(repo.id, "main", "big") == b"234"
    missing = where.copy(update={"copy_source": source.copy(update={"path": "nope"})})
    refused(404, api.upload_part_copy, repo.id, "main", begun.upload_id, "big", 1, missing)

"""The table of what S3 clients rely on, and the bucket that each behaviour is tried on."""

import urllib.parse

import clients
import pytest
import s3_requests
from botocore.exceptions import ClientError
from s3_requests import signed

MEBIBYTE = 1 << 20
LEAST_PART = 5 * MEBIBYTE
EMPTY_MD5 = '"d41d8cd98f00b204e9800998ecf8427e"'


class Bucket:
    """A bucket with the branch "main" behind it; `root` stands before every path."""

    def __init__(self, tarn, repo, root):
        self.tarn, self.repo, self.root = tarn, repo, root
        self.name = repo if root else repo + ".main"
        self.s3 = clients.boto3_client(tarn)

    def at(self, path="a"):
        return {"Bucket": self.name, "Key": self.root + path}

    def call(self, operation, path="a", **arguments):
        return getattr(self.s3, operation)(**self.at(path), **arguments)

    def put(self, path="a", body=b"0123456789", **arguments):
        return self.call("put_object", path, Body=body, **arguments)

    def read(self, path="a", **arguments):
        return self.call("get_object", path, **arguments)["Body"].read()

    def fails(self, operation, path="a", **arguments):
        """(status, code) of a call that must fail; on the bucket when `path` is None."""
        where = {"Bucket": self.name} if path is None else self.at(path)
        with pytest.raises(ClientError) as caught:
            getattr(self.s3, operation)(**where, **arguments)
        response = caught.value.response
        return response["ResponseMetadata"]["HTTPStatusCode"], response["Error"]["Code"]

    def target(self, path, query=""):
        key = "" if path is None else "/" + urllib.parse.quote(self.root + path, safe="/")
        return f"/{self.name}{key}" + (f"?{query}" if query else "")

    def raw(self, method, path="a", query="", headers=None, body=b"", **options):
        """A signed request exactly as given; path None is the bucket itself."""
        return signed(self.tarn, method, self.target(path, query), headers, body, **options)

    def listed(self, **arguments):
        page = self.s3.list_objects_v2(Bucket=self.name, Prefix=self.root + arguments.pop("prefix", ""), **arguments)
        return [o["Key"].removeprefix(self.root) for o in page.get("Contents", [])]

    def upload(self, path="a", **arguments):
        return self.call("create_multipart_upload", path, **arguments)["UploadId"]

    def part(self, upload, number, body, path="a", **arguments):
        return self.call("upload_part", path, UploadId=upload, PartNumber=number, Body=body, **arguments)["ETag"]

    def parts(self, *etags):
        return {"Parts": [{"PartNumber": i, "ETag": etag} for i, etag in enumerate(etags, 1)]}

    def rest(self, method, path, **options):
        return s3_requests.rest(self.tarn, method, f"/repositories/{self.repo}{path}", **options)

    def commit(self):
        return s3_requests.commit(self.tarn, self.repo)


# Each behaviour once, and those of them again that a bucket of a branch alone shows too.
BEHAVIOURS, AGAIN = [], []


def behaviour(text, only=None):
    """Registers a check under what it shows; `only` "plain" or "rooted" where the other form has no such thing."""

    def add(check):
        form = only or "plain"
        BEHAVIOURS.append(pytest.param(form, check, id=f"{form}: {text}"))
        if only is None:
            AGAIN.append(pytest.param("rooted", check, id=f"rooted: {text}"))
        return check

    return add

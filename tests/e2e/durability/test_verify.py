"""tarn verify: objects lost and changed in a local and in an S3 store; reads that notice changed bytes."""

import io
import uuid

import boto3.s3.transfer
import clients
import lakefs_sdk
import pytest
import requests
import servers
from botocore.exceptions import BotoCoreError, ClientError
from command import Cli
from long_tests import LONG

PART = 5 << 20
LARGE = 64 << 20
INTACT, DAMAGED = 0, 22


def file_of(directory, address):
    """The file of local://name/... or, in versitygw, of s3://bucket/..."""
    return directory / address.split("://", 1)[1]


def flip(path, at):
    path.chmod(0o644)
    with path.open("r+b") as file:
        file.seek(at)
        byte = file.read(1)[0]
        file.seek(at)
        file.write(bytes([byte ^ 1]))


class Lake:
    """A repository of a server, and the files of its store."""

    def __init__(self, server, files, namespace, home):
        self.server, self.files = server, files
        self.name = f"verify-{uuid.uuid4().hex[:12]}"
        self.cli = Cli(server, home, self.name)
        self.cli.run("repo", "create", f"tarn://{self.name}", f"{namespace}{self.name}")
        self.s3 = clients.boto3_client(server)

    def put(self, path, body, ref="main"):
        self.s3.put_object(Bucket=self.name, Key=f"{ref}/{path}", Body=body)

    def commit(self, ref="main"):
        self.cli.run("commit", ref, "-m", "state")

    def stored(self, path, ref="main"):
        url = f"{self.server.url}/api/v1/repositories/{self.name}/refs/{ref}/objects/stat"
        stat = requests.get(url, params={"path": path}, auth=(self.server.access_key, self.server.secret_key), timeout=60)
        return file_of(self.files, stat.json()["physical_address"])

    def verify(self, *options, status=INTACT):
        return self.cli.json("verify", self.name, *options, status=status)

    def found(self, *options):
        return [(item["kind"], item["path"], item["refs"]) for item in self.verify(*options, status=DAMAGED)["findings"]]


@pytest.fixture(params=["local", "s3"])
def lake(request, scratch_dir):
    if request.param == "local":
        server = request.getfixturevalue("tarn")
        return Lake(server, server.objects_dir, "local://", scratch_dir)
    gateway = request.getfixturevalue("versitygw")
    return Lake(request.getfixturevalue("tarn_s3"), gateway.buckets, "s3://lake/", scratch_dir)


def test_lost_and_changed_objects_are_found(lake):
    for number in range(200):
        lake.put(f"data/{number:03}", b"%d" % number)
    lake.s3.upload_fileobj(
        io.BytesIO(b"p" * (PART + 7)),
        lake.name,
        "main/big",
        Config=boto3.s3.transfer.TransferConfig(multipart_threshold=PART, multipart_chunksize=PART),
    )
    lake.commit()
    lake.cli.run("branch", "create", "exp", "--source", "main")
    lake.put("data/100", b"on exp", "exp")
    lake.commit("exp")
    lake.put("staged", b"staged", "exp")
    report = lake.verify("--objects", "all", "--deep")
    assert report["state"] == "done" and report["errors"] == report["warnings"] == 0 and report["findings"] == []
    assert report["examined"]["objects_compared"] == 204
    assert "0 errors, 0 warnings" in lake.cli.run("verify", lake.name).talk

    lake.stored("data/100").unlink()
    lake.stored("staged", "exp").unlink()
    with lake.stored("data/150").open("r+b") as file:
        file.truncate(1)
    assert sorted(lake.found()) == [
        ("object_missing", "data/100", ["main"]),
        ("object_missing", "staged", ["exp"]),
        ("object_size", "data/150", ["main", "exp"]),
    ]
    assert sorted(lake.found("--ref", "main")) == [
        ("object_missing", "data/100", ["main"]),
        ("object_size", "data/150", ["main"]),
    ]
    assert lake.verify("--objects", "none")["errors"] == 0
    table = lake.cli.run("verify", lake.name, status=DAMAGED)
    assert "object_missing" in table.text and "data/100" in table.text and "3 errors" in table.talk


def test_a_flipped_byte_is_found_by_reading(lake):
    lake.put("small", b"x" * 1024)
    lake.put("other", b"y" * 1024)
    lake.commit()
    flip(lake.stored("small"), 500)
    assert lake.verify("--objects", "all")["errors"] == 0
    report = lake.verify("--deep", status=DAMAGED)
    [finding] = report["findings"]
    assert (finding["kind"], finding["path"], finding["refs"]) == ("object_content", "small", ["main"])
    assert finding["severity"] == "error" and finding["expected"].split()[0] == finding["found"].split()[0]
    assert report["totals"] == {"object_content": 1}


def test_a_verification_goes_on_without_its_client(tarn, scratch_dir):
    lake = Lake(tarn, tarn.objects_dir, "local://", scratch_dir)
    lake.put("a", b"a")
    started = lake.verify("--no-wait")
    assert lake.verify("--resume", started["id"])["state"] == "done"
    assert (
        "has ended"
        in requests.delete(
            f"{tarn.url}/api/v1/repositories/{lake.name}/verify/{started['id']}",
            auth=(tarn.access_key, tarn.secret_key),
            timeout=60,
        ).json()["message"]
    )
    lake.cli.run("verify", lake.name, "--resume", "0" * 20, status=4)
    lake.cli.run("verify", lake.name, "--ref", "absent", status=4)
    assert lake.cli.reason("verify", lake.name, "--objects", "some", status=1) == "invalid_argument"


def test_a_verification_needs_its_permission(tarn, scratch_dir):
    lake = Lake(tarn, tarn.objects_dir, "local://", scratch_dir)
    lake.put("a", b"a")
    done = lake.verify("--no-wait")["id"]
    api = lakefs_sdk.AuthApi(
        lakefs_sdk.ApiClient(
            lakefs_sdk.Configuration(host=tarn.url + "/api/v1", username=tarn.access_key, password=tarn.secret_key)
        )
    )
    user = f"reader-{uuid.uuid4().hex[:8]}"
    api.create_user(user_creation=lakefs_sdk.UserCreation(id=user))
    key = api.create_credentials(user)
    here = f"{tarn.url}/api/v1/repositories/{lake.name}/verify"

    def status(method, path="", **options):
        return requests.request(
            method, here + path, auth=(key.access_key_id, key.secret_access_key), timeout=60, **options
        ).status_code

    def allow(*actions):
        policy = f"p-{uuid.uuid4().hex[:8]}"
        api.create_policy(
            policy=lakefs_sdk.Policy(
                id=policy, statement=[lakefs_sdk.Statement(effect="allow", action=list(actions), resource="*")]
            )
        )
        api.attach_policy_to_user(user, policy)

    allow("fs:Read*", "fs:List*", "fs:UpdateRepository")
    assert requests.post(here, timeout=60).status_code == 401
    for method, path in [("POST", ""), ("GET", f"/{done}"), ("DELETE", f"/{done}")]:
        # lakeFS's status of a missing permission is 401.
        assert status(method, path) == 401, method
    allow("fs:VerifyRepository")
    assert status("POST") == 202 and status("GET", f"/{done}") == 200


@pytest.fixture(scope="module", params=["local", "s3"])
def careful(request, session_scratch, initialised_data):
    """A server that compares what it reads, and the files of its store."""
    environment, files, namespace = {}, None, "local://"
    if request.param == "s3":
        gateway = request.getfixturevalue("versitygw")
        clients.boto3_client(gateway).create_bucket(Bucket="careful")
        environment, files, namespace = gateway.tarnd_environment(), gateway.buckets, "s3://careful/"
    server = servers.Tarnd(
        session_scratch / f"careful-{request.param}", environment={**environment, "TARN_STORE_VERIFY_READS": "all"}
    )
    server.copy_data_of(initialised_data).start()
    yield server, files or server.objects_dir, namespace
    server.stop()


def corrupt_reads(server):
    lines = requests.get(server.url + "/metrics", timeout=60).text.splitlines()
    return sum(float(line.split()[1]) for line in lines if line.startswith("tarn_object_corruption_total"))


@pytest.mark.parametrize(
    "size, recorded",
    [
        (size, recorded)
        for recorded in ("crc64", "md5")
        for size in (1024, 300 << 10, LARGE + 1)
        if LONG or (size, recorded) not in ((LARGE + 1, "md5"), (1024, "crc64"))
    ],
)
def test_a_read_of_changed_bytes_does_not_end_well(careful, scratch_dir, size, recorded):
    server, files, namespace = careful
    lake = Lake(server, files, namespace, scratch_dir)
    body = bytes(range(256)) * (size // 256) + b"!" * (size % 256)
    if recorded == "md5":  # REST records no checksum
        requests.post(
            f"{server.url}/api/v1/repositories/{lake.name}/branches/main/objects",
            params={"path": "k"},
            data=body,
            headers={"Content-Type": "application/octet-stream"},
            auth=(server.access_key, server.secret_key),
            timeout=60,
        ).raise_for_status()
    else:
        lake.s3.put_object(Bucket=lake.name, Key="main/k", Body=body, ChecksumAlgorithm="CRC64NVME")
    rest = f"{server.url}/api/v1/repositories/{lake.name}/refs/main/objects"

    def over_s3():
        return lake.s3.get_object(Bucket=lake.name, Key="main/k")["Body"].read()

    def over_rest(**headers):
        answer = requests.get(
            rest, params={"path": "k"}, auth=(server.access_key, server.secret_key), headers=headers, timeout=60
        )
        answer.raise_for_status()
        return answer.content

    assert over_s3() == body and over_rest() == body
    before = corrupt_reads(server)
    flip(lake.stored("k"), size // 2)
    with pytest.raises((ClientError, BotoCoreError)) as s3_error:
        over_s3()
    with pytest.raises(requests.RequestException) as rest_error:
        over_rest()
    if size <= 1024:
        assert isinstance(s3_error.value, ClientError)
        assert s3_error.value.response["ResponseMetadata"]["HTTPStatusCode"] == 500
    if size <= 256 << 10:
        assert rest_error.value.response.status_code == 500
    assert corrupt_reads(server) >= before + 2
    assert over_rest(Range="bytes=0-9") == body[:10]
    line = next(
        line
        for line in (server.directory / "tarnd.log").read_text().splitlines()
        if "object_corrupt" in line and lake.name in line
    )
    assert "path=k" in line and "address=" in line

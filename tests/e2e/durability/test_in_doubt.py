"""Behaviour of the public SDKs when the server cannot say whether a change was made: 503, `in_doubt`. Nothing is lost or doubled.

The database is lost in the middle of a request: before it has the statement, or after it has done it and before it says so, and
is away until the server has answered.
"""

import threading
import time

import boto3
import clients
import doubtful_database
import lakefs
import lakefs_sdk
import pytest
import servers
from botocore.config import Config
from botocore.exceptions import ClientError
from lakefs.exceptions import ServerException

STAGES = "stage_entr"
PUBLISHES = "publish_commit("
ANSWER_SECONDS = 60
# Whether the database did what it was asked before it was gone.
DONE = {"not_done": False, "done": True}


@pytest.fixture(scope="module")
def place(session_scratch):
    database = servers.Postgres(session_scratch / "doubt-postgres").start()
    proxy = doubtful_database.DoubtfulDatabase(database)
    server = servers.Tarnd(
        session_scratch / "doubt", arguments=["--database", proxy.url], environment={"TARN_AUTH_MASTER_KEY": "a5" * 32}
    ).start()
    yield server, proxy
    server.stop()
    proxy.stop()
    database.stop()


@pytest.fixture
def lake(place, name):
    return lakefs.repository(name, client=clients.lakefs_client(place[0])).create(storage_namespace=f"local://{name}")


@pytest.fixture
def database(place):
    yield place[1]
    place[1].come_back()


def raised(call):
    with pytest.raises(ServerException) as caught:
        call()
    assert caught.value.status_code == 503 and caught.value.body["code"] == "in_doubt", caught.value
    return caught.value


def until(answers):
    """Repeats what is not answered yet, as an operator would."""
    deadline = time.monotonic() + ANSWER_SECONDS
    while True:
        try:
            return answers()
        except (ServerException, lakefs_sdk.ApiException) as error:
            status = getattr(error, "status_code", None) or error.status
            if status != 503 or time.monotonic() > deadline:
                raise


def read(lake, path, ref="main"):
    return until(lambda: lake.ref(ref).object(path).reader(mode="rb").read())


def commits(lake):
    return until(lambda: [commit.message for commit in lake.ref("main").log(max_amount=100)])


def answers_in_doubt(server, operation):
    lines = (server.directory / "tarnd.log").read_text().splitlines()
    return sum(f"operation={operation} " in line and "code=in_doubt" in line for line in lines)


@pytest.mark.parametrize("answer", DONE.values(), ids=DONE.keys())
def test_the_lakefs_sdk_repeats_an_upload_and_it_is_there(place, lake, database, answer):
    """urllib3 repeats GET, PUT and DELETE for `Retry-After`, and the last request of an upload is a PUT."""
    lake.branch("main").object("a").upload(data=b"before")
    before = answers_in_doubt(place[0], "linkPhysicalAddress")

    def come_back():
        deadline = time.monotonic() + ANSWER_SECONDS
        while answers_in_doubt(place[0], "linkPhysicalAddress") == before and time.monotonic() < deadline:
            time.sleep(0.02)
        database.come_back()

    returning = threading.Thread(target=come_back)
    database.lose(STAGES, answer, stays_away=True)
    returning.start()
    try:
        lake.branch("main").object("a").upload(data=b"after")
    finally:
        returning.join()
    assert database.met.is_set() and answers_in_doubt(place[0], "linkPhysicalAddress") == before + 1
    assert read(lake, "a") == b"after"
    assert [change.path for change in lake.branch("main").uncommitted()] == ["a"]


@pytest.mark.parametrize("answer", DONE.values(), ids=DONE.keys())
def test_the_lakefs_sdk_raises_while_the_database_is_away_and_the_object_is_whole(lake, database, answer):
    lake.branch("main").object("a").upload(data=b"before")
    database.lose(STAGES, answer, stays_away=True)
    with pytest.raises(lakefs_sdk.ApiException) as caught:
        lake.branch("main").object("a").upload(data=b"after")
    assert caught.value.status == 503 and database.met.is_set()
    database.come_back()
    # Every reader sees one of the two, and what they see stays.
    seen = read(lake, "a")
    assert seen == (b"after" if answer else b"before")
    until(lambda: lake.branch("main").object("b").upload(data=b"later"))
    assert read(lake, "a") == seen
    until(lambda: lake.branch("main").object("a").upload(data=b"after"))
    assert read(lake, "a") == b"after"


@pytest.mark.parametrize("answer", DONE.values(), ids=DONE.keys())
def test_the_lakefs_sdk_raises_for_a_commit_that_is_there_once_or_not_at_all(lake, database, answer):
    lake.branch("main").object("a").upload(data=b"a")
    database.lose(PUBLISHES, answer, stays_away=True)
    raised(lambda: lake.branch("main").commit("the change"))
    assert database.met.is_set()
    database.come_back()
    made = commits(lake).count("the change")
    assert made == (1 if answer else 0)
    # Asked for again it is there once: either it has nothing to commit, or it is made now.
    try:
        until(lambda: lake.branch("main").commit("the change"))
    except lakefs.exceptions.BadRequestException as error:
        assert made == 1 and "no changes" in str(error.body)
    assert commits(lake).count("the change") == 1
    assert read(lake, "a") == b"a"


def s3_of(place, attempts):
    server = place[0]
    retries = {"mode": "standard", "total_max_attempts": attempts}
    return boto3.client(
        "s3",
        endpoint_url=server.url,
        aws_access_key_id=server.access_key,
        region_name="us-east-1",
        aws_secret_access_key=server.secret_key,
        config=Config(s3={"addressing_style": "path"}, retries=retries),
    )


def comes_back_at_the_second_try(s3, database):
    """Counts the requests; the database is there again when the first has been answered."""
    tries = []

    def sent(**_):
        tries.append(None)
        if len(tries) == 2:
            database.come_back()

    s3.meta.events.register("before-send.s3", sent)
    return tries


@pytest.mark.parametrize("answer", DONE.values(), ids=DONE.keys())
def test_boto3_repeats_a_write_and_it_is_there(place, lake, database, answer):
    """Its own retries; the same bytes twice are one object."""
    s3 = s3_of(place, attempts=5)
    tries = comes_back_at_the_second_try(s3, database)
    database.lose(STAGES, answer, stays_away=True)
    put = s3.put_object(Bucket=lake.id, Key="main/a", Body=b"a")
    assert database.met.is_set() and len(tries) >= 2
    got = s3.get_object(Bucket=lake.id, Key="main/a")
    assert got["Body"].read() == b"a" and got["ETag"] == put["ETag"]
    assert [one["Key"] for one in s3.list_objects_v2(Bucket=lake.id, Prefix="main/")["Contents"]] == ["main/a"]
    changes = [change.path for change in lake.branch("main").uncommitted()]
    assert changes == ["a"]


@pytest.mark.parametrize("answer", DONE.values(), ids=DONE.keys())
def test_boto3_without_retries_raises_and_nothing_happens_later(place, lake, database, answer):
    s3 = s3_of(place, attempts=1)
    database.lose(STAGES, answer, stays_away=True)
    with pytest.raises(ClientError) as caught:
        s3.put_object(Bucket=lake.id, Key="main/a", Body=b"a")
    error = caught.value.response
    assert error["ResponseMetadata"]["HTTPStatusCode"] == 503
    assert error["ResponseMetadata"]["HTTPHeaders"]["x-tarn-error"] == "in_doubt"
    assert error["ResponseMetadata"]["HTTPHeaders"]["retry-after"] == "1"
    database.come_back()
    there = until(lambda: [change.path for change in lake.branch("main").uncommitted()])
    assert there == (["a"] if answer else [])
    until(lambda: lake.branch("main").object("b").upload(data=b"b"))
    assert sorted(change.path for change in lake.branch("main").uncommitted()) == sorted([*there, "b"])


@pytest.mark.parametrize("answer", DONE.values(), ids=DONE.keys())
def test_boto3_repeats_a_conditional_write_and_may_be_refused_its_own(place, lake, database, answer):
    """With retries the second request finds the object of the first: 412, and the object is the client's."""
    s3 = s3_of(place, attempts=5)
    tries = comes_back_at_the_second_try(s3, database)
    database.lose(STAGES, answer, stays_away=True)
    if answer:
        with pytest.raises(ClientError) as caught:
            s3.put_object(Bucket=lake.id, Key="main/a", Body=b"mine", IfNoneMatch="*")
        assert caught.value.response["Error"]["Code"] == "PreconditionFailed"
    else:
        s3.put_object(Bucket=lake.id, Key="main/a", Body=b"mine", IfNoneMatch="*")
    assert database.met.is_set() and len(tries) >= 2
    assert s3.get_object(Bucket=lake.id, Key="main/a")["Body"].read() == b"mine"


@pytest.mark.parametrize("answer", DONE.values(), ids=DONE.keys())
def test_boto3_completes_an_upload_in_parts_once(place, lake, database, answer):
    s3 = s3_of(place, attempts=5)
    upload = s3.create_multipart_upload(Bucket=lake.id, Key="main/a")["UploadId"]
    part = s3.upload_part(Bucket=lake.id, Key="main/a", UploadId=upload, PartNumber=1, Body=b"part")
    tries = comes_back_at_the_second_try(s3, database)
    database.lose("stage", answer, stays_away=True)
    s3.complete_multipart_upload(
        Bucket=lake.id, Key="main/a", UploadId=upload, MultipartUpload={"Parts": [{"ETag": part["ETag"], "PartNumber": 1}]}
    )
    assert database.met.is_set() and len(tries) >= 2
    assert s3.get_object(Bucket=lake.id, Key="main/a")["Body"].read() == b"part"
    assert "Uploads" not in s3.list_multipart_uploads(Bucket=lake.id)


def test_an_answer_that_is_lost_while_the_database_stays_is_a_success(place, lake, database):
    """The server finds the effect itself: nobody is in doubt."""
    place[0].stop()
    place[0].start()  # without connections that broke before
    s3 = s3_of(place, attempts=1)
    database.lose(STAGES, answer=True)
    s3.put_object(Bucket=lake.id, Key="main/a", Body=b"a")
    assert database.met.is_set()
    database.lose(PUBLISHES, answer=True)
    lake.branch("main").commit("once")
    assert database.met.is_set() and commits(lake).count("once") == 1


def test_a_writer_meanwhile_is_not_overwritten_by_what_was_in_doubt(place, lake, database):
    """The write that was not made before 503 is not made later, over what somebody else wrote."""
    s3 = s3_of(place, attempts=1)
    database.lose(STAGES, answer=False, stays_away=True)
    with pytest.raises(ClientError):
        s3.put_object(Bucket=lake.id, Key="main/a", Body=b"doubtful")
    database.come_back()
    done = threading.Thread(target=lambda: until(lambda: lake.branch("main").object("a").upload(data=b"theirs")))
    done.start()
    done.join()
    for number in range(20):
        until(lambda number=number: lake.branch("main").object(f"more-{number}").upload(data=b"x"))
        assert read(lake, "a") == b"theirs"

"""Scripts of hooks that export tables: symlinks and Glue, Delta logs, and objects of an S3 server; docs/hooks.md as it stands."""

import io
import re
import time
from pathlib import Path

import boto3
import clients
import lakefs
import lakefs_sdk
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import servers
from deltalake import DeltaTable, QueryBuilder, write_deltalake
from hook_receiver import action
from test_hooks import newest, put, refused, script
from users import sdk

WAIT_SECONDS = 40
HOOKS_PAGE = (Path(__file__).resolve().parents[3] / "docs/hooks.md").read_text()
SECRET = "LAKEFSACTION_AWS_SECRET_ACCESS_KEY"


@pytest.fixture(scope="module")
def moto(session_scratch):
    server = servers.Moto(session_scratch / "moto").start()
    yield server
    server.stop()


@pytest.fixture(scope="module")
def exporting(session_scratch, initialised_data, versitygw, moto):
    """A server with its objects in versitygw, in the bucket "exports", whose scripts may send requests here."""
    clients.boto3_client(versitygw).create_bucket(Bucket="exports")
    server = (
        servers.Tarnd(
            session_scratch / "tarnd-exports",
            environment={
                **versitygw.tarnd_environment(),
                "TARN_HOOKS_ALLOWED_TARGETS": "127.0.0.1",
                "TARN_HOOKS_LUA_HTTP": "true",
                "LAKEFSACTION_AWS_ACCESS_KEY_ID": versitygw.access_key,
                SECRET: versitygw.secret_key,
                "LAKEFSACTION_S3_ENDPOINT": versitygw.url,
                "LAKEFSACTION_GLUE_ENDPOINT": moto.url,
                "TARN_HOOKS_VARIABLES": f"LAKEFSACTION_AWS_ACCESS_KEY_ID=*;{SECRET}=*;LAKEFSACTION_S3_ENDPOINT=*;"
                "LAKEFSACTION_GLUE_ENDPOINT=*",
            },
        )
        .copy_data_of(initialised_data)
        .start()
    )
    yield server
    server.stop()


@pytest.fixture
def lake(exporting, name):
    return lakefs.repository(name, client=clients.lakefs_client(exporting)).create(storage_namespace=f"s3://exports/{name}")


@pytest.fixture
def store(versitygw):
    return clients.boto3_client(versitygw)


def example(file):
    """The block of docs/hooks.md that begins with a comment naming the file."""
    return re.search(rf"```\w+\n(?:#|--) {re.escape(file)}\n(.*?)```", HOOKS_PAGE, re.S).group(1)


def put_example(lake, *files):
    for file in files:
        lake.branch("main").object(file).upload(data=example(file).encode())


def run_after(server, lake, commit):
    """The outputs of the hooks that ran after a commit, once they have."""
    api, deadline = lakefs_sdk.ActionsApi(sdk(server)), time.monotonic() + WAIT_SECONDS
    while True:
        runs = [run for run in api.list_repository_runs(lake.id, commit=commit.id).results if run.event_type == "post-commit"]
        if runs and runs[0].status in ("completed", "failed") and runs[0].end_time:
            break
        assert time.monotonic() < deadline, "the hooks never ran"
        time.sleep(0.1)
    hooks = api.list_run_hooks(lake.id, runs[0].run_id).results
    outputs = [bytes(api.get_run_hook_output(lake.id, runs[0].run_id, hook.hook_run_id)).decode() for hook in hooks]
    return runs[0].status, outputs


def in_store(store, uri):
    bucket, key = uri.removeprefix("s3://").split("/", 1)
    return store.get_object(Bucket=bucket, Key=key)["Body"].read()


def parquet(rows):
    out = io.BytesIO()
    pq.write_table(pa.table({"page": rows}), out)
    return out.getvalue()


def test_the_example_of_a_hive_table_is_read_through_glue(exporting, lake, store, moto):
    rows = {(2019, "a"): ["p1", "p2"], (2019, "b c"): ["p3"], (2020, "a"): ["p4"]}
    for (year, site), pages in rows.items():
        lake.branch("main").object(f"tables/animals/year={year}/site={site}/1.parquet").upload(data=parquet(pages))
    lake.branch("main").object("tables/animals/_SUCCESS").upload(data=b"")
    put_example(lake, "_lakefs_tables/animals.yaml", "_lakefs_actions/export.yaml", "_lakefs_actions/scripts/export.lua")
    made = lake.branch("main").commit("a table")
    status, outputs = run_after(exporting, lake, made)
    assert status == "completed", outputs

    glue = boto3.client("glue", endpoint_url=moto.url, region_name="us-east-1", aws_access_key_id="k", aws_secret_access_key="s")
    table = glue.get_table(DatabaseName="lake", Name=f"animals_{lake.id}_main_{made.id[:6]}")["Table"]
    assert [(c["Name"], c["Type"]) for c in table["StorageDescriptor"]["Columns"]] == [("page", "string")]
    assert table["StorageDescriptor"]["Columns"][0]["Comment"] == "of the book"
    assert [(c["Name"], c["Type"]) for c in table["PartitionKeys"]] == [("year", "int"), ("site", "string")]
    assert table["TableType"] == "EXTERNAL_TABLE"
    assert table["Parameters"]["classification"] == "parquet"
    location = table["StorageDescriptor"]["Location"]
    assert location == f"s3://exports/{lake.id}/_lakefs/exported/main/{made.id[:6]}/animals"

    # As Athena would: each partition's symlinks, and the objects that they name.
    prefix = location.removeprefix("s3://exports/")
    listed = [o["Key"] for o in store.list_objects_v2(Bucket="exports", Prefix=prefix)["Contents"]]
    assert len(listed) == len(rows)
    for (year, site), pages in rows.items():
        lines = in_store(store, f"{location}/year={year}/site={site}/symlink.txt").decode().splitlines()
        assert [pq.read_table(io.BytesIO(in_store(store, line)))["page"].to_pylist() for line in lines] == [pages]

    # The database is there now, and another commit makes a table of its own.
    lake.branch("main").object("tables/animals/year=2021/site=a/1.parquet").upload(data=parquet(["p5"]))
    again = lake.branch("main").commit("more")
    status, outputs = run_after(exporting, lake, again)
    assert status == "completed", outputs
    assert {t["Name"][-6:] for t in glue.get_tables(DatabaseName="lake")["TableList"] if lake.id in t["Name"]} == {
        made.id[:6],
        again.id[:6],
    }


def gateway_options(server):
    return {
        "AWS_ENDPOINT_URL": server.url,
        "AWS_REGION": "us-east-1",
        "AWS_ACCESS_KEY_ID": server.access_key,
        "AWS_SECRET_ACCESS_KEY": server.secret_key,
        "AWS_ALLOW_HTTP": "true",
        "AWS_VIRTUAL_HOSTED_STYLE_REQUEST": "false",
        "AWS_CONDITIONAL_PUT": "etag",
    }


def rows_of(server, uri):
    """By deltalake's own engine: to_pyarrow_table() takes every path of a log for a relative one."""
    table = DeltaTable(uri, storage_options=gateway_options(server))
    return pa.table(QueryBuilder().register("t", table).execute("select id, country from t order by id")).to_pylist()


def test_the_example_of_a_delta_table_is_read_from_the_store(exporting, lake, versitygw):
    people = f"s3://{lake.id}/main/tables/people"
    options = gateway_options(exporting)
    write_deltalake(people, pa.table({"id": [1, 2], "country": ["a b", "c"]}), partition_by=["country"], storage_options=options)
    write_deltalake(
        people,
        pa.table({"id": [3], "country": [None]}, pa.schema([("id", pa.int64()), ("country", pa.string())])),
        mode="append",
        storage_options=options,
    )
    DeltaTable(people, storage_options=options).delete("id = 2")
    put_example(lake, "_lakefs_tables/people.yaml", "_lakefs_actions/delta.yaml")
    made = lake.branch("main").commit("a table")
    status, outputs = run_after(exporting, lake, made)
    location = f"s3://exports/{lake.id}/_lakefs/exported/main/{made.id[:6]}/people"
    assert status == "completed" and f"people is at {location}" in outputs[0], outputs

    expected = [{"id": 1, "country": "a b"}, {"id": 3, "country": None}]
    assert rows_of(exporting, people) == expected
    assert rows_of(versitygw, location) == expected

    # Later changes of the branch leave the export as it is; the next export is another.
    write_deltalake(people, pa.table({"id": [9], "country": ["z"]}), mode="overwrite", storage_options=options)
    DeltaTable(people, storage_options=options).vacuum(retention_hours=0, enforce_retention_duration=False, dry_run=False)
    again = lake.branch("main").commit("less")
    status, outputs = run_after(exporting, lake, again)
    assert status == "completed", outputs
    assert rows_of(versitygw, location) == expected
    assert rows_of(versitygw, location.replace(made.id[:6], again.id[:6])) == [{"id": 9, "country": "z"}]


KEYS = {
    "aws": {
        "id": "{{ ENV.LAKEFSACTION_AWS_ACCESS_KEY_ID }}",
        "secret": f"{{{{ ENV.{SECRET} }}}}",
        "endpoint": "{{ ENV.LAKEFSACTION_S3_ENDPOINT }}",
    }
}
CLIENT = "local s3 = require('aws').s3_client(args.aws.id, args.aws.secret, 'us-east-1', args.aws.endpoint)\n"


def do(server, lake, text, args=None):
    """The output of a script that a commit runs."""
    put(lake, action("do", ["pre-commit"], script("it", text, args=args or KEYS)))
    lake.branch("main").object("changed").upload(data=str(time.monotonic_ns()).encode())
    lake.branch("main").commit("do it")
    run = newest(server, lake)
    return bytes(lakefs_sdk.ActionsApi(sdk(server)).get_run_hook_output(lake.id, run.run_id, "0000_0000")).decode()


def test_a_script_works_on_objects_of_an_s3_server(exporting, lake, store, name):
    bucket = f"b{name}".replace("_", "-").lower()[:60]
    store.create_bucket(Bucket=bucket)
    keys = ["p/a b+c&d<e>", "p/ü/ß.txt", "p/x=1/y", "q/kept"]
    text = (
        CLIENT
        + f"""
local json, bucket = require('encoding/json'), '{bucket}'
for i, key in ipairs(args.keys) do s3.put_object(bucket, key, 'body ' .. i) end
for i, key in ipairs(args.keys) do assert(s3.get_object(bucket, key) == 'body ' .. i, key) end
print(s3.get_object(bucket, 'absent'))
print(s3.get_object('absent-bucket', 'absent'))
local page = s3.list_objects(bucket)
for _, item in ipairs(page.results) do print(item.type, item.key) end
for _, item in ipairs(s3.list_objects(bucket, 'p/', nil, '').results) do print(item.type, item.key, item.size, #item.last_modified) end
for i = 1, 1005 do s3.put_object(bucket, string.format('many/%04d', i), '') end
local first = s3.list_objects(bucket, 'many/', '', '')
local second = s3.list_objects(bucket, 'many/', first.next_continuation_token, '')
print(first.is_truncated, #first.results, second.is_truncated, #second.results, second.results[5].key)
s3.delete_recursive(bucket, 'many/')
s3.delete_recursive(bucket, 'p/')
s3.delete_object(bucket, 'absent')
"""
    )
    said = do(exporting, lake, text, {**KEYS, "keys": keys}).splitlines()
    assert said == [
        "\tfalse",
        "\tfalse",
        "prefix\tp/",
        "prefix\tq/",
        *[f"object\t{key}\t6\t20" for key in sorted(keys[:3], key=str.encode)],
        "true\t1000\tfalse\t5\tmany/1005",
    ]
    assert [o["Key"] for o in store.list_objects_v2(Bucket=bucket)["Contents"]] == ["q/kept"]
    assert store.get_object(Bucket=bucket, Key="q/kept")["Body"].read() == b"body 4"


def failure_of(server, lake, text, args=None):
    error = refused(lambda: do(server, lake, text, args))
    run = newest(server, lake)
    output = bytes(lakefs_sdk.ActionsApi(sdk(server)).get_run_hook_output(lake.id, run.run_id, "0000_0000")).decode()
    assert error.status_code == 412
    return error.body["message"] + output


def test_failures_show_no_credentials(exporting, lake, versitygw):
    wrong = {"aws": {**KEYS["aws"], "id": "AKIAWRONGWRONG"}}
    said = failure_of(exporting, lake, CLIENT + "s3.get_object('exports', 'x')", wrong)
    assert "access key ID" in said and "AKIAWRONG" not in said
    # Neither a key in the text of the action file, which no mask of variables knows, nor one that is a variable.
    literal = {"aws": {"id": versitygw.access_key, "secret": "literal-secret-value", "endpoint": versitygw.url}}
    said = failure_of(exporting, lake, CLIENT + "s3.put_object('exports', 'x', 'y')", literal)
    assert "SignatureDoesNotMatch" in said and "literal-secret" not in said and versitygw.access_key not in said
    said = failure_of(exporting, lake, CLIENT + "s3.put_object('absent-bucket', 'x', 'y') print(args.aws.secret)")
    assert "NoSuchBucket" in said and versitygw.secret_key not in said
    log = (exporting.directory / "tarnd.log").read_text(errors="replace")
    for hidden in ("literal-secret-value", versitygw.secret_key, "AKIAWRONGWRONG", "AWS4-HMAC-SHA256"):
        assert hidden not in log


def test_a_script_reaches_no_address_that_is_not_allowed(session_scratch, initialised_data, versitygw, name):
    server = (
        servers.Tarnd(
            session_scratch / "tarnd-fenced", environment={"TARN_HOOKS_ALLOWED_TARGETS": "", "TARN_HOOKS_LUA_HTTP": "true"}
        )
        .copy_data_of(initialised_data)
        .start()
    )
    try:
        lake = lakefs.repository(name, client=clients.lakefs_client(server)).create(storage_namespace=f"local://{name}")
        for endpoint in (
            versitygw.url,
            versitygw.url.replace("127.0.0.1", "localhost"),
            "http://169.254.169.254",
            "http://[::1]:9000",
            "http://[::ffff:127.0.0.1]:9000",
            "http://2130706433:9000",
            server.url,
        ):
            for call in (
                "s3_client(args.id, args.secret, 'us-east-1', args.endpoint).get_object('exports', 'k')",
                "glue_client(args.id, args.secret, 'us-east-1', args.endpoint).get_table('d', 't')",
            ):
                said = failure_of(
                    server,
                    lake,
                    f"require('aws').{call}",
                    {"id": versitygw.access_key, "secret": versitygw.secret_key, "endpoint": endpoint},
                )
                assert "hooks.allowed_targets" in said, (endpoint, said)
                assert versitygw.secret_key not in said
    finally:
        server.stop()


def test_a_table_whose_bytes_lie_in_several_objects_is_refused(exporting, lake):
    s3 = boto3.client(
        "s3",
        endpoint_url=exporting.url,
        region_name="us-east-1",
        aws_access_key_id=exporting.access_key,
        aws_secret_access_key=exporting.secret_key,
    )
    at = {"Bucket": lake.id, "Key": "main/tables/animals/year=2019/site=a/1.parquet"}
    upload = s3.create_multipart_upload(**at)["UploadId"]
    parts = [
        {"PartNumber": n, "ETag": s3.upload_part(**at, UploadId=upload, PartNumber=n, Body=body)["ETag"]}
        for n, body in ((1, b"x" * (5 << 20)), (2, b"y"))
    ]
    s3.complete_multipart_upload(**at, UploadId=upload, MultipartUpload={"Parts": parts})
    put_example(lake, "_lakefs_tables/animals.yaml", "_lakefs_actions/export.yaml", "_lakefs_actions/scripts/export.lua")
    status, outputs = run_after(exporting, lake, lake.branch("main").commit("large"))
    assert status == "failed" and "is stored in several parts" in outputs[0], outputs


def test_a_script_sees_the_commit_and_its_parents(exporting, lake):
    lake.branch("main").object("tables/people/x").upload(data=b"1")
    put_example(lake, "_lakefs_tables/people.yaml")
    before = lake.branch("main").commit("before").id
    put(
        lake,
        action(
            "see",
            ["post-commit"],
            script(
                "it",
                """
local exporter, json = require("lakefs/catalogexport/delta_exporter"), require("encoding/json")
print(action.commit.message, action.commit.metadata.why, action.commit.committer, table.concat(action.commit.parents, " "))
print(json.marshal(exporter.changed_table_defs({"people"}, "_lakefs_tables", action.repository_id, action.commit.parents[1],
  action.commit_id)))
""",
            ),
        ),
    )
    made = lake.branch("main").commit("no table changes", metadata={"why": "because"})
    status, outputs = run_after(exporting, lake, made)
    assert status == "completed", outputs
    assert outputs[0].splitlines() == [f"no table changes\tbecause\tadmin\t{before}", "{}"]
    lake.branch("main").object("tables/people/x").upload(data=b"2")
    status, outputs = run_after(exporting, lake, lake.branch("main").commit("the table changes", metadata={"why": "so"}))
    assert outputs[0].splitlines()[1] == '["people"]'

"""A collection that is killed at any of its steps loses nothing, and the next one finishes its work.

tarnd is killed at named statements (TARN_FAULT_POINT); another server over the same database and store goes on. What refs show
reads back, and what nothing shows is gone, from the store and from the database.
"""

import hashlib
import os
import signal
import subprocess
import time
from pathlib import Path

import clients
import pytest
import servers
from long_tests import LONG

DIE_SECONDS_MAX = 60
LEASE_SECONDS_MAX = 100  # 60, and what the work takes
PART_BYTES_8TH = (5 << 20) // 8
PART_BYTES = PART_BYTES_8TH * 8
SETTINGS = {
    "TARN_GC_INTERVAL_HOURS": "0",
    "TARN_GC_GRACE_HOURS": "0",
    "TARN_GC_UNREACHABLE_DAYS": "0",
    "TARN_GC_DELETES_PER_SECOND": "20",
    "TARN_GC_BUSY_PERCENT": "100",
    "TARN_AUTH_MASTER_KEY": "a5" * 32,
    **servers.SHORT_LEASE,
}
# Those of each kind are killed always, the others with --long.
STEPS_LONG = [
    "sql.collections_take_lease.after",
    "sql.collections_begin_run.after",
    "sql.collections_drop_request.after",
    "sql.roots_lock_commits.after",
    "sql.roots_delete_commits.after",
    "sql.collections_raise_floor.after",
    "sql.collections_select_oldest_transaction.after",
    "sql.candidates_select_known.after",
    "sql.roots_select_trees.after",
    "sql.roots_select_nodes.after",
    "sql.candidates_insert_rows.after",
    "sql.candidates_doom_rows.before",
    "sql.candidates_doom_rows.after",
    "gc.batch_removed",
    "sql.candidates_set_removed.after",
    "sql.candidates_delete_part_lists.after",
    "sql.node_removal_delete_summaries.after",
    "sql.node_removal_delete_nodes.after",
    "sql.collections_end_run.before",
    "sql.collections_set_due.after",
    "sql.collections_trim_runs.after",
    "sql.collections_drop_lease.before",
    "sql.candidates_purge_rows.after",
]
STEPS = [
    "sql.roots_delete_commits.after",
    "sql.candidates_insert_rows.after",
    "sql.candidates_doom_rows.after",
    "gc.batch_removed",
    "sql.candidates_delete_part_lists.after",
    "sql.node_removal_delete_nodes.after",
    "sql.collections_end_run.before",
]
# Of the step that gives space back.
SPACE_STEPS_LONG = [
    "sql.space_drop_invalid_index.after",
    "sql.space_vacuum_nodes.before",
    "sql.space_vacuum_nodes.after",
    "sql.space_move_nodes.before",
    "sql.space_move_nodes.after",
    "sql.space_rebuild_nodes.before",
    "sql.space_rebuild_nodes.after",
    "sql.space_vacuum_gc_candidates.after",
    "sql.space_vacuum_retired_tokens.after",
    "sql.collections_set_space_due.before",
]
SPACE_STEPS = ["sql.space_move_nodes.before", "sql.space_rebuild_nodes.before"]
DEAD_NODES = 30_000
PAGES_MAX = 70  # of what stays
COUNTS = """SELECT (SELECT count(*) FROM commits WHERE repo_id = r.repo_id), (SELECT count(*) FROM nodes WHERE repo_id = r.repo_id),
  (SELECT count(*) FROM part_lists WHERE repo_id = r.repo_id), (SELECT count(*) FROM range_summaries WHERE repo_id = r.repo_id)
  FROM repositories r WHERE name = '{}'"""


@pytest.fixture
def start(scratch_dir, database):
    made = []

    def start(fault=None, action="kill"):
        environment = {
            **SETTINGS,
            "TARN_STORE_LOCAL_ROOT": database.directory / "objects",
            **({"TARN_FAULT_POINT": f"{fault}={action}"} if fault else {}),
        }
        made.append(
            servers.Tarnd(scratch_dir / f"tarnd-{len(made)}", environment=environment, arguments=["--database", database.url()])
        )
        return made[-1].start()

    yield start
    for server in made:
        if server.process is not None and server.alive():
            server.stop()


def collect(server, name):
    """The report of a collection; None: the server died."""
    rest = clients.Rest(server)
    before = newest(server, name)
    if rest("POST", f"/repositories/{name}/gc/runs", json={"yes_delete": 100}).status_code != 202:
        return None
    deadline = time.monotonic() + DIE_SECONDS_MAX
    while True:
        found = newest(server, name)
        if found["run"] > before["run"] and found["state"] != "running":
            return found
        assert time.monotonic() < deadline, f"no collection: {found}"
        time.sleep(0.05)


def newest(server, name):
    runs = clients.Rest(server)("GET", f"/repositories/{name}/gc/runs?amount=1").json()["results"]
    return runs[0] if runs else {"run": 0}


def fill(server, name, created=lambda: None):
    """Objects that stay, and garbage of every kind; returns {ref/key: body} of what stays. `created` is called when the repository
    is there and empty."""
    s3, rest = clients.boto3_client(server), clients.Rest(server)
    base = f"/repositories/{name}"

    def put(key, body):
        s3.put_object(Bucket=name, Key=key, Body=body)

    def put_in_parts(key, body):
        upload = s3.create_multipart_upload(Bucket=name, Key=key)["UploadId"]
        parts = []
        for number, part in enumerate((body[:PART_BYTES], body[PART_BYTES:]), 1):
            made = s3.upload_part(Bucket=name, Key=key, UploadId=upload, PartNumber=number, Body=part)
            parts.append({"PartNumber": number, "ETag": made["ETag"]})
        s3.complete_multipart_upload(Bucket=name, Key=key, UploadId=upload, MultipartUpload={"Parts": parts})

    assert rest("POST", "/repositories", json={"name": name, "storage_namespace": f"local://{name}"}).status_code == 201
    created()
    kept = {
        "main/committed": b"committed",
        "main/staged": b"staged",
        "main/parts": b"in parts" * PART_BYTES_8TH + b"!",
        "main/copy": b"of a branch",
    }
    put("main/committed", b"committed")
    put_in_parts("main/parts", kept["main/parts"])
    assert rest("POST", f"{base}/branches/main/commits", json={"message": "kept"}).status_code == 201
    assert rest("POST", f"{base}/branches", json={"name": "exp", "source": "main"}).status_code == 201
    for number in range(8):
        put(f"exp/{number}", f"of a branch {number}".encode())
    put("exp/copied", b"of a branch")
    put_in_parts("exp/parts", b"a part  " * PART_BYTES_8TH + b"?")
    assert rest("POST", f"{base}/branches/exp/commits", json={"message": "lost"}).status_code == 201
    s3.copy_object(Bucket=name, Key="main/copy", CopySource=f"{name}/exp/copied")
    assert rest("DELETE", f"{base}/branches/exp").status_code == 204
    put("main/staged", b"overwritten")
    put("main/staged", b"staged")
    return kept


def as_if_its_time_had_run_out(database):
    database.ask("DELETE FROM writers")
    database.ask("UPDATE gc_control SET lease_until = clock_timestamp() WHERE lease_until IS NOT NULL")


def collect_until_it_dies(dying, name, times):
    for _ in range(times):
        try:
            if collect(dying, name) is None:
                break
        except OSError:
            break
        if not dying.alive():
            break
    dying.process.child.wait(DIE_SECONDS_MAX)
    assert not dying.alive(), "the step was not reached"


@pytest.mark.timeout(600)
@pytest.mark.parametrize("step", STEPS_LONG if LONG else STEPS)
def test_a_collection_that_is_killed_is_finished_by_another_server(start, database, step):
    name = f"kill-{hashlib.md5(step.encode()).hexdigest()[:12]}"
    dying = start(step)
    kept = fill(dying, name)
    collect_until_it_dies(dying, name, 4)
    as_if_its_time_had_run_out(database)
    other = start()
    s3 = clients.boto3_client(other)

    def check():
        for key, body in kept.items():
            assert s3.get_object(Bucket=name, Key=key)["Body"].read() == body, key

    check()
    for _ in range(5):
        report = collect(other, name)
        assert (report["state"], report["failed_objects"]) == ("done", 0), report
        check()
    stored = {path for path in servers.files_below(database.directory / "objects") if path.startswith(f"{name}/data/")}
    assert len(stored) == 5, "one for each key that is kept, and two for that in parts"
    commits, nodes, lists, _ = map(int, database.ask(COUNTS.format(name))[0].split(","))
    assert (commits, nodes, lists) == (2, 1, 1)
    assert database.ask(
        f"SELECT count(*) FROM gc_candidates c JOIN repositories r USING (repo_id) WHERE name = '{name}' AND NOT removed"
    ) == ["0"]
    states = {run["state"] for run in clients.Rest(other)("GET", f"/repositories/{name}/gc/runs").json()["results"]}
    assert states <= {"done", "interrupted"}
    other.stop()


def put_dead_nodes(database, name):
    """Nodes that nothing refers to, before those that commits will make."""
    database.ask("ALTER TABLE nodes SET (autovacuum_enabled = false)")
    if database.ask("SELECT count(*) FROM pg_class WHERE relname = 'x_ccnew'") == [
        "0"
    ]:  # as an interrupted rebuilding leaves one
        database.ask(
            "CREATE INDEX x_ccnew ON tags (name); UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'x_ccnew'::regclass"
        )
    database.ask(
        "INSERT INTO nodes (nid, repo_id, level, hash, body) SELECT nextval('node_nids'), r.repo_id, 0, "
        "decode(lpad(to_hex(i), 32, '0'), 'hex'), decode(repeat(lpad(to_hex(i), 8, '0'), 30), 'hex') "
        f"FROM repositories r, generate_series(1, {DEAD_NODES}) AS i WHERE r.name = '{name}'"
    )


def check_released(start, database, name, kept):
    """The collection after the one that died gives the space back, and nothing is lost."""
    as_if_its_time_had_run_out(database)
    other = start()
    s3 = clients.boto3_client(other)
    report = collect(other, name)
    assert report["state"] == "done", report
    for key, body in kept.items():
        assert s3.get_object(Bucket=name, Key=key)["Body"].read() == body, key
    [pages] = database.ask("SELECT pg_relation_size('nodes') / 8192")
    [indexes] = database.ask("SELECT pg_indexes_size('nodes')")
    assert int(pages) < PAGES_MAX and int(indexes) < 400_000, (pages, indexes)
    assert database.ask("SELECT indexrelid::regclass FROM pg_index WHERE NOT indisvalid") == []
    runs = clients.Rest(other)("GET", f"/repositories/{name}/gc/runs").json()["results"]
    [interrupted] = [run for run in runs if run["state"] == "interrupted"]
    assert (interrupted["removed_nodes"] >= DEAD_NODES, "end_date" in interrupted) == (True, True), interrupted
    other.stop()


@pytest.mark.timeout(600)
@pytest.mark.parametrize("step", SPACE_STEPS_LONG if LONG else SPACE_STEPS)
def test_a_collection_that_is_killed_while_it_gives_space_back(start, database, step):
    name = f"space-{hashlib.md5(step.encode()).hexdigest()[:12]}"
    dying = start(step)
    kept = fill(dying, name, lambda: put_dead_nodes(database, name))
    collect_until_it_dies(dying, name, 2)
    check_released(start, database, name, kept)


def until(condition, what):
    deadline = time.monotonic() + DIE_SECONDS_MAX
    while not condition():
        assert time.monotonic() < deadline, what
        time.sleep(0.05)


@pytest.mark.timeout(600)
@pytest.mark.parametrize(
    "phase, statement",
    [
        (
            "waiting for writers before build",
            "INSERT INTO nodes (nid, repo_id, level, hash, body) VALUES (nextval('node_nids'), 0, 0, '', '')",
        ),
        ("waiting for readers before marking dead", "LOCK TABLE nodes IN ACCESS SHARE MODE"),
    ],
)
def test_server_and_database_die_while_indexes_are_rebuilt(start, database, phase, statement):
    """A transaction holds the rebuilding up in one of its phases."""
    name = f"index-{hashlib.md5(phase.encode()).hexdigest()[:12]}"
    dying = start("sql.space_rebuild_nodes.before", "stop")
    kept = fill(dying, name, lambda: put_dead_nodes(database, name))
    assert clients.Rest(dying)("POST", f"/repositories/{name}/gc/runs", json={"yes_delete": 100}).status_code == 202
    stat = Path(f"/proc/{dying.process.child.pid}/stat")
    until(lambda: stat.read_text().rsplit(")", 1)[1].split()[0] == "T", "the statement was not reached")
    # Idle, since a statement that runs has a snapshot, which holds the rebuilding up earlier.
    holding = subprocess.Popen(
        ["/usr/lib/postgresql/15/bin/psql", "-X", "-q", "-d", database.url()],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "PGAPPNAME": "holding"},
    )
    holding.stdin.write(f"BEGIN; {statement};\n".encode())
    holding.stdin.flush()
    until(
        lambda: database.ask("SELECT state FROM pg_stat_activity WHERE application_name = 'holding'") == ["idle in transaction"],
        "no transaction",
    )
    os.kill(dying.process.child.pid, signal.SIGCONT)
    until(lambda: phase in database.ask("SELECT phase FROM pg_stat_progress_create_index"), phase)
    dying.kill()
    database.crash()
    holding.communicate(timeout=DIE_SECONDS_MAX)
    database.launch()
    assert int(database.ask("SELECT count(*) FROM pg_index WHERE NOT indisvalid")[0]) > 0, "nothing was interrupted"
    check_released(start, database, name, kept)


@pytest.mark.timeout(600)
def test_other_servers_wait_a_minute_for_one_that_died(start, database, long_tests):
    """Nothing helps time along here: the rows of the dead server and its lease run out by themselves."""
    if not long_tests:
        pytest.skip("waits a minute; run with --long")
    dying = start("gc.batch_removed")
    fill(dying, "minute")
    collect_until_it_dies(dying, "minute", 4)
    died, other = time.monotonic(), start()
    report = newest(other, "minute")
    while report["state"] == "running" or report["removed_objects"] == 0:
        assert time.monotonic() - died < LEASE_SECONDS_MAX, report
        time.sleep(1)
        report = newest(other, "minute")
    assert time.monotonic() - died > 30, "it waited for the lease"
    assert report["state"] == "done"

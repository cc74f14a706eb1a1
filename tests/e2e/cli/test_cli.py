"""The `tarn` command as scripts use it: exit statuses, what is data and what is talk, and every verb once."""

import hashlib
import json
import os
import signal
import subprocess
import threading
import time

import pytest
import servers
from command import Cli


def put(repo, path, data, branch="main"):
    repo.branch(branch).object(path).upload(data=data, mode="wb")


def test_repositories(tarn, cli, name):
    other = f"{name[:50]}-other"
    made = cli.json("repo", "create", other)
    assert (made["kind"], made["id"], made["storage_namespace"], made["changed"]) == (
        "Repository",
        other,
        f"local://{other}",
        True,
    )
    cli.run("repo", "create", f"tarn://{other}", status=5)
    assert cli.json("repo", "create", other, "--if-not-exists")["changed"] is False
    assert other in [item["id"] for item in cli.json("repo", "list", "--prefix", other)["items"]]
    assert cli.run("repo", "list", "--prefix", other, "-o", "name").text == f"{other}\n"
    assert cli.json("repo", "show", other)["default_branch"] == "main"
    refused = cli.run("repo", "delete", other, status=2)
    assert "--yes" in refused.talk and refused.text == ""
    cli.run("repo", "delete", other, "--yes")
    cli.run("repo", "show", other, status=4)
    cli.run("repo", "create", "Bad_Name", status=1)
    cli.run("repo", "create", f"{other}-bare", "--bare")
    assert cli.json("branch", "list", f"{other}-bare")["items"] == []


def test_branches(cli, repo):
    made = cli.json("branch", "create", "dev", "--source", "main")
    assert made["commit_id"] == repo.branch("main").head.id and made["changed"]
    cli.run("branch", "create", "dev", status=5)
    assert cli.json("branch", "create", "dev", "--if-not-exists")["outcome"] == "unchanged"
    assert [item["id"] for item in cli.json("branch", "list")["items"]] == ["dev", "main"]
    assert cli.run("branch", "list", f"tarn://{repo.id}", "-o", "name").text == "dev\nmain\n"
    put(repo, "x", b"x", "dev")
    cli.run("branch", "reset", "dev", status=2)
    cli.run("branch", "reset", "dev", "--object", "x", "--yes")
    assert list(repo.branch("dev").uncommitted()) == []
    put(repo, "y", b"y", "main")
    repo.branch("main").commit(message="m")
    assert cli.json("branch", "create", "dev", "--reset-if-exists")["commit_id"] == repo.branch("main").head.id
    cli.run("branch", "create", "lost", "--source", "nope", status=4)
    cli.run("branch", "delete", "dev", "-y")
    cli.run("branch", "show", "dev", status=4)


def test_tags(cli, repo):
    made = cli.json("tag", "create", "v1", "main")
    assert (made["kind"], made["id"], made["changed"]) == ("Tag", "v1", True)
    cli.run("tag", "create", "v1", "main", status=5)
    assert cli.json("tag", "create", "v1", "main", "--if-not-exists")["changed"] is False
    put(repo, "x", b"x")
    repo.branch("main").commit(message="m")
    cli.run("tag", "create", "v1", "main", "--if-not-exists", status=5)
    assert cli.run("tag", "list", "-o", "csv").text == f"tag,commit\nv1,{made['commit_id']}\n"
    assert cli.json("tag", "show", "v1")["commit_id"] == made["commit_id"]
    cli.run("tag", "create", "v1", "nope", "--force", status=4)
    assert cli.json("tag", "show", "v1")["commit_id"] == made["commit_id"]
    assert cli.json("tag", "create", "v1", "main", "--force")["commit_id"] == repo.branch("main").head.id
    assert cli.json("tag", "create", "v2", "main", "--force")["changed"]
    cli.run("tag", "delete", "v1", "--yes")
    cli.run("tag", "delete", "v1", "--yes", status=4)


def test_commit_log_and_diff(cli, repo):
    put(repo, "a", b"a")
    changes = cli.json("diff", "main")
    assert changes["items"] == [{"path": "a", "path_type": "object", "size_bytes": 1, "type": "added"}]
    cli.run("diff", "main", "--exit-code", status=1)
    made = cli.json("commit", "main", "-m", "first", "--meta", "a=1", "--meta", "b=x=y")
    assert (made["message"], made["metadata"], made["changed"]) == ("first", {"a": "1", "b": "x=y"}, True)
    cli.run("diff", "main", "--exit-code")
    nothing = cli.json("commit", "main", "-m", "again")
    assert nothing == {"apiVersion": "tarn/v1", "kind": "Commit", "changed": False}
    cli.run("commit", "main", "-m", "again", "--require-changes", status=1)
    cli.run("commit", "main", status=2)
    cli.run("commit", "nope", "-m", "m", status=4)
    assert [item["message"] for item in cli.json("log", "main")["items"]] == ["first", "Repository created"]
    assert len(cli.json("log", "main", "-n", 1)["items"]) == 1
    assert cli.run("log", "main", "-o", "name", "-n", "1").text.strip() == made["id"]
    assert "first" in cli.run("log", "main").text
    cli.run("diff", "main", "nope", "--exit-code", status=4)
    cli.run("diff", "main", "main~~x", "--exit-code", status=128)
    two = cli.json("diff", "main~1", "main", "--two-dot")
    assert [item["path"] for item in two["items"]] == ["a"]


def test_the_log_can_be_narrowed(cli, repo):
    cli.run("branch", "create", "dev")
    ids = {}
    for branch, path in (("dev", "d"), ("main", "m")):
        put(repo, path, b"x", branch)
        ids[path] = cli.json("commit", branch, "-m", path)["id"]
    merged = cli.json("merge", "dev", "main", "-m", "both")["reference"]

    def messages(*words):
        return {item["message"] for item in cli.json("log", "main", *words)["items"]}

    assert messages() == {"both", "m", "d", "Repository created"}
    assert messages("--no-merges") == {"m", "d", "Repository created"}
    assert messages("--first-parent") == {"both", "m", "Repository created"}
    assert messages("--object", "d") == {"d"}
    assert "Repository created" not in messages("--stop-at", ids["d"])
    base = cli.json("find-merge-base", "dev", "main")
    assert (base["base_commit_id"], base["source_commit_id"], base["destination_commit_id"]) == (ids["d"], ids["d"], merged)
    assert cli.run("find-merge-base", ids["m"], "dev", "-o", "name").text.strip() == cli.json("show", "main~2")["id"]
    assert cli.json("show", "main")["parents"] == [ids["m"], ids["d"]]
    assert "both" in cli.run("show", "main").text
    cli.run("show", "nope", status=4)


def test_the_last_commit_of_each_path(cli, repo):
    for message in ("one", "two"):
        put(repo, f"d/{message}", b"x")
        put(repo, "top", message.encode())
        cli.run("commit", "main", "-m", message)
    put(repo, "d/three", b"not committed")

    def messages(*words):
        items = cli.json("annotate", f"tarn://{repo.id}/main/", *words)["items"]
        return {item["path"]: item["commit"]["message"] for item in items}

    assert messages() == {"d/": "two", "top": "two"}
    assert messages("-r") == {"d/one": "one", "d/two": "two", "top": "two"}
    assert "one" in cli.run("annotate", f"tarn://{repo.id}/main/d/").text
    cli.run("annotate", f"tarn://{repo.id}/nope/", status=4)


def test_a_branch_moves_to_another_commit(cli, repo):
    first = repo.branch("main").head.id
    put(repo, "a", b"a")
    cli.run("commit", "main", "-m", "a")
    put(repo, "b", b"b")
    cli.run("branch", "reset", "main", "--to", "nope", "-y", status=4)
    assert len(list(repo.branch("main").uncommitted())) == 1
    cli.run("branch", "reset", "main", "--to", first, "--prefix", "a", "-y", status=2)
    assert "--yes" in cli.run("branch", "reset", "main", "--to", first, status=2).talk
    assert cli.json("branch", "reset", "main", "--to", "main~1", "-y")["commit_id"] == first
    assert repo.branch("main").head.id == first and list(repo.ref("main").objects()) == []


def test_merge_and_its_conflicts(cli, repo):
    cli.run("branch", "create", "dev")
    put(repo, "a", b"dev", "dev")
    cli.run("commit", "dev", "-m", "dev")
    assert cli.json("merge", "dev", "main", "-m", "bring")["reference"] == repo.branch("main").head.id
    assert cli.json("merge", "dev", "main")["changed"] is False
    cli.run("merge", "dev", "main", "--require-changes", status=1)
    for branch in ("dev", "main"):
        put(repo, "a", f"{branch} again".encode(), branch)
        put(repo, "b", f"{branch} too".encode(), branch)
        cli.run("commit", branch, "-m", "both")
    conflicts = cli.json("merge", "dev", "main", status=6)
    assert (conflicts["kind"], conflicts["items"]) == ("MergeConflict", [{"path": "a"}, {"path": "b"}])
    cli.run("merge", "dev", "main", "--strategy", "dest-wins")
    assert repo.ref("main").object("a").reader(mode="rb").read() == b"main again"
    put(repo, "dirty", b"x")
    put(repo, "c", b"c", "dev")
    cli.run("commit", "dev", "-m", "c")
    assert cli.reason("merge", "dev", "main", status=1) == "dirty_branch"


def test_revert_and_cherry_pick(cli, repo):
    cli.run("branch", "create", "dev")
    put(repo, "a", b"1", "dev")
    picked = cli.json("commit", "dev", "-m", "one")
    assert cli.json("cherry-pick", picked["id"], "main")["message"] == "one"
    assert repo.ref("main").object("a").exists()
    assert cli.json("cherry-pick", picked["id"], "main") == {"apiVersion": "tarn/v1", "kind": "CherryPick", "changed": False}
    cli.run("cherry-pick", picked["id"], "main", "--require-changes", status=1)
    undone = cli.json("revert", "main", "main")
    assert undone["message"].startswith("Revert") and not repo.ref("main").object("a").exists()
    assert cli.json("revert", picked["id"], "dev")["changed"]
    cli.run("revert", "nope", "main", status=4)


def test_objects(cli, repo):
    put(repo, "d/a", b"hello")
    put(repo, "d/b", b"x")
    put(repo, "top", b"")
    root = f"tarn://{repo.id}/main"
    assert [(item["path"], item["path_type"]) for item in cli.json("fs", "ls", f"{root}/")["items"]] == [
        ("d/", "common_prefix"),
        ("top", "object"),
    ]
    assert cli.run("fs", "ls", "-r", root, "-o", "name").text == "d/a\nd/b\ntop\n"
    assert cli.run("fs", "cat", f"{root}/d/a").out == b"hello"
    assert cli.json("fs", "stat", f"{root}/d/a")["checksum"] == hashlib.md5(b"hello").hexdigest()
    cli.run("fs", "stat", f"{root}/d", status=4)
    missing = cli.run("fs", "cat", f"{root}/nope", status=4)
    assert missing.text == "" and missing.talk.startswith("tarn: ")
    assert cli.json("fs", "cp", f"{root}/d/a", f"{root}/copies/")["path"] == "copies/a"
    cli.run("fs", "rm", f"{root}/top")
    assert cli.json("fs", "rm", "-r", f"{root}/d/")["deleted"] == 2
    assert cli.run("fs", "ls", "-r", "", "-o", "name", TARN_BRANCH="main").text == "copies/a\n"


def test_metadata_of_an_object(cli, repo):
    put(repo, "a", b"a")
    where = f"tarn://{repo.id}/main/a"
    assert cli.json("fs", "metadata", where)["metadata"] == {}
    assert cli.json("fs", "metadata", where, "--meta", "Epoch=3", "--meta", "k=x=y")["metadata"] == {"Epoch": "3", "k": "x=y"}
    assert repo.ref("main").object("a").stat().metadata == {"Epoch": "3", "k": "x=y"}
    assert cli.json("fs", "metadata", where, "--meta", "k=z")["metadata"] == {"k": "z"}
    cli.run("fs", "metadata", where, "--meta", "k=z", "--clear", status=2)
    assert cli.json("fs", "metadata", where, "--clear")["metadata"] == {}
    cli.run("fs", "metadata", f"{where}x", "--meta", "k=z", status=4)


def test_bytes_that_are_in_the_store_are_named(cli, repo, source):
    where, location = f"tarn://{repo.id}/main/seven", f"local://{source}/07"
    sum_of_7 = hashlib.md5(b"7").hexdigest()
    made = cli.json(
        "fs",
        "stage",
        where,
        "--location",
        location,
        "--size",
        1,
        "--checksum",
        sum_of_7,
        "--mtime",
        1_700_000_000,
        "--meta",
        "k=v",
        "--content-type",
        "text/plain",
    )
    assert (made["path"], made["physical_address"], made["mtime"], made["metadata"], made["content_type"]) == (
        "seven",
        location,
        "2023-11-14T22:13:20Z",
        {"k": "v"},
        "text/plain",
    )
    assert cli.run("fs", "cat", where).out == b"7"
    assert "--size" in cli.run("fs", "stage", where, "--location", location, "--checksum", "x", status=2).talk
    cli.run("fs", "stage", where, "--location", "local:///etc/passwd", "--checksum", "x", "--size", 1, status=3)


def test_upload_and_download(cli, repo, tmp_path):
    data = os.urandom(9_000_001)
    local = tmp_path / "model.bin"
    local.write_bytes(data)
    root = f"lakefs://{repo.id}/main"
    made = cli.json("fs", "upload", local, f"{root}/m/", "--meta", "epoch=3", "--content-type", "application/x-model")
    assert (made["path"], made["size_bytes"], made["checksum"], made["metadata"], made["content_type"]) == (
        "m/model.bin",
        len(data),
        hashlib.md5(data).hexdigest(),
        {"epoch": "3"},
        "application/x-model",
    )
    cli.run("fs", "upload", local, f"{root}/m/", "--no-clobber", status=5)
    cli.run("fs", "download", f"{root}/m/model.bin", tmp_path / "back.bin")
    assert (tmp_path / "back.bin").read_bytes() == data
    assert cli.run("fs", "download", f"{root}/m/model.bin", "-").out == data
    cli.run("fs", "upload", "-", f"{root}/piped", stdin=data)
    assert repo.ref("main").object("piped").reader(mode="rb").read() == data
    cli.run("fs", "upload", tmp_path / "absent", f"{root}/x", status=4)
    cli.run("fs", "upload", local, f"tarn://{repo.id}/nope/x", status=4)
    cli.run("fs", "download", f"{root}/absent", tmp_path / "x", status=4)
    assert not (tmp_path / "x").exists()
    empty = tmp_path / "empty"
    empty.write_bytes(b"")
    assert cli.json("fs", "upload", empty, f"{root}/empty")["size_bytes"] == 0
    cli.run("fs", "download", f"{root}/empty", tmp_path / "empty-back")
    assert (tmp_path / "empty-back").read_bytes() == b""


def test_directories_go_up_and_come_down(cli, repo, tmp_path):
    files = {"a.txt": b"a", "d/b ä.txt": b"b", "d/e/c": b""}
    for name, data in files.items():
        (tmp_path / "up" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "up" / name).write_bytes(data)
    root = f"tarn://{repo.id}/main"
    assert cli.json("fs", "upload", "-r", tmp_path / "up", f"{root}/data")["done"] == 3
    assert [item.path for item in repo.ref("main").objects()] == ["data/a.txt", "data/d/b ä.txt", "data/d/e/c"]
    assert cli.json("fs", "download", "-r", f"{root}/data", tmp_path / "down")["done"] == 3
    assert {str(f.relative_to(tmp_path / "down")): f.read_bytes() for f in (tmp_path / "down").rglob("*") if f.is_file()} == files


def test_a_strict_repository_refuses_paths_until_it_takes_any(cli, repo, tmp_path):
    (tmp_path / "x").write_bytes(b"x")
    upload = ("fs", "upload", tmp_path / "x", f"tarn://{repo.id}/main/d/../x")
    assert cli.json("repo", "paths", repo.id)["paths"] == "strict"
    assert cli.reason(*upload, status=1) == "unplain_path"
    assert cli.json("repo", "paths", repo.id, "any")["paths"] == "any"
    cli.run(*upload)
    cli.run("repo", "paths", repo.id, "strict")
    assert [item.path for item in repo.ref("main").objects()] == ["d/../x"]


def test_a_download_never_leaves_its_directory(cli, repo, any_paths, tmp_path):
    for key in ("d/../../evil", "d//evil", "d/ok"):
        put(repo, key, b"x")
    ended = cli.run("fs", "download", "-r", f"tarn://{repo.id}/main/d/", tmp_path / "in" / "side", status=20)
    assert "evil" in ended.talk
    assert [str(f.relative_to(tmp_path)) for f in tmp_path.rglob("*") if f.is_file()] == ["in/side/ok"]


def test_a_damaged_download_is_not_kept(cli, repo, tarn, tmp_path):
    put(repo, "x", b"the right bytes")
    address = repo.ref("main").object("x").stat().physical_address
    stored = tarn.objects_dir / address.removeprefix("local://")
    stored.chmod(0o644)
    stored.write_bytes(b"the wrong bytes")
    ended = cli.run("fs", "download", f"tarn://{repo.id}/main/x", tmp_path / "x", status=1)
    assert "checksum" in ended.talk
    assert list(tmp_path.glob("x*")) == []


def test_memory_of_transfers_is_bounded(cli, repo, tmp_path):
    """Within an address space smaller than the file."""
    size, limit = 300 << 20, 200 << 20
    with open(tmp_path / "big", "wb") as out:
        out.truncate(size)
    for words in (
        ["upload", tmp_path / "big", f"tarn://{repo.id}/main/big"],
        ["download", f"tarn://{repo.id}/main/big", tmp_path / "back"],
    ):
        subprocess.run(
            ["prlimit", f"--as={limit}", servers.program("tarn"), "fs", *words],
            env=cli.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            timeout=120,
            check=True,
        )
    assert (tmp_path / "back").stat().st_size == size


@pytest.fixture
def source(tarn, name):
    directory = tarn.import_root / name
    directory.mkdir()
    for number in range(50):
        (directory / f"{number:02}").write_text(f"{number}")
    return directory


def test_import(cli, repo, source):
    made = cli.json("import", f"local://{source}/", f"tarn://{repo.id}/main/in/", "-m", "bring", "--meta", "k=v")
    assert (made["kind"], made["completed"], made["ingested_objects"]) == ("Import", True, 50)
    assert made["commit"]["message"] == "bring" and made["commit"]["metadata"]["k"] == "v"
    assert repo.ref("main").object("in/07").reader(mode="rb").read() == b"7"
    one = cli.json("import", "--object", f"local://{source}/03", f"tarn://{repo.id}/main/three")
    assert one["ingested_objects"] == 1
    failed = cli.run("import", "local:///etc/", f"tarn://{repo.id}/main/x/", status=1)
    assert "import" in failed.talk and failed.text == ""
    cli.run("import", f"local://{source}/", f"tarn://{repo.id}/nope/in/", status=4)
    cli.run("import", status=2)


def test_an_import_that_removes_objects_asks_first(cli, repo, source):
    words = ["import", f"local://{source}/", f"tarn://{repo.id}/main/in/"]
    for path in ["in/old1", "in/old2", "in/03"]:
        repo.branch("main").object(path).upload(b"old")
    repo.branch("main").commit("before")
    shown = cli.json(*words, "--dry-run")
    assert {name: shown[name] for name in ("at_destination", "added", "changed", "removed")} == {
        "at_destination": 3,
        "added": 49,
        "changed": 1,
        "removed": 2,
    }
    head = repo.branch("main").head.id
    refused = cli.run(*words, status=2)
    assert "removes 2 of the 3 objects" in refused.talk and "--yes" in refused.talk
    assert repo.branch("main").head.id == head
    assert shown["removed_paths"] == ["in/old1", "in/old2"] and shown["changed_paths"] == ["in/03"]
    assert "in/old1, in/old2" in refused.talk
    done = cli.json(*words, "--replace")
    assert (done["added"], done["replaced"], done["removed"]) == (49, 1, 2)
    assert cli.json(*words)["removed"] == 0, "nothing to ask"
    assert cli.json("import", "--object", f"local://{source}/03", f"tarn://{repo.id}/main/in/04")["removed"] == 0


def test_an_import_takes_what_its_source_names(cli, repo, source):
    target, here = f"tarn://{repo.id}/main", f"local://{source}"
    for name in ("03x", "dir/a", "dir-b/c"):
        (source / name).parent.mkdir(exist_ok=True)
        (source / name).write_text(name)

    def taken(*words):
        before = {item.path for item in repo.branch("main").objects()}
        cli.run("import", *words)
        return sorted({item.path for item in repo.branch("main").objects()} - before)

    assert taken(f"{here}/03", f"{target}/one") == ["one"]
    assert taken(f"{here}/03", f"{target}/into/") == ["into/03"]
    assert taken("--object", f"{here}/03x", f"{target}/into/") == ["into/03x"]
    assert taken(f"{here}/dir/", f"{target}/tree") == ["tree/a"]
    assert "dir-b/c" in cli.run("import", f"{here}/dir", f"{target}/new/", status=2).talk
    for path in ("/x/", "../x/", "x//y/", "x/./y", "a\\b/"):
        assert cli.reason("import", f"{here}/dir/", f"{target}/{path}", status=2) == "usage"


def test_an_import_repeats_safely(cli, repo, source):
    words = ["import", f"local://{source}/", f"tarn://{repo.id}/main/in/"]
    first = cli.json(*words, "--idempotency-key", "nightly-1")
    again = cli.json(*words, "--idempotency-key", "nightly-1")
    assert (again["id"], again["commit"]["id"], first["changed"]) == (first["id"], first["commit"]["id"], True)
    nothing = cli.json(*words, "--if-changed")
    assert nothing["changed"] is False and repo.branch("main").head.id == first["commit"]["id"]
    assert cli.json("import-verify", f"tarn://{repo.id}/main/in/")["items"] == []
    (source / "03").unlink()
    (source / "04").write_text("other")
    found = cli.json("import-verify", f"tarn://{repo.id}/main/", status=20)["items"]
    assert [(item["path"], item["problem"]) for item in found] == [("in/03", "missing"), ("in/04", "changed")]


def test_an_import_can_be_left_and_waited_for_later(cli, repo, source):
    begun = cli.json("import", f"local://{source}/", f"tarn://{repo.id}/main/in/", "--no-wait")
    assert begun["completed"] is False
    ended = cli.json("import", "--resume", begun["id"], f"tarn://{repo.id}/main")
    assert (ended["id"], ended["completed"], ended["ingested_objects"]) == (begun["id"], True, 50)
    cli.run("import", "--resume", "nope", f"tarn://{repo.id}/main", status=4)


class StubbornImport:
    """A server whose import never ends: for what a client does meanwhile."""

    def __init__(self):
        import http.server

        calls = self.calls = []

        class Handler(http.server.BaseHTTPRequestHandler):
            def answer(self):
                calls.append(self.command)
                self.rfile.read(int(self.headers.get("Content-Length", 0)))
                status, body = {"POST": (202, {"id": "job1"}), "DELETE": (204, None)}.get(
                    self.command, (200, {"completed": False, "update_time": "x", "ingested_objects": 3})
                )
                text = json.dumps(body).encode() if body else b""
                self.send_response(status)
                self.send_header("Content-Length", str(len(text)))
                self.end_headers()
                self.wfile.write(text)

            do_GET = do_POST = do_DELETE = answer

            def log_message(self, *words):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()


@pytest.fixture
def stubborn(cli):
    stub = StubbornImport()
    cli.environment["TARN_ENDPOINT"] = stub.url
    yield stub
    stub.server.shutdown()


IMPORT = ["import", "s3://b/p/", "tarn://lake/main/x/"]


def test_a_wait_ends_in_time_and_tells_how_to_go_on(cli, stubborn):
    ended = cli.run(*IMPORT, "--timeout", "1s", status=8)
    assert "--resume job1" in ended.talk and "DELETE" not in stubborn.calls
    cli.run(*IMPORT, "--timeout", "soon", status=2)


@pytest.mark.parametrize(
    "how, options, cancelled",
    [(signal.SIGTERM, [], False), (signal.SIGINT, [], False), (signal.SIGINT, ["--cancel-on-interrupt"], True)],
)
def test_interrupting_a_wait(cli, stubborn, how, options, cancelled):
    child = subprocess.Popen(
        [servers.program("tarn"), *IMPORT, *options],
        env=cli.environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    while stubborn.calls.count("GET") < 2:
        time.sleep(0.02)
    child.send_signal(how)
    _, talk = child.communicate(timeout=20)
    assert child.returncode == 130
    assert ("DELETE" in stubborn.calls) == cancelled
    assert (b"--resume job1" in talk) == (not cancelled)


def test_exit_statuses_of_trouble(cli):
    cli.run("nonsense", status=2)
    cli.run("branch", "list", "--nonsense", status=2)
    cli.run("branch", "list", TARN_REPO="", status=2)
    cli.run("branch", "list", TARN_SECRET_KEY="wrong", status=3)
    cli.run("branch", "list", "no-such-repository", status=4)
    assert cli.reason("branch", "delete", "main", "--yes", status=3) == "default_branch"
    away = cli.run("repo", "list", "-o", "json", TARN_ENDPOINT="http://127.0.0.1:9", status=9)
    assert away.text == ""
    error = json.loads(away.talk)
    assert (error["kind"], error["code"], error["exitCode"]) == ("Error", "unavailable", 9)


def test_output_that_cannot_be_written_is_a_failure(cli):
    with open("/dev/full", "wb") as full:
        ended = subprocess.run(
            [servers.program("tarn"), "branch", "list"],
            env=cli.environment,
            stdout=full,
            stderr=subprocess.PIPE,
            timeout=60,
            check=False,
        )
    assert (ended.returncode, b"standard output" in ended.stderr) == (1, True)


def test_another_service_at_the_endpoint_is_told(cli, stubborn):
    """Its answers are JSON, but not of this format."""
    ended = cli.run("branch", "list", "lake", status=1)
    assert "tarn doctor" in ended.talk


def test_nobody_is_asked_in_ci(cli):
    """Even on a terminal: a job must fail, not hang."""
    import pty

    controller, terminal = pty.openpty()
    child = subprocess.Popen(
        [servers.program("tarn"), "branch", "delete", "main"],
        env={**cli.environment, "CI": "true"},
        stdin=terminal,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    _, talk = child.communicate(timeout=20)
    os.close(controller)
    os.close(terminal)
    assert (child.returncode, b"--yes" in talk) == (2, True)


def test_settings_are_kept_and_shown(tarn, repo, tmp_path):
    cli = Cli(tarn, tmp_path / "home")
    for name in ("TARN_ENDPOINT", "TARN_ACCESS_KEY", "TARN_SECRET_KEY"):
        del cli.environment[name]
    for key, value in [
        ("endpoint", tarn.url),
        ("access_key", tarn.access_key),
        ("secret_key", tarn.secret_key),
        ("repo", repo.id),
    ]:
        cli.run("config", "set", key, value)
    assert [item["id"] for item in cli.json("branch", "list")["items"]] == ["main"]
    shown = cli.run("config", "show").text
    assert tarn.url in shown and tarn.secret_key not in shown
    assert (tmp_path / "home/.config/tarn/config.yaml").stat().st_mode & 0o077 == 0
    cli.run("config", "set", "nonsense", "x", status=2)


def test_the_settings_of_lakectl_do(tarn, repo, tmp_path):
    cli = Cli(tarn, tmp_path)
    for name in ("TARN_ENDPOINT", "TARN_ACCESS_KEY", "TARN_SECRET_KEY"):
        del cli.environment[name]
    (tmp_path / ".lakectl.yaml").write_text(
        json.dumps(
            {
                "server": {"endpoint_url": f"{tarn.url}/api/v1"},
                "credentials": {"access_key_id": tarn.access_key, "secret_access_key": tarn.secret_key},
            }
        )
    )
    assert cli.run("branch", "list", f"lakefs://{repo.id}", "-o", "name").text == "main\n"
    put(repo, "d/a", b"x")
    assert cli.run("fs", "cat", "main/d/a", LAKECTL_BASE_URI=f"lakefs://{repo.id}/").out == b"x"


def test_version(cli):
    versions = cli.json("version", "--server")
    assert versions["version"] == versions["server_version"]


def test_the_reference_is_current(cli):
    """After a change of commands: build/bin/tarn reference > docs/cli-reference.md"""
    assert cli.run("reference").text == (servers.ROOT / "docs/cli-reference.md").read_text()


def test_help_is_data(cli):
    assert "Usage: tarn fs ls" in cli.run("fs", "ls", "--help").text
    assert cli.run("--help").talk == ""

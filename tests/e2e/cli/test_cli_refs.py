"""All refs of a repository, dumped and restored by the command."""

import json


def test_refs_are_dumped_and_restored(cli, repo, tmp_path):
    repo.branch("main").object("a").upload(b"a")
    cli.run("commit", "main", "-m", "one")
    cli.run("branch", "create", "dev")
    cli.run("tag", "create", "v1", "main")
    dumped = cli.run("refs", "dump", "-o", "json").text
    assert json.loads(dumped)["kind"] == "RefsDump"
    (tmp_path / "refs.json").write_text(dumped)
    copy = f"{repo.id[:50]}-copy"
    storage = repo.properties.storage_namespace
    cli.run("repo", "create", copy, f"{storage}-copy", "--bare")
    restored = cli.json("refs", "restore", tmp_path / "refs.json", f"tarn://{copy}")
    assert (restored["kind"], restored["changed"]) == ("RefsRestore", True)
    assert [item["id"] for item in cli.json("branch", "list", copy)["items"]] == ["dev", "main"]
    assert cli.json("show", f"tarn://{copy}/v1")["message"] == "one"
    assert cli.run("fs", "cat", f"tarn://{copy}/v1/a").out == b"a"
    cli.run("refs", "restore", tmp_path / "refs.json", copy, status=1)
    assert [item["message"] for item in cli.json("log", f"tarn://{copy}/dev")["items"]] == ["one", "Repository created"]
    cli.run("refs", "restore", "-", copy, stdin=b"{}", status=2)
    cli.run("refs", "restore", tmp_path / "absent", copy, status=4)
    cli.run("refs", "dump", "no-such-repository", status=4)


def test_paths_are_checked_out_of_another_ref(cli, repo):
    for path in ("models/a", "models/b", "code/x"):
        repo.branch("main").object(path).upload(b"one")
    cli.run("commit", "main", "-m", "one")
    cli.run("tag", "create", "v1", "main")
    repo.branch("main").object("models/a").upload(b"two")
    repo.branch("main").object("code/x").upload(b"two")
    repo.branch("main").object("models/c").upload(b"two")
    dry = cli.json("checkout-path", "v1", "models/*", "--branch", "main", "--dry-run")
    assert (dry["added"], dry["changed"], dry["deleted"]) == (0, 1, 1)
    refused = cli.run("checkout-path", "v1", "models/*", "--branch", "main", status=2)
    assert "deletes 1 object of" in refused.talk and "--yes" in refused.talk
    assert cli.run("fs", "cat", f"tarn://{repo.id}/main/models/a").out == b"two"
    done = cli.json("checkout-path", "v1", "models/*", "--branch", "main", "--yes")
    assert {key: done[key] for key in ("kind", "written", "deleted", "unchanged")} == {
        "kind": "Checkout",
        "written": 1,
        "deleted": 1,
        "unchanged": 1,
    }
    assert cli.run("fs", "cat", f"tarn://{repo.id}/main/models/a").out == b"one"
    assert cli.run("fs", "cat", f"tarn://{repo.id}/main/code/x").out == b"two"
    cli.run("branch", "create", "dev", "-s", "v1")
    cli.run("checkout-path", "main", "code/**", "models/a", "--branch", "dev")
    assert cli.run("fs", "cat", f"tarn://{repo.id}/dev/code/x").out == b"two"
    cli.run("checkout-path", "absent", "**", "--branch", "dev", status=4)
    cli.run("checkout-path", "v1", "[a", "--branch", "dev", status=1)
    cli.run("checkout-path", "v1", "--branch", "dev", status=2)
    cli.run("checkout-path", "v1", "**", status=2)

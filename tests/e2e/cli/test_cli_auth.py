"""Users, groups, policies and access keys through the command."""

import json
import os
import subprocess
import uuid

import pytest
import requests
import servers
from command import Cli


@pytest.fixture
def one(cli):
    """A user with a key, and a command that runs with it."""
    user = f"ann-{uuid.uuid4().hex[:8]}"
    assert cli.json("auth", "users", "create", user)["changed"]
    keys = cli.json("auth", "credentials", "create", user)
    theirs = {"TARN_ACCESS_KEY": keys["access_key_id"], "TARN_SECRET_KEY": keys["secret_access_key"]}
    return user, theirs


def names(cli, *words, **environment):
    return cli.run(*words, "-o", "name", **environment).text.split()


def test_users_and_keys(cli, one):
    user, theirs = one
    cli.run("auth", "users", "create", user, status=5)
    assert cli.json("auth", "users", "create", user, "--if-not-exists")["changed"] is False
    assert names(cli, "auth", "users", "list", "--prefix", user) == [user]
    assert cli.json("auth", "users", "show", user)["id"] == user
    assert cli.run("auth", "whoami", "-o", "name", **theirs).text == f"{user}\n"
    key = theirs["TARN_ACCESS_KEY"]
    assert names(cli, "auth", "credentials", "list", user) == [key]
    cli.run("auth", "credentials", "delete", key, user, status=2)
    cli.run("auth", "credentials", "delete", key, user, "--yes")
    cli.run("auth", "whoami", status=3, **theirs)
    cli.run("auth", "users", "delete", user, "--yes")
    cli.run("auth", "users", "show", user, status=4)


def test_a_user_with_groups_and_a_key_in_one_step(cli):
    user = f"bea-{uuid.uuid4().hex[:8]}"
    cli.run("auth", "users", "create", user, "--group", "Viewers", "--group", "Nobody", "--with-key", status=4)
    cli.run("auth", "users", "show", user, status=4)
    made = cli.json("auth", "users", "create", user, "--group", "Viewers", "--group", "Developers", "--with-key")
    theirs = {"TARN_ACCESS_KEY": made["access_key_id"], "TARN_SECRET_KEY": made["secret_access_key"]}
    assert (made["id"], made["groups"], made["changed"]) == (user, ["Viewers", "Developers"], True)
    assert cli.run("auth", "whoami", "-o", "name", **theirs).text == f"{user}\n"
    assert names(cli, "auth", "users", "groups", user) == ["Developers", "Viewers"]
    again = ("auth", "users", "create", user, "--group", "Viewers", "--if-not-exists", "--with-key")
    assert cli.json(*again)["changed"] is False
    assert "access_key_id" not in cli.json(*again) and len(names(cli, "auth", "credentials", "list", user)) == 1
    assert cli.json("auth", "users", "create", user, "--group", "SuperUsers", "--if-not-exists")["changed"] is True


def test_a_policy_decides(tarn, cli, one, repo, tmp_path):
    user, theirs = one
    policy = f"reads-{repo.id}"
    document = tmp_path / "policy.json"
    document.write_text(
        json.dumps(
            {
                "statement": [
                    {"effect": "allow", "action": ["fs:List*", "fs:Read*"], "resource": f"arn:lakefs:fs:::repository/{repo.id}*"}
                ]
            }
        )
    )
    cli.run("branch", "list", status=3, **theirs)
    made = cli.json("auth", "policies", "create", policy, document)
    assert (made["id"], made["changed"], len(made["statement"])) == (policy, True, 1)
    assert cli.json("auth", "policies", "create", policy, document, "--if-not-exists")["changed"] is False
    assert cli.json("auth", "policies", "attach", policy, "--user", user)["changed"]
    assert cli.json("auth", "policies", "attach", policy, "--user", user)["changed"] is False
    tarn.settle()
    assert names(cli, "branch", "list", **theirs) == ["main"]
    cli.run("branch", "create", "dev", status=3, **theirs)
    shown = cli.run("auth", "policies", "show", policy, "-o", "json").text
    cli.run("auth", "policies", "update", policy, "-", stdin=shown.replace("fs:Read*", "fs:*").encode())
    tarn.settle()
    cli.run("branch", "create", "dev", **theirs)
    assert names(cli, "auth", "users", "policies", user) == [policy]
    cli.run("auth", "policies", "detach", policy, "--user", user)
    tarn.settle()
    cli.run("branch", "list", status=3, **theirs)
    cli.run("auth", "policies", "attach", policy, status=2)
    cli.run("auth", "policies", "attach", policy, "--user", user, "--group", "g", status=2)
    cli.run("auth", "policies", "create", "other", tmp_path / "absent", status=4)
    cli.run("auth", "policies", "create", "other", "-", stdin=b"{}", status=2)
    cli.run("auth", "policies", "delete", policy, "-y")
    cli.run("auth", "policies", "show", policy, status=4)


def test_groups_members_and_levels(tarn, cli, one, repo):
    user, theirs = one
    group = f"team-{repo.id[-12:]}"
    assert cli.json("auth", "groups", "create", group, "--description", "who trains")["description"] == "who trains"
    assert cli.json("auth", "members", "add", group, user)["changed"]
    assert names(cli, "auth", "members", "list", group) == [user]
    assert names(cli, "auth", "users", "groups", user) == [group]
    cli.run("auth", "acl", "set", group, "Write")
    assert cli.json("auth", "acl", "show", group)["permission"] == "Write"
    cli.run("auth", "acl", "set", group, "Everything", status=1)
    assert names(cli, "auth", "users", "policies", user) == []
    effective = names(cli, "auth", "users", "policies", user, "--effective")
    assert effective and effective == names(cli, "auth", "groups", "policies", group)
    tarn.settle()
    cli.run("branch", "create", "dev", **theirs)
    cli.run("auth", "members", "remove", group, user)
    tarn.settle()
    cli.run("branch", "list", status=3, **theirs)
    cli.run("auth", "groups", "delete", group, "--yes")
    cli.run("auth", "groups", "show", group, status=4)


def accept(link):
    place, token = link.split("/invitation#")
    return requests.post(f"{place}/api/v1/auth/invitations/accept", json={"token": token}, timeout=60)


def test_a_link_makes_the_key_of_a_new_user_once(cli, tarn):
    user = f"bea-{uuid.uuid4().hex[:8]}"
    made = cli.json("auth", "users", "create", user, "--group", "Developers", "--with-key", "--send-once")
    assert made["link"].startswith(f"{tarn.url}/invitation#") and "secret_access_key" not in made
    assert names(cli, "auth", "credentials", "list", user) == []
    assert cli.json("auth", "users", "show", user)["invitations"][0]["made_by"] == "admin"
    # A program that looks at the address for its reader does not use it up.
    assert requests.get(made["link"], timeout=60).status_code == 200
    given = accept(made["link"])
    assert (given.status_code, given.json()["user_id"]) == (201, user)
    keys = {"TARN_ACCESS_KEY": given.json()["access_key_id"], "TARN_SECRET_KEY": given.json()["secret_access_key"]}
    assert cli.json("auth", "whoami", **keys)["id"] == user
    again = accept(made["link"])
    assert (again.status_code, again.headers["X-Tarn-Error"]) == (404, "invitation_over")
    assert cli.json("auth", "users", "show", user)["invitations"] == []
    assert made["link"].split("#")[1] not in tarn.process.log.read_text()


def test_a_link_is_withdrawn_and_replaced(cli, one):
    user, theirs = one
    first, second = (cli.json("auth", "credentials", "create", user, "--send-once")["link"] for _ in range(2))
    assert accept(first).status_code == 404
    cli.run("auth", "credentials", "withdraw", user)
    assert accept(second).status_code == 404
    cli.run("auth", "credentials", "withdraw", user, status=4)
    cli.run("auth", "credentials", "create", "nobody", "--send-once", status=4)
    # Who may make no keys of others makes no links for them.
    cli.run("auth", "credentials", "create", "admin", "--send-once", status=3, **theirs)


def test_login_keeps_keys_that_are_right(tarn, tmp_path):
    cli = Cli(tarn, tmp_path / "home")
    keys = [cli.environment.pop(name) for name in ("TARN_ACCESS_KEY", "TARN_SECRET_KEY")]
    kept = tmp_path / "home/.config/tarn/config.yaml"
    cli.run("auth", "login", status=2)
    cli.run("auth", "login", status=3, TARN_ACCESS_KEY=keys[0], TARN_SECRET_KEY="wrong")
    assert not kept.exists()
    logged = cli.json("auth", "login", TARN_ACCESS_KEY=keys[0], TARN_SECRET_KEY=keys[1])
    assert (logged["access_key"], logged["file"]) == (keys[0], str(kept))
    del cli.environment["TARN_ENDPOINT"]
    assert cli.json("auth", "whoami")["id"] == "admin"
    token = cli.run("auth", "token", "-o", "name").text.strip()
    kept.unlink()
    assert cli.json("auth", "whoami", TARN_TOKEN=token, TARN_ENDPOINT=tarn.url)["id"] == "admin"
    cli.run("auth", "whoami", TARN_TOKEN=f"{token}x", TARN_ENDPOINT=tarn.url, status=3)


def test_login_asks_a_person_and_hides_the_secret(tarn, tmp_path):
    import pty

    cli = Cli(tarn, tmp_path / "home")
    keys = [cli.environment.pop(name) for name in ("TARN_ACCESS_KEY", "TARN_SECRET_KEY")]
    controller, terminal = pty.openpty()
    child = subprocess.Popen(
        [servers.program("tarn"), "auth", "login"], env=cli.environment, stdin=terminal, stdout=subprocess.PIPE, stderr=terminal
    )
    os.close(terminal)
    seen = b""
    for question, answer in ((b"Access key: ", keys[0]), (b"Secret key: ", keys[1])):
        while question not in seen:
            seen += os.read(controller, 4096)
        os.write(controller, answer.encode() + b"\n")
    out, _ = child.communicate(timeout=60)
    try:
        while piece := os.read(controller, 4096):
            seen += piece
    except OSError:
        pass  # the other end is closed: all was read
    os.close(controller)
    assert (child.returncode, keys[0].encode() in out) == (0, True)
    assert keys[1].encode() not in seen


def test_a_key_with_limits_does_what_they_allow_until_its_end(cli, tarn, repo, one):
    user, _ = one
    cli.run("auth", "members", "add", "Developers", user)
    limits = ("--for", "1h", "--can", f"fs:ReadObject@tarn://{repo.id}/main/data/*", "--can", f"fs:ReadBranch@tarn://{repo.id}")
    made = cli.json("auth", "credentials", "create", user, *limits)
    keys = {"TARN_ACCESS_KEY": made["access_key_id"], "TARN_SECRET_KEY": made["secret_access_key"]}
    listed = {key["access_key_id"]: key for key in cli.json("auth", "credentials", "list", user)["items"]}[made["access_key_id"]]
    assert listed["expires_at"] == made["expires_at"] and len(listed["statement"]) == 3
    tarn.settle()
    cli.run("fs", "cat", f"tarn://{repo.id}/main/data/a", status=4, **keys)
    cli.run("fs", "cat", f"tarn://{repo.id}/main/other", status=3, **keys)
    cli.run("branch", "create", "dev", status=3, **keys)
    # A key without an end would outlive this one.
    cli.run("auth", "credentials", "create", status=3, **keys)
    cli.run("auth", "credentials", "create", "--send-once", status=3, **keys)
    cli.run("auth", "credentials", "create", user, "--for", "0s", status=1)
    cli.run("auth", "credentials", "create", user, "--can", "fs:ReadObject", status=2)
    cli.run("auth", "credentials", "create", user, "--can", "fs:Nothing@*", status=1)
    cli.run("auth", "credentials", "create", user, "--for", "1h", "--send-once", status=2)

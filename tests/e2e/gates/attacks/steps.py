"""Steps of members: each step once, over REST, S3 or the command as the stage's way says."""

import hashlib
import json
import time
from collections.abc import Callable
from dataclasses import dataclass

import clients
import requests
from stage import ENDED, POLL_SECONDS, SETTLE_SECONDS, Answer
from team import RIGHTS


@dataclass(frozen=True)
class Step:
    """do(stage, by): `by` is who tries the attack; a step that names somebody else is theirs. tried: it may be refused."""

    do: Callable
    ways: tuple = ("rest",)
    tried: bool = False


def step(make):
    """A function (stage, who, ...) as the maker of a step; `by` names somebody else, `over` one interface."""

    def made(*arguments, by=None, **options):
        return Step(lambda stage, who: make(stage, by or who, *arguments, **options))

    return made


def step_over(*ways):
    """The same for what can be done in several ways."""

    def mark(make):
        def made(*arguments, by=None, **options):
            return Step(lambda stage, who: make(stage, by or who, *arguments, **options), ways)

        return made

    return mark


def tried(one):
    """A step that need not succeed: what the server must not let happen is seen at the end."""
    return Step(one.do, one.ways, tried=True)


@step
def refused(stage, who, one, *status):
    """A step that must be refused with one of `status`, before the others."""
    at = len(stage.answers)
    one.do(stage, who)
    stage.answers[at].check(status, "")
    del stage.answers[at:]


@step
def within(stage, who, seconds, one):
    begun = time.monotonic()
    one.do(stage, who)
    assert time.monotonic() - begun < seconds


@step
def ask(stage, who, method, path, **options):
    stage.ask(who, method, path, **options)


@step
def must(stage, who, method, path, keep=None, member=None, **options):
    """keep, member: under which name a member of the answer is kept."""
    answer = stage.must(who, method, path, **options)
    if keep:
        stage.keep(keep, answer[member])


@step_over("s3")
def over_s3(stage, who, operation, **arguments):
    stage.s3(who, operation, **arguments)


@step_over("tarn")
def command(stage, who, *words):
    stage.tarn(who, *words)


@step
def keep_head(stage, who, name, ref):
    stage.keep(name, stage.see(f"/commits/{ref}")["id"])


# Work on branches.


@step
def branch(stage, who, name, source="main"):
    stage.must(who, "POST", "/branches", json={"name": name, "source": source})
    stage.keep(name, stage.see(f"/branches/{name}")["commit_id"])


@step
def many_branches(stage, who, prefix, count, source="main"):
    for number in range(count):
        stage.must(who, "POST", "/branches", json={"name": f"{prefix}{number}", "source": source})


def put(stage, who, name, path, data):
    data = data if isinstance(data, bytes) else data.encode()
    if stage.way == "s3":
        stage.s3(who, "put_object", Key=f"{name}/{path}", Body=data)
    elif stage.way == "tarn":
        file = stage.scratch / "upload"
        file.write_bytes(data)
        stage.tarn(who, "fs", "upload", file, f"tarn://{stage.repo}/{name}/{path}")
    else:
        stage.ask(who, "POST", f"/branches/{name}/objects", params={"path": path}, data=data)


def commit_on(stage, who, name, metadata=None, **members):
    made = stage.ask(who, "POST", f"/branches/{name}/commits", json={"message": name, "metadata": metadata or {}, **members})
    if made.status == 201:
        stage.keep(name, made.json()["id"])
    return made


# Their last answer is judged, or the steps behind them need what they wrote.
write = step_over("rest", "s3", "tarn")(put)
commit = step(commit_on)


@step
def train(stage, who, name, accuracy=None, source="main", files=None, meta=None, **members):
    """A branch with a model of its own in one commit, measured in its metadata."""
    metadata = dict(meta or {}) if accuracy is None else {"metric.accuracy": str(accuracy), **(meta or {})}
    if stage.look(f"/branches/{name}")[0] == 404:
        stage.must(who, "POST", "/branches", json={"name": name, "source": source})
    for path, data in (files or {"artifacts/model.pkl": f"model of {name}"}).items():
        stage.must(
            who,
            "POST",
            f"/branches/{name}/objects",
            params={"path": path},
            data=data if isinstance(data, bytes) else data.encode(),
        )
    made = commit_on(stage, who, name, metadata, **members)
    assert made.status == 201, made


@step
def link(stage, who, name, path, data, **members):
    """Sends the bytes to an address of the server's choice and stages that, with what `members` say of it."""
    given = stage.must(who, "GET", f"/branches/{name}/staging/backing", params={"path": path, "presign": True})
    stage.keep("upload", given["presigned_url"])
    sent = requests.put(given["presigned_url"], data=data, timeout=60)
    assert sent.status_code < 300, sent.text
    stage.answers.clear()  # what counts is whether it is linked
    stage.ask(
        who,
        "PUT",
        f"/branches/{name}/staging/backing",
        params={"path": path},
        json={"staging": given, "checksum": hashlib.md5(data).hexdigest(), "size_bytes": len(data), **members},
    )


@step
def send_again(stage, who, data):
    """To the address of the last link()."""
    got = requests.put(stage.kept["upload"], data=data, timeout=60)
    stage.note(Answer(got.status_code, got.text))


@step
def link_later(stage, who, name, path):
    """Links the address that is kept as such."""
    stage.ask(
        who,
        "PUT",
        f"/branches/{name}/staging/backing",
        params={"path": path},
        json={"staging": {"physical_address": "<address>"}, "checksum": "x", "size_bytes": 1},
    )


@step_over("s3")
def begin_multipart(stage, who, key):
    s3 = stage.client("s3", who, clients.boto3_client)
    upload = s3.create_multipart_upload(Bucket=stage.repo, Key=key)["UploadId"]
    part = s3.upload_part(Bucket=stage.repo, Key=key, UploadId=upload, PartNumber=1, Body=b"evil")
    stage.keep(
        "multipart", {"Key": key, "UploadId": upload, "MultipartUpload": {"Parts": [{"ETag": part["ETag"], "PartNumber": 1}]}}
    )


@step_over("s3")
def send_multipart(stage, who):
    stage.s3(who, "complete_multipart_upload", **stage.kept["multipart"])


@step
def merge(stage, who, source, destination, **members):
    stage.must(who, "POST", f"/refs/{source}/merge/{destination}", json=members)
    stage.keep(destination, stage.see(f"/branches/{destination}")["commit_id"])


# Measuring.


@step_over("rest", "tarn")
def log_run(stage, who, ref, metrics, **members):
    """metrics: {name or name@split: value}"""
    if not ref.startswith("<"):  # a run names no ref that may move
        status, text = stage.look(f"/commits/{ref}")
        ref = json.loads(text)["id"] if status == 200 else ref
    if stage.way == "tarn":
        words = [word for name, value in metrics.items() for word in ("--metric", f"{name}={value}")]
        stage.tarn(who, "exp", "log", "--ref", ref, *words)
        return
    listed = [dict(zip(("name", "split"), name.split("@"), strict=False), value=value) for name, value in metrics.items()]
    stage.ask(who, "POST", "/experiments/e/runs", json={"commit": ref, "metrics": listed, **members})


# Promotions.


@step_over("rest", "tarn")
def promote(stage, who, *candidates, to="main", settle=True, **members):
    """Begins one, and waits until it has ended or waits."""
    if stage.way == "tarn" and not set(members) - {"alias", "method", "paths", "policy", "reason", "select"}:
        words = [
            word for name in ("alias", "method", "policy", "select") if name in members for word in (f"--{name}", members[name])
        ]
        words += [word for path in members.get("paths", []) for word in ("--path", path)]
        made = stage.tarn(who, "promote", *candidates, "--to", to, *words, "-o", "json")
    else:
        made = stage.ask(who, "POST", "/promotions", json={"candidates": list(candidates), "destination": to, **members})
    # The command's status is 0 here when the promotion has ended badly before its answer was read.
    if made.status in (0, 200, 202) and '"steps"' in made.text:
        stage.promotions.append(made.json()["id"])
        stage.keep("promotion", made.json()["id"])
        if settle:
            keep_result(stage)


def keep_result(stage):
    done = stage.settled(stage.promotions[-1])
    if "result" in done:
        stage.keep("result", done["result"])


def say(stage, who, verb, *words, **members):
    """Approve, reject, cancel: of the last promotion."""
    id = stage.promotions[-1]
    if stage.way == "tarn":
        stage.tarn(who, "promote", verb, id, *words, "-o", "json")
    else:
        stage.ask(who, "POST", f"/promotions/{id}:{verb}", json=members)
    stage.settled(id)


NO_REVIEW = "0" * 64


@step_over("rest", "tarn")
def approve(stage, who, review=None):
    """review: its digest; without it what the promotion shows now."""
    shown = stage.promotion(stage.promotions[-1]).get("review_digest", NO_REVIEW) if review is None else review
    say(stage, who, "approve", "--review", shown, review_digest=shown)


@step
def keep_review(stage, who, name):
    stage.keep(name, stage.promotion(stage.promotions[-1])["review_digest"])


@step_over("rest", "tarn")
def reject(stage, who, **members):
    say(stage, who, "reject", **members)


@step_over("rest", "tarn")
def cancel(stage, who):
    say(stage, who, "cancel")


@step_over("rest", "tarn")
def check(stage, who, name, ref, status="success", metrics=None, **members):
    """Reports what the check `name` found about the commit kept as `ref`."""
    id = stage.promotions[-1]
    if stage.way == "tarn":
        words = [word for metric, value in (metrics or {}).items() for word in ("--metric", f"{metric}={value}")]
        stage.tarn(who, "promote", "check", id, name, "--commit", f"<{ref}>", "--status", status, *words, "-o", "json")
    else:
        stage.ask(
            who,
            "POST",
            f"/promotions/{id}/checks/{name}",
            json={"commit": f"<{ref}>", "status": status, "metrics": metrics or {}, **members},
        )
    stage.settled(id)


@step_over("rest", "tarn")
def supersede(stage, who, name, ref, reason, status="success"):
    """Reports that a failure of the check `name` does not stand, and why."""
    id = stage.promotions[-1]
    if stage.way == "tarn":
        stage.tarn(
            who, "promote", "check", id, name, "--commit", f"<{ref}>", "--status", status, "--supersedes", reason, "-o", "json"
        )
    else:
        stage.ask(
            who, "POST", f"/promotions/{id}/checks/{name}", json={"commit": f"<{ref}>", "status": status, "supersedes": reason}
        )
    stage.settled(id)


@step_over("rest", "tarn")
def roll_back(stage, who, id="<promotion>", **members):
    if stage.way == "tarn":
        stage.tarn(who, "promote", "rollback", id, "-o", "json")
    else:
        stage.ask(who, "POST", f"/promotions/{id}:rollback", json=members)
    stage.keep("main", stage.see("/branches/main")["commit_id"])


@step
def set_policy(stage, who, document, name="gate"):
    stage.ask(
        who, "PUT", f"/policies/{name}", data=json.dumps(stage.fill(document)), headers={"Content-Type": "application/json"}
    )


@step
def remove_policy(stage, who, name="gate"):
    stage.ask(who, "DELETE", f"/policies/{name}")


@step
def wait_until_settled(stage, who):
    keep_result(stage)


@step
def wait_until_ended(stage, who, id="<promotion>"):
    """Lets the promotion expire, whatever it waits for."""
    id = stage.fill(id)
    deadline = time.monotonic() + SETTLE_SECONDS
    while stage.promotion(id)["state"] not in ENDED:
        assert time.monotonic() < deadline, stage.promotion(id)
        time.sleep(POLL_SECONDS)


@step
def ran_a_hook(stage, who, says):
    """Some run of a hook has printed `says`: the script came so far."""
    for run in stage.see("/actions/runs?amount=100")["results"]:
        for hook in stage.see(f"/actions/runs/{run['run_id']}/hooks")["results"]:
            status, text = stage.look(f"/actions/runs/{run['run_id']}/hooks/{hook['hook_run_id']}/output")
            assert status == 200, text
            if says in text:
                return
    raise AssertionError(f"no hook printed {says}")


@step
def wait_until_noticed(stage, who, name):
    """The promotion is of the head that the branch has now."""
    deadline = time.monotonic() + SETTLE_SECONDS
    head = stage.must(who, "GET", f"/branches/{name}")["commit_id"]
    while stage.promotion(stage.promotions[-1])["winner"]["commit"] != head:
        assert time.monotonic() < deadline, stage.promotion(stage.promotions[-1])
        time.sleep(POLL_SECONDS)


@step
def another_key(stage, who, role):
    """From here on `role` is a second key of `who`."""
    stage.members[role] = stage.team.with_key(stage.member(who).name)


@step
def newcomer(stage, who, role, like):
    """From here on `role` is a user of this stage alone with the rights of `like`."""
    stage.members[role] = stage.team.make(role, RIGHTS[like])
    stage.keep(f"user:{role}", stage.members[role].name)
    stage.team.server.settle()


@step
def take_rights(stage, who, role):
    name = stage.member(role).name
    stage.team.auth.detach_policy_from_user(name, name)
    stage.team.server.settle()


@step
def remove_user(stage, who, role):
    stage.team.auth.delete_user(stage.member(role).name)
    stage.team.server.settle()


# A champion of 0.9 that went through the gate.
CHAMPION = (train("exp-champion", 0.9, by="dev2"), promote("exp-champion", by="lead"))

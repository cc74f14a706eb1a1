"""Runs and metrics as clients meet them: what a notebook commits, what MLflow and TensorBoard write, and `tarn exp`."""

import base64
import json
import time

# Written by TensorBoard's EventFileWriter and by TensorFlow's tf.summary.scalar: the files as they are.
BY_TENSORBOARD = base64.b64decode(
    "SAAAAAAAAAD+kkidCWDK3hyJwNpBGg1icmFpbi5FdmVudDoyUi4KLHRlbnNvcmJvYXJkLnN1bW1hcnkud3JpdGVyLmV2ZW50X2ZpbGVfd3JpdGVy"
    "khSTJhoAAAAAAAAAEpvYLQkAAAAAAADwPxBkKg0KCwoEbG9zcxUAAIA/SGOJABsAAAAAAAAAGg2eEwkAAAAAAAAAQBDIASoNCgsKBGxvc3MVAAAA"
    "P1K6L/A="
)
BY_TENSORFLOW = base64.b64decode(
    "PgAAAAAAAADZ0kDnCQAAQB+JwNpBGg1icmFpbi5FdmVudDoyUiQKInRlbnNvcmZsb3cuY29yZS51dGlsLmV2ZW50c193cml0ZXJa2qedNgAAAAAA"
    "AABPV4zvCSqPWB+JwNpBKisKKQoOZXBvY2hfYWNjdXJhY3lCCggBEgAiBAAAAD9KCwoJCgdzY2FsYXJzHkeQSTgAAAAAAAAAo3l9Vwm1cFkficDa"
    "QRAHKisKKQoOZXBvY2hfYWNjdXJhY3lCCggBEgAiBAAAwD9KCwoJCgdzY2FsYXJzM7iAjzgAAAAAAAAAo3l9VwkXf1kficDaQRAOKisKKQoOZXBv"
    "Y2hfYWNjdXJhY3lCCggBEgAiBAAAIEBKCwoJCgdzY2FsYXJzQxbvaA=="
)
# As MLflow's file store writes them.
BY_MLFLOW = {
    "metrics/val/loss": "1795302512050 1.0 0\n1795302512052 0.5 1\n1795302512057 0.3333333333333333 2\n",
    "metrics/accuracy": "1795302512058 nan 0\n",
    "metrics/big": "1795302512058 inf 0\n",
    "params/optimizer": "adam",
    "meta.yaml": "artifact_uri: x\nend_time: 1\n",
    "tags/mlflow.user": "root",
}


def measured(rest, repo, ref, **query):
    answer = rest("GET", f"/repositories/{repo.id}/commits/{ref}/metrics", params=query)
    assert answer.status_code == 200, answer.text
    return answer.json()


def values(facts):
    return {(metric["name"], metric["origin"]): metric["value"] for metric in facts["metrics"]}


def train(repo, s3, branch, loss, accuracy, job):
    """The notebook's calls for one experiment, rows 11 to 20."""
    experiment = repo.branch(branch).create(source_reference="main", exist_ok=True)
    params = {"epochs": "50", "optimizer": "adagrad", "metrics": "['accuracy']", "is_shuffle": "True"}
    experiment.object("config/config.json").upload(data=json.dumps(params).encode(), mode="wb", pre_sign=False)
    part = f"{branch}/metrics/part-00000-{job}-c000.json"
    line = json.dumps({"loss": str(loss), "accuracy": str(accuracy)}) + "\n"
    # Spark writes below _temporary, renames, then marks.
    s3.put_object(Bucket=repo.id, Key=f"{branch}/metrics/_temporary/0/part", Body=line.encode())
    s3.copy_object(Bucket=repo.id, Key=part, CopySource={"Bucket": repo.id, "Key": f"{branch}/metrics/_temporary/0/part"})
    s3.delete_object(Bucket=repo.id, Key=f"{branch}/metrics/_temporary/0/part")
    s3.put_object(Bucket=repo.id, Key=f"{branch}/metrics/_SUCCESS", Body=b"")
    experiment.commit(
        message=f"Saving model metrics to {branch}", metadata={**params, "loss": str(loss), "accuracy": str(accuracy)}
    )
    return part.removeprefix(f"{branch}/")


def test_the_notebooks_metrics_are_read_as_they_are(repo, s3, rest):
    part = train(repo, s3, "experiment-1", 0.7, 1.5, "0f0c8ee9-2c73-4b4d-b90d-9b7b2d4a4f01")
    facts = measured(rest, repo, "experiment-1")
    assert values(facts) == {("accuracy", f"file:{part}"): 1.5, ("loss", f"file:{part}"): 0.7}
    assert facts["warnings"] == []
    bare = measured(rest, repo, "experiment-1", bare=["accuracy", "loss"])
    assert values(bare)[("accuracy", "commit-metadata")] == 1.5
    assert facts["commit_id"] == repo.branch("experiment-1").head.id


def test_a_second_merge_does_not_bring_back_the_first_ones_metrics(repo, s3, rest):
    train(repo, s3, "experiment-1", 0.7, 0.6, "ffffffff-2c73-4b4d-b90d-9b7b2d4a4f01")
    time.sleep(0.01)
    newer = train(repo, s3, "experiment-2", 0.5, 0.9, "00000000-2c73-4b4d-b90d-9b7b2d4a4f01")
    repo.branch("experiment-1").merge_into(repo.branch("main"))
    repo.branch("experiment-2").merge_into(repo.branch("main"))
    facts = measured(rest, repo, "main")
    assert values(facts) == {("accuracy", f"file:{newer}"): 0.9, ("loss", f"file:{newer}"): 0.5}
    assert len(facts["warnings"]) == 1 and "older job" in facts["warnings"][0]


def test_files_of_mlflow_and_tensorboard(repo, rest):
    branch = repo.branch("main")
    for path, text in BY_MLFLOW.items():
        branch.object(f"mlruns/7388/fd03/{path}").upload(data=text.encode())
    branch.object("metrics/train/events.out.tfevents.1795302515.vm.1.0").upload(data=BY_TENSORBOARD)
    branch.object("metrics/validation/events.out.tfevents.1795302525.vm.1.0.v2").upload(data=BY_TENSORFLOW)
    branch.object("metrics/torn.json").upload(data=b'{"f1": 0.25, "rest": ')
    branch.commit("m")
    facts = measured(rest, repo, "main")
    assert {(m["name"], m.get("split", "")): m["value"] for m in facts["metrics"]} == {
        ("val/loss", ""): 0.3333333333333333,
        ("accuracy", ""): "NaN",
        ("big", ""): "Infinity",
        ("loss", "train"): 0.5,
        ("epoch_accuracy", "validation"): 2.5,
    }
    assert facts["params"] == {"optimizer": "adam"}
    assert facts["warnings"] == ["metrics/torn.json: line 1: ends in the middle: the file counts for nothing"]
    series = f"/repositories/{repo.id}/commits/main/series"
    curve = rest("GET", series, params={"metric": "epoch_accuracy", "split": "validation"}).json()
    assert [(p["step"], p["value"]) for p in curve["results"]] == [(0, 0.5), (7, 1.5), (14, 2.5)]
    page = rest("GET", series, params={"metric": "val/loss", "amount": 2}).json()
    assert page["pagination"]["has_more"]
    rest_of = rest("GET", series, params={"metric": "val/loss", "after": page["pagination"]["next_offset"]}).json()
    assert [p["index"] for p in page["results"] + rest_of["results"]] == [0, 1, 2]


def test_the_command_records_and_lists_runs(cli, repo):
    repo.branch("exp-1").create(source_reference="main")
    first = cli.json(
        "exp",
        "log",
        "--ref",
        repo.branch("exp-1").head.id,
        "--of-branch",
        "exp-1",
        "--experiment",
        "dogs",
        "--param",
        "epochs=50",
        "--param",
        "lr=0.1",
        "--metric",
        "accuracy=0.83",
        "--metric",
        "loss@val=0.5",
        "--artifact",
        "artifacts/**",
        "--git-sha",
        "0a1b",
        "--ci-url",
        "https://ci.example/1",
        "--idempotency-key",
        "k1",
    )
    assert (first["kind"], first["changed"], first["branch"]) == ("Run", True, "exp-1")
    assert first["commit_id"] == repo.branch("exp-1").head.id
    again = cli.json(
        "exp",
        "log",
        "--ref",
        repo.branch("exp-1").head.id,
        "--of-branch",
        "exp-1",
        "--experiment",
        "dogs",
        "--param",
        "epochs=50",
        "--param",
        "lr=0.1",
        "--metric",
        "accuracy=0.83",
        "--metric",
        "loss@val=0.5",
        "--artifact",
        "artifacts/**",
        "--git-sha",
        "0a1b",
        "--ci-url",
        "https://ci.example/1",
        "--idempotency-key",
        "k1",
    )
    assert (again["id"], again["changed"]) == (first["id"], False)
    head = repo.branch("main").head.id
    cli.run("exp", "log", "--ref", head, "--experiment", "dogs", "--idempotency-key", "k1", status=6)
    cli.run("exp", "log", "--ref", "a" * 64, "--metric", "a=1", status=4)
    cli.run("exp", "log", "--ref", head, "--metric", "a", status=2)
    cli.run("exp", "log", "--ref", head, "--metric", "a=high", status=1)
    for name in ("exp-1", f"tarn://{repo.id}/main", "main~0", head[:12]):
        assert "tarn commit prints" in cli.run("exp", "log", "--ref", name, "--metric", "a=1", status=1).talk
    second = cli.json(
        "exp", "log", "--ref", head, "--param", "epochs=9", "--param", "lr=0.1", "--metric", "accuracy=0.9", "--of-branch", "main"
    )

    def listed(*arguments):
        return [run["id"] for run in cli.json("exp", "ls", *arguments)["items"]]

    assert listed() == [second["id"], first["id"]]
    assert listed("--sort", "-accuracy") == [second["id"], first["id"]]
    assert listed("--sort", "accuracy", "-n", "1") == [first["id"]]
    assert listed("--of-branch", "exp-*") == [first["id"]]
    assert listed("--where", "metrics.accuracy>0.85", "--where", "params.epochs<10") == [second["id"]]
    assert listed("--git-sha", "0a1b") == [first["id"]]
    assert listed("-r", repo.id, "--experiment", "default") == [second["id"]]
    rows = cli.run("exp", "ls", "--sort", "-accuracy", "-o", "csv").text.splitlines()
    assert rows[0] == "run,name,state,experiment,branch,commit,created,tags,accuracy,loss@val,epochs"
    assert rows[1].split(",")[8:] == ["0.9", "", "9"] and rows[2].split(",")[8:] == ["0.83", "0.5", "50"]
    table = cli.run("exp", "ls", "--metrics", "accuracy", "--params", "none", "-o", "md").text
    assert table.startswith("| run | name | state | experiment | branch | commit | created | tags | accuracy |\n| --- |")
    assert len(cli.run("exp", "ls", "-o", "jsonl").text.splitlines()) == 2
    cli.run("exp", "ls", "--where", "accuracy>1", status=1)


def test_the_command_finds_runs_by_what_their_commits_measure(cli, repo):
    """A run that says nothing itself: its commit's files and metadata do."""
    cli.json("exp", "log", "--ref", repo.branch("main").head.id, "--experiment", "dogs", "--metric", "accuracy=0.85")
    branch = repo.branch("exp-1").create(source_reference="main")
    branch.object("metrics/eval.json").upload(data=b'{"accuracy": 0.95, "loss": 0.5}')
    branch.commit("m", metadata={"param.lr": "0.1"})
    commit = branch.get_commit().id
    best = cli.json("exp", "log", "--ref", commit, "--experiment", "dogs")
    assert best["branch"] == "exp-1", "the commit is its head"
    told = cli.json("exp", "log", "--ref", commit, "--of-branch", "gone", "--experiment", "dogs", "--metric", "accuracy=0.1")
    rows = cli.run("exp", "ls", "--where", "metrics.accuracy>0.8", "--sort", "-accuracy", "-o", "csv").text.splitlines()
    assert rows[0] == "run,name,state,experiment,branch,commit,created,tags,accuracy,loss,lr"
    assert [row.split(",")[0] for row in rows[1:]] == [best["id"], cli.json("exp", "ls", "--of-branch", "main")["items"][0]["id"]]
    assert rows[1].split(",")[8:] == ["0.95", "0.5", "0.1"] and rows[2].split(",")[8:] == ["0.85", "", ""]
    of_gone = cli.json("exp", "ls", "--of-branch", "gone")["items"]
    assert [run["id"] for run in of_gone] == [told["id"]]
    assert [metric["name"] for metric in of_gone[0]["commit_metrics"]] == ["loss"], "accuracy is its own"


def test_the_command_shows_what_a_commit_measures(cli, repo):
    branch = repo.branch("main")
    branch.object("reports/r.json").upload(data=b'{"f1": 0.25}')
    branch.commit("m", metadata={"metric.accuracy": "0.83", "metric.bad": "x"})
    shown = cli.run("exp", "metrics", "main", "-o", "csv")
    assert shown.text == "metric,value,origin\naccuracy,0.83,commit-metadata\n"
    assert "metric.bad" in shown.talk
    assert cli.run("exp", "files", "-o", "name").text == "metrics/**\nmetrics.*\nmlruns/**\n"
    cli.run("exp", "files", "--set", "reports/**", "--set", "metrics/**")
    assert "f1,0.25,file:reports/r.json" in cli.run("exp", "metrics", "main", "-o", "csv").text
    cli.run("exp", "files", "--set", "a[", status=1)


def test_a_bad_file_costs_no_commit(repo, rest):
    repo.branch("main").object("metrics/bad.yaml").upload(data=b"a: [1\nb: {")
    assert repo.branch("main").commit("m").id
    warnings = measured(rest, repo, "main")["warnings"]
    assert len(warnings) == 1 and warnings[0].startswith("metrics/bad.yaml: line ")

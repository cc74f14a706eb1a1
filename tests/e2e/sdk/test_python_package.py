"""The Python package of clients/python, installed and used as a notebook or a CI job uses it."""

import hashlib
import math
import os
import socket
import subprocess
import sys
import threading
import time
import warnings

import pytest
from servers import accepts, free_port

POLICY = """name: dogs-champion
destination: main
alias: champion
metrics:
  - {name: accuracy, goal: max, min: 0.60, max: 1.0, vs_champion: {min_delta: 0.01}, primary: true}
"""


def trained(package, branch, accuracy, model=None, **options):
    with package.run(None, "dogs", branch, source="main", **options) as run:
        run.log_param("epochs", 50)
        if accuracy is not None:
            run.log_metric("accuracy", accuracy)
        if model:
            model.parent.mkdir(exist_ok=True)
            model.write_text(branch)
            run.log_artifact(model)
    return run.result


def test_a_run_from_its_first_step_to_its_record(package, repo, cli, tmp_path):
    files = tmp_path / "plots"
    (files / "deep").mkdir(parents=True)
    (files / "a.svg").write_text("<svg/>")
    (files / "deep" / "empty").write_text("")
    with package.run(repo, "dogs", "exp-1", source="main") as run:
        run.log_params({"epochs": 50, "rate": 0.1, "shuffle": True})
        for step, loss in enumerate([0.9, math.nan, 0.3]):
            run.log_metrics({"loss": loss, "rate": 0.1}, step=step)
        run.log_metrics({"accuracy": 0.75, "worst": math.inf})
        run.log_metric("accuracy", 0.5, split="validation")
        assert run.log_artifact(files) == ["artifacts/plots/a.svg", "artifacts/plots/deep/empty"]
        assert run.log_artifact(files / "a.svg", to="artifacts/plot.svg") == ["artifacts/plot.svg"]
    done = run.result
    head = repo.branch("exp-1").head.id
    assert (done.commit, done.branch, done.made) == (head, "exp-1", True)
    assert done.params == {"epochs": "50", "rate": "0.1", "shuffle": "true"}
    assert {(m.name, m.split): m.value for m in done.metrics} == {
        ("loss", ""): 0.3,
        ("rate", ""): 0.1,
        ("accuracy", ""): 0.75,
        ("worst", ""): math.inf,
        ("accuracy", "validation"): 0.5,
    }
    assert done.artifacts == ["artifacts/plots/**", "artifacts/plot.svg"]
    assert repo.ref(head).object("artifacts/plots/a.svg").reader("r").read() == "<svg/>"
    assert list(repo.branch("exp-1").uncommitted()) == []
    assert run.record() is done
    assert [one.id for one in package.list_runs(None, "dogs", where="metrics.accuracy>0.7")] == [done.id]
    assert cli.json("exp", "ls")["items"][0]["id"] == done.id


def test_a_run_has_a_name_notes_and_tags_that_change(package, repo, cli):
    with package.run(None, "dogs", "exp-1", source="main", name="Larger batches", tags=["baseline"]) as run:
        run.label(notes="why\nnot")
    done = run.result
    assert (done.name, done.notes, done.tags) == ("Larger batches", "why\nnot", ["baseline"])
    run.label(tags=("b", "a"))
    assert run.result.tags == ["a", "b"] and run.result.name == "Larger batches"
    assert package.label_run(None, done.id, name="").name == ""
    assert [one.id for one in package.list_runs(name="LARGER")] == []
    assert cli.json("exp", "label", done.id, "--name", "Small", "--tag", "c", "--untag", "a")["tags"] == ["b", "c"]
    assert [one.id for one in package.list_runs(None, "dogs", name="small", tags=["b", "c"])] == [done.id]
    assert package.list_runs(tags="a") == []
    [line] = [one for one in cli.run("exp", "ls", "--name", "small", "--tag", "b").text.splitlines() if done.id in one]
    assert "Small" in line and "b, c" in line


def test_a_curve_is_read_back_point_by_point(package, repo, rest):
    with package.run(None, "dogs", "exp-1", source="main") as run:
        for step, loss in ((0, 0.9), (5, math.nan), (10, 0.3)):
            run.log_metric("loss", loss, step=step)
    facts = rest("GET", f"/repositories/{repo.id}/commits/exp-1/metrics").json()
    assert [metric["origin"] for metric in facts["metrics"]] == ["api", "file:metrics/exp-1.jsonl"]
    assert facts["warnings"] == []
    series = rest("GET", f"/repositories/{repo.id}/commits/exp-1/series", params={"metric": "loss"}).json()
    assert [(point["step"], point["value"]) for point in series["results"]] == [(0, 0.9), (5, "NaN"), (10, 0.3)]


def test_all_runs_are_listed_and_params_keep_their_types(package, repo, rest, monkeypatch):
    head = repo.branch("main").head.id
    for number in range(130):
        params = {"epochs": number, "rate": 0.5, "shuffle": number % 2 == 0, "name": f"n{number}", "version": "007"}
        body = {"commit": head, "params": params, "metrics": [{"name": "loss", "value": number}]}
        assert rest("POST", f"/repositories/{repo.id}/experiments/dogs/runs", json=body).status_code == 201
    monkeypatch.setattr("tarn_data.runs.PAGE", 50)
    listed = package.list_runs(None, "dogs")
    assert [run.param_values["epochs"] for run in listed] == list(range(129, -1, -1))
    first = {"epochs": 129, "rate": 0.5, "shuffle": False, "name": "n129", "version": "007"}
    assert listed[0].param_values == first
    assert {name: type(value) for name, value in listed[0].param_values.items()} == {n: type(v) for n, v in first.items()}
    assert len(package.list_runs(None, "dogs", limit=70)) == 70 and package.list_runs(None, "dogs", limit=0) == []
    frame = package.list_runs(None, "dogs", order="metrics.loss", limit=60).frame()
    assert list(frame["metrics.loss"]) == list(frame["params.epochs"]) == list(range(60))
    kinds = [frame[f"params.{name}"].dtype.kind for name in ("epochs", "rate", "shuffle")]
    assert kinds == ["i", "f", "b"] and frame["params.version"][0] == "007" and frame["created"].dtype.kind == "M"
    assert list(frame["commit"].unique()) == [head]
    assert len(package.list_runs(None, "cats").frame()) == 0


def test_a_comparison_without_a_metric_says_how_to_rank(package, tmp_path):
    trained(package, "exp-1", 0.7, tmp_path / "model")
    with pytest.warns(package.NotRanked, match=r"metrics=\{'accuracy': 'max'\}") as told:
        table = package.compare(None, "exp-1", baseline="main")
    assert told[0].filename == __file__ and table["rank"][0] is None
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        package.compare(None, "exp-1", baseline="main", metrics={"accuracy": "max"})
        package.compare(None, "exp-1", baseline="main", metrics=["accuracy"])
        package.apply_policy(None, POLICY)
        assert package.compare_rows(None, "exp-1", baseline="main", policy="dogs-champion")[0].rank == 1


def test_an_exception_ends_a_run_as_failed_without_a_commit_unless_told(package, repo, rest):
    before = repo.branch("main").head.id
    with pytest.raises(ZeroDivisionError), package.run(None, "dogs", "exp-1", source="main") as run:
        run.log_metric("accuracy", 1 / 0)
    assert run.result is None and repo.branch("exp-1").head.id == before
    [failed] = package.list_runs(None, "dogs")
    assert (failed.id, failed.state, failed.commit, failed.params) == (run.id, "failed", "", {"error": "ZeroDivisionError"})
    with pytest.raises(KeyError), package.run(None, "dogs", "exp-1", on_error="record") as run:  # noqa: PT012
        run.log_metric("accuracy", 0.5)
        raise KeyError("later")
    assert run.result.params == {"error": "KeyError"} and run.result.state == "failed" and run.result.commit
    assert [one.id for one in package.list_runs(None, "dogs")] == [run.result.id, failed.id]
    facts = rest("GET", f"/repositories/{repo.id}/commits/{run.result.commit}/metrics").json()
    assert facts["metrics"] == [], "values of a failed run count for no gate"


def test_what_is_staged_is_committed_refused_or_left(package, repo, tmp_path):
    branch = repo.branch("exp-1").create(source_reference="main")
    base = branch.head.id
    branch.object("a").upload(data=b"a")
    with pytest.raises(package.UncommittedChanges, match="exp-1: holds uncommitted changes \\(a "):
        trained(package, "exp-1", 0.5, uncommitted="refuse")
    assert package.list_runs(state="finished") == []
    assert trained(package, "exp-1", 0.5, uncommitted="ignore").commit == base
    assert trained(package, "exp-1", 0.5).commit == branch.head.id != base
    assert trained(package, "exp-1", 0.5, uncommitted="refuse").commit == branch.head.id
    for mode in ("refuse", "ignore"):
        with pytest.raises(ValueError, match="does not allow"):
            trained(package, "exp-1", 0.5, tmp_path / "model", uncommitted=mode)
        with pytest.raises(ValueError, match="does not allow"):
            package.run(None, "dogs", "exp-1", uncommitted=mode).log_metric("loss", 0.5, step=1)
    assert list(branch.uncommitted()) == []
    with pytest.raises(package.NotFound, match="exp-9"):
        package.run(None, "dogs", "exp-9")


def put(branch, path):
    branch.object(path).upload(data=b"of another")


@pytest.mark.parametrize(
    "uncommitted, meanwhile, code",
    [
        ("commit", lambda branch: put(branch, "artifacts/model"), "not_what_was_expected"),
        ("commit", lambda branch: branch.object("artifacts/model").delete(), "not_what_was_expected"),
        ("own", lambda branch: put(branch, "artifacts/model"), "not_what_was_expected"),
        ("own", lambda branch: put(branch, "metrics/more.json"), "not_what_was_expected"),
        ("own", lambda branch: branch.commit("mine"), "branch_moved"),
        ("ignore", lambda branch: (put(branch, "a"), branch.commit("mine")), "branch_moved"),
        ("refuse", lambda branch: (put(branch, "a"), branch.commit("mine")), "branch_moved"),
    ],
)
def test_bytes_of_another_do_not_get_the_number(package, repo, tmp_path, uncommitted, meanwhile, code):
    run = package.run(None, "dogs", "exp-1", source="main", uncommitted=uncommitted)
    run.log_metric("accuracy", 0.99)
    if uncommitted in ("own", "commit"):
        (tmp_path / "model").write_text("measured")
        run.log_artifact(tmp_path / "model")
    meanwhile(repo.branch("exp-1"))
    with pytest.raises(package.Conflict) as refused:
        run.record()
    assert refused.value.code == code and package.list_runs(state="finished") == []


def test_a_block_that_commits_by_itself_names_its_commit(package, repo):
    with package.run(None, "dogs", "exp-1", source="main", uncommitted="ignore") as run:
        put(repo.branch("exp-1"), "model")
        run.commit = repo.branch("exp-1").commit("mine").get_commit().id
    assert run.result.commit == repo.branch("exp-1").head.id


def test_a_run_keeps_the_digests_of_what_was_measured(package, rest, repo, tmp_path):
    done = trained(package, "exp-1", 0.5, tmp_path / "model", uncommitted="own")
    kept = rest("GET", f"/repositories/{repo.id}/runs/{done.id}").json()["objects"]
    assert kept == [{"path": "artifacts/model", "sha256": hashlib.sha256(b"exp-1").hexdigest()}]


class Proxy:
    """Between a client and the server: listens when told, and cuts the answer to the first request that has `cut` in
    its head."""

    def __init__(self, server, cut=b""):
        self.target = server.url.removeprefix("http://").split(":")
        self.cut = cut
        self.cuts = 0
        self.port = free_port()
        self.socket = None

    def listen(self):
        self.socket = socket.create_server(("127.0.0.1", self.port))
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        while True:
            try:
                client, _ = self.socket.accept()
            except OSError:
                return
            threading.Thread(target=self.relay, args=(client,), daemon=True).start()

    def relay(self, client):
        with client, socket.create_connection((self.target[0], int(self.target[1]))) as server:
            cutting = threading.Event()
            threading.Thread(target=self.answers, args=(server, client, cutting), daemon=True).start()
            try:
                while data := client.recv(65536):
                    if self.cut and self.cut in data and not self.cuts:
                        self.cuts += 1
                        cutting.set()
                    server.sendall(data)
            except OSError:
                pass

    @staticmethod
    def answers(server, client, cutting):
        try:
            while data := server.recv(65536):
                if cutting.is_set():
                    client.shutdown(socket.SHUT_RDWR)
                    return
                client.sendall(data)
        except OSError:
            pass

    def close(self):
        # A blocked accept() is not woken by close().
        self.socket.shutdown(socket.SHUT_RDWR)
        self.socket.close()


def test_a_lost_answer_makes_no_second_run(package, tarn, repo):
    proxy = Proxy(tarn, cut=b"/experiments/dogs/runs")
    proxy.listen()
    server = package.connect(endpoint=f"127.0.0.1:{proxy.port}")
    assert trained(package, "exp-1", 0.5, server=server).made is False
    proxy.close()
    assert proxy.cuts == 1
    assert len(package.list_runs(None, "dogs")) == 1


def curve(rest, repo, run, metric="loss"):
    query = {"metric": metric, "run": run, "amount": 1000}
    found = rest("GET", f"/repositories/{repo.id}/series", params=query).json()["results"]
    return [(point["step"], point["value"]) for one in found for point in one["points"]]


def eventually(ask, wanted, seconds=30):
    deadline = time.monotonic() + seconds
    while (found := ask()) != wanted:
        assert time.monotonic() < deadline, found
        time.sleep(0.1)


def test_a_running_run_is_seen_with_its_curves_and_counts_when_it_has_finished(package, repo, rest):
    with package.run(None, "dogs", "exp-1", source="main", name="live") as run:
        run.log_params({"lr": 0.1})
        for loss in (0.9, 0.5, math.nan):
            run.log({"loss": loss})
        run.log({"loss": 0.4}, step=10)
        eventually(lambda: curve(rest, repo, run.id), [(0, 0.9), (1, 0.5), (10, 0.4)])
        [listed] = package.list_runs(None, "dogs", state="running", where="metrics.loss<0.45")
        assert (listed.id, listed.commit, listed.params) == (run.id, "", {"lr": "0.1"})
        facts = rest("GET", f"/repositories/{repo.id}/commits/exp-1/metrics").json()
        assert facts["metrics"] == []
        run.log_metric("accuracy", 0.75)
    assert (run.result.state, run.result.name, run.dropped) == ("finished", "live", 1)
    facts = rest("GET", f"/repositories/{repo.id}/commits/{run.result.commit}/metrics").json()
    assert {metric["name"]: metric["value"] for metric in facts["metrics"]} == {"accuracy": 0.75, "loss": 0.4}
    assert curve(rest, repo, run.id) == [(0, 0.9), (1, 0.5), (10, 0.4)]
    with pytest.raises(package.Conflict):
        package.connect().call("POST", "repositories", repo.id, "runs", run.id, "steps", json={})


def test_a_lost_server_stops_no_training_and_gets_the_values_later(package, repo, rest, monkeypatch):
    monkeypatch.setattr("tarn_data.live.FLUSH_SECONDS", 0.1)
    server, is_gone = package.connect(), threading.Event()
    ask, refused = server.request, []

    def request(method, *path, **options):
        if is_gone.is_set() and path[-1] == "steps":
            refused.append(path)
            raise package.Unavailable("gone")
        return ask(method, *path, **options)

    monkeypatch.setattr(server, "request", request)
    run = package.run(None, "dogs", "exp-1", source="main", server=server)
    run.log({"loss": 0.9})
    eventually(lambda: curve(rest, repo, run.id), [(0, 0.9)])
    is_gone.set()
    for step in range(1, 1000):
        run.log({"loss": 1 / step})
    eventually(lambda: len(refused) > 1, True)
    assert len(curve(rest, repo, run.id)) == 1
    is_gone.clear()
    assert run.record().state == "finished"
    assert len(curve(rest, repo, run.id)) == 1000 and run.dropped == 0


def test_what_waits_too_long_is_dropped_from_its_beginning_and_said(package, repo, rest, monkeypatch, caplog):
    monkeypatch.setattr("tarn_data.live.QUEUE_POINTS_MAX", 10)
    monkeypatch.setattr("tarn_data.live.FLUSH_SECONDS", 3600)
    with package.run(None, "dogs", "exp-1", source="main") as run:
        for step in range(25):
            run.log({"loss": step})
        assert run.dropped == 15
    assert curve(rest, repo, run.id) == [(step, step) for step in range(15, 25)]
    assert run.result.metrics[0].value == 24
    assert "15 values are not in its curves" in caplog.text


def test_a_lost_answer_makes_no_second_promotion(package, tarn, rest, repo, tmp_path):
    package.apply_policy(None, POLICY)
    trained(package, "exp-1", 0.7, tmp_path / "model")
    proxy = Proxy(tarn, cut=f"POST /api/v1/repositories/{repo.id}/promotions".encode())
    proxy.listen()
    server = package.connect(endpoint=f"127.0.0.1:{proxy.port}")
    done = package.promote(None, "exp-1", "main", timeout=60, server=server)
    proxy.close()
    assert proxy.cuts == 1 and done.promoted
    assert len(rest("GET", f"/repositories/{repo.id}/promotions").json()["results"]) == 1


def test_a_server_that_is_late_is_waited_for_and_an_absent_one_named(package, tarn, repo, monkeypatch):
    proxy = Proxy(tarn)
    assert not accepts(f"127.0.0.1:{proxy.port}")
    later = threading.Timer(1, proxy.listen)
    later.start()
    server = package.connect(endpoint=f"127.0.0.1:{proxy.port}")
    assert trained(package, "exp-1", 0.5, server=server).made
    proxy.close()
    monkeypatch.setattr("tarn_data.transport.RETRY_SECONDS", 0.5)
    with pytest.raises(package.Unavailable, match="TARN_ENDPOINT"):
        package.run(None, "dogs", "exp-1", server=package.connect(endpoint=f"127.0.0.1:{free_port()}"))
    with pytest.raises(package.NotAllowed, match="TARN_SECRET_KEY"):
        package.run(None, "dogs", "exp-1", server=package.connect(secret_key="wrong"))


def test_the_same_key_is_the_same_run_or_is_refused(package, repo):
    first = trained(package, "exp-1", 0.5, idempotency_key="job-1")
    again = trained(package, "exp-1", 0.5, idempotency_key="job-1")
    assert (again.id, again.made) == (first.id, False)
    with pytest.raises(package.Conflict) as refused:
        trained(package, "exp-1", 0.6, idempotency_key="job-1")
    assert refused.value.code == "run_ended"


def test_the_best_candidate_is_promoted_and_taken_back(package, repo, tmp_path):
    policy = package.apply_policy(None, POLICY)
    assert (policy.name, policy.version, policy.changed) == ("dogs-champion", 1, True)
    assert package.apply_policy(None, POLICY).changed is False
    commits = {
        n: trained(package, f"exp-{n}", accuracy, tmp_path / str(n) / f"model-{n}").commit
        for n, accuracy in ((1, 0.7), (2, 0.9), (3, 1.5))
    }
    with pytest.warns(package.NoChampionYet) as told:
        table = package.compare(None, "exp-*", metrics={"accuracy": "max"})
    assert told[0].filename == __file__
    assert list(table["ref"]) == ["exp-3", "exp-2", "exp-1"] and list(table["accuracy"]) == [1.5, 0.9, 0.7]
    assert "accuracy.delta" not in table
    assert [(one.ref, one.verdict) for one in package.evaluate("dogs-champion", "exp-*")] == [
        ("exp-2", "passed"),
        ("exp-1", "passed"),
        ("exp-3", "failed"),
    ]

    first = package.promote(None, "exp-1", "main", timeout=60)
    assert first.promoted and first.winner == "exp-1" and first.winner_commit == commits[1]
    assert package.alias(None, "champion").commit == first.commit == repo.branch("main").head.id
    with pytest.raises(package.GateFailed) as refused:
        package.promote(None, ["exp-1", "exp-3"], "main", timeout=60)
    assert {(why.candidate, why.code) for why in refused.value.reasons} == {
        ("exp-1", "worse_than_champion"),
        ("exp-3", "above_max"),
    }
    assert refused.value.promotion.state == "rejected"

    expected = {"destination": "main", "alias": "@champion"}
    second = package.promote(None, "exp-*", "main", expect=expected, reason="better", timeout=60, idempotency_key="k")
    assert second.winner == "exp-2" and second.evidence["policy"] and len(second.evidence_digest) == 64
    assert (
        package.promote(
            None,
            "exp-*",
            "main",
            expect={**expected, "destination": first.commit, "alias": first.commit},
            reason="better",
            timeout=60,
            idempotency_key="k",
        ).id
        == second.id
    )
    rows = package.compare_rows(None, "exp-1", baseline="exp-2", metrics=["accuracy:max"])
    assert rows[0].metrics["accuracy"].delta == pytest.approx(-0.2) and rows.baseline.commit == commits[2]
    assert package.compare_rows(None, "exp-1", metrics=["accuracy"]).baseline.commit == second.commit
    with pytest.raises(package.DestinationMoved):
        package.promote(None, "exp-2", "main", expect={"alias": first.commit}, timeout=60)

    undone = package.rollback(None, "@champion", reason="too slow")
    assert undone.raw["undoes"] == second.id
    assert package.alias(None, "@champion").commit == first.commit
    history = package.alias_history(None, "champion")
    assert [change.promotion for change in history] == [undone.id, second.id, first.id]
    assert package.promotion(None, second.id).raw["undone_by"] == undone.id


def test_a_champion_is_compared_by_what_its_winner_measured(package, tmp_path):
    package.apply_policy(None, POLICY)
    trained(package, "exp-1", 0.7, tmp_path / "model-1")
    trained(package, "exp-2", 0.9, tmp_path / "model-2")
    package.promote(None, "exp-1", "main", timeout=60)
    table = package.compare(None, "exp-2", metrics=["accuracy:max"])
    assert list(table["accuracy.delta"]) == [pytest.approx(0.2)]


def test_what_else_can_stop_a_promotion(package, repo, tmp_path):
    with pytest.raises(package.NotFound, match="apply_policy"):
        package.promote(None, "main", "main")
    package.apply_policy(None, {"name": "p", "destination": "main", "metrics": [{"name": "accuracy", "min": 0.1}]})
    trained(package, "exp-0", None)
    with pytest.raises(package.MetricMissing, match=r"tarn\.run"):
        package.promote(None, "exp-0", "main", timeout=60)
    for n in (1, 2):
        trained(package, f"exp-{n}", 0.5, tmp_path / "model")
    assert package.promote(None, "exp-1", "main", timeout=60).promoted
    with pytest.raises(package.MergeConflict, match="artifacts/model"):
        package.promote(None, "exp-2", "main", timeout=60)
    replaced = package.promote(None, "exp-2", "main", method="replace-paths", paths="artifacts/**", timeout=60)
    assert repo.ref(replaced.commit).object("artifacts/model").reader("r").read() == "exp-2"
    with pytest.raises(ValueError, match="'destination' or 'alias'"):
        package.promote(None, "exp-2", "main", expect={"branch": "main"})


def test_checks_and_approvals_are_waited_for(package, tmp_path):
    package.apply_policy(
        None,
        {
            "name": "p",
            "destination": "main",
            "metrics": [{"name": "accuracy", "min": 0.1}],
            "checks": {"required": ["bench"], "timeout": "2h"},
            "approvals": {"count": 1, "not_author": False, "not_promoter": False},
        },
    )
    commit = trained(package, "exp-1", 0.5, tmp_path / "model").commit
    with pytest.raises(package.Timeout, match="it goes on") as late:
        package.promote(None, "exp-1", "main", timeout=1)
    promotion = late.value.promotion
    assert promotion.state == "gates_running"
    package.report_check(None, promotion.id, "bench", commit=commit, metrics={"p95": 20}, url="http://ci/1")
    with pytest.raises(package.ApprovalRequired, match="awaiting_approval"):
        promotion.wait(timeout=5)
    assert not promotion.ended
    assert (
        package.approve(None, promotion.id, "looks good", review=promotion.review_digest).raw["approvals"][0]["reason"]
        == "looks good"
    )
    assert promotion.wait(timeout=60).promoted
    with pytest.raises(ValueError, match="finite"):
        promotion.report_check("bench", metrics={"p95": math.nan})

    trained(package, "exp-2", 0.6, tmp_path / "model-2")
    stopped = package.promote(None, "exp-2", "main", wait=False)
    stopped.cancel("changed my mind")
    with pytest.raises(package.Cancelled, match="cancelled"):
        stopped.wait()


def test_an_alias_without_a_policy_is_set_and_expected(package, repo, tmp_path):
    commit = trained(package, "exp-1", 0.5, tmp_path / "model").commit
    main = repo.branch("main").head.id
    made = package.alias(None, "best", to="exp-1", expect="", reason="first")
    assert (made.commit, made.changed, made.ref) == (commit, True, "@best")
    with pytest.raises(package.DestinationMoved):
        package.alias(None, "best", to="main", expect="main")
    assert package.alias(None, "best", to="main", expect="exp-1").commit == main
    assert [(c.from_commit, c.to_commit) for c in package.alias_history(None, "best")] == [(commit, main), (None, commit)]
    with pytest.raises(package.NotFound) as refused:
        package.rollback(None, "@best")
    assert refused.value.code == "promotion_not_found"


def test_without_pandas_comparison_gives_rows(installed, package_settings, package, tmp_path):
    trained(package, "exp-1", 0.5, tmp_path / "model")
    script = """
import sys
sys.modules["pandas"] = None
import tarn_data as tarn
rows = tarn.compare(None, "exp-*", baseline="main", metrics=["accuracy:max"])
assert rows[0].metrics["accuracy"].value == 0.5 and rows[0].metrics["accuracy"].delta is None, rows
"""
    ended = subprocess.run(
        [sys.executable, "-c", script],
        env={**os.environ, **package_settings, "PYTHONPATH": str(installed)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr

"""Recording runs: what was measured of a commit, with its parameters and artifacts."""

from __future__ import annotations

import getpass
import hashlib
import itertools
import json
import math
import os
import re
import subprocess
import uuid
import warnings
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import date, datetime
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO, Union

from tarn_data.errors import Conflict, NotFound, TarnError, UncommittedChanges
from tarn_data.live import LiveLog
from tarn_data.numbers import JsonNumber, from_json, metric_number, to_json
from tarn_data.transport import PAGE, Server, connect, repository_name

# The server's bounds: met while logging, not when hours of training are to be recorded.
RUN_METRICS_MAX = 1000
RUN_PARAMS_MAX = 1000
RUN_ARTIFACTS_MAX = 100
RUN_OBJECTS_MAX = 1000
COMMIT_OBJECTS_MAX = 10_000
NAME_BYTES_MAX = 255
PARAM_VALUE_BYTES_MAX = 8 * 1024
CURVE_POINTS_MAX = 1_000_000
READ_BYTES = 1 << 20
GIT_SECONDS = 5

ParamValue = Union[str, int, float, bool]

# JSON's numbers: not "007", "1_000" or "1e5.0".
_WHOLE_NUMBER = re.compile(r"-?(0|[1-9][0-9]{0,999})")
_NUMBER = re.compile(r"-?(0|[1-9][0-9]{0,999})(\.[0-9]+)?([eE][+-]?[0-9]+)?|NaN|-?Infinity")


@dataclass(frozen=True)
class RunMetric:
    name: str
    value: float
    split: str = ""


@dataclass(frozen=True)
class RecordedRun:
    id: str
    experiment: str
    commit: str
    branch: str
    params: dict[str, str]
    metrics: list[RunMetric]
    artifacts: list[str]
    source: dict[str, str]
    owner: str
    created: str
    name: str
    notes: str
    tags: list[str]
    state: str  # running, finished, failed, or stale: running without a sign of life for five minutes
    seen: str  # the last sign of life, or the end
    made: bool  # False: it was recorded before, under the same idempotency key.
    # Of list_runs: what the commit's metadata and files say and the run does not.
    commit_metrics: list[RunMetric] = field(default_factory=list)
    commit_params: dict[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, answer: Mapping[str, Any], made: bool = False) -> RecordedRun:
        metrics, of_commit = (
            [RunMetric(m["name"], from_json(m["value"]), m.get("split", "")) for m in answer.get(whose, ())]
            for whose in ("metrics", "commit_metrics")
        )
        return cls(
            id=answer["id"],
            experiment=answer["experiment"],
            commit=answer["commit_id"],
            branch=answer["branch"],
            params=dict(answer["params"]),
            metrics=metrics,
            artifacts=list(answer["artifacts"]),
            source=dict(answer["source"]),
            owner=answer["owner"],
            created=answer["creation_date"],
            name=answer["name"],
            notes=answer["notes"],
            tags=list(answer["tags"]),
            state=answer["state"],
            seen=answer["seen_date"],
            made=made,
            commit_metrics=of_commit,
            commit_params=dict(answer.get("commit_params", {})),
        )

    @property
    def param_values(self) -> dict[str, ParamValue]:
        """`params` as numbers and bools where their texts are those of one: the server keeps texts."""
        return {name: read_param(text) for name, text in self.params.items()}


class RunList(list[RecordedRun]):
    """Runs in the order asked for."""

    def frame(self) -> Any:
        """A pandas.DataFrame: one row per run, columns metrics.NAME (metrics.NAME@SPLIT) and params.NAME. What only the run's commit
        says counts too."""
        import pandas

        table: list[dict[str, Any]] = []
        for run in self:
            line: dict[str, Any] = {
                "run": run.id,
                "name": run.name,
                "experiment": run.experiment,
                "branch": run.branch,
                "commit": run.commit,
                "created": pandas.Timestamp(run.created),
                "owner": run.owner,
                "tags": run.tags,
                "state": run.state,
            }
            for metric in [*run.commit_metrics, *run.metrics]:
                line[f"metrics.{metric.name}" + (f"@{metric.split}" if metric.split else "")] = metric.value
            for name, text in {**run.commit_params, **run.params}.items():
                line[f"params.{name}"] = read_param(text)
            table.append(line)
        return pandas.DataFrame(table)


class Run:
    """Collects what is logged and shows it on the server meanwhile; record() commits the branch and ends the run on that commit.
    Not for several threads at once.

    The server commits only if the branch has the bytes that this run uploaded, and records the run for that commit. A run
    whose block commits by itself sets `commit` to the commit's id.

    As a context manager it records at the end of the block. An exception inside ends it as failed, without a commit unless
    `on_error` is "record", and goes on; what was staged stays staged either way. No gate reads values of failed runs.
    """

    def __init__(
        self,
        server: Server,
        repo: str,
        experiment: str,
        branch: str,
        *,
        source: str | None = None,
        uncommitted: str = "commit",
        on_error: str = "discard",
        message: str | None = None,
        idempotency_key: str | None = None,
        curves: str | None = None,
        name: str = "",
        notes: str = "",
        tags: Iterable[str] = (),
    ) -> None:
        if uncommitted not in ("own", "commit", "refuse", "ignore"):
            raise ValueError(f"uncommitted={uncommitted!r}: must be 'own', 'commit', 'refuse' or 'ignore'")
        if on_error not in ("discard", "record"):
            raise ValueError(f"on_error={on_error!r}: must be 'discard' or 'record'")
        self.repo = repo
        self.experiment = experiment
        self.branch = branch
        self.result: RecordedRun | None = None
        self._labels: dict[str, Any] = {"name": name, "notes": notes, "tags": _tags(tags)}
        self.commit: str | None = None
        self._server = server
        self._uncommitted = uncommitted
        self._on_error = on_error
        self._message = message or f"run of experiment {experiment}"
        self._key = idempotency_key or str(uuid.uuid4())
        self._curve_path = curves or f"metrics/{branch}.jsonl"
        self._params: dict[str, ParamValue] = {}
        self._metrics: dict[tuple[str, str], float] = {}
        self._curve: list[tuple[str, int | None, float]] = []
        self._curve_names: dict[str, None] = {}
        self._artifacts: list[str] = []
        self._uploaded: dict[str, str] = {}  # SHA-256 by path
        self._request: dict[str, Any] | None = None
        self._next_step = 0
        self._base = self._open_branch(source)
        started = self._server.call(
            "POST",
            "repositories",
            self.repo,
            "experiments",
            experiment,
            "start",
            json={"branch": branch, "source": _source(), "idempotency_key": self._key, **self._labels},
            repeat=True,
        )
        self.id: str = started["id"]
        self._live = LiveLog(server, repo, self.id) if started["state"] in ("running", "stale") else None

    def _open_branch(self, source: str | None) -> str:
        """Asks now whether the branch is there: not only when the training has ended. Returns its head."""
        place = ("repositories", self.repo, "branches")
        try:
            return self._head()
        except NotFound as error:
            if error.code != "branch_not_found":
                raise
            if source is None:
                raise NotFound(
                    f"branch {self.branch}: is not there; make it, or give tarn.run(..., source='main')",
                    error.code,
                    error.status,
                    error.request_id,
                ) from None
            return self._server.request("POST", *place, json={"name": self.branch, "source": source}).text.strip()

    def _head(self) -> str:
        return str(self._server.call("GET", "repositories", self.repo, "branches", self.branch)["commit_id"])

    def label(self, name: str | None = None, notes: str | None = None, tags: Iterable[str] | None = None) -> None:
        """Sets name, notes or all tags of the run; what is not given stays."""
        given = _labels(name, notes, tags)
        labelled = label_run(self.repo, self.id, **given, server=self._server)
        if self.result is not None:
            self.result = labelled

    def log_param(self, name: str, value: Any) -> None:
        self.log_params({name: value})

    def log_params(self, params: Mapping[str, Any]) -> None:
        """A name that is given again replaces its value. What is no text, number or bool is kept as JSON, or str()."""
        for name, value in params.items():
            _check_name("param", name)
            kept = _param_value(value)
            if isinstance(kept, str) and len(kept.encode()) > PARAM_VALUE_BYTES_MAX:
                raise ValueError(f"param {name}: is longer than {PARAM_VALUE_BYTES_MAX} bytes; log it as an artifact")
            if name not in self._params and len(self._params) == RUN_PARAMS_MAX:
                raise ValueError(f"param {name}: a run has at most {RUN_PARAMS_MAX}")
            self._params[name] = kept
            if self._live is not None:
                self._live.params({name: kept})

    def log(self, metrics: Mapping[str, Any], step: int | None = None) -> None:
        """Values at a step, by default the one after the last: points of curves that the server shows while the run is running. They
        are sent in the background. The last value of each counts as the metric."""
        step = self._next_step if step is None else _step(step)
        numbers = {name: self._keep(name, value) for name, value in metrics.items()}
        self._next_step = step + 1
        if self._live is not None:
            self._live.add(step, numbers)

    @property
    def dropped(self) -> int:
        """Logged values that the server's curves will not have: not finite, refused, or too many while the server was gone."""
        return 0 if self._live is None else self._live.dropped

    def log_metric(self, name: str, value: Any, step: int | None = None, split: str = "") -> None:
        """The last value counts. With steps the values are a curve too, as those of log(), and a file that is committed with the
        run."""
        step = None if step is None else _step(step)
        on_curve = step is not None or name in self._curve_names
        if on_curve:
            self._demand_commit(f"metric {name}: values with steps are a file that is committed with the run")
        if on_curve and split:
            raise ValueError(f"metric {name}: a curve has no split; put it into the name, as {split}/{name}")
        if on_curve and len(self._curve) == CURVE_POINTS_MAX:
            raise ValueError(f"metric {name}: a run has at most {CURVE_POINTS_MAX} points; log fewer steps")
        number = self._keep(name, value, split)
        if on_curve:
            self._curve_names[name] = None
            self._curve.append((name, step, number))
        if step is not None and self._live is not None:
            self._live.add(step, {name: number})

    def _keep(self, name: str, value: Any, split: str = "") -> float:
        _check_name("metric", name)
        number = metric_number(name, value)
        if (name, split) not in self._metrics and len(self._metrics) == RUN_METRICS_MAX:
            raise ValueError(f"metric {name}: a run has at most {RUN_METRICS_MAX}")
        self._metrics[name, split] = number
        return number

    def log_metrics(self, metrics: Mapping[str, Any], step: int | None = None, split: str = "") -> None:
        for name, value in metrics.items():
            self.log_metric(name, value, step, split)

    def log_artifact(self, path: str | os.PathLike[str], to: str | None = None) -> list[str]:
        """Uploads a file, or the files of a directory, to the branch: below artifacts/, or at `to`.

        Returns the paths of the objects."""
        local = Path(path)
        self._demand_commit(f"artifact {local}: is staged on the branch and committed with the run")
        if not local.exists():
            raise FileNotFoundError(f"artifact {local}: no such file or directory")
        base = (to or f"artifacts/{local.resolve().name}").strip("/")
        files = sorted(file for file in local.rglob("*") if file.is_file()) if local.is_dir() else [local]
        pairs = [(file, f"{base}/{file.relative_to(local).as_posix()}" if local.is_dir() else base) for file in files]
        self.name_artifacts([f"{base}/**"] if local.is_dir() else [base])
        for file, key in pairs:
            with file.open("rb") as content:
                size = os.fstat(content.fileno()).st_size
                self._expect(key, _sha256(content))
                stats = self._server.upload(self.repo, self.branch, key, content)
            if stats.get("size_bytes") != size:
                raise TarnError(
                    f"artifact {file}: {size} bytes, but {stats.get('size_bytes')} arrived; does something still write it?"
                )
        return [key for _, key in pairs]

    def _expect(self, key: str, sha256: str) -> None:
        if key not in self._uploaded and len(self._uploaded) == COMMIT_OBJECTS_MAX:
            raise ValueError(f"artifact {key}: a run has at most {COMMIT_OBJECTS_MAX} files; log an archive of them")
        self._uploaded[key] = sha256

    def name_artifacts(self, globs: Iterable[str]) -> None:
        """Says which objects of the commit are the run's; nothing is uploaded."""
        if isinstance(globs, str):
            globs = [globs]
        for glob in globs:
            if glob in self._artifacts:
                continue
            if len(self._artifacts) == RUN_ARTIFACTS_MAX:
                raise ValueError(
                    f"artifact {glob}: a run has at most {RUN_ARTIFACTS_MAX}; name them by a glob, or log a directory"
                )
            self._artifacts.append(glob)

    def record(self) -> RecordedRun:
        """Commits what the branch holds uncommitted and ends the run on that commit. Again after a failure: it makes no second
        commit or run. Conflict: the branch has other bytes than were uploaded, or somebody else committed to it."""
        return self._record("finished")

    def _record(self, state: str) -> RecordedRun:
        if self.result is not None:
            return self.result
        if self._live is not None:
            self._live.close()
        if self.commit is None:
            if self._uncommitted == "refuse":
                self._refuse_staged()
            if self._curve:
                lines = self._curve_lines()
                self._expect(self._curve_path, hashlib.sha256(lines).hexdigest())
                self._server.upload(self.repo, self.branch, self._curve_path, lines)
            self.commit = self._commit()
        if self._request is None:
            self._request = {**self._body(self.commit), "run": self.id, "state": state}
        answer = self._server.request(
            "POST", "repositories", self.repo, "experiments", self.experiment, "runs", json=self._request, repeat=True
        )
        self.result = RecordedRun.of(answer.json(), made=answer.status_code == 201)
        return self.result

    def _body(self, commit: str) -> dict[str, Any]:
        """Made once: under one key every attempt is the same request."""
        metrics: list[dict[str, JsonNumber]] = []
        for (name, split), value in self._metrics.items():
            metric: dict[str, JsonNumber] = {"name": name, "value": to_json(value)}
            if split:
                metric["split"] = split
            metrics.append(metric)
        return {
            "commit": commit,
            "branch": self.branch,
            "objects": self._objects() if len(self._uploaded) <= RUN_OBJECTS_MAX else [],
            "params": self._params,
            "metrics": metrics,
            "artifacts": self._artifacts,
            "source": _source(),
        }

    def _objects(self) -> list[dict[str, str]]:
        return [{"path": path, "sha256": sha256} for path, sha256 in self._uploaded.items()]

    def _demand_commit(self, what: str) -> None:
        if self._uncommitted not in ("own", "commit"):
            raise ValueError(f"{what}, which uncommitted={self._uncommitted!r} does not allow")

    def _refuse_staged(self) -> None:
        staged = self._server.call("GET", "repositories", self.repo, "branches", self.branch, "diff", query={"amount": 3})[
            "results"
        ]
        if staged:
            paths = ", ".join(change["path"] for change in staged)
            raise UncommittedChanges(
                f"branch {self.branch}: holds uncommitted changes ({paths} ...); commit or reset "
                f"them, or give tarn.run(..., uncommitted='commit')",
                "dirty_branch",
            )

    def _commit(self) -> str:
        """The commit of the branch as it is; when nothing is staged its head, or the one at which the run began."""
        place = ("repositories", self.repo, "branches", self.branch, "commits")
        expect: dict[str, Any] = {"objects": self._objects()}
        if self._uncommitted == "own":
            expect.update(only=True, head=self._base)
        if self._uncommitted in ("own", "commit"):
            body = {"message": self._message, "metadata": {"tarn.experiment": self.experiment}, "expect": expect}
            try:
                return str(self._server.call("POST", *place, json=body)["id"])
            except TarnError as error:
                if error.code != "no_changes":
                    raise
                return self._base if self._uncommitted == "own" else self._head()
        if self._head() != self._base:
            raise Conflict(
                f"branch {self.branch}: has another head than when the run began ({self._base}); set run.commit to the "
                f"commit that was measured",
                "branch_moved",
            )
        return self._base

    def _curve_lines(self) -> bytes:
        lines = []
        for name, step, value in self._curve:
            row: dict[str, Any] = {} if step is None else {"step": step}
            row[name] = to_json(value)
            lines.append(json.dumps(row))
        return ("\n".join(lines) + "\n").encode()

    def __enter__(self) -> Run:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if error is None:
            self.record()
            return
        try:
            self.log_param("error", type(error).__name__)
            if self._on_error == "record" and isinstance(error, Exception):
                self._record("failed")
            elif self._live is not None:
                self._live.close()
                self._server.call(
                    "POST", "repositories", self.repo, "runs", self.id, "end", json={"state": "failed"}, repeat=True
                )
        except Exception as failure:  # The first error is the one that matters.
            warnings.warn(f"the failed run could not be ended: {failure}", stacklevel=2)

    def __repr__(self) -> str:
        state = self.result.state if self.result else "open"
        return f"Run({self.experiment!r}, branch={self.branch!r}, {state})"


def run(
    repo: Any,
    experiment: str,
    branch: str | None = None,
    *,
    source: str | None = None,
    uncommitted: str = "commit",
    on_error: str = "discard",
    message: str | None = None,
    idempotency_key: str | None = None,
    curves: str | None = None,
    name: str = "",
    notes: str = "",
    tags: Iterable[str] = (),
    server: Server | None = None,
) -> Run:
    """Starts a run on a branch; see the README.

    `source`: the ref that the branch is made from when it is not there. `uncommitted`: what the end does about changes
    on the branch: "own" commits what this run uploaded, and refuses if anything else was staged or committed; "commit"
    commits all of them; "refuse", "ignore". `curves`: where values with steps are kept
    (metrics/BRANCH.jsonl). `name`, `notes`, `tags`: what lists show and find the run by; run.label() changes them."""
    server = server or connect()
    where_from = repository_name(server, repo)
    where = getattr(branch, "id", branch) or server.settings.branch
    if not where:
        raise ValueError("tarn.run: which branch? give branch=..., or set TARN_BRANCH")
    return Run(
        server,
        where_from,
        experiment,
        where,
        source=source,
        uncommitted=uncommitted,
        on_error=on_error,
        message=message,
        idempotency_key=idempotency_key,
        curves=curves,
        name=name,
        notes=notes,
        tags=tags,
    )


def list_runs(
    repo: Any = None,
    experiment: str | None = None,
    *,
    branch: str | None = None,
    where: Iterable[str] = (),
    order: str | None = None,
    git_sha: str | None = None,
    name: str | None = None,
    tags: Iterable[str] = (),
    state: str | None = None,
    limit: int | None = None,
    server: Server | None = None,
) -> RunList:
    """All recorded runs that match, or the first `limit`, the newest first; `where` is "metrics.accuracy>0.9" or several, `order`
    "-metrics.accuracy". Both know what the runs' commits measure in metadata and files. `name` is a part of the name; a run must have all
    `tags`; `state` is "running", "finished", "failed" or "stale". `.frame()` makes a DataFrame."""
    server = server or connect()
    query = {
        "experiment": experiment,
        "branch": branch,
        "order": order,
        "git_sha": git_sha,
        "name": name,
        "tag": _tags(tags),
        "state": state,
        "where": [where] if isinstance(where, str) else list(where),
        "amount": min(limit or PAGE, PAGE),
    }
    items = server.each("repositories", repository_name(server, repo), "runs", query=query)
    return RunList(RecordedRun.of(item) for item in itertools.islice(items, limit))


def label_run(
    repo: Any,
    run: str,
    *,
    name: str | None = None,
    notes: str | None = None,
    tags: Iterable[str] | None = None,
    server: Server | None = None,
) -> RecordedRun:
    """Sets name, notes or all tags of a run, by its id; what is not given stays."""
    server = server or connect()
    place = ("repositories", repository_name(server, repo), "runs", run)
    return RecordedRun.of(server.request("PATCH", *place, json=_labels(name, notes, tags), repeat=True).json())


def _labels(name: str | None, notes: str | None, tags: Iterable[str] | None) -> dict[str, Any]:
    given = {"name": name, "notes": notes, "tags": None if tags is None else _tags(tags)}
    return {label: value for label, value in given.items() if value is not None}


def _tags(tags: Iterable[str]) -> list[str]:
    return [tags] if isinstance(tags, str) else list(tags)


def _sha256(content: BinaryIO) -> str:
    digest = hashlib.sha256()
    while piece := content.read(READ_BYTES):
        digest.update(piece)
    return digest.hexdigest()


def _step(step: Any) -> int:
    if isinstance(step, bool) or int(step) != step or step < 0:
        raise ValueError(f"step {step!r}: must be a whole number, not negative")
    return int(step)


def _check_name(kind: str, name: str) -> None:
    if not isinstance(name, str) or not name:
        raise ValueError(f"{kind} {name!r}: a name is a text and not empty")
    if len(name.encode()) > NAME_BYTES_MAX:
        raise ValueError(f"{kind} {name[:40]}...: the name is longer than {NAME_BYTES_MAX} bytes")


def _param_value(value: Any) -> ParamValue:
    if isinstance(value, (str, bool)):
        return value
    if isinstance(value, int):
        # Beyond 2^53 readers of JSON round.
        return value if abs(value) <= 2**53 else str(value)
    if isinstance(value, float):
        return value if math.isfinite(value) else str(to_json(value))
    item = getattr(value, "item", None)
    if callable(item) and getattr(value, "size", 0) == 1:
        return _param_value(item())  # a number of numpy
    if isinstance(value, (dict, list, tuple)):
        return json.dumps(value, default=str, ensure_ascii=False)
    if isinstance(value, (date, datetime)):
        return value.isoformat()
    return str(value)


def read_param(text: str) -> ParamValue:
    """The inverse of _param_value for bools and numbers."""
    if text in ("true", "false"):
        return text == "true"
    if _WHOLE_NUMBER.fullmatch(text):
        return int(text)
    return from_json(text) if _NUMBER.fullmatch(text) else text


def _source() -> dict[str, str]:
    """The commit that the CI job names, else git's head here."""
    env = os.environ
    sha = env.get("GITHUB_SHA") or env.get("CI_COMMIT_SHA") or _git_head()
    url = env.get("CI_JOB_URL", "")
    if not url and env.get("GITHUB_RUN_ID"):
        url = f"{env.get('GITHUB_SERVER_URL', '')}/{env.get('GITHUB_REPOSITORY', '')}/actions/runs/{env['GITHUB_RUN_ID']}"
    try:
        user = env.get("GITHUB_ACTOR") or env.get("GITLAB_USER_LOGIN") or getpass.getuser()
    except (OSError, KeyError):  # a user without a name, as in many containers
        user = ""
    return {name: value for name, value in (("git_sha", sha), ("ci_url", url), ("user", user)) if value}


def _git_head() -> str:
    try:
        head = subprocess.run(["git", "rev-parse", "HEAD"], capture_output=True, text=True, timeout=GIT_SECONDS, check=False)
    except (OSError, subprocess.SubprocessError):
        return ""
    return head.stdout.strip() if head.returncode == 0 else ""

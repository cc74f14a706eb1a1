"""Candidates side by side: compare() as a DataFrame, compare_rows() as typed rows."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Union

from tarn_data.errors import NotFound
from tarn_data.numbers import from_json
from tarn_data.transport import Server, connect, list_of_refs, repository_name

CHAMPION = "@champion"
PAGE = 1000
# Metrics that a warning names.
NAMED_MAX = 10

Metrics = Union[Mapping[str, str], Iterable[Union[str, Mapping[str, Any]]]]


class NoChampionYet(UserWarning):
    """Nothing to compare with: rows have no deltas."""


class NotRanked(UserWarning):
    """No metric says which row is the best: rows have no ranks."""


@dataclass(frozen=True)
class ComparedMetric:
    value: float
    origin: str
    delta: float | None = None


@dataclass(frozen=True)
class CandidateRow:
    ref: str
    commit: str
    branch: str = ""
    rank: int | None = None
    dominated: bool | None = None
    metrics: dict[str, ComparedMetric] = field(default_factory=dict)
    params: dict[str, str] = field(default_factory=dict)
    objects: dict[str, Any] = field(default_factory=dict)
    ancestor: str = ""
    warnings: list[str] = field(default_factory=list)

    @classmethod
    def of(cls, row: Mapping[str, Any]) -> CandidateRow:
        metrics = {}
        for name, metric in row["metrics"].items():
            delta = metric.get("delta")
            metrics[name] = ComparedMetric(
                from_json(metric["value"]), metric["origin"], None if delta is None else from_json(delta)
            )
        return cls(
            ref=row["ref"],
            commit=row["commit_id"],
            branch=row.get("branch", ""),
            rank=row.get("rank"),
            dominated=row.get("dominated"),
            metrics=metrics,
            params=dict(row["params"]),
            objects=dict(row.get("objects") or {}),
            ancestor=row.get("ancestor_commit_id", ""),
            warnings=list(row["warnings"]),
        )


class Comparison(list[CandidateRow]):
    """Rows, the best first; `baseline` is the row they are measured against, `warnings` concern them all."""

    def __init__(
        self,
        rows: Iterable[CandidateRow] = (),
        baseline: CandidateRow | None = None,
        columns: Iterable[str] = (),
        notes: Iterable[str] = (),
    ) -> None:
        super().__init__(rows)
        self.baseline = baseline
        self.columns = list(columns)
        self.warnings = list(notes)

    def frame(self) -> Any:
        """A pandas.DataFrame: one row per candidate, columns METRIC, METRIC.delta and params.NAME."""
        import pandas

        params = sorted({name for row in self for name in row.params})
        table: list[dict[str, Any]] = []
        for row in self:
            line: dict[str, Any] = {"rank": row.rank, "ref": row.ref, "commit": row.commit, "dominated": row.dominated}
            for name in self.columns:
                metric = row.metrics.get(name)
                line[name] = float("nan") if metric is None else metric.value
                if self.baseline is not None:
                    delta = None if metric is None else metric.delta
                    line[f"{name}.delta"] = float("nan") if delta is None else delta
            line.update({f"params.{name}": row.params.get(name) for name in params})
            line["warnings"] = "; ".join(row.warnings)
            table.append(line)
        frame = pandas.DataFrame(table)
        frame.attrs["warnings"] = list(self.warnings)
        frame.attrs["baseline"] = self.baseline.commit if self.baseline else None
        return frame


def compare_rows(
    repo: Any,
    candidates: Any,
    baseline: str | None = CHAMPION,
    metrics: Metrics | None = None,
    *,
    policy: str | None = None,
    params: str = "changed",
    objects: bool = True,
    server: Server | None = None,
) -> Comparison:
    """As compare(), typed and without pandas."""
    return _ask(repo, candidates, baseline, metrics, policy, params, objects, server)


def _ask(
    repo: Any,
    candidates: Any,
    baseline: str | None,
    metrics: Metrics | None,
    policy: str | None,
    params: str,
    objects: bool,
    server: Server | None,
) -> Comparison:
    """Called by what the user calls: warnings show the user's line."""
    server = server or connect()
    name = repository_name(server, repo)
    body: dict[str, Any] = {"candidates": list_of_refs(candidates), "params": params, "objects": objects, "amount": PAGE}
    if baseline == CHAMPION and not _alias_is_there(server, name, CHAMPION[1:]):
        warnings.warn(f"{name} has no champion yet: nothing to compare with", NoChampionYet, stacklevel=3)
        baseline = None
    if baseline:
        body["baseline"] = baseline
    if metrics is not None:
        body["metrics"] = _columns(metrics)
    if policy:
        body["policy"] = policy
    rows: list[CandidateRow] = []
    while True:
        page = server.call("POST", "repositories", name, "compare", json=body, repeat=True)
        rows += [CandidateRow.of(row) for row in page["results"]]
        if not page["pagination"]["has_more"]:
            break
        body["after"] = page["pagination"]["next_offset"]
    against = (
        CandidateRow.of({"ref": baseline or "", "params": {}, "warnings": [], "metrics": {}, **page["baseline"]})
        if page.get("baseline")
        else None
    )
    columns = [m["name"] + (f"@{m['split']}" if m.get("split") else "") for m in page["metrics"]]
    if metrics is None and columns and rows and all(row.rank is None for row in rows):
        hint = f"not ranked: give metrics={{{columns[0]!r}: 'max'}} (or 'min'), or a policy"
        warnings.warn(f"{hint}; the candidates have {_some(columns)}", NotRanked, stacklevel=3)
    return Comparison(rows, against, columns, page["warnings"])


def compare(
    repo: Any,
    candidates: Any,
    baseline: str | None = CHAMPION,
    metrics: Metrics | None = None,
    *,
    policy: str | None = None,
    params: str = "changed",
    objects: bool = True,
    server: Server | None = None,
) -> Any:
    """Candidates (refs, globs of branches) beside a baseline, the best first: a pandas.DataFrame where pandas is
    installed, else the rows of compare_rows().

    `metrics`: {"accuracy": "max", "loss": "min"} or ["accuracy:max", "loss:min"]; the first ranks. Without it the
    policy's; without a policy all, and none ranks (NotRanked)."""
    found = _ask(repo, candidates, baseline, metrics, policy, params, objects, server)
    try:
        return found.frame()
    except ImportError:
        return found


def _some(names: list[str]) -> str:
    return ", ".join(names[:NAMED_MAX]) + (f" and {len(names) - NAMED_MAX} more" if len(names) > NAMED_MAX else "")


def _alias_is_there(server: Server, repo: str, alias: str) -> bool:
    try:
        server.call("GET", "repositories", repo, "aliases", alias)
    except NotFound as error:
        if error.code == "alias_not_found":
            return False
        raise
    return True


def _columns(metrics: Metrics) -> list[dict[str, Any]]:
    """The first with a goal ranks, unless one says primary."""
    columns: list[dict[str, Any]] = []
    if isinstance(metrics, str):
        metrics = [metrics]
    given: Iterable[Any] = metrics.items() if isinstance(metrics, Mapping) else metrics
    for metric in given:
        if isinstance(metric, Mapping):
            columns.append(dict(metric))
            continue
        name, goal = metric if isinstance(metric, tuple) else _name_and_goal(metric)
        if goal not in ("max", "min", "", None):
            raise ValueError(f"metric {name}: goal {goal!r}: must be max or min")
        columns.append({"name": name, "goal": goal} if goal else {"name": name})
    if not any(column.get("primary") for column in columns):
        for column in columns:
            if column.get("goal"):
                column["primary"] = True
                break
    return columns


def _name_and_goal(text: str) -> Any:
    """Names of metrics may hold colons."""
    for goal in ("max", "min"):
        if text.endswith(f":{goal}"):
            return text[: -len(goal) - 1], goal
    return text, ""

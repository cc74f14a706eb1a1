"""Promotion: the best candidate that passes the gate becomes the champion, in one step; rollback takes it back."""

from __future__ import annotations

import math
import time
import uuid
from collections.abc import Iterable, Mapping
from typing import Any

from tarn_data.aliases import alias_history
from tarn_data.errors import (
    ApprovalRequired,
    Cancelled,
    DestinationMoved,
    GateFailed,
    HookFailed,
    MergeConflict,
    MetricMissing,
    NotFound,
    PromotionError,
    Timeout,
)
from tarn_data.numbers import metric_number
from tarn_data.records import PromotionRecord
from tarn_data.tables import CHAMPION
from tarn_data.transport import Server, connect, list_of_refs, repository_name

# The longest wait of one request: proxies cut longer ones.
WAIT_PER_REQUEST_SECONDS = 20
WAIT_SECONDS = 3600.0

_ERRORS: dict[str, type[PromotionError]] = {
    "gate_failed": GateFailed,
    "check_timeout": GateFailed,
    "rejected": GateFailed,
    "metric_missing": MetricMissing,
    "destination_moved": DestinationMoved,
    "merge_conflict": MergeConflict,
    "destination_dirty": MergeConflict,
    "hook_failed": HookFailed,
}
_ADVICE = {
    "gate_failed": "`reasons` says what refused each candidate; tarn.evaluate asks the gate without promoting",
    "check_timeout": "report the check with tarn.report_check for the winner's exact commit, then promote again",
    "metric_missing": "record the metrics for the candidates' heads with tarn.run",
    "destination_moved": "look at what came in between, then promote again",
    "merge_conflict": "merge the destination into the candidate and measure it again, or use method='replace-paths'",
    "destination_dirty": "commit or reset what is uncommitted on the destination, then promote again",
}


class Promotion(PromotionRecord):
    """A promotion as it was when last asked; refresh() and wait() ask again."""

    def __init__(self, server: Server, repo: str, answer: Mapping[str, Any]) -> None:
        super().__init__(repo, answer)
        self._server = server

    def refresh(self) -> Promotion:
        self.raw = self._server.call("GET", *self._path())
        return self

    def wait(self, timeout: float | None = WAIT_SECONDS) -> Promotion:
        """Until it has ended; raises what check() raises, and Timeout or ApprovalRequired after `timeout` seconds.

        None waits as long as it takes. What the server does goes on whether anybody waits or not."""
        deadline = math.inf if timeout is None else time.monotonic() + timeout
        while not self.ended:
            left = deadline - time.monotonic()
            if left <= 0:
                kind = ApprovalRequired if self.code == "approval_required" else Timeout
                raise kind(
                    f"promotion {self.id}: is still {self.state}: {self.message}; it goes on: wait again with "
                    f"tarn.promotion(repo, {self.id!r}).wait()",
                    self.code,
                    promotion=self,
                )
            patience = min(WAIT_PER_REQUEST_SECONDS, max(1, math.ceil(min(left, WAIT_PER_REQUEST_SECONDS))))
            self.raw = self._server.call(
                "GET", *self._path(), patience=patience, query={"wait": f"{patience}s", "seen": self.raw["version"]}
            )
        return self.check()

    def check(self) -> Promotion:
        """Raises when it has ended other than promoted."""
        if not self.ended or self.state in ("promoted", "rolled_back"):
            return self
        kind = Cancelled if self.state == "cancelled" else _ERRORS.get(self.code, PromotionError)
        if self.state == "rejected" and kind is PromotionError:
            kind = GateFailed
        advice = f" ({_ADVICE[self.code]})" if self.code in _ADVICE else ""
        raise kind(f"promotion {self.id}: {self.state}: {self.message or self.code}{advice}", self.code, promotion=self)

    def approve(self, reason: str = "") -> Promotion:
        """Approves what this object shows, see `review`: DestinationMoved when it is another by now."""
        return self._decide("approve", {"reason": reason, "review_digest": self.raw.get("review_digest", "")})

    def reject(self, reason: str = "") -> Promotion:
        return self._decide("reject", {"reason": reason})

    def cancel(self, reason: str = "") -> Promotion:
        return self._decide("cancel", {"reason": reason})

    def report_check(
        self,
        name: str,
        status: str = "success",
        *,
        commit: str | None = None,
        metrics: Mapping[str, Any] | None = None,
        url: str = "",
        supersedes: str = "",
    ) -> Promotion:
        """Reports the result of a check; without `commit` about the winner that this object shows. After a failure only its
        reporter can report otherwise, with `supersedes`: why the failure does not stand."""
        commit = self._server.commit_of(self.repo, commit) if commit else self.winner_commit
        if not commit:
            raise ValueError(f"promotion {self.id} shows no winner yet: say which commit was checked, commit=...")
        numbers = {}
        for metric, value in (metrics or {}).items():
            numbers[metric] = metric_number(metric, value)
            if not math.isfinite(numbers[metric]):
                raise ValueError(f"metric {metric}: {value}: a check reports finite numbers; report status='failure'")
        report = {"commit": commit, "status": status, "metrics": numbers, "url": url}
        if supersedes:
            report["supersedes"] = supersedes
        self.raw = self._server.call("POST", *self._path(), "checks", name, repeat=True, json=report)
        return self

    def rollback(self, reason: str = "") -> Promotion:
        """Branch and alias as they were before it; returns the promotion that took it back."""
        undone = Promotion(
            self._server, self.repo, self._server.call("POST", *self._path(), verb=":rollback", json={"reason": reason})
        )
        self.refresh()
        return undone

    def _decide(self, verb: str, body: Mapping[str, str]) -> Promotion:
        self.raw = self._server.call("POST", *self._path(), verb=f":{verb}", json=dict(body))
        return self

    def _path(self) -> list[str]:
        return ["repositories", self.repo, "promotions", self.id]

    def __repr__(self) -> str:
        return f"Promotion({self.id!r}, {self.state}, to={self.destination!r}, winner={self.winner!r})"


def promote(
    repo: Any,
    candidates: Any,
    to: str | None = None,
    *,
    policy: str | None = None,
    alias: str | None = None,
    method: str | None = None,
    select: str | None = None,
    paths: Iterable[str] | None = None,
    expect: Mapping[str, str | None] | None = None,
    reason: str = "",
    wait: bool = True,
    timeout: float | None = WAIT_SECONDS,
    idempotency_key: str | None = None,
    server: Server | None = None,
) -> Promotion:
    """Makes the best candidate that passes the gate the champion; see the README.

    `policy` and `alias` default to those that guard `to`. `expect`: {"destination": ref, "alias": ref or None} must
    hold still. Raises GateFailed, MetricMissing, DestinationMoved, MergeConflict, HookFailed, ApprovalRequired,
    Timeout or Cancelled."""
    server = server or connect()
    name = repository_name(server, repo)
    destination = getattr(to, "id", to) or server.settings.branch
    if not destination:
        raise ValueError("tarn.promote: to which branch? give to=..., or set TARN_BRANCH")
    body: dict[str, Any] = {
        "candidates": list_of_refs(candidates),
        "destination": destination,
        "reason": reason,
        "idempotency_key": idempotency_key or str(uuid.uuid4()),
    }
    optional = {"policy": policy, "alias": alias, "method": method, "select": select}
    body.update({field: value for field, value in optional.items() if value})
    if paths is not None:
        body["paths"] = [paths] if isinstance(paths, str) else list(paths)
    if expect is not None:
        body["expect"] = _expectation(server, name, expect)
    made = Promotion(server, name, server.call("POST", "repositories", name, "promotions", json=body, repeat=True))
    return made.wait(timeout) if wait else made


def promotion(repo: Any, id: str, *, server: Server | None = None) -> Promotion:
    """A promotion by its id."""
    server = server or connect()
    name = repository_name(server, repo)
    return Promotion(server, name, server.call("GET", "repositories", name, "promotions", id))


def rollback(repo: Any, target: str = CHAMPION, reason: str = "", *, server: Server | None = None) -> Promotion:
    """Takes back the promotion of that id, or for "@alias" the one that put the alias where it is."""
    server = server or connect()
    if target.startswith("@"):
        changes = alias_history(repo, target, limit=1, server=server)
        if not changes or not changes[0].promotion:
            raise NotFound(f"{target}: was not put where it is by a promotion", "promotion_not_found")
        target = changes[0].promotion
    return promotion(repo, target, server=server).rollback(reason)


def approve(repo: Any, id: str, reason: str = "", *, review: str, server: Server | None = None) -> Promotion:
    """Approves the review with this digest, the `review_digest` of a promotion that was looked at."""
    made = promotion(repo, id, server=server)
    made.raw["review_digest"] = review
    return made.approve(reason)


def report_check(
    repo: Any,
    id: str,
    name: str,
    status: str = "success",
    *,
    commit: str,
    metrics: Mapping[str, Any] | None = None,
    url: str = "",
    supersedes: str = "",
    server: Server | None = None,
) -> Promotion:
    """Reports what a check found about a commit; it counts for no other. `status`: success, failure or pending."""
    return promotion(repo, id, server=server).report_check(
        name, status, commit=commit, metrics=metrics, url=url, supersedes=supersedes
    )


def _expectation(server: Server, repo: str, expect: Mapping[str, str | None]) -> dict[str, str]:
    """Refs are told as commits; an alias of None means that there must be none."""
    unknown = set(expect) - {"destination", "alias"}
    if unknown:
        raise ValueError(f"expect: {sorted(unknown)[0]!r}: must be 'destination' or 'alias'")
    empty = [what for what, ref in expect.items() if ref == "" or (ref is None and what != "alias")]
    if empty:
        raise ValueError(f"expect: {empty[0]!r}: must be a ref; None, of the alias, means that there is none")
    return {what: "none" if ref is None else server.commit_of(repo, ref) for what, ref in expect.items()}

"""The record of a promotion, as the server tells it. Errors refer to it, so it imports no other module of the package."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

ENDED = ("promoted", "rejected", "failed", "cancelled", "rolled_back")


@dataclass(frozen=True)
class Reason:
    """Why one candidate was not let through."""

    candidate: str
    rule: str
    code: str
    text: str

    def __str__(self) -> str:
        return f"{self.candidate}: {self.rule}: {self.text}"


class PromotionRecord:
    """A promotion as it was when last asked."""

    def __init__(self, repo: str, answer: Mapping[str, Any]) -> None:
        self.repo = repo
        self.raw: dict[str, Any] = dict(answer)

    @property
    def id(self) -> str:
        return str(self.raw["id"])

    @property
    def state(self) -> str:
        return str(self.raw["state"])

    @property
    def ended(self) -> bool:
        return self.state in ENDED

    @property
    def promoted(self) -> bool:
        return self.state == "promoted"

    @property
    def destination(self) -> str:
        return str(self.raw["destination"])

    @property
    def alias(self) -> str:
        return str(self.raw.get("alias", ""))

    @property
    def policy(self) -> str:
        return str(self.raw["policy"])

    @property
    def review(self) -> dict[str, Any]:
        """The review that an approval consents to; empty while there is no winner."""
        return dict(self.raw.get("review") or {})

    @property
    def review_digest(self) -> str:
        return str(self.raw.get("review_digest") or "")

    @property
    def winner(self) -> str | None:
        """The ref of the chosen candidate."""
        return (self.raw.get("winner") or {}).get("ref")

    @property
    def winner_commit(self) -> str | None:
        return (self.raw.get("winner") or {}).get("commit")

    @property
    def commit(self) -> str | None:
        """The commit on the destination."""
        return self.raw.get("result")

    @property
    def tag(self) -> str | None:
        return self.raw.get("tag")

    @property
    def code(self) -> str:
        """Why it ended other than promoted, or what it waits for."""
        return str(self.raw.get("code", ""))

    @property
    def message(self) -> str:
        return str(self.raw.get("message", ""))

    @property
    def evidence(self) -> dict[str, Any]:
        """The evidence of the decision; empty until the candidates are compared."""
        return dict(self.raw.get("evidence") or {})

    @property
    def evidence_digest(self) -> str | None:
        return self.raw.get("evidence_digest")

    @property
    def reasons(self) -> list[Reason]:
        """The rules that refused, or still wait, of every candidate that was not promoted."""
        return [
            Reason(candidate.get("ref", ""), rule["rule"], rule.get("code", ""), rule["reason"])
            for candidate in self.evidence.get("candidates", [])
            for rule in candidate.get("rules", [])
            if rule["outcome"] in ("fail", "pending")
        ]

"""Aliases: named pointers to commits, with their history."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tarn_data.transport import Server, connect, repository_name


@dataclass(frozen=True)
class Alias:
    name: str
    commit: str
    version: int
    policy: str = ""  # the gate policy that names it: only promotion and rollback move it
    changed: bool = False

    @property
    def ref(self) -> str:
        return f"@{self.name}"

    @classmethod
    def of(cls, answer: Mapping[str, Any]) -> Alias:
        return cls(answer["id"], answer["commit_id"], answer["version"], answer.get("policy", ""), answer.get("changed", False))


@dataclass(frozen=True)
class AliasChange:
    version: int
    actor: str
    reason: str
    at: str
    from_commit: str | None = None  # None: there was none
    to_commit: str | None = None  # None: it was removed
    promotion: str | None = None
    evidence: str | None = None  # SHA-256 in hex


def alias(
    repo: Any,
    name: str,
    *,
    to: str | None = None,
    expect: str | None = None,
    reason: str = "",
    server: Server | None = None,
) -> Alias:
    """Where an alias is; with `to` it is made or moved there.

    `expect` is the ref it must be at before, "" for none: else tarn.DestinationMoved."""
    server = server or connect()
    place = ("repositories", repository_name(server, repo), "aliases", name.lstrip("@"))
    if to is None:
        if expect is not None:
            raise ValueError("alias: expect is for moving it: give to= as well")
        return Alias.of(server.call("GET", *place))
    body: dict[str, str] = {"to": to, "reason": reason}
    if expect is not None:
        body["expect"] = server.commit_of(place[1], expect) if expect else ""
    return Alias.of(server.call("POST", *place, verb=":set", json=body))


def alias_history(repo: Any, name: str, *, limit: int = 100, server: Server | None = None) -> list[AliasChange]:
    """The moves of an alias, newest first; also of a removed one."""
    server = server or connect()
    changes: list[AliasChange] = []
    place = ("repositories", repository_name(server, repo), "aliases", name.lstrip("@"), "history")
    for item in server.each(*place, query={"amount": min(limit, 1000)}):
        if len(changes) >= limit:
            break
        changes.append(
            AliasChange(
                version=item["version"],
                actor=item["actor"],
                reason=item["reason"],
                at=item["creation_date"],
                from_commit=item.get("from_commit_id"),
                to_commit=item.get("to_commit_id"),
                promotion=item.get("promotion_id"),
                evidence=item.get("evidence"),
            )
        )
    return changes

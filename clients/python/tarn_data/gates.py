"""Gate policies: setting one, and judging candidates without promoting any."""

from __future__ import annotations

import json
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import yaml  # lakefs depends on it

from tarn_data.transport import Server, connect, list_of_refs, repository_name


@dataclass(frozen=True)
class Rule:
    rule: str
    outcome: str  # pass, fail, skipped or pending
    reason: str
    code: str = ""

    @classmethod
    def of(cls, rule: Mapping[str, Any]) -> Rule:
        return cls(rule["rule"], rule["outcome"], rule["reason"], rule.get("code", ""))


@dataclass(frozen=True)
class Verdict:
    ref: str
    commit: str
    verdict: str  # passed, failed or pending
    rank: int | None = None
    dominated: bool | None = None
    rules: list[Rule] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)

    @property
    def passed(self) -> bool:
        return self.verdict == "passed"

    @property
    def failures(self) -> list[Rule]:
        return [rule for rule in self.rules if rule.outcome == "fail"]


@dataclass(frozen=True)
class Policy:
    name: str
    version: int
    destination: str
    document: str
    digest: str
    changed: bool


def evaluate(
    policy: str,
    candidates: Any,
    repo: Any = None,
    *,
    champion: str | None = None,
    version: int | None = None,
    server: Server | None = None,
) -> list[Verdict]:
    """A dry run of the gate: the verdict on each candidate, those that pass first, best first."""
    server = server or connect()
    body: dict[str, Any] = {"candidates": list_of_refs(candidates)}
    if champion:
        body["champion"] = champion
    if version is not None:
        body["version"] = version
    answer = server.call(
        "POST", "repositories", repository_name(server, repo), "policies", policy, verb=":evaluate", json=body, repeat=True
    )
    return [
        Verdict(
            ref=one["ref"],
            commit=one["commit_id"],
            verdict=one["verdict"],
            rank=one.get("rank"),
            dominated=one.get("dominated"),
            rules=[Rule.of(rule) for rule in one["rules"]],
            warnings=list(one["warnings"]),
        )
        for one in answer["results"]
    ]


def apply_policy(
    repo: Any, document: str | Mapping[str, Any], name: str | None = None, *, server: Server | None = None
) -> Policy:
    """Sets a gate policy from its YAML, or from a dict; the same document again changes nothing. Warns of rules that demand
    less than they seem to."""
    server = server or connect()
    read = yaml.safe_load(document) if isinstance(document, str) else document
    name = name or (str(read.get("name") or "") if isinstance(read, Mapping) else "")
    if not name:
        raise ValueError("the policy has no name: give it in the document, or as name=...")
    is_text = isinstance(document, str)
    body = document if is_text else json.dumps(document)
    answer = server.call(
        "PUT",
        "repositories",
        repository_name(server, repo),
        "policies",
        name,
        body=str(body).encode(),
        headers={"Content-Type": "application/yaml" if is_text else "application/json"},
    )
    for warning in answer.get("warnings", []):
        warnings.warn(f"policy {name}: {warning}", stacklevel=2)
    return Policy(
        answer["name"],
        answer["version"],
        answer.get("destination", ""),
        answer.get("document", ""),
        answer.get("digest", ""),
        answer["changed"],
    )

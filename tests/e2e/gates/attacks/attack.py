"""One row of the tables: who tries what behind which gate, and what must be seen afterwards."""

import json
from dataclasses import dataclass

import pytest
from long_tests import LONG

ACCURACY = {"name": "accuracy", "goal": "max", "min": 0.5, "max": 1.0, "primary": True}
BETTER = {**ACCURACY, "vs_champion": {"min_delta": 0.005}}
POLICY = {"name": "gate", "destination": "main", "alias": "champion", "candidates": "exp-*", "metrics": [BETTER]}


def gate(*without, **members):
    """POLICY with other members; `without`: names of those that it has not."""
    return {name: one for name, one in {**POLICY, **members}.items() if name not in without}


@dataclass(frozen=True)
class Seen:
    """status and says are of the last answer of the attack, state, code and message of its last promotion.

    rules: {ref: code of a rule that its evidence must name, as failed, pending or skipped}. winner: the candidate that
    the gate lets pass all the same; without one nothing has moved. model: where the champion's model must be the winner's.
    policies: whether they are as before. lives: branches that are there and have no end. approvers: the users whose
    approvals the record has, by role. warns: what a warning of some candidate in its evidence says.
    """

    status: int | tuple = ()
    says: str = ""
    state: str | tuple = ""
    code: str | tuple = ""
    message: str = ""
    rules: tuple = ()
    winner: str = ""
    model: str = "artifacts/model.pkl"
    policies: bool = True
    lives: tuple = ()
    approvers: tuple = ()
    warns: str = ""


@dataclass(frozen=True)
class Attack:
    """before: what honest users did, before anything is compared. early: what was done before there was a gate."""

    name: str
    by: str
    steps: tuple
    seen: Seen
    policy: dict | None = None
    before: tuple = ()
    early: tuple = ()
    over: tuple = ("rest", "s3", "tarn")

    def ways(self):
        """The interfaces over which it can be tried: those of any of its steps, or the one that a step needs."""
        able = [step.ways for step in self.steps]
        for needed in ("s3", "tarn"):
            if (needed,) in able:
                return [needed]
        return [way for way in self.over if any(way in one for one in able)]

    def is_one_refusal(self):
        """Whether it leaves a stage as it was, so that others that need the same may be tried on that."""
        status = one_or_more(self.seen.status)
        return len(self.steps) == 1 and bool(status) and min(status) >= 400

    def scene(self):
        """The key of a prepared stage; equal for attacks that need the same."""
        return json.dumps(self.policy), self.early, self.before, self.by

    def prepare(self, stage):
        for step in self.early:
            step.do(stage, self.by)
        stage.must(
            "admin",
            "PUT",
            "/policies/gate",
            data=json.dumps(stage.fill(self.policy or POLICY)),
            headers={"Content-Type": "application/json"},
        )
        for step in self.before:
            step.do(stage, self.by)

    def run(self, stage):
        """On a stage that is prepared."""
        before = stage.seen()
        promotions = len(stage.promotions)
        for step in self.steps:
            stage.answers.clear()
            step.do(stage, self.by)
            if step is not self.steps[-1] and not step.tried:
                assert all(200 <= answer.status < 300 for answer in stage.answers), stage.answers
        self.compare(stage, before, stage.seen(), len(stage.promotions) > promotions)

    def compare(self, stage, before, after, promoted):
        seen = self.seen
        if not seen.policies:
            after = {**after, "policies": before["policies"]}
        if seen.status:
            stage.answers[0].check(seen.status, stage.fill(seen.says))
        if not seen.winner:
            assert after == before
        for name in seen.lives:
            assert "expires" not in stage.see(f"/branches/{name}")
        if seen.state:
            assert promoted or self.before, "no promotion was begun"
            self.compare_promotion(stage, before, after)
        else:
            assert seen.status, "the row says nothing of how it ends"

    def compare_promotion(self, stage, before, after):
        seen = self.seen
        assert stage.promotions, stage.answers
        done = stage.check_evidence(stage.promotions[-1])
        assert done["state"] in one_or_more(seen.state) and done.get("code", "") in one_or_more(seen.code), done
        assert stage.fill(seen.message) in done.get("message", ""), done
        judged = {one["ref"]: one for one in done.get("evidence", {"candidates": []})["candidates"]}
        for ref, code in seen.rules:
            assert code in [rule.get("code") for rule in judged[stage.fill(ref)]["rules"]], judged
        warnings = [text for one in judged.values() for text in one["warnings"]]
        assert not seen.warns or any(stage.fill(seen.warns) in text for text in warnings), warnings
        for role in seen.approvers:
            name = stage.kept[f"user:{role}"]
            assert name in [one["user"] for one in done["approvals"]], done["approvals"]
            assert name in [one["user"] for one in judged[done["winner"]["ref"]]["approvals"]], judged
        if not seen.winner:
            return
        winner = stage.kept[seen.winner]
        assert done["winner"]["commit"] == winner, done
        if seen.winner in judged:
            assert done["winner"]["ref"] == seen.winner, done
        assert after["head"] == done["result"] != before["head"]
        parents = stage.see(f"/commits/{after['head']}")["parents"]
        assert parents[0] == before["head"]
        if done.get("alias"):
            assert after["aliases"] == {**before["aliases"], done["alias"]: after["head"]}
            assert len(after["log"][done["alias"]]) == len(before["log"].get(done["alias"], [])) + 1
        if seen.model:
            assert stage.read("main", seen.model) == stage.read(winner, seen.model)
        assert after["staged"] == [] and after["policies"] == before["policies"]


def one_or_more(values):
    return values if isinstance(values, tuple) else (values,)


def rows(attacks):
    """Parameters of pytest: each attack over one of the interfaces that it has, in turn, and every sixth on two servers.

    With TARN_TEST_LONG=1 over each interface, and on two servers as well.
    """
    names = [attack.name for attack in attacks]
    assert len(set(names)) == len(names), [name for name in names if names.count(name) > 1]
    found = []
    for number, attack in enumerate(attacks):
        ways = attack.ways()
        tried = ways if LONG else [ways[number % len(ways)]]
        found += [pytest.param(attack, way, 1, id=f"{attack.name}-{way}") for way in tried]
        if LONG or number % 6 == 0:
            found.append(pytest.param(attack, ways[0], 2, id=f"{attack.name}-{ways[0]}-two"))
    return found


def test_attack(stage, attack):
    attack.run(stage)


def test_honest(stage, honest):
    honest.run(stage)

"""Generated policies and candidates: the gate says of each what an oracle says that was written from the documents alone."""

import json
import os
import random
import uuid

import clients
import generated
import oracle
import pytest

CANDIDATES = 100
CASES = int(os.environ.get("TARN_GATE_CASES", 10_000))
SEED = int(os.environ.get("TARN_TEST_SEED", random.randrange(1 << 32)))


class Lake:
    """A repository with candidates, and what is known of each."""

    def __init__(self, server, chance):
        repo = f"oracle-{uuid.uuid4().hex[:12]}"
        self.rest, self.base = clients.Rest(server), f"/repositories/{repo}"
        made = self.rest("POST", "/repositories", json={"name": repo, "storage_namespace": f"local://{repo}"})
        assert made.status_code == 201, made.text
        self.commit("main", generated.MAIN, {}, {})
        self.must("POST", "/branches", json={"name": "data", "source": "main"})
        self.commit("data", generated.DATA, generated.MAIN, {})
        self.must("POST", "/tags", json={"id": "data-v3", "ref": "data"})
        self.candidates = [self.make(generated.candidate(chance, number)) for number in range(CANDIDATES)]
        self.unmeasured = oracle.Candidate("main", -1, generated.MAIN)
        self.of_ref = {one.branch: one for one in self.candidates}
        self.champion = self.candidates[0]
        self.must("POST", "/aliases/champion:set", json={"to": self.champion.branch})

    def must(self, method, path, **options):
        answer = self.rest(method, self.base + path, **options)
        assert answer.status_code < 300, (method, path, options, answer.text)
        return answer.json() if answer.text.startswith("{") else None

    def commit(self, branch, files, before, metadata):
        for path, data in files.items():
            if before.get(path) != data:
                self.must("POST", f"/branches/{branch}/objects", params={"path": path}, data=data)
        for path in before.keys() - files.keys():
            self.must("DELETE", f"/branches/{branch}/objects", params={"path": path})
        return self.must("POST", f"/branches/{branch}/commits", json={"message": "m", "metadata": metadata, "allow_empty": True})["id"]

    def make(self, candidate):
        """Writes what was measured to where it says: metadata, files and a run. The files are among its files then."""
        metadata, tables, run = {}, {}, []
        for (name, split), values in candidate.measured.items():
            for origin, value in values.items():
                number = value if isinstance(value, str) else float(value)
                if origin == "api":
                    run.append({"name": name, "value": number, **({"split": split} if split else {})})
                elif origin == "commit-metadata":
                    metadata[f"metric.{name}"] = str(value)
                else:
                    tables.setdefault(origin.removeprefix("file:"), {})[name] = number
        candidate.files.update({path: json.dumps(table).encode() for path, table in tables.items()})
        source = "data" if candidate.has_ancestor else "main"
        self.must("POST", "/branches", json={"name": candidate.branch, "source": source})
        before = generated.DATA if candidate.has_ancestor else generated.MAIN
        candidate.commit = self.commit(candidate.branch, candidate.files, before, metadata)
        if run:
            self.must("POST", "/experiments/e/runs", json={"commit": candidate.commit, "metrics": run})
        return candidate

    def set_policy(self, policy):
        self.must("PUT", "/policies/gate", data=json.dumps(policy), headers={"Content-Type": "application/json"})

    def champion_of(self, policy):
        return self.champion if policy.get("alias") == "champion" else None


@pytest.fixture(scope="module")
def chance():
    print(f"TARN_TEST_SEED={SEED}")
    return random.Random(SEED)


@pytest.fixture(scope="module")
def lake(tarn, chance):
    return Lake(tarn, chance)


def unmet(candidate):
    return {rule["rule"]: (rule["outcome"], rule.get("code", "")) for rule in candidate["rules"] if rule["outcome"] != "pass"}


def compare(lake, policy, champion, judged, winner=None):
    """judged: what the server says of each candidate. Returns how many were compared."""
    verdicts = {one.branch: oracle.judge(policy, one, champion, generated.MAIN) for one in lake.candidates}
    stand = oracle.standing(policy, [one for one in lake.candidates if verdicts[one.branch].outcome != "failed"])
    ranks = {one.branch: rank for rank, one in enumerate(stand, 1)}
    for said in judged:
        one, why = lake.of_ref[said["ref"]], (SEED, policy, champion, said)
        assert unmet(said) == verdicts[one.branch].rules, (one, *why)
        assert said["verdict"] == verdicts[one.branch].outcome, (one, *why)
        assert (said.get("rank") or None) == ranks.get(one.branch), (one, *why)
        assert said["dominated"] == (one in stand and oracle.dominated(policy, one, stand)), (one, *why)
    if winner is not None:
        assert winner == (stand[0].branch if stand else ""), (SEED, policy, champion)
    assert len(judged) == len(lake.candidates)
    return len(judged)


def test_the_gate_says_what_the_oracle_says(lake, chance):
    cases, outcomes = 0, set()
    first = [(policy, None) for policy in generated.FIRST] + [(generated.COMPARES, lake.unmeasured)]
    while cases < CASES or first:
        policy, champion = first.pop() if first else (generated.policy(chance), None)
        lake.set_policy(policy)
        question = {"candidates": ["exp-*", "other-*"]}
        if not champion and chance.random() < 0.5 and cases > len(generated.FIRST) * CANDIDATES:
            champion = chance.choice(lake.candidates)
        if champion:
            question["champion"] = champion.branch
        else:
            champion = lake.champion_of(policy)
        judged = lake.must("POST", "/policies/gate:evaluate", json=question)["results"]
        cases += compare(lake, policy, champion, judged)
        outcomes |= {outcome for said in judged for outcome in unmet(said).values()}
    # Every code was met, or a comparison would say little.
    assert {code for _, code in outcomes} >= {
        "candidate_refused", "ancestor_missing", "metric_missing", "untrusted_origin", "not_finite", "below_min", "above_max",
        "worse_than_champion", "too_far_above_champion", "champion_metric_missing", "no_champion", "object_missing",
        "object_changed", "object_forbidden", "too_large", "check_missing", "check_pending", "approval_required"}, outcomes


def test_a_dry_run_of_a_promotion_says_what_the_oracle_says(lake, chance):
    """The same rules on the way that promotes, and who would win."""
    for _ in range(max(1, CASES // CANDIDATES // 10)):
        policy = generated.policy(chance)
        lake.set_policy(policy)
        evidence = lake.must("POST", "/promotions", json={"candidates": ["exp-*", "other-*"], "destination": "main", "dry_run": True})
        compare(lake, policy, lake.champion_of(policy), evidence["candidates"], evidence["winner"] or "")

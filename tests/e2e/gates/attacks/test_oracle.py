"""Generated policies and candidates: the gate says of each what an oracle says that was written from the documents alone."""

import collections
import json
import os
import random
import uuid

import clients
import generated
import oracle
import pytest

CANDIDATES = 100
MET_MIN = 50  # cases of each code among 10,000
CASES_MAX = 4  # times CASES, while a code is still rare
CODES = {
    "candidate_refused",
    "ancestor_missing",
    "not_up_to_date",
    "differs_from_ancestor",
    "metric_missing",
    "untrusted_origin",
    "ambiguous",
    "not_finite",
    "below_min",
    "above_max",
    "worse_than_champion",
    "too_far_above_champion",
    "champion_metric_missing",
    "no_champion",
    "object_missing",
    "object_too_small",
    "object_changed",
    "object_forbidden",
    "object_removed",
    "too_large",
    "check_missing",
    "check_pending",
    "approval_required",
    "merge_conflict",
    "not_what_was_measured",
}
CASES = int(os.environ.get("TARN_GATE_CASES") or 10_000)
SEED = int(os.environ.get("TARN_TEST_SEED") or random.randrange(1 << 32))


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
        self.must("POST", "/branches", json={"name": "base", "source": "main"})
        self.commit("main", generated.LATER, generated.MAIN, {})
        self.known = oracle.Lake(generated.LATER, generated.DATA)
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
        return self.must("POST", f"/branches/{branch}/commits", json={"message": "m", "metadata": metadata, "allow_empty": True})[
            "id"
        ]

    def make(self, candidate):
        """Writes what was measured to where it says: metadata, files and a run. The files are among its files then."""
        metadata, tables, runs = {}, {}, {}
        for (name, split), values in candidate.measured.items():
            for origin, value in values.items():
                number = value if isinstance(value, str) else float(value)
                if origin.startswith("api"):
                    runs.setdefault(origin, []).append({"name": name, "value": number, **({"split": split} if split else {})})
                elif origin in ("commit-metadata", "bare"):
                    metadata[name if origin == "bare" else f"metric.{name}"] = str(value)
                else:
                    tables.setdefault(origin.removeprefix("file:"), {})[name] = number
        candidate.files.update({path: json.dumps(table).encode() for path, table in tables.items()})
        source = "data" if candidate.has_ancestor else "main" if candidate.up_to_date else "base"
        self.must("POST", "/branches", json={"name": candidate.branch, "source": source})
        before = generated.DATA if candidate.has_ancestor else candidate.base
        candidate.commit = self.commit(candidate.branch, candidate.files, before, metadata)
        for origin in sorted(runs):
            self.must("POST", "/experiments/e/runs", json={"commit": candidate.commit, "metrics": runs[origin]})
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


def agrees(values):
    return len(set(map(str, values.values()))) == 1


def unmet(candidate):
    return {rule["rule"]: (rule["outcome"], rule.get("code", "")) for rule in candidate["rules"] if rule["outcome"] != "pass"}


def is_allowed(rules, expected):
    return rules.keys() == expected.keys() and all(
        outcome == expected[rule][0] and code in expected[rule][1].split("|") for rule, (outcome, code) in rules.items()
    )


def compare(lake, policy, champion, judged, winner=None):
    """judged: what the server says of each candidate. Returns how many were compared."""
    verdicts, stand = oracle.judge_all(policy, lake.known, champion, lake.candidates, all_merges=winner is None)
    ranks = {one.branch: rank for rank, one in enumerate(stand, 1)}
    for said in judged:
        one, why = lake.of_ref[said["ref"]], (SEED, policy, champion, said)
        assert is_allowed(unmet(said), verdicts[one.branch].rules), (one, verdicts[one.branch].rules, *why)
        assert said["verdict"] == verdicts[one.branch].outcome, (one, *why)
        assert (said.get("rank") or None) == ranks.get(one.branch), (one, *why)
        assert said["dominated"] == (one in stand and oracle.dominated(policy, one, stand)), (one, *why)
    if winner is not None:
        assert winner == (stand[0].branch if stand else ""), (SEED, policy, champion)
    assert len(judged) == len(lake.candidates)
    return len(judged)


def rare(met):
    return {code: met[code] for code in CODES if met[code] < MET_MIN * min(1, CASES / 10_000)}


def test_the_gate_says_what_the_oracle_says(lake, chance):
    cases, met = 0, collections.Counter()
    agreeing = [one for one in lake.candidates if all(agrees(values) for values in one.measured.values())]
    first = [(policy, None) for policy in generated.FIRST] + [(generated.COMPARES, lake.unmeasured)]
    while cases < CASES or first or (rare(met) and cases < CASES_MAX * CASES):
        policy, champion = first.pop() if first else (generated.policy(chance), None)
        lake.set_policy(policy)
        question = {"candidates": ["exp-*", "other-*"]}
        if not champion and chance.random() < 0.5 and cases > len(generated.FIRST) * CANDIDATES:
            champion = chance.choice(agreeing)
        if champion:
            question["champion"] = champion.branch
        else:
            champion = lake.champion_of(policy)
        judged = lake.must("POST", "/policies/gate:evaluate", json=question)["results"]
        cases += compare(lake, policy, champion, judged)
        met.update(code for said in judged for code in {code for _, code in unmet(said).values()})
    print(met.most_common())
    # Every code was met often, or a comparison would say little.
    assert not rare(met), met
    assert met.keys() == CODES


def test_a_dry_run_of_a_promotion_says_what_the_oracle_says(lake, chance):
    """The same rules on the way that promotes, and who would win."""
    for _ in range(max(1, CASES // CANDIDATES // 10)):
        policy = generated.policy(chance)
        lake.set_policy(policy)
        evidence = lake.must(
            "POST", "/promotions", json={"candidates": ["exp-*", "other-*"], "destination": "main", "dry_run": True}
        )
        compare(lake, policy, lake.champion_of(policy), evidence["candidates"], evidence["winner"] or "")

"""Candidates that race through a gate: each must be better than the champion, and only what was promoted is on the branch."""

import time

from arena import ObjectClient, body_of
from wire import NotSent, Unknown

POLICY = """name: gate
destination: main
alias: champion
metrics: [{name: accuracy, goal: max, min: 0.1, vs_champion: {min_delta: 0.00005}, primary: true}]
objects: {required: [model]}
"""
ENDED = {"promoted", "rejected", "failed", "cancelled"}
STEP = 0.0001
SETTLE_SECONDS = 60


class Gates:
    clients = 2

    def __init__(self, recorder, must, wires):
        self.recorder, self.must, self.wires = recorder, must, wires
        self.repository, self.base = "gated", "/repositories/gated"
        self.tries = 0
        self.made = {}  # by the commit of the candidate: (number of its body, value)
        must("POST", "/repositories", {"name": self.repository, "storage_namespace": f"local://{self.repository}"})
        answer = wires[0].rest("PUT", f"{self.base}/policies/gate", body=POLICY.encode())
        assert answer.status < 300, answer.reason
        self.first = must("GET", f"{self.base}/branches/main")["commit_id"]

    def begin(self):
        pass

    def client(self, name, chance):
        return GateClient(name, self.wires, chance)

    def settle(self, _):
        """Every promotion that was begun ends by itself."""
        deadline = time.monotonic() + SETTLE_SECONDS
        while True:
            found = self.promotions()
            running = [one["state"] for one in found if one["state"] not in ENDED]
            if not running:
                return
            assert time.monotonic() < deadline, f"promotions do not end: {running}"
            time.sleep(0.2)

    def pages(self, path):
        found, after = [], ""
        while True:
            page = self.must("GET", f"{self.base}/{path}amount=1000&after={after}")
            found += page["results"]
            if not page["pagination"]["has_more"]:
                return found
            after = page["pagination"]["next_offset"]

    def promotions(self):
        return self.pages("promotions?")

    def cells(self):
        return []

    def check(self):
        problem = self.recorder.problem
        promoted = {one["result"]: one for one in self.promotions() if one["state"] == "promoted"}
        log = []
        for commit in self.pages("refs/main/commits?first_parent=true&"):
            if commit["id"] == self.first:
                break
            log.append(commit)
        log.reverse()
        for result in promoted.keys() - {commit["id"] for commit in log}:
            problem(f"gate: the promotion of {result} was acknowledged and is not in the log")
        best, parent = 0.1 - STEP, self.first
        for commit in log:
            one = promoted.get(commit["id"])
            if one is None:
                problem(f"gate: {commit['id']} is on the branch and was not promoted")
                continue
            winner = one["winner"]["commit"]
            number, value = self.made[winner]
            if commit["parents"] != [parent, winner]:
                problem(f"gate: {commit['id']} has the parents {commit['parents']}, not {parent} and {winner}")
            if value <= best:
                problem(f"gate: {value} was promoted over {best}")
            body = self.must("GET", f"{self.base}/refs/{commit['id']}/objects?path=model", raw=True)
            if body != body_of(number):
                problem(f"gate: {commit['id']} has another model than its candidate: {body[:60]}")
            best, parent = value, commit["id"]
        history = [one["to_commit_id"] for one in self.pages("aliases/champion/history?")] if log else []
        if history[::-1] != [commit["id"] for commit in log]:
            problem(f"gate: the alias was at {history[::-1]}, the branch at {[commit['id'] for commit in log]}")
        self.promoted = len(log)


class GateClient(ObjectClient):
    def one(self, gates):
        """A candidate of a branch of its own, which is promoted if it is better."""
        time.sleep(self.chance.uniform(0, 0.1))
        if self.chance.random() < 0.2:
            got = self.ask(
                gates,
                "main",
                "write past the gate",
                lambda: self.wire().s3("PUT", f"/{gates.repository}/main/model", b"past the gate"),
            )
            if got and got[0].status < 400:
                gates.recorder.problem(f"{got[2]}: the gate is open")
        with gates.recorder.lock:
            gates.tries += 1
            best = gates.tries
        number = gates.recorder.number()
        value = (
            0.05
            if self.chance.random() < 0.1
            else 0.1 + STEP * (best if self.chance.random() < 0.7 else self.chance.randrange(best))
        )
        try:
            candidate = self.candidate(gates, f"e-{number}", number, value)
            if candidate:
                self.promote(gates, f"e-{number}", candidate)
            self.wire().rest("DELETE", f"{gates.base}/branches/e-{number}")  # a user may have made 10,000 that exist
        except (Unknown, NotSent):
            time.sleep(0.1)

    def candidate(self, gates, branch, number, value):
        """Its commit, or None."""
        wire = self.wire()
        for method, path, document in (
            ("POST", "/branches", {"name": branch, "source": "main"}),
            ("PUT", f"/{gates.repository}/{branch}/model", None),
            ("POST", f"/branches/{branch}/commits", {"message": branch, "metadata": {"metric.accuracy": str(value)}}),
        ):
            answer = (
                wire.rest(method, gates.base + path, document=document) if document else wire.s3(method, path, body_of(number))
            )
            if answer.status >= 300:
                return None
        gates.made[answer.json()["id"]] = (number, value)
        return answer.json()["id"]

    def promote(self, gates, branch, candidate):
        answer = self.wire().rest(
            "POST",
            f"{gates.base}/promotions",
            document={"candidates": [branch], "destination": "main", "idempotency_key": branch},
        )
        if answer.status >= 300:
            return
        deadline = time.monotonic() + 5
        while time.monotonic() < deadline:
            found = self.wire().rest("GET", f"{gates.base}/promotions/{answer.json()['id']}")
            if found.status != 200 or found.json()["state"] in ENDED:
                break
            time.sleep(0.05)
        if found.status == 200 and found.json()["state"] == "promoted":
            seen = self.wire().rest("GET", f"{gates.base}/refs/main/commits?amount=1000")
            if seen.status == 200 and not any(candidate in commit["parents"] for commit in seen.json()["results"]):
                gates.recorder.problem(f"{branch} was promoted and main does not have it")

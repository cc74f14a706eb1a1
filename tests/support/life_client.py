"""Repositories that are deleted and restored, and one whose history expires by its rules: their one owner knows what they hold."""

import time

from arena import body_of
from wire import NotSent, Unknown

DAY = 24 * 3600
LIVING_MAX = 3
COMMITS_CHECKED_MAX = 12  # of each round, beside the newest


class Owner:
    """One client that makes every write itself and repeats it until it has an answer."""

    clients = 1

    def __init__(self, recorder, must, wires):
        self.recorder, self.must, self.wires = recorder, must, wires

    def begin(self):
        pass

    def client(self, _, chance):
        self.chance = chance
        return self

    def settle(self, _):
        pass

    def cells(self):
        return []

    def sure(self, method, path, expected, document=None, body=None):
        """An answer of one of these statuses, of any server; a request without an answer is repeated."""
        deadline = time.monotonic() + 60
        while True:
            try:
                answer = self.wires[self.chance.randrange(len(self.wires))].rest(method, path, body=body, document=document)
                if answer.status in expected:
                    return answer
                why = f"{answer.status} {answer.reason}"
            except (Unknown, NotSent) as error:
                why = str(error)
            if time.monotonic() > deadline:
                raise AssertionError(f"{method} {path}: {why}")
            time.sleep(0.1)

    def put(self, repository, key, number):
        self.sure("POST", f"/repositories/{repository}/branches/main/objects?path={key}", (201,), body=body_of(number))

    def expect(self, repository, ref, key, number, allowed=()):
        """Reads an object; `allowed`: statuses that may come instead. Returns the status."""
        answer = self.sure("GET", f"/repositories/{repository}/refs/{ref}/objects?path={key}", (200, 404, 410))
        if answer.status != 200 and answer.status not in allowed:
            self.recorder.problem(f"{repository} {ref} {key}: {answer.status} {answer.reason}, not {number}")
        elif answer.status == 200 and answer.body != body_of(number):
            self.recorder.problem(f"{repository} {ref} {key}: {answer.body[:60]}, not {number}")
        self.recorder.count += 1
        return answer.status

    def commit(self, repository):
        """The id of a new head. One without an answer may have been made twice, the second time of nothing."""
        self.sure("POST", f"/repositories/{repository}/branches/main/commits", (201, 400), {"message": "owner"})
        return self.sure("GET", f"/repositories/{repository}/branches/main", (200,)).json()["commit_id"]


class Lives(Owner):
    def __init__(self, *arguments):
        super().__init__(*arguments)
        self.living = []  # (name, {(ref, key): number})
        self.made = 0

    def one(self, _=None):
        self.made += 1
        name = f"life-{self.made}"
        self.sure("POST", "/repositories", (201, 409), {"name": name, "storage_namespace": f"local://{name}"})
        holds = {}
        for number in range(self.made, self.made + 2):
            self.put(name, "committed", number)
            holds[self.commit(name), "committed"] = number
        self.put(name, "staged", self.made)
        holds["main", "staged"] = self.made
        self.sure("DELETE", f"/repositories/{name}", (204, 404))
        if self.sure("GET", f"/repositories/{name}", (200, 404)).status != 404:
            self.recorder.problem(f"{name} is deleted and is there")
        time.sleep(self.chance.uniform(0, 3))
        self.sure("POST", f"/repositories/{name}/undelete", (200, 404, 409))  # 404: a former request has done it
        self.living.append((name, holds))
        self.read(name, holds)
        if len(self.living) > LIVING_MAX:
            self.sure("DELETE", f"/repositories/{self.living.pop(0)[0]}", (204, 404))

    def read(self, name, holds):
        for (ref, key), number in holds.items():
            self.expect(name, ref, key, number)

    def check(self):
        for name, holds in self.living:
            self.read(name, holds)


class Retention(Owner):
    """A branch whose commits expire after a day. `clock`: (least, most) seconds that the database may be ahead."""

    def __init__(self, recorder, must, wires, clock):
        super().__init__(recorder, must, wires)
        self.clock = clock
        self.repository = "expiring"
        self.commits = []  # [commit, number, tagged, least shift when it was stored]
        self.expired = 0
        must("POST", "/repositories", {"name": self.repository, "storage_namespace": f"local://{self.repository}"})
        must("POST", f"/repositories/{self.repository}/gc/rules", {"default_retention_days": 1, "branches": []})

    def one(self, _=None):
        number = self.recorder.number()
        self.put(self.repository, "k", number)
        least = self.clock()[0]
        commit = self.commit(self.repository)
        tagged = self.chance.random() < 0.2
        if tagged:
            self.sure("POST", f"/repositories/{self.repository}/tags", (201, 409), {"id": f"t-{number}", "ref": commit})
        self.commits.append([commit, number, tagged, least])
        self.look(self.chance.randrange(len(self.commits)))
        time.sleep(self.chance.uniform(0.1, 0.4))

    def look(self, place):
        """A commit may have expired a day after the next was stored."""
        commit, number, tagged, _ = self.commits[place]
        status = self.expect(self.repository, commit, "k", number, allowed=(410,))
        if status != 410:
            return
        self.expired += 1
        most = self.clock()[1]
        if tagged or place + 1 == len(self.commits) or most - self.commits[place + 1][3] < DAY - 60:
            self.recorder.problem(
                f"{commit} of {self.repository} has expired, and had to stay: tagged {tagged}, "
                f"{len(self.commits) - place - 1} later, now {most}"
            )

    def check(self):
        count = len(self.commits)
        for place in {
            *range(max(0, count - 3), count),
            *self.chance.sample(range(count), min(count, COMMITS_CHECKED_MAX)),
            *[place for place, commit in enumerate(self.commits) if commit[2]][-COMMITS_CHECKED_MAX:],
        }:
            self.look(place)

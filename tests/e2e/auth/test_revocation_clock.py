"""Two servers over a database whose clock jumps by a day: what one revokes, the other refuses within a second."""

import re
import time
import uuid

import clients
import pytest
import requests
import servers
from jumping_clock import JumpingClock

DAY = 24 * 3600
TOLERANCE_SECONDS = 60
NOTED_SECONDS = 60
REVOKED_SECONDS = 1
POLICY = [{"effect": "allow", "action": ["fs:*"], "resource": "*"}]


@pytest.fixture
def place(scratch_dir, monkeypatch):
    """(two servers, the clock of their database)"""
    clock = JumpingClock(scratch_dir, "database")
    database = servers.Postgres(scratch_dir / "postgres")
    with monkeypatch.context() as patch:
        for name, value in clock.environment().items():
            patch.setenv(name, value)
        database.start()
    environment = {"TARN_STORE_LOCAL_ROOT": scratch_dir / "objects", "TARN_AUTH_MASTER_KEY": "a5" * 32, **servers.SHORT_LEASE}
    both = [
        servers.Tarnd(scratch_dir / f"tarnd-{number}", arguments=["--database", database.url()], environment=environment)
        for number in (1, 2)
    ]
    for server in both:
        server.start()
    yield both, clock
    for server in both:
        server.stop()
    database.stop()


class User:
    """With a key, a policy of their own and one of a group, and a session; known to the other server all the time."""

    def __init__(self, here, there):
        self.here, self.there = here, there
        self.name = self.group = self.policy = f"u-{uuid.uuid4().hex[:12]}"
        self.shared = f"{self.policy}-shared"
        self.change("POST", "/users", {"id": self.name})
        self.change("POST", "/groups", {"id": self.group})
        for policy in (self.policy, self.shared):
            self.change("POST", "/policies", {"id": policy, "statement": POLICY})
        self.key = self.change("POST", f"/users/{self.name}/credentials").json()
        login = requests.post(
            f"{there.url}/api/v1/auth/login",
            timeout=60,
            json={name: self.key[name] for name in ("access_key_id", "secret_access_key")},
        )
        self.session = login.json()["token"]
        self.cookies = login.cookies

    def change(self, method, path, body=None):
        answer = clients.Rest(self.here)(method, f"/auth{path}", json=body)
        assert answer.status_code < 300, (method, path, answer.text)
        return answer

    def of_key(self):
        pair = (self.key["access_key_id"], self.key["secret_access_key"])
        return requests.get(f"{self.there.url}/api/v1/repositories", auth=pair, timeout=20).status_code

    def of_session(self):
        bearer = {"Authorization": f"Bearer {self.session}"}
        return requests.get(f"{self.there.url}/api/v1/user", headers=bearer, timeout=20).status_code

    def log_out(self):
        left = requests.get(f"{self.here.url}/logout", cookies=self.cookies, timeout=20, allow_redirects=False)
        assert left.status_code == 303

    def attach_policy(self):
        self.change("PUT", f"/users/{self.name}/policies/{self.policy}")

    def join_group(self):
        self.change("PUT", f"/groups/{self.group}/policies/{self.shared}")
        self.change("PUT", f"/groups/{self.group}/members/{self.name}")


# (how the user gets the right, how they lose it, what asks the other server)
REVOCATIONS = {
    "policy": (User.attach_policy, lambda u: u.change("DELETE", f"/users/{u.name}/policies/{u.policy}"), User.of_key),
    "group": (User.join_group, lambda u: u.change("DELETE", f"/groups/{u.group}/members/{u.name}"), User.of_key),
    "key": (
        User.attach_policy,
        lambda u: u.change("DELETE", f"/users/{u.name}/credentials/{u.key['access_key_id']}"),
        User.of_key,
    ),
    "session": (User.attach_policy, User.log_out, User.of_session),
    "user": (User.attach_policy, lambda u: u.change("DELETE", f"/users/{u.name}"), User.of_key),
}


def shown_offset(server):
    text = requests.get(f"{server.url}/metrics", timeout=20).text
    return float(re.search(r"^tarn_clock_offset_seconds (\S+)$", text, re.MULTILINE)[1])


@pytest.mark.timeout(400)
def test_a_revocation_holds_within_a_second_whatever_the_databases_clock_does(place):
    (here, there), clock = place
    at = 0
    for jump in (-DAY, DAY):
        users = {name: User(here, there) for name in REVOCATIONS}
        for name, (grant, _, _) in REVOCATIONS.items():
            grant(users[name])

        def all_allowed(users=users):
            return {name: ask(users[name]) for name, (_, _, ask) in REVOCATIONS.items()} == dict.fromkeys(REVOCATIONS, 200)

        deadline = time.monotonic() + NOTED_SECONDS
        while not all_allowed():
            assert time.monotonic() < deadline
        at += jump
        clock.jump_to(at)
        # The other server remembers every user from before the jump, and goes on to use what it remembers.
        while any(abs(shown_offset(server) + at) > TOLERANCE_SECONDS for server in (here, there)):
            for name in set(REVOCATIONS) - {"session"}:
                assert REVOCATIONS[name][2](users[name]) == 200
            assert time.monotonic() < deadline + NOTED_SECONDS
        for name, (_, revoke, ask) in REVOCATIONS.items():
            expired = name == "session" and jump > 0  # of twelve hours
            assert ask(users[name]) == (401 if expired else 200), name
            revoke(users[name])
            begin = time.monotonic()
            while (status := ask(users[name])) == 200 and time.monotonic() - begin < 5:
                time.sleep(0.02)
            assert status == 401 and time.monotonic() - begin < REVOKED_SECONDS + 0.2, (name, jump)

"""`tarn promote --wait` outlives the server: it is killed, stopped and restarted while somebody waits."""

import json
import re
import signal
import subprocess
import time

import clients
import command
import lakefs
import pytest
import servers

WAIT_SECONDS = 60
DOWN_SECONDS = 3.2  # a request that nobody waits for is repeated for 2.6 s
CHECKED = """name: gate
destination: main
alias: champion
metrics: [{name: accuracy, goal: max, min: 0.5, primary: true}]
checks: {required: [bench], timeout: 2h}
"""
APPROVED = CHECKED.replace("checks: {required: [bench], timeout: 2h}", "approvals: {count: 1}")


class Place:
    """A server of the test's own, which may die, and a candidate behind a gate."""

    def __init__(self, directory, data, name, policy, environment=None):
        self.server = servers.Tarnd(directory / "tarnd", environment=environment)
        self.server.copy_data_of(data).start()
        self.name, self.base = name, f"/repositories/{name}"
        repo = lakefs.repository(name, client=clients.lakefs_client(self.server)).create(storage_namespace=f"local://{name}")
        branch = repo.branch("exp-1").create("main")
        branch.object("model").upload(data=b"model")
        self.commit = branch.commit("train", metadata={"metric.accuracy": "0.9"}).get_commit().id
        self.ask("PUT", f"{self.base}/policies/gate", data=policy, headers={"Content-Type": "application/yaml"})
        self.cli = command.Cli(self.server, directory / "home", name)
        self.talk = directory / "talk"

    def ask(self, method, path, **options):
        answer = clients.Rest(self.server)(method, path, **options)
        assert answer.status_code < 300, answer.text
        return answer.json() if answer.text else None

    def begin(self, *words):
        """The command in the background; what it says goes to a file."""
        return subprocess.Popen(
            [servers.program("tarn"), *words],
            env=self.cli.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=open(self.talk, "wb"),
            text=True,
        )

    def wait_for_talk(self, waiting, text):
        deadline = time.monotonic() + WAIT_SECONDS
        while text not in self.talk.read_text():
            assert waiting.poll() is None and time.monotonic() < deadline, self.talk.read_text()
            time.sleep(0.05)

    def only_promotion(self):
        [promotion] = self.ask("GET", f"{self.base}/promotions")["results"]
        return promotion

    def stays_down(self, waiting):
        until = time.monotonic() + DOWN_SECONDS
        while time.monotonic() < until:
            assert waiting.poll() is None, self.talk.read_text()
            time.sleep(0.1)

    def pass_check(self, id):
        self.ask("POST", f"{self.base}/promotions/{id}/checks/bench", json={"commit": self.commit, "status": "success"})


@pytest.fixture
def place(scratch_dir, initialised_data, name):
    made = []

    def make(policy=CHECKED, **environment):
        made.append(Place(scratch_dir, initialised_data, name, policy, environment))
        return made[-1]

    yield make
    for one in made:
        if not one.server.alive():
            one.server.environment.pop("TARN_FAULT_POINT", None)
            one.server.start()  # its PostgreSQL still runs, and is stopped by it
        one.server.stop()


PROMOTE = ("promote", "exp-1", "--to", "main", "--wait")
ENDS = {"killed": lambda server: server.kill(), "stopped": lambda server: server.stop()}


@pytest.mark.parametrize("end", ENDS.values(), ids=ENDS.keys())
@pytest.mark.parametrize("words", [("--timeout", "120s"), ()], ids=["timeout", "no_timeout"])
def test_waiting_goes_on_over_a_restart(place, end, words):
    here = place()
    waiting = here.begin(*PROMOTE, *words, "-o", "json")
    here.wait_for_talk(waiting, "gates_running")
    id = here.only_promotion()["id"]
    end(here.server)
    here.stays_down(waiting)
    here.server.start()
    here.pass_check(id)
    out, _ = waiting.communicate(timeout=WAIT_SECONDS)
    assert waiting.returncode == 0, here.talk.read_text()
    assert (json.loads(out)["id"], json.loads(out)["state"]) == (id, "promoted")
    assert "waiting for the server" in here.talk.read_text()


@pytest.mark.parametrize(
    "policy,state,status", [(CHECKED, "gates_running", 8), (APPROVED, "awaiting_approval", 12)], ids=["checks", "people"]
)
def test_waiting_ends_at_its_own_timeout_while_the_server_is_away(place, policy, state, status):
    here = place(policy)
    waiting = here.begin(*PROMOTE, "--timeout", "4s")
    here.wait_for_talk(waiting, state)
    id = here.only_promotion()["id"]
    here.server.kill()
    waiting.communicate(timeout=WAIT_SECONDS)
    last = here.talk.read_text().splitlines()[-1]
    assert waiting.returncode == status and f"tarn promote wait tarn://{here.name}/{id}" in last, here.talk.read_text()
    here.server.start()
    assert here.only_promotion()["state"] == state


def test_waiting_goes_on_for_somebodys_approval_over_a_restart(place):
    here = place(APPROVED)
    waiting = here.begin(*PROMOTE, "--timeout", "9s")
    here.wait_for_talk(waiting, "awaiting_approval")
    here.server.kill()
    here.stays_down(waiting)
    here.server.start()
    waiting.communicate(timeout=WAIT_SECONDS)
    assert waiting.returncode == 12 and here.only_promotion()["id"] in here.talk.read_text().splitlines()[-1]


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_while_the_server_is_away_says_how_to_go_on(place, how):
    here = place()
    waiting = here.begin(*PROMOTE)
    here.wait_for_talk(waiting, "gates_running")
    id = here.only_promotion()["id"]
    here.server.kill()
    here.wait_for_talk(waiting, "waiting for the server")
    waiting.send_signal(how)
    waiting.communicate(timeout=WAIT_SECONDS)
    assert waiting.returncode == 130 and f"tarn promote wait tarn://{here.name}/{id}" in here.talk.read_text().splitlines()[-1]


def test_an_interrupt_that_should_cancel_says_that_it_could_not(place):
    here = place()
    waiting = here.begin(*PROMOTE, "--cancel-on-interrupt")
    here.wait_for_talk(waiting, "gates_running")
    id = here.only_promotion()["id"]
    here.server.kill()
    here.wait_for_talk(waiting, "waiting for the server")
    waiting.send_signal(signal.SIGINT)
    waiting.communicate(timeout=WAIT_SECONDS)
    assert waiting.returncode == 9 and f"tarn promote cancel tarn://{here.name}/{id}" in here.talk.read_text().splitlines()[-1]


@pytest.mark.parametrize("words", [(), ("--idempotency-key", "nightly")], ids=["without_a_key", "with_a_key"])
@pytest.mark.parametrize("moment", ["before", "after"])
def test_the_server_is_killed_while_the_promotion_begins(place, words, moment):
    """The request is repeated under a key: there is one promotion, whether the first request made it or not."""
    here = place(TARN_FAULT_POINT=f"sql.promotions_insert_row.{moment}=kill")
    waiting = here.begin(*PROMOTE, "--timeout", "120s", "-o", "json", *words)
    here.wait_for_talk(waiting, "waiting for the server")
    assert here.server.process.child.wait(WAIT_SECONDS) == -signal.SIGKILL
    here.stays_down(waiting)
    del here.server.environment["TARN_FAULT_POINT"]
    here.server.start()
    here.wait_for_talk(waiting, "gates_running")
    id = here.only_promotion()["id"]
    here.pass_check(id)
    out, _ = waiting.communicate(timeout=WAIT_SECONDS)
    assert waiting.returncode == 0 and json.loads(out)["id"] == id == here.only_promotion()["id"]


def test_waiting_may_begin_while_the_server_is_away(place):
    here = place()
    id = json.loads(here.cli.run("promote", "exp-1", "--to", "main", "-o", "json").text)["id"]
    here.server.kill()
    waiting = here.begin("promote", "wait", id, "--timeout", "120s", "-o", "json")
    here.wait_for_talk(waiting, "waiting for the server")
    here.stays_down(waiting)
    here.server.start()
    here.pass_check(id)
    out, _ = waiting.communicate(timeout=WAIT_SECONDS)
    assert waiting.returncode == 0 and json.loads(out)["state"] == "promoted"


def test_what_the_server_refuses_ends_the_waiting_with_the_id(place):
    here = place()
    waiting = here.begin(*PROMOTE)
    here.wait_for_talk(waiting, "gates_running")
    id = here.only_promotion()["id"]
    here.ask("DELETE", here.base, params={"force": "true"})
    waiting.communicate(timeout=WAIT_SECONDS)
    last = here.talk.read_text().splitlines()[-1]
    assert waiting.returncode == 4 and id in last, last


def test_github_has_the_id_of_a_promotion_that_still_waits(place, tmp_path):
    here = place()
    outputs = tmp_path / "outputs"
    here.cli.run(*PROMOTE, "--timeout", "1s", "--github", status=8, GITHUB_OUTPUT=str(outputs))
    assert re.search(r"^promotion-id<<(\S+)\n" + here.only_promotion()["id"] + r"\n\1$", outputs.read_text(), re.M)

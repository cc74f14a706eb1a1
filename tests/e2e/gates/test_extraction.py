"""Metrics of a commit are read and stored by the server itself, whoever asks and whoever is killed."""

import contextlib
import time

import clients
import pytest
import requests

END_SECONDS_MAX = 30
DIE_SECONDS_MAX = 60
# As long as another server looks for work twice.
LOOK_SECONDS = 1.5
ROWS = """SELECT m.name, m.value, m.source FROM metrics m JOIN repositories r USING (repo_id)
  WHERE r.name = '{repo}' AND m.commit_id = decode('{commit}', 'hex') ORDER BY m.name"""
STATE = """SELECT e.state, e.attempts, e.lease_until > clock_timestamp() FROM extractions e
  JOIN repositories r USING (repo_id) WHERE r.name = '{repo}' AND e.commit_id = decode('{commit}', 'hex')"""
HEAD = """SELECT encode(b.head, 'hex') FROM branches b JOIN repositories r USING (repo_id)
  WHERE r.name = '{repo}' AND b.name = 'main'"""
CURVE = """SELECT count(*) FROM series s JOIN repositories r USING (repo_id) WHERE r.name = '{repo}'"""
# The lease of a worker (kLease).
END_LEASE = """UPDATE extractions SET lease_until = lease_until - interval '60 s'
  WHERE commit_id = decode('{commit}', 'hex') RETURNING 1"""


class Lake:
    """A repository, and the database itself."""

    def __init__(self, database, name):
        self.database = database
        self.name = name
        self.commit = ""

    def ask(self, query):
        return self.database.ask(query.format(repo=self.name, commit=self.commit))

    def make_commit(self, server):
        """With a file that measures; nobody asks what. The server may die before it answers."""
        rest = clients.Rest(server)
        main = f"/repositories/{self.name}/branches/main"
        made = rest("POST", "/repositories", json={"name": self.name, "storage_namespace": f"local://{self.name}"})
        put = rest("POST", f"{main}/objects?path=metrics/eval.jsonl", data='{"accuracy": 0.5}\n{"accuracy": 0.75}\n')
        assert (made.status_code, put.status_code) == (201, 201), (made.text, put.text)
        with contextlib.suppress(requests.RequestException):
            rest("POST", f"{main}/commits", json={"message": "m", "metadata": {"metric.loss": "0.25"}})
        [self.commit] = self.ask(HEAD)

    def wait_until_stored(self):
        deadline = time.monotonic() + END_SECONDS_MAX
        while not self.ask(STATE)[0].startswith("done,"):
            assert time.monotonic() < deadline, self.ask(STATE)
            time.sleep(0.1)

    def check_rows(self):
        assert self.ask(ROWS) == ["accuracy,0.75,metrics/eval.jsonl", "loss,0.25,metric.loss"]
        assert self.ask(CURVE) == ["1"]


def test_a_commits_metrics_are_stored_without_anybody_asking(start_tarnd, database, name):
    lake = Lake(database, name)
    lake.make_commit(start_tarnd())
    lake.wait_until_stored()
    lake.check_rows()


@pytest.mark.timeout(300)
def test_another_server_goes_on_when_one_is_killed(start_tarnd, database, name):
    lake = Lake(database, name)
    first = start_tarnd("extraction.file_read=kill")
    lake.make_commit(first)
    assert first.process.child.wait(DIE_SECONDS_MAX) == -9
    assert lake.ask(STATE) == ["queued,1,t"] and lake.ask(ROWS) == []
    start_tarnd()
    time.sleep(LOOK_SECONDS)
    assert lake.ask(STATE) == ["queued,1,t"], "the lease holds"
    assert lake.ask(END_LEASE) == ["1"]
    lake.wait_until_stored()
    assert lake.ask(STATE)[0].startswith("done,2,")
    lake.check_rows()

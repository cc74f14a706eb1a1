"""The log of a path through REST: pages and limits, with the change index as commits fill it and as its job does.

The job is killed in the middle; another server over the same database goes on.
"""

import time

import clients
import pytest
import servers

COMMITS = 60
FILL_SECONDS_MAX = 60


class PathLog:
    def __init__(self, server):
        self.rest = clients.Rest(server)

    def call(self, method, path, **options):
        answer = self.rest(method, f"/repositories/paths{path}", **options)
        assert answer.ok, f"{method} {path}: {answer.status_code} {answer.text}"
        return answer.json() if answer.content else None

    def commit(self, branch, *keys):
        for key in keys:
            self.call(
                "POST",
                f"/branches/{branch}/objects?path={key}",
                data=f"{branch} {time.monotonic_ns()}".encode(),
                headers={"Content-Type": "application/octet-stream"},
            )
        return self.call("POST", f"/branches/{branch}/commits", json={"message": f"{branch}: {' '.join(keys)}"})["id"]

    def log(self, ref="main", amount=100, **query):
        """All pages: the ids, and the size of each page."""
        ids, pages, after = [], [], ""
        while True:
            page = self.call("GET", f"/refs/{ref}/commits", params={"amount": amount, "after": after, **query})
            ids += [commit["id"] for commit in page["results"]]
            pages.append(len(page["results"]))
            if not page["pagination"]["has_more"]:
                return ids, pages
            after = page["pagination"]["next_offset"]


@pytest.fixture(scope="module")
def history(session_scratch):
    """A database with a history: its ids by folder, newest first; and how to start a server over it."""
    database = servers.Postgres(session_scratch / "path-log-postgres").start()
    started = []

    def start(fault=None):
        environment = {
            "TARN_STORE_LOCAL_ROOT": session_scratch / "path-log-objects",
            "TARN_AUTH_MASTER_KEY": "a5" * 32,
            **servers.SHORT_LEASE,
            **({"TARN_FAULT_POINT": fault} if fault else {}),
        }
        started.append(
            servers.Tarnd(
                session_scratch / f"path-log-{len(started)}", arguments=["--database", database.url()], environment=environment
            ).start()
        )
        return started[-1]

    server = start()
    made = clients.Rest(server)("POST", "/repositories", json={"name": "paths", "storage_namespace": "local://paths"})
    assert made.status_code == 201, made.text
    paths = PathLog(server)
    by_folder = {"a/": [], "b/": [], "side/": []}
    rare = paths.commit("main", "a/rare")
    by_folder["a/"].append(rare)
    for number in range(COMMITS):
        folder = "ab"[number % 3 == 0] + "/"
        by_folder[folder].insert(0, paths.commit("main", f"{folder}x/{number % 7}"))
        if number % 20 == 10:
            branch = f"dev{number}"
            answer = paths.rest("POST", "/repositories/paths/branches", json={"name": branch, "source": "main"})
            assert answer.status_code == 201, answer.text
            by_folder["side/"].insert(0, paths.commit(branch, f"side/{number}"))
            by_folder["b/"].insert(0, paths.commit("main", "b/meanwhile"))
            paths.call("POST", f"/refs/{branch}/merge/main", json={})
    server.stop()
    yield {"database": database, "start": start, "folders": by_folder, "rare": rare}
    for server in started:
        if server.alive():
            server.stop()
    database.stop()


def check(server, history):
    paths = PathLog(server)
    for folder, ids in history["folders"].items():
        assert paths.log(prefixes=folder) == (ids, [len(ids)])
    a = history["folders"]["a/"]
    assert paths.log(prefixes="a/", amount=7) == (a, [7] * (len(a) // 7) + ([len(a) % 7] if len(a) % 7 else []))
    assert paths.log(prefixes="a/x", limit="true", amount=3) == (a[:3], [3])
    assert paths.log(objects="a/rare") == ([history["rare"]], [1])
    assert paths.log(objects="a/rare", limit="true", amount=1) == ([history["rare"]], [1])
    assert paths.log(objects="a/ra") == ([], [0])
    assert paths.log(prefixes="side/", first_parent="true") == ([], [0])
    both, _ = paths.log(prefixes=["b/", "side/"])
    assert set(both) == set(history["folders"]["b/"]) | set(history["folders"]["side/"])


def unfilled(history):
    return int(history["database"].ask("SELECT count(*) FROM commits WHERE changed_paths IS NULL")[0])


def wait_until_filled(history):
    deadline = time.monotonic() + FILL_SECONDS_MAX
    while unfilled(history) > 0:
        assert time.monotonic() < deadline, f"{unfilled(history)} commits are not in the change index"
        time.sleep(0.2)


def test_pages_and_limits(history):
    server = history["start"]()
    check(server, history)
    check(server, history)  # from the graph in memory
    server.stop()


def test_history_of_an_older_version_is_filled_in_although_a_server_dies(history):
    history["database"].ask("UPDATE commits SET changed_paths = NULL")
    every = unfilled(history)
    for moment in ("after", "before"):
        try:
            dying = history["start"](fault=f"sql.change_index_fill_rows.{moment}=kill")
        except RuntimeError as died:  # the job came to its statement at once
            assert "ended with -9 before it was ready" in str(died)
        else:
            deadline = time.monotonic() + FILL_SECONDS_MAX
            while dying.alive():
                assert time.monotonic() < deadline, "the job did not come to its statement"
                time.sleep(0.1)
        assert unfilled(history) == every  # its transaction did not end
    server = history["start"]()
    check(server, history)  # while the lease of the dead one lasts, and after it
    wait_until_filled(history)
    check(server, history)
    server.stop()
    check(history["start"](), history)

"""The checker of first-parent logs (../../support/branch_log.py), given a log that a server made."""

import arena as arenas
import pytest
from arena import Arena, headers_of
from branch_log import BranchLog
from history import Recorder
from verb_client import Verb
from wire import Wire


class Flow:
    """Requests one after the other, recorded as a VerbClient does."""

    def __init__(self, server, repository):
        self.wire, self.repository, self.recorder = Wire(server, 20), repository, Recorder()
        self.arena = Arena(self.recorder, repository, "hot", 1)

    def rest(self, method, path, document=None, raw=False):
        answer = self.wire.rest(method, path, document=document)
        assert answer.status < 300, answer.reason
        as_json = not raw and answer.headers["Content-Type"].startswith("application/json")
        return answer.json() if as_json else answer.body

    def put(self, branch, number, tags=arenas.NONE):
        body, value = arenas.body_of(number), (number, number, tags)
        answer = self.wire.s3("PUT", f"/{self.repository}/{branch}/s/0", body, headers_of(value))
        assert answer.status == 200, answer.reason
        self.arena.etags[answer.headers["ETag"].strip('"')] = number

    def verb(self, kind, path, **facts):
        verb = Verb(f"{kind} {len(self.arena.verbs)}", kind, self.recorder.now(), **facts)
        self.arena.verbs.append(verb)
        made = self.rest("POST", f"/repositories/{self.repository}/{path}", {"message": verb.message, **facts})
        verb.end, verb.outcome = self.recorder.now(), "done"
        return made.get("id") or made["reference"]

    def branch(self, name, source):
        self.rest("POST", f"/repositories/{self.repository}/branches", {"name": name, "source": source})


@pytest.mark.parametrize("tagged", [True, False])
def test_a_merge_where_the_destination_wins(tarn, repo, tagged):
    """Tags that both sides changed are a conflict, although trees look as if one side had changed nothing."""
    flow = Flow(tarn, repo.id)
    flow.branch("hot", "main")
    flow.put("hot", 1)
    base = flow.verb("commit", "branches/hot/commits")
    flow.branch("hot-side", "hot")
    flow.put("hot-side", 2)
    side = flow.verb("commit", "branches/hot-side/commits")
    flow.arena.verbs.clear()
    if tagged:
        flow.put("hot", 1, tags=3)
        flow.verb("commit", "branches/hot/commits")
    merged = flow.verb("merge", "refs/hot-side/merge/hot", strategy="dest-wins")
    log = BranchLog(flow.rest, lambda ref, path: arenas.tags_shown(flow.wire, repo.id, ref, path), flow.arena, base, {})
    log.trees[side] = log.tree(side)
    assert log.trees[merged]["s/0"][0] == (1 if tagged else 2)
    log.check([base, side], base)
    assert flow.recorder.problems == []
    log.trees[merged]["s/0"] = (2, 2, 0) if tagged else (1, 1, 0)
    log.check([base, side], base)
    [problem] = flow.recorder.problems
    assert "under s/0" in problem

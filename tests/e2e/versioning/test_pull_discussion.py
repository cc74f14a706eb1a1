"""Reviews of pull requests and comments on them by several users, and what those must not do who may not."""

import clients
import pytest
from users import allow

HOSTILE = [
    "<script>alert(1)</script>",
    "[x](javascript:alert(1)) ![x](https://example.com/pixel.png)",
    "\x1b]0;title\x07\x1b[2J",
    "\u202egnp.exe",
    "' OR 1=1 --",
]


class Request:
    """A pull request from dev into main, and those who take part."""

    def __init__(self, repo, rest, make_user):
        self.base = f"/repositories/{repo.id}"
        where = f"arn:lakefs:fs:::repository/{repo.id}"
        self.repo, self.owner = repo, rest
        rights = {
            "reviewer": allow(["pr:*", "fs:Read*", "fs:List*"], where, f"{where}/*"),
            "other": allow(["pr:*", "fs:Read*", "fs:List*"], where, f"{where}/*"),
            "reader": allow(["pr:ReadPullRequest", "pr:ListPullRequests"], where),
            "merger": allow(["pr:*", "fs:Read*", "fs:List*", "fs:CreateCommit"], where, f"{where}/*"),
            "stranger": allow(["pr:*", "fs:*"], "arn:lakefs:fs:::repository/elsewhere*"),
        }
        self.users = {}
        for name, policy in rights.items():
            user = make_user(policy)
            setattr(self, name, clients.Rest(user))
            self.users[name] = user.name
        repo.branch("dev").create("main")
        self.push("a")
        made = rest("POST", f"{self.base}/pulls", json={"title": "t", "source_branch": "dev", "destination_branch": "main"})
        assert made.status_code == 201 and made.json()["number"] == 1
        self.id, self.here = made.json()["id"], f"{self.base}/pulls/1"

    def push(self, path):
        self.repo.branch("dev").object(path).upload(data=b"x")
        self.repo.branch("dev").commit(f"add {path}")

    @property
    def head(self):
        return self.repo.branch("dev").head.id

    def comment(self, user, body="text", **more):
        return user("POST", f"{self.here}/comments", json={"body": body, **more})

    def comments(self):
        return self.owner("GET", f"{self.here}/comments").json()["results"]


@pytest.fixture
def pull(repo, rest, make_user):
    return Request(repo, rest, make_user)


def code(answer):
    return answer.status_code, answer.json().get("code")


def test_numbers_stand_for_ids(pull):
    whole = pull.owner("GET", f"{pull.base}/pulls/{pull.id}").json()
    for name in ("1", "%231"):
        assert pull.owner("GET", f"{pull.base}/pulls/{name}").json() == whole
    assert code(pull.owner("GET", f"{pull.base}/pulls/2")) == (404, "pull_request_not_found")
    for name in ("0", "-1", "01x", "%23", "2147483648", "1%2F2"):
        assert pull.owner("GET", f"{pull.base}/pulls/{name}").status_code in (400, 404), name
    assert code(pull.stranger("GET", f"{pull.base}/pulls/1"))[0] == 401, "nor does a number tell what is there"
    assert code(pull.stranger("GET", f"{pull.base}/pulls/2"))[0] == 401


def test_requested_changes_stop_the_merge(pull):
    assert pull.owner("PUT", f"{pull.base}/settings/branch_protection", json=[{"pattern": "main", "approvals": 1}]).ok
    names = [pull.users["reviewer"], pull.users["other"]]
    assert pull.owner("PUT", f"{pull.here}/reviewers", json={"users": names}).status_code == 204
    given = pull.reviewer("POST", f"{pull.here}/reviews", json={"verdict": "changes_requested", "commit_id": pull.head})
    assert given.status_code == 201 and given.json()["verdict"] == "changes_requested"
    assert pull.other("POST", f"{pull.here}/approvals", json={"commit_id": pull.head}).status_code == 201
    listed = {item["user"]: item for item in pull.owner("GET", f"{pull.here}/reviewers").json()["results"]}
    assert {name: item["verdict"] for name, item in listed.items()} == {names[0]: "changes_requested", names[1]: "approved"}
    assert all(item["asked_by"] == "admin" for item in listed.values())
    for refused in (pull.owner("PUT", f"{pull.here}/merge"), pull.owner("POST", f"{pull.base}/refs/dev/merge/main")):
        assert code(refused) == (403, "changes_requested") and "#1" in refused.json()["message"]
    # Withdrawing is of one's own, and the author cannot review at all.
    assert pull.other("DELETE", f"{pull.here}/reviews").status_code == 204
    for verdict in ("approved", "changes_requested"):
        own = pull.owner("POST", f"{pull.here}/reviews", json={"verdict": verdict, "commit_id": pull.head})
        assert code(own) == (403, "own_pull_request")
    assert pull.other("POST", f"{pull.here}/approvals", json={"commit_id": pull.head}).status_code == 201
    assert code(pull.owner("PUT", f"{pull.here}/merge")) == (403, "changes_requested")
    assert pull.reviewer("DELETE", f"{pull.here}/reviews").status_code == 204
    assert pull.owner("PUT", f"{pull.here}/merge").status_code == 200


def test_a_review_is_of_the_head_that_was_seen(pull):
    seen = pull.head
    pull.push("b")
    for verdict in ("approved", "changes_requested"):
        late = pull.reviewer("POST", f"{pull.here}/reviews", json={"verdict": verdict, "commit_id": seen})
        assert code(late) == (409, "source_moved")
    assert code(pull.comment(pull.reviewer, path="a", commit_id=seen)) == (409, "source_moved")
    assert pull.comment(pull.reviewer, path="a", line=3, commit_id=pull.head).status_code == 201
    assert [item["outdated"] for item in pull.comments()] == [False]
    pull.push("c")
    assert [item["outdated"] for item in pull.comments()] == [True]


def test_those_who_may_only_read_change_nothing(pull):
    assert pull.comment(pull.reviewer).status_code == 201
    assert pull.reader("GET", f"{pull.here}/comments").json()["results"] == pull.comments()
    assert pull.reader("GET", f"{pull.here}/reviewers").status_code == 200
    changes = [
        ("POST", "comments", {"body": "x"}),
        ("PATCH", "comments/1", {"body": "x"}),
        ("PATCH", "comments/1", {"resolved": True}),
        ("DELETE", "comments/1", None),
        ("POST", "reviews", {"verdict": "approved", "commit_id": pull.head}),
        ("DELETE", "reviews", None),
        ("PUT", "reviewers", {"users": []}),
    ]
    for user in (pull.reader, pull.stranger):
        for method, below, body in changes:
            assert code(user(method, f"{pull.here}/{below}", json=body)) == (401, "insufficient_permissions"), (method, below)
    for below in ("comments", "reviewers"):
        assert code(pull.stranger("GET", f"{pull.here}/{below}")) == (401, "insufficient_permissions")
    assert [item["body"] for item in pull.comments()] == ["text"]


def test_comments_belong_to_their_authors(pull, auth, make_user):
    assert pull.comment(pull.reviewer).json()["id"] == 1
    for user in (pull.other, pull.owner, pull.merger):
        assert code(user("PATCH", f"{pull.here}/comments/1", json={"body": "y"})) == (403, "not_comment_author")
        assert code(user("DELETE", f"{pull.here}/comments/1")) == (403, "not_comment_author")
    # Not by claiming another author either.
    forged = pull.comment(pull.other, author=pull.users["reviewer"], id=7, resolved_by="admin").json()
    assert (forged["author"], forged["id"], "resolved_by" in forged) == (pull.users["other"], 2, False)
    assert pull.reviewer("PATCH", f"{pull.here}/comments/1", json={"body": "better"}).status_code == 204
    assert pull.other("PATCH", f"{pull.here}/comments/1", json={"resolved": True}).status_code == 204
    first = pull.comments()[0]
    assert (first["body"], first["resolved_by"], "edited_date" in first) == ("better", pull.users["other"], True)
    assert pull.reviewer("DELETE", f"{pull.here}/comments/1").status_code == 204
    first = pull.comments()[0]
    assert (first["body"], first["deleted"]) == ("", True)
    assert code(pull.reviewer("PATCH", f"{pull.here}/comments/1", json={"body": "z"})) == (404, "comment_not_found")


def test_hostile_comments_are_refused_or_kept_as_text(pull):
    for body in HOSTILE:
        made = pull.comment(pull.reviewer, body)
        assert made.status_code == 201 and made.json()["body"] == body
    assert [item["body"] for item in pull.comments()] == HOSTILE
    for body in ("", " \n", "x" * (16 * 1024 + 1), "a\0b", None, 7, {}, ["x"]):
        assert pull.comment(pull.reviewer, body).status_code == 400, repr(body)[:20]
    for place in (
        {"line": 1},
        {"path": "a"},
        {"path": "a", "line": 0, "commit_id": pull.head},
        {"path": "a", "line": 1 << 31, "commit_id": pull.head},
        {"path": "a", "line": 1, "row": 1, "commit_id": pull.head},
        {"path": "x" * 1025, "commit_id": pull.head},
        {"path": "a\0", "commit_id": pull.head},
        {"commit_id": "main"},
        {"reply_to": -1},
    ):
        assert pull.comment(pull.reviewer, **place).status_code == 400, place
    assert code(pull.comment(pull.reviewer, commit_id="0" * 64)) == (409, "source_moved")
    assert code(pull.comment(pull.reviewer, reply_to=99)) == (404, "comment_not_found")
    for users in (["nobody"], ["admin"], ["x"] * 21, "admin", [None]):
        assert pull.owner("PUT", f"{pull.here}/reviewers", json={"users": users}).status_code in (400, 404), users
    for name in ("0", "x", "99999999999", "1;2"):
        assert pull.reviewer("DELETE", f"{pull.here}/comments/{name}").status_code == 400, name
    assert len(pull.comments()) == len(HOSTILE)


def test_deleting_the_source_needs_the_right_to(pull):
    merge = {"squash_merge": True, "delete_source_branch": True}
    refused = pull.merger("PUT", f"{pull.here}/merge", json=merge)
    assert code(refused) == (401, "insufficient_permissions")
    assert pull.owner("GET", pull.here).json()["status"] == "open", "nothing is merged then"
    seen = pull.head
    merged = pull.owner("PUT", f"{pull.here}/merge", json=merge).json()
    assert merged["source_branch_deleted"] and "source_branch_kept" not in merged
    assert pull.owner("GET", f"{pull.base}/branches/dev").status_code == 404
    shown = pull.owner("GET", pull.here).json()
    assert (shown["status"], shown["merged_source_commit_id"]) == ("merged", seen)
    assert len(pull.repo.branch("main").get_commit().parents) == 1
    assert pull.comment(pull.reviewer, path="a", commit_id=seen).status_code == 201


def test_a_source_in_use_is_merged_and_stays(pull):
    pull.repo.branch("dev").object("staged").upload(data=b"x")
    merged = pull.owner("PUT", f"{pull.here}/merge", json={"delete_source_branch": True})
    assert merged.status_code == 200 and merged.json()["source_branch_deleted"] is False
    assert "uncommitted changes" in merged.json()["source_branch_kept"]
    assert pull.owner("GET", pull.here).json()["status"] == "merged"
    assert pull.owner("GET", f"{pull.base}/branches/dev").status_code == 200

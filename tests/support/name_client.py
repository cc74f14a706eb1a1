"""Branches and tags of a few names, made and deleted by random clients, and the recording of what they see."""

import name_model as model
from arena import ObjectClient, body_of, number_in

NAMES = ("n0", "n1")
EXPIRIES = (None, None, "3m")  # longer than a round


class NameClient(ObjectClient):
    def one(self, names, name):
        verbs = (
            self.create_branch,
            self.create_branch,
            self.create_tag,
            self.delete_branch,
            self.delete_tag,
            self.put,
            self.put,
            self.get,
            self.get,
            self.get_branch,
            self.get_branch,
            self.get_tag,
            self.rewind,
        )
        self.choose(verbs)(names, name)

    def did(self, names, name, label, request, step, refusals, alike=None, value=None):
        cell = names.cells[name]
        got = self.ask(
            names,
            name,
            label,
            request,
            lambda start, text: names.recorder.in_doubt(
                cell, start, text, step if value is not None else lambda: step, value, alike
            ),
        )
        if not got:
            return None
        answer, start, text = got
        if answer.status in (200, 201, 204):
            names.recorder.done(cell, start, text, step(value) if value is not None else step)
        elif answer.status in refusals and not (answer.status == 409 and b"locked" in answer.body):
            names.recorder.read(cell, start, text, refusals[answer.status])
        return answer

    def create_branch(self, names, name):
        commit, expires = self.chance.choice(names.commits), self.chance.choice(names.expiries)
        document = {"name": name, "source": commit, **({"expires": expires} if expires else {})}
        self.did(
            names,
            name,
            f"create branch of {commit[:6]}, expires {expires},",
            lambda: self.wire().rest("POST", f"/repositories/{names.repository}/branches", document=document),
            model.create_branch(commit),
            {409: model.taken()},
            ("create branch", commit),
        )

    def create_tag(self, names, name):
        commit = self.chance.choice(names.commits)
        self.did(
            names,
            name,
            f"create tag of {commit[:6]}",
            lambda: self.wire().rest("POST", f"/repositories/{names.repository}/tags", document={"id": name, "ref": commit}),
            model.create_tag(commit),
            {409: model.taken()},
            ("create tag", commit),
        )

    def rewind(self, names, name):
        """A hard reset, which needs that nothing is staged."""
        commit = self.chance.choice(names.commits)
        self.did(
            names,
            name,
            f"hard reset to {commit[:6]} of",
            lambda: self.wire().rest("PUT", f"/repositories/{names.repository}/branches/{name}/hard_reset?ref={commit}"),
            model.rewind(commit),
            {404: model.branch_is(None), 400: model.staged()},
            ("hard reset", commit),
        )

    def delete_branch(self, names, name):
        return self.did(
            names,
            name,
            "delete branch",
            lambda: self.wire().rest("DELETE", f"/repositories/{names.repository}/branches/{name}"),
            model.delete_branch(),
            {404: model.branch_is(None)},
            ("delete branch",),
        )

    def delete_tag(self, names, name):
        return self.did(
            names,
            name,
            "delete tag",
            lambda: self.wire().rest("DELETE", f"/repositories/{names.repository}/tags/{name}"),
            model.delete_tag(),
            {404: model.tag_is(None)},
            ("delete tag",),
        )

    def put(self, names, name):
        number = names.recorder.number()
        self.did(
            names,
            name,
            f"PUT {number} on",
            lambda: self.wire().s3("PUT", f"/{names.repository}/{name}/k", body_of(number)),
            lambda real: model.put(real[0]),
            {404: model.branch_is(None)},
            ("put",),
            (number,),
        )

    def read(self, names, name, label, request, seen):
        got = self.ask(names, name, label, request)
        if got and got[0].status in (200, 404):
            answer, start, text = got
            found = seen(answer)
            names.recorder.read(
                names.cells[name], start, f"{text} {found[1]}", found[0], (found[1],) if isinstance(found[1], int) else ()
            )

    def get(self, names, name):
        def seen(answer):
            number = number_in(answer.body) if answer.status == 200 else None
            return model.body_is(number), number

        self.read(names, name, "GET object of", lambda: self.wire().s3("GET", f"/{names.repository}/{name}/k"), seen)

    def get_ref(self, names, name, kind, step):
        def seen(answer):
            commit = answer.json()["commit_id"] if answer.status == 200 else None
            return step(commit), commit and commit[:6]

        self.read(
            names, name, f"get {kind}", lambda: self.wire().rest("GET", f"/repositories/{names.repository}/{kind}/{name}"), seen
        )

    def get_branch(self, names, name):
        self.get_ref(names, name, "branches", model.branch_is)

    def get_tag(self, names, name):
        self.get_ref(names, name, "tags", model.tag_is)


class Names:
    expiries = EXPIRIES

    def __init__(self, recorder, repository):
        self.recorder, self.repository = recorder, repository

    def begin(self, cells, commits):
        self.cells, self.commits = cells, commits

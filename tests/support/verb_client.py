"""Random verbs on whole arenas, such as commits, merges and imports, and the recording of what they answer."""

import time

import branch_model as model
from arena import ObjectClient, body_of, headers_of
from wire import NotSent, Unknown


class Verb:
    """A request that may make one commit, whose message nobody else uses."""

    def __init__(self, message, kind, start, **facts):
        self.message, self.kind, self.start, self.facts = message, kind, start, facts
        self.end = None  # None: no answer
        self.outcome = "unknown"
        self.answer = ""


class VerbClient(ObjectClient):
    """One thread's verbs on whole arenas. `imports`: a directory that the servers may import from."""

    def __init__(self, name, wires, chance, imports):
        super().__init__(name, wires, chance)
        self.imports = imports

    def one(self, arena, merges):
        verbs = [self.commit] * 5 + [self.revert] * 2 + [self.move] * 4 + [self.reset] * 3 + [self.bring] + [self.checkout] * 2
        self.choose(verbs + [self.merge] * 4 + [self.pick] * 2 if merges else verbs)(arena)

    def verb(self, arena, kind, path, document, expected, **facts):
        """A request that makes a commit; returns its answer."""
        number = arena.recorder.number()
        verb = Verb(f"{kind} {number}", kind, arena.recorder.now(), **facts)
        arena.verbs.append(verb)
        try:
            answer = self.wire().rest("POST", f"/repositories/{arena.repository}/{path}", document=document(verb.message))
        except NotSent:
            verb.outcome, verb.end = "refused", arena.recorder.now()
            time.sleep(0.05)
            return None, verb
        except Unknown as why:
            verb.answer = str(why)
            time.sleep(0.1)
            return None, verb
        verb.end = arena.recorder.now()
        verb.answer = f"{answer.status} {answer.reason[:120]}"
        verb.outcome = "done" if answer.status == expected else "refused"
        return answer, verb

    def commit(self, arena):
        answer, verb = self.verb(arena, "commit", f"branches/{arena.branch}/commits", lambda message: {"message": message}, 201)
        if verb.outcome == "done":
            verb.facts["commit"] = answer.json()["id"]
            arena.commits.append(verb.facts["commit"])
        return answer

    def revert(self, arena):
        if arena.commits:
            undone = self.chance.choice(arena.commits)
            self.verb(
                arena,
                "revert",
                f"branches/{arena.branch}/revert",
                lambda message: {"ref": undone, "parent_number": 1, "commit_overrides": {"message": message}},
                204,
                undone=undone,
            )

    def put_aside(self, address, body, value):
        return lambda: self.wire().s3("PUT", address, body, headers_of(value))

    def commit_aside(self, arena):
        """On a branch that nobody else writes to. Returns the commit, or None."""
        side = f"{arena.branch}-side"
        for path in self.chance.sample(["s/0", "s/1"], self.chance.choice((1, 2))):
            value, body = arena.new_value(self.chance, tagged=False)
            self.ask(arena, path, "PUT aside", self.put_aside(f"/{arena.repository}/{side}/{path}", body, value))
        got = self.ask(
            arena,
            "",
            "commit aside",
            lambda: self.wire().rest(
                "POST", f"/repositories/{arena.repository}/branches/{side}/commits", document={"message": "aside"}
            ),
        )
        return got[0].json()["id"] if got and got[0].status == 201 else None

    def pick(self, arena):
        picked = self.commit_aside(arena)
        self.commit(arena)  # a cherry-pick needs a clean branch
        if picked:
            self.verb(
                arena,
                "cherry-pick",
                f"branches/{arena.branch}/cherry-pick",
                lambda message: {"ref": picked, "commit_overrides": {"message": message}},
                201,
                picked=picked,
            )

    def checkout(self, arena):
        """Stages some paths as they were in a commit."""
        if not arena.commits:
            return
        commit, prefix = self.chance.choice(arena.commits), self.chance.choice(("r/", "s/"))
        listed = self.ask(
            arena,
            commit,
            "list",
            lambda: self.wire().rest(
                "GET", f"/repositories/{arena.repository}/refs/{commit}/objects/ls?amount=1000&prefix={prefix}"
            ),
        )
        if not listed or listed[0].status != 200:
            return
        then = {item["path"]: self.shown(arena, item) for item in listed[0].json()["results"]}
        touched = [(cell, key, then.get(path)) for path, (cell, key) in arena.places.items() if path.startswith(prefix)]

        def unknown(start, text):
            for cell, key, value in touched:
                arena.recorder.in_doubt(
                    cell, start, text, lambda key=key, value=value: model.put_back(key, value), alike=("checkout", commit)
                )

        got = self.ask(
            arena,
            prefix,
            f"checkout of {commit[:6]}",
            lambda: self.wire().rest(
                "POST",
                f"/repositories/{arena.repository}/branches/{arena.branch}/checkout-path",
                document={"ref": commit, "paths": [f"{prefix}*"]},
            ),
            unknown,
        )
        if not got:
            return
        answer, start, text = got
        for cell, key, value in touched:
            if answer.status == 200:
                arena.recorder.done(cell, start, f"{text} {value}", model.put_back(key, value))
        if answer.status not in (200, 409, 423):
            arena.recorder.problem(f"{text} {answer.reason}")

    def merge(self, arena):
        side = f"{arena.branch}-side"
        self.commit_aside(arena)
        dirty = self.chance.random() < 0.3
        strategy = self.chance.choice(("", "source-wins", "source-wins", "dest-wins"))
        self.verb(
            arena,
            "merge",
            f"refs/{side}/merge/{arena.branch}",
            lambda message: {"message": message, "strategy": strategy, "allow_dirty": dirty},
            200,
            dirty=dirty,
            strategy=strategy,
        )

    def bring(self, arena):
        """An import; waits a while for its end."""
        folder = self.imports / str(arena.recorder.number())
        folder.mkdir(parents=True)
        source = {}
        for name in self.chance.sample(["0", "1"], self.chance.choice((1, 2))):
            number = arena.recorder.number()
            (folder / name).write_bytes(body_of(number))
            source[f"im/{name}"] = number
        answer, verb = self.verb(
            arena,
            "import",
            f"branches/{arena.branch}/import",
            lambda message: {
                "paths": [{"type": "common_prefix", "path": f"local://{folder}/", "destination": "im/"}],
                "commit": {"message": message},
            },
            202,
            source=source,
        )
        if verb.outcome == "refused":
            return
        verb.outcome, verb.end = "unknown", None
        deadline = time.monotonic() + 2
        while answer is not None and time.monotonic() < deadline:
            try:
                status = self.wire().rest(
                    "GET", f"/repositories/{arena.repository}/branches/{arena.branch}/import?id={answer.json()['id']}"
                )
            except (Unknown, NotSent):
                continue
            found = status.json() if status.status == 200 else {}
            if found.get("completed") or found.get("error"):
                verb.end = arena.recorder.now()
                verb.outcome = "done" if found.get("completed") else "refused"
                verb.answer = str(found.get("error", ""))
                return
            time.sleep(0.05)

    def move(self, arena):
        source, destination = self.chance.choice(((0, 1), (1, 0)))
        prefixes = ("mv/a/", "mv/b/")
        pairs = [cell for cell in arena.cells if len(cell.keys) == 2]

        def unknown(start, text):
            for cell in pairs:
                arena.recorder.in_doubt(cell, start, text, lambda: model.move(source, destination), alike=("move", source))

        got = self.ask(
            arena,
            prefixes[source],
            "move",
            lambda: self.wire().rest(
                "POST",
                f"/repositories/{arena.repository}/branches/{arena.branch}/objects/move",
                document={"src_prefix": prefixes[source], "dest_prefix": prefixes[destination]},
            ),
            unknown,
        )
        if not got:
            return
        answer, start, text = got
        for cell in pairs:
            if answer.status == 200:
                arena.recorder.done(cell, start, text, model.move(source, destination))
            elif answer.status == 404:
                arena.recorder.read(cell, start, text, model.absent(source))
        if answer.status not in (200, 404, 409, 423):
            arena.recorder.problem(f"{text} {answer.reason}")

    def reset(self, arena):
        kind, prefix = self.chance.choice(
            (("reset", ""), *[("common_prefix", "r/")] * 3, ("common_prefix", "s/"), ("object", "r/0"))
        )
        document = {"type": kind, "path": prefix} if prefix else {"type": kind}
        touched = [(cell, [key for key, path in enumerate(cell.keys) if path.startswith(prefix)]) for cell in arena.cells]

        def unknown(start, text):
            for cell, keys in touched:
                if keys:
                    arena.recorder.in_doubt(cell, start, text, lambda keys=keys: model.reset(*keys), alike=("reset",))

        got = self.ask(
            arena,
            prefix,
            f"reset {kind}",
            lambda: self.wire().rest("PUT", f"/repositories/{arena.repository}/branches/{arena.branch}", document=document),
            unknown,
        )
        if not got:
            return
        answer, start, text = got
        for cell, keys in touched:
            if keys and answer.status == 204:
                arena.recorder.done(cell, start, text, model.reset(*keys))
        if answer.status not in (204, 409, 423):
            arena.recorder.problem(f"{text} {answer.reason}")

"""The first-parent log of an arena after a round: what must be in it, and the publications it is made of."""

import itertools
import math
from collections import Counter

import arena as arenas
from branch_model import Publication
from linearizability import Operation


class BranchLog:
    """`rest(method, path)` answers JSON, `tags(ref, path)` the number in an object's tags; `head_before`: of the branch when the
    round began."""

    def __init__(self, rest, tags, arena, head_before, side_trees):
        self.rest, self.tags, self.arena = rest, tags, arena
        self.repository = f"/repositories/{arena.repository}"
        self.trees = side_trees  # by commit: {path: (body, metadata, 0)}
        self.commits = self.first_parents(arena.branch, head_before)
        for commit in self.commits:
            self.trees[commit["id"]] = self.tree(commit["id"])
        if head_before not in self.trees:
            self.trees[head_before] = self.tree(head_before)

    def first_parents(self, ref, stop):
        """Oldest first, without `stop`."""
        found, after = [], ""
        while True:
            page = self.rest("GET", f"{self.repository}/refs/{ref}/commits?first_parent=true&amount=1000&after={after}")
            for commit in page["results"]:
                if commit["id"] == stop:
                    return found[::-1]
                found.append(commit)
            if not page["pagination"]["has_more"]:
                self.arena.recorder.problem(f"{ref}: its log does not lead back to {stop}")
                return found[::-1]
            after = page["pagination"]["next_offset"]

    def tree(self, commit):
        listed = self.rest("GET", f"{self.repository}/refs/{commit}/objects/ls?amount=1000")["results"]
        return {item["path"]: self.value(commit, item) for item in listed if item["path"] in self.arena.places}

    def value(self, commit, item):
        etag, metadata = item["checksum"], int(item.get("metadata", {}).get("w", arenas.NONE))
        if etag not in self.arena.etags:  # imported
            body = self.rest("GET", f"{self.repository}/refs/{commit}/objects?path={item['path']}", raw=True)
            number = arenas.number_in(body)
            if number is None:
                self.arena.recorder.problem(f"{commit} {item['path']}: {body[:60]}")
            self.arena.etags[etag] = number or 0
        return (self.arena.etags[etag], metadata, 0)

    def check(self, side_commits, head_before):
        """Every acknowledged verb is there once, no refused one, in the order of time; merges and reverts are right.

        `side_commits`: from the last that the branch had merged. Returns the last that it has merged now."""
        problem = self.arena.recorder.problem
        verbs = {verb.message: verb for verb in self.arena.verbs}
        counted = Counter(commit["message"] for commit in self.commits)
        for message, count in counted.items():
            if message not in verbs:
                problem(f"{self.arena.branch}: a commit that nobody asked for: {message}")
            elif count > 1:
                problem(f"{self.arena.branch}: {count} commits of one request: {message}")
            elif verbs[message].outcome == "refused":
                problem(f"{self.arena.branch}: {message} was refused and is in the log: {verbs[message].answer}")
        for verb in self.arena.verbs:
            if verb.outcome == "done" and not counted[verb.message]:
                problem(f"{self.arena.branch}: {verb.message} was acknowledged and is not in the log")
        before = None
        for commit in reversed(self.commits):  # no verb ended before one began that stands before it
            verb = verbs.get(commit["message"])
            if verb is None:
                continue
            if before is not None and verb.start > before[0]:
                problem(f"{self.arena.branch}: {verb.message} stands before {before[1]}, which had ended")
            if verb.end is not None and (before is None or verb.end < before[0]):
                before = (verb.end, verb.message)
        parent, base = head_before, side_commits[0]
        for commit in self.commits:
            if not commit["parents"] or commit["parents"][0] != parent:
                problem(f"{self.arena.branch}: {commit['id']} follows {parent} and has the parents {commit['parents']}")
            verb = verbs.get(commit["message"])
            if verb is not None and verb.kind == "merge":
                base = self.check_merge(commit, parent, verb, base, side_commits)
            elif verb is not None and verb.kind == "revert":
                undone = verb.facts["undone"]
                parents = {one["id"]: one["parents"][0] for one in self.commits if one["parents"]}
                if undone in parents and parents[undone] in self.trees:
                    self.check_tree(commit, verb, undone, parents[undone], parent, "")
            elif verb is not None and verb.kind == "cherry-pick":
                picked = verb.facts["picked"]
                before = self.side_parents(side_commits).get(picked)
                if before in self.trees:
                    self.check_tree(commit, verb, before, picked, parent, "")
                else:
                    problem(f"{self.arena.branch}: {verb.message} picked {picked}, which its branch does not have")
            elif verb is not None and verb.kind == "import":
                shown = {path: value[0] for path, value in self.trees[commit["id"]].items() if path.startswith("im/")}
                if shown != verb.facts["source"]:
                    problem(f"{self.arena.branch}: {verb.message} brought {shown}, not {verb.facts['source']}")
            parent = commit["id"]
        return base

    @staticmethod
    def side_parents(side_commits):
        """The parent of each commit of a branch that only ever moved forward."""
        return {commit: parent for parent, commit in itertools.pairwise(side_commits)}

    def check_merge(self, commit, parent, verb, base, side_commits):
        source = commit["parents"][1] if len(commit["parents"]) > 1 else None
        if source not in side_commits:
            self.arena.recorder.problem(f"{self.arena.branch}: {verb.message} has the parents {commit['parents']}")
            return base
        self.check_tree(commit, verb, base, source, parent, verb.facts["strategy"])
        return max(base, source, key=side_commits.index)

    def check_tree(self, commit, verb, base, source, destination, strategy):
        """Of commits by their ids."""
        for path in self.arena.places:
            old, theirs, ours = (self.trees[one].get(path) for one in (base, source, destination))
            if theirs in (old, ours):
                right = ours
            elif strategy == "source-wins" or (ours == old and strategy != "dest-wins"):
                right = theirs
            elif strategy == "dest-wins":  # trees do not show tags, which may be what was changed
                right = theirs if ours == old and self.tags(base, path) == self.tags(destination, path) else ours
            else:
                right = "a conflict"
            got = self.trees[commit["id"]].get(path)
            if got != right:
                self.arena.recorder.problem(
                    f"{self.arena.branch}: {verb.message} shows {got} under {path}, not {right} "
                    f"(base {old}, source {theirs}, before {ours})"
                )

    def publications(self, cell):
        verbs = {verb.message: verb for verb in self.arena.verbs}
        out = []
        for number, commit in enumerate(self.commits):
            verb = verbs.get(commit["message"])
            kind = "commit" if verb is None or verb.kind == "commit" else "dirty" if verb.facts.get("dirty") else "clean"
            trees = tuple(self.trees[commit["id"]].get(path) for path in cell.keys)
            for value in trees:
                self.arena.recorder.seen.update(value or ())
            one = Publication(number, kind, trees, self.arena.written, verb is not None and verb.kind == "revert")
            start, end = (verb.start, verb.end) if verb else (0.0, None)
            end = math.inf if end is None else end
            out.append(Operation(start, end, one.look, f"{commit['message']} ({kind}) looks, to show {trees}"))
            out.append(Operation(start, end, one.publish, f"{commit['message']} ({kind}) shows {trees}"))
        return out

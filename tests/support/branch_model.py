"""States of a few keys of one branch, as the readers and writers of the branch see them.

A branch shows what is staged over what is committed. Publications (commits, merges, reverts, imports) are known from the
branch's first-parent log: their order, and what each tree has under a key. So a verb that changes many keys is, for each
key, a publication of a known value. A publication is two moments: the verb looks (what is staged then goes into a commit,
or must be nothing), and the head moves. Only what holds the branch comes between: no other publication, reset or move.

Values are (body, metadata, tags), each a number that names one write; 0 is "not known" and equals everything. None is "no
object". A listing or GET shows some of them.
"""

from dataclasses import dataclass, replace

NOTHING = "nothing"  # is staged: the committed value shows


@dataclass(frozen=True, slots=True)
class KeyState:
    committed: tuple | None = None
    staged: tuple | str | None = NOTHING  # None: deleted
    late: bool = False  # staged since the verb under way looked
    looked: tuple | str | None = NOTHING  # what that verb saw

    @property
    def shown(self):
        return self.committed if self.staged == NOTHING else self.staged


@dataclass(frozen=True, slots=True)
class State:
    keys: tuple
    published: int = 0  # halves: odd while a verb has looked and not published
    completed: frozenset = frozenset()  # uploads
    aborted: frozenset = frozenset()

    def shown(self, key):
        return self.keys[key].shown

    def with_key(self, key, value):
        keys = list(self.keys)
        keys[key] = replace(keys[key], staged=value, late=self.published % 2 == 1)
        return replace(self, keys=tuple(keys))

    @property
    def held(self):
        return self.published % 2 == 1


def equal(one, other):
    if one is None or other is None:
        return one is other
    return all(a == b or not a or not b for a, b in zip(one, other, strict=True))


def read(key, seen):
    return lambda state: [state] if equal(state.shown(key), seen) else []


def write(key, value):
    return lambda state: [state.with_key(key, value)]


def delete(key):
    def step(state):
        deleted = state.with_key(key, None)
        # Nothing is staged for what was not there, unless it was there when the server looked.
        return [deleted] if state.shown(key) is not None else [state, deleted]

    return step


def create(key, value):
    return lambda state: [state.with_key(key, value)] if state.shown(key) is None else []


def present(key):
    return lambda state: [state] if state.shown(key) is not None else []


def replace_body(key, expected, value):
    """A write with If-Match."""

    def step(state):
        shown = state.shown(key)
        return [state.with_key(key, value)] if shown is not None and shown[0] in (expected, 0) else []

    return step


def other_body(key, expected):
    """The refusal of a write with If-Match."""

    def step(state):
        shown = state.shown(key)
        return [state] if shown is not None and (shown[0] != expected or not shown[0]) else []

    return step


def change(key, part, value):
    """Metadata (1) or tags (2) of the object that is there; the rest of it stays."""

    def step(state):
        shown = state.shown(key)
        if shown is None:
            return []
        return [state.with_key(key, tuple(value if at == part else old for at, old in enumerate(shown)))]

    return step


def complete(key, upload, value):
    """A repeated completion succeeds as long as the key shows the object."""

    def step(state):
        if upload in state.aborted:
            return []
        if upload not in state.completed:
            return [replace(state.with_key(key, value), completed=state.completed | {upload})]
        shown = state.shown(key)
        return [state] if shown is not None and shown[0] in (value[0], 0) else []

    return step


def abort(upload):
    """May be repeated, since it changes nothing then."""
    return lambda state: [] if upload in state.completed else [replace(state, aborted=state.aborted | {upload})]


def no_upload(upload):
    return lambda state: [state] if upload in state.completed or upload in state.aborted else []


def reset(*keys):
    """Drops what is staged."""

    def step(state):
        if all(state.keys[key].staged == NOTHING for key in keys):
            return [state]
        if state.held:
            return []
        changed = tuple(KeyState(one.committed) if key in keys else one for key, one in enumerate(state.keys))
        return [replace(state, keys=changed)]

    return step


def move(source, destination):
    """Of a prefix: a pair of keys of which the first may be absent, since others of the prefix are there."""

    def step(state):
        if state.held:
            return []
        value = state.shown(source)
        return [state] if value is None else [state.with_key(destination, value).with_key(source, None)]

    return step


def put_back(key, value):
    """Stages what a commit has under the key, unless the branch shows it already."""

    def step(state):
        if state.held:
            return []
        staged = state.with_key(key, value)
        return [state, staged] if equal(state.shown(key), value) else [staged]

    return step


def absent(key):
    return lambda state: [state] if state.shown(key) is None else []


class Publication:
    """The `number`th first-parent commit since the beginning, with what its tree shows of the cell's keys."""

    def __init__(self, number, kind, trees, written, reverts=False):
        self.number, self.kind = number, kind  # kind: commit, clean (needs nothing staged), dirty (any)
        self.reverts = reverts  # then the tags are those that an earlier tree had, which trees do not show
        self.trees = trees  # per key: (body, metadata, 0) or None
        self.written = written  # full values by metadata

    def look(self, state):
        if state.published != 2 * self.number:
            return []
        keys = []
        for one, tree in zip(state.keys, self.trees, strict=True):
            if self.kind == "commit" and not equal(one.shown, tree):
                return []
            unchanged = equal(one.shown, one.committed)  # a checkout may stage what is committed, with tags not known
            if self.kind == "clean" and not unchanged:
                return []
            if self.kind == "dirty" and not unchanged and not equal(one.committed, tree):
                return []
            keys.append(replace(one, late=False, looked=one.shown if self.kind == "commit" else NOTHING))
        return [replace(state, keys=tuple(keys), published=state.published + 1)]

    def publish(self, state):
        if state.published != 2 * self.number + 1:
            return []
        keys = []
        for one, tree in zip(state.keys, self.trees, strict=True):
            committed = self.committed(one, tree)
            # A merge does not change what is staged: then a commit without changes had dropped the row before.
            stays = one.late or (self.kind == "dirty" and equal(one.committed, tree))
            keys.append(KeyState(committed, one.staged if stays else NOTHING))
        return [replace(state, keys=tuple(keys), published=state.published + 1)]

    def committed(self, one, tree):
        if one.looked != NOTHING:
            return one.looked
        if tree is None or self.reverts:
            return tree
        if equal(one.committed, tree):
            return one.committed
        written = self.written.get(tree[1])
        return written if written is not None and equal(written, tree) else tree

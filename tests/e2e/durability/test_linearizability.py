"""The checker of histories: what it must accept, and what it must not."""

import math
import random

import branch_model as model
import name_model
import pytest
from arena import NONE
from branch_model import KeyState, Publication, State
from histories import processes_that_know, verdict_of
from history import Cell, Recorder
from linearizability import Operation, linearizable, order_of, smallest_failing

EMPTY = State((KeyState(),))
LATER = math.inf
OLD, NEW, THIRD = (1, 11, 21), (2, 12, 22), (3, 13, 23)


def op(start, end, step, label="", **options):
    return Operation(start, end, step, label, required=options.pop("required", True), **options)


def put(start, end, value):
    return op(start, end, model.write(0, value), f"put {value[0]}")


def maybe(start, step, alike=None):
    return op(start, LATER, step, "unknown", required=False, alike=alike)


def get(start, end, value):
    return op(start, end, model.read(0, value), f"get {value and value[0]}", reads_only=True)


def absent(start, end):
    return op(start, end, model.absent(0), "get 404", reads_only=True)


def publication(start, end, number, kind, tree, written=None, reverts=False):
    one = Publication(number, kind, (tree,), written or {}, reverts)
    return [op(start, end, one.look, f"look {number}"), op(start, end, one.publish, f"publish {number}")]


ALLOWED = {
    "nothing": [],
    "a write, then its read": [put(0, 1, OLD), get(2, 3, OLD)],
    "a read may see a write that is under way": [put(0, 5, OLD), get(1, 2, OLD), get(3, 4, OLD)],
    "or not": [put(0, 5, OLD), absent(1, 2), get(3, 4, OLD)],
    "two writes at once, either last": [put(0, 5, OLD), put(0, 5, NEW), get(6, 7, OLD), get(8, 9, OLD)],
    "an unknown write that never happened": [maybe(0, model.write(0, OLD)), absent(1, 2)],
    "an unknown write that happens late": [maybe(0, model.write(0, OLD)), put(1, 2, NEW), get(3, 4, NEW), get(5, 6, OLD)],
    "two unknown changes, both seen at once": [
        put(0, 1, OLD),
        maybe(2, model.change(0, 1, 19)),
        maybe(2, model.change(0, 2, 29)),
        get(3, 4, (1, 19, 29)),
    ],
    "an unknown deletion": [put(0, 1, OLD), maybe(2, model.delete(0)), get(3, 4, OLD), absent(5, 6)],
    "one winner of two": [op(0, 5, model.create(0, OLD)), op(0, 5, model.present(0)), get(6, 7, OLD)],
    "a create refused because of an unknown one": [maybe(0, model.create(0, OLD)), op(1, 2, model.present(0))],
    "compare and swap": [
        put(0, 1, OLD),
        op(2, 3, model.replace_body(0, 1, NEW)),
        op(4, 5, model.other_body(0, 1)),
        get(6, 7, NEW),
    ],
    "metadata and tags, each kept": [
        put(0, 1, OLD),
        op(2, 9, model.change(0, 1, 19)),
        op(2, 9, model.change(0, 2, 29)),
        get(10, 11, (1, 19, 29)),
    ],
    "a completion repeated while the key shows its object": [
        op(0, 1, model.complete(0, "u", OLD)),
        op(2, 3, model.complete(0, "u", OLD)),
        get(4, 5, OLD),
    ],
    "two aborts": [op(0, 9, model.abort("u")), op(0, 9, model.abort("u")), op(10, 11, model.no_upload("u"))],
    "an abort after a completion is refused": [op(0, 1, model.complete(0, "u", OLD)), op(2, 3, model.no_upload("u"))],
    "a commit holds what came before it, and not what came while it ran": [
        put(0, 1, OLD),
        *publication(2, 6, 0, "commit", OLD),
        put(3, 5, NEW),
        get(7, 8, NEW),
    ],
    "or that too": [put(0, 1, OLD), *publication(2, 6, 0, "commit", NEW), put(3, 5, NEW), get(7, 8, NEW)],
    "a merge over a checkout of what is committed": [
        put(0, 1, OLD),
        *publication(2, 3, 0, "commit", (1, 11, 0)),
        op(4, 5, model.delete(0)),
        op(6, 7, model.put_back(0, (1, 11, 0))),
        *publication(8, 9, 1, "clean", (1, 11, 0)),
        get(10, 11, OLD),
    ],
    "a revert takes tags back that a commit brought": [
        put(0, 1, OLD),
        op(2, 3, model.change(0, 2, 29)),
        *publication(4, 5, 0, "commit", (1, 11, 0)),
        *publication(6, 7, 1, "clean", (1, 11, 0), reverts=True),
        get(8, 9, OLD),
    ],
    "a revert brings tags back that were changed after the object was written": [
        put(0, 1, OLD),
        op(2, 3, model.change(0, 2, 29)),
        *publication(4, 5, 0, "commit", (1, 11, 0)),
        put(6, 7, NEW),
        *publication(8, 9, 1, "commit", (2, 12, 0)),
        *publication(10, 11, 2, "clean", (1, 11, 0), {11: OLD}, reverts=True),
        get(12, 13, (1, 11, 29)),
    ],
    "a reset shows what was committed": [
        put(0, 1, OLD),
        *publication(2, 3, 0, "commit", OLD),
        put(4, 5, NEW),
        op(6, 7, model.reset(0)),
        get(8, 9, OLD),
    ],
    "what is staged while a merge runs hides what it brings": [
        *publication(0, 9, 0, "clean", NEW),
        op(1, 8, model.create(0, OLD)),
        get(10, 11, OLD),
    ],
    "a merge that was asked to bear uncommitted changes leaves them": [
        put(0, 1, OLD),
        *publication(2, 3, 0, "dirty", None),
        get(4, 5, OLD),
    ],
    "a merge brings what was deleted without effect, once a commit without changes has dropped that": [
        put(0, 1, OLD),
        op(2, 3, model.put_back(0, None)),
        *publication(4, 5, 0, "dirty", (2, 12, 0)),
        get(6, 7, NEW),
    ],
    "a merge brings the tags that were written with the object": [
        *publication(0, 1, 0, "clean", (2, 12, 0), {12: NEW}),
        get(2, 3, NEW),
    ],
}

REFUSED = {
    "a lost update": [put(0, 1, OLD), absent(2, 3)],
    "a stale read": [put(0, 1, OLD), put(2, 3, NEW), get(4, 5, OLD)],
    "a read of what nobody wrote": [put(0, 1, OLD), get(2, 3, NEW)],
    "a read of what was written later": [get(0, 1, OLD), put(2, 3, OLD)],
    "a torn read": [put(0, 1, OLD), put(0, 1, NEW), get(2, 3, (1, 12, 0))],
    "two reads that disagree about the order": [put(0, 9, OLD), put(0, 9, NEW), get(1, 2, OLD), get(3, 4, NEW), get(5, 6, OLD)],
    "two winners": [op(0, 5, model.create(0, OLD)), op(0, 5, model.create(0, NEW))],
    "a create over an object": [put(0, 1, OLD), op(2, 3, model.create(0, NEW))],
    "a refused create on an empty key": [op(0, 1, model.present(0))],
    "resurrection after a deletion": [put(0, 1, OLD), op(2, 3, model.delete(0)), get(4, 5, OLD)],
    "an unknown write that happens twice": [
        maybe(0, model.write(0, OLD)),
        get(1, 2, OLD),
        put(3, 4, NEW),
        get(5, 6, NEW),
        get(7, 8, OLD),
    ],
    "a write that happens twice": [put(0, 9, OLD), get(1, 2, OLD), put(3, 4, NEW), get(5, 6, NEW), get(10, 11, OLD)],
    "an unknown deletion that happens twice": [
        put(0, 1, OLD),
        maybe(2, model.delete(0)),
        absent(3, 4),
        put(5, 6, NEW),
        get(7, 8, NEW),
        absent(9, 10),
    ],
    "an unknown write before it was asked for": [get(0, 1, OLD), maybe(2, model.write(0, OLD))],
    "a swap of what is not there any more": [put(0, 1, OLD), put(2, 3, NEW), op(4, 5, model.replace_body(0, 1, THIRD))],
    "two swaps of one value": [
        put(0, 1, OLD),
        op(2, 9, model.replace_body(0, 1, NEW)),
        op(2, 9, model.replace_body(0, 1, THIRD)),
    ],
    "a swap refused although it holds": [put(0, 1, OLD), op(2, 3, model.other_body(0, 1))],
    "a swap refused that was seen": [put(0, 1, OLD), op(2, 9, model.other_body(0, 1)), get(3, 4, NEW)],
    "tags that undo metadata": [
        put(0, 1, OLD),
        op(2, 9, model.change(0, 1, 19)),
        op(2, 9, model.change(0, 2, 29)),
        get(10, 11, (1, 11, 29)),
    ],
    "tags that undo a write": [put(0, 1, OLD), put(2, 9, NEW), op(2, 9, model.change(0, 2, 29)), get(10, 11, (1, 11, 29))],
    "a completion and an abort": [op(0, 9, model.complete(0, "u", OLD)), op(0, 9, model.abort("u"))],
    "a completion repeated over a later write": [
        op(0, 1, model.complete(0, "u", OLD)),
        put(2, 3, NEW),
        op(4, 5, model.complete(0, "u", OLD)),
    ],
    "an upload unknown before it was closed": [op(0, 1, model.no_upload("u")), op(2, 3, model.complete(0, "u", OLD))],
    "a commit without a write of before it": [put(0, 1, OLD), *publication(2, 3, 0, "commit", None)],
    "a commit with a write of after it": [*publication(0, 1, 0, "commit", OLD), put(2, 3, OLD)],
    "a merge that loses tags": [
        put(0, 1, OLD),
        op(2, 3, model.change(0, 2, 29)),
        *publication(4, 5, 0, "commit", (1, 11, 0)),
        *publication(6, 7, 1, "clean", (1, 11, 0)),
        get(8, 9, OLD),
    ],
    "a commit that takes a write away": [put(0, 1, OLD), *publication(2, 3, 0, "commit", OLD), absent(4, 5)],
    "a commit that keeps what was reset": [put(0, 1, OLD), op(2, 3, model.reset(0)), *publication(4, 5, 0, "commit", OLD)],
    "a merge into a branch with uncommitted changes": [put(0, 1, OLD), *publication(2, 3, 0, "clean", NEW)],
    "a merge that takes the place of an uncommitted change": [
        put(0, 1, OLD),
        *publication(2, 3, 0, "dirty", NEW),
        get(4, 5, NEW),
    ],
    "a create over what a merge was seen to bring": [
        *publication(0, 9, 0, "clean", NEW),
        op(1, 8, model.create(0, OLD)),
        get(2, 3, NEW),
    ],
    "publications out of order": [*publication(0, 1, 1, "clean", NEW), *publication(2, 3, 0, "clean", OLD)],
}


@pytest.mark.parametrize("name", ALLOWED)
def test_accepts(name):
    assert linearizable(ALLOWED[name], EMPTY)


@pytest.mark.parametrize("name", REFUSED)
def test_refuses(name):
    history = REFUSED[name]
    assert not linearizable(history, EMPTY)
    least = smallest_failing(history, EMPTY)
    assert not linearizable(least, EMPTY)


def test_a_move_takes_the_object_along():
    pair = State((KeyState(), KeyState()))
    history = [put(0, 1, OLD), op(2, 5, model.move(0, 1))]
    both = [op(6, 7, model.read(1, OLD)), op(6, 7, model.absent(0))]
    assert linearizable(history + both, pair)
    assert not linearizable([*history, both[0], op(6, 7, model.read(0, OLD))], pair)
    assert not linearizable([*history, op(6, 7, model.absent(0)), op(6, 7, model.absent(1))], pair)
    # A move may come after a write that began later, although there was nothing to move before.
    assert linearizable(
        [op(0, 9, model.move(0, 1)), put(1, 2, OLD), op(10, 11, model.absent(0)), op(10, 11, model.read(1, OLD))], pair
    )
    # A write that the move did not see stays where it is.
    late = [*history, put(3, 4, NEW), op(6, 7, model.read(1, OLD)), get(6, 7, NEW)]
    assert linearizable(late, pair)


def test_a_name_is_one_ref():
    begin = name_model.NameState()
    branch, tag = name_model.create_branch("c1"), name_model.create_tag("c2")
    assert linearizable([op(0, 1, branch), op(2, 3, name_model.taken())], begin)
    assert not linearizable([op(0, 9, branch), op(0, 9, tag)], begin)
    assert linearizable([op(0, 9, branch), op(0, 9, name_model.delete_branch()), op(0, 9, tag)], begin)
    deleted = [op(0, 1, branch), op(2, 3, name_model.delete_branch())]
    assert not linearizable([*deleted, op(4, 5, name_model.branch_is("c1"))], begin)
    again = [op(0, 1, branch), op(2, 3, name_model.put(1)), op(4, 5, name_model.delete_branch()), op(6, 7, branch)]
    assert linearizable([*again, op(8, 9, name_model.body_is(None))], begin)
    assert not linearizable([*again, op(8, 9, name_model.body_is(1))], begin)


def test_the_smallest_contradiction_is_found_among_many_operations():
    chance = random.Random(1)
    history, value, now = [], None, 0.0
    for number in range(1, 120):
        now += 1
        if chance.random() < 0.4:
            value = (number, number, number)
            history.append(put(now, now + 0.5, value))
        else:
            history.append(get(now, now + 0.5, value))
    assert linearizable(history, EMPTY)
    lost = next(one for one in history[60:] if one.label.startswith("put"))
    late = history.index(lost) + 1
    history[late:late] = [absent(lost.end + 0.1, lost.end + 0.2)]
    assert not linearizable(history, EMPTY)
    least = smallest_failing(history, EMPTY)
    assert {one.label for one in least} == {"get 404", lost.label}


def simulated(chance, clients, operations):
    """A history of a real register, each operation of which takes effect at one moment within its time."""
    moments = []
    for client in range(clients):
        now = chance.random()
        for number in range(operations):
            start, effect, end = sorted(now + chance.random() for _ in range(3))
            now = end
            kind = chance.choice(("put", "get", "get", "create", "delete", "swap", "lost"))
            moments.append((effect, start, end, kind, (client * operations + number + 1,) * 3))
    moments.sort()
    shown, history, unseen = None, [], (-1, -1, -1)
    for _, start, end, kind, value in moments:
        seen = shown
        if kind in ("put", "lost") and (kind == "put" or chance.random() < 0.5):
            shown = value
        if kind == "put":
            history.append(put(start, end, value))
        elif kind == "lost":
            history.append([start, value])
        elif kind == "get":
            history.append(get(start, end, seen) if seen else absent(start, end))
        elif kind == "create":
            history.append(op(start, end, model.present(0) if seen else model.create(0, value), reads_only=bool(seen)))
            shown = seen or value
        elif kind == "delete":
            history.append(op(start, end, model.delete(0)))
            shown = None
        else:
            expected = seen[0] if seen and chance.random() < 0.5 else 10**6
            if seen and seen[0] == expected:
                history.append(op(start, end, model.replace_body(0, expected, value), f"get {expected}"))
                shown = value
            elif seen:
                history.append(op(start, end, model.other_body(0, expected), reads_only=True))
    seen = {one.label for one in history if isinstance(one, Operation)}
    for at, one in enumerate(history):
        if isinstance(one, list):
            start, value = one
            known = f"get {value[0]}" in seen
            history[at] = maybe(start, model.write(0, value if known else unseen), None if known else "unseen")
    return history


IN_DOUBT = {  # what clients may see of a write without an answer although nobody saw its number
    "that there are no tags": ((5, 5, NONE), lambda cell, recorder: recorder.read(cell, 0, "tags", model.read(0, (0, 0, NONE)))),
    "that the body is not known": (
        (0, 5, 5),
        lambda cell, recorder: recorder.done(cell, 0, "swap", model.replace_body(0, 9, NEW)),
    ),
}


@pytest.mark.parametrize("name", IN_DOUBT)
def test_a_write_in_doubt_whose_number_nobody_saw_explains(name):
    value, see = IN_DOUBT[name]
    recorder, cell = Recorder(), Cell("k", ("k",), EMPTY)
    for other in ((3, 3, 3), value):  # alike, except for what can be seen of them
        recorder.in_doubt(cell, 0, "put", lambda real: model.write(0, real), other, ("put", "k"))
    see(cell, recorder)
    assert linearizable(recorder.operations(cell), EMPTY)


@pytest.mark.parametrize("seed", range(20))
def test_accepts_what_a_register_did_and_refuses_it_with_one_read_changed(seed):
    chance = random.Random(seed)
    history = simulated(chance, clients=6, operations=50)
    order, found = order_of(history, EMPTY)
    assert found
    assert sum(one.required for one in order) == sum(one.required for one in history)
    reads = [one for one in history if one.label.startswith("get") and one.label != "get 404"]
    wrong = chance.choice(reads)
    changed = [get(one.start, one.end, (10**7, 10**7, 10**7)) if one is wrong else one for one in history]
    assert not linearizable(changed, EMPTY)


def test_histories_are_judged_in_processes_of_their_own():
    asked = [([put(0, 1, OLD), absent(2, 3)], EMPTY), ([put(0, 1, OLD), get(2, 3, OLD)], EMPTY)]
    with processes_that_know(asked) as pool:
        contradiction, fine = pool.map(verdict_of, range(len(asked)), chunksize=1)
    assert contradiction[0] == "fails" and "get 404" in contradiction[1]
    assert fine is None

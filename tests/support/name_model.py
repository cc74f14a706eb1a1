"""States of one name, as a branch with one object on it, or as a tag, but never as both."""

from dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True)
class NameState:
    branch: str | None = None  # its head
    tag: str | None = None
    body: int | None = None  # of the object

    @property
    def free(self):
        return self.branch is None and self.tag is None


def only_if(holds, after=lambda state: state):
    return lambda state: [after(state)] if holds(state) else []


def create_branch(commit):
    return only_if(lambda state: state.free, lambda state: replace(state, branch=commit, body=None))


def rewind(commit):
    return only_if(lambda state: state.branch is not None and state.body is None, lambda state: replace(state, branch=commit))


def staged():
    return only_if(lambda state: state.branch is not None and state.body is not None)


def delete_branch():
    return only_if(lambda state: state.branch is not None, lambda state: replace(state, branch=None, body=None))


def create_tag(commit):
    return only_if(lambda state: state.free, lambda state: replace(state, tag=commit))


def delete_tag():
    return only_if(lambda state: state.tag is not None, lambda state: replace(state, tag=None))


def taken():
    return only_if(lambda state: not state.free)


def branch_is(commit):
    return only_if(lambda state: state.branch == commit)


def tag_is(commit):
    return only_if(lambda state: state.tag == commit)


def put(body):
    return only_if(lambda state: state.branch is not None, lambda state: replace(state, body=body))


def body_is(body):
    """Read through the branch: None is no object, or no branch."""
    return only_if(lambda state: state.body == body)

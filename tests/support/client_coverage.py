"""Which methods of lakefs-sdk and lakefs the tests called, and how the calls ended: client-coverage.md.

watch() wraps every public method. While `recording`, each call that a test itself made (not one that a client made
inside another) adds its end to `sdk` {method: {HTTP status}} or `wrapper` {method: {"ok" or the exception's name}}.
For one thread: the tests that are counted call from no other."""

import contextlib
import functools
import importlib
import inspect
import re
from pathlib import Path

import lakefs
import lakefs.client
import lakefs.exceptions
import lakefs_sdk
import lakefs_sdk.rest
import not_yet

ROOT = Path(__file__).resolve().parents[2]
TABLE = ROOT / "tests/e2e/sdk/client-coverage.md"

FUNCTIONS = ("repository", "repositories", "from_aws_role", "from_web_identity")

recording = False
sdk = {}
wrapper = {}

_depth = 0
_status = None

# Methods of the wrapper that cannot fail, or cannot succeed, whatever the server answers.
ASKS_NOTHING = "asks the server nothing"
ALWAYS_RAISES = "raises UnsupportedOperation by design"
REFUSED = "501, as the open-source lakeFS answers"
NO_ERROR = {
    **dict.fromkeys(
        [
            "repository",
            "Repository.id",
            "Repository.branch",
            "Repository.commit",
            "Repository.ref",
            "Repository.tag",
            "Reference.id",
            "Reference.repo_id",
            "Reference.object",
            "Branch.object",
            "Branch.import_data",
            "Transaction.object",
            "Transaction.source_id",
            "Transaction.commit_message",
            "Transaction.commit_metadata",
            "Transaction.tag",
            "StoredObject.repo",
            "StoredObject.ref",
            "StoredObject.path",
            "ObjectReader.mode",
            "ObjectReader.name",
            "ObjectReader.closed",
            "ObjectReader.readable",
            "ObjectReader.seekable",
            "ObjectReader.writable",
            "ObjectReader.isatty",
            "ObjectReader.tell",
            "ObjectReader.close",
            "ObjectReader.pre_sign",
            "ObjectWriter.mode",
            "ObjectWriter.name",
            "ObjectWriter.closed",
            "ObjectWriter.readable",
            "ObjectWriter.seekable",
            "ObjectWriter.writable",
            "ObjectWriter.isatty",
            "ObjectWriter.tell",
            "ObjectWriter.discard",
            "ObjectWriter.pre_sign",
            "ImportManager.import_id",
            "Client.config",
            "Client.sdk_client",
            "Client.reset_time",
            "ServerConfiguration.version",
            "ServerConfiguration.storage_config",
        ],
        ASKS_NOTHING,
    ),
}
NO_SUCCESS = {
    **dict.fromkeys(
        [
            "ObjectReader.fileno",
            "ObjectReader.readlines",
            "ObjectReader.truncate",
            "ObjectReader.write",
            "ObjectReader.writelines",
            "ObjectWriter.fileno",
            "ObjectWriter.read",
            "ObjectWriter.readline",
            "ObjectWriter.readlines",
            "ObjectWriter.seek",
            "ObjectWriter.truncate",
            "ObjectWriter.writelines",
        ],
        ALWAYS_RAISES,
    ),
    "from_aws_role": REFUSED,
    "from_web_identity": REFUSED,
}
# Exceptions of the wrapper that no answer of Tarn leads to.
NEVER_RAISED = {
    "LakeFSException": "only a base class",
    "UnsupportedOperationException": "405, which Tarn never answers: an unknown method is 404",
    "InvalidRangeException": "readers take 416 as the end of the object",
    "UnsupportedCredentialsProviderType": "about the client's own configuration",
    "InvalidEnvVarFormat": "about the client's own configuration",
}

# Operations of the SDK that have no error: no key is looked at and nothing is given.
NEVER_REFUSED = {("HealthCheckApi", "health_check"), ("InternalApi", "get_setup_state")}
HEAD = """# Client coverage

<!-- Generated: `pytest tests/e2e --write-coverage`. -->

Calls of the unmodified Python packages in the end-to-end tests, and how they ended. `tests/support/not_yet.py`
lists the operations that are refused, or not served yet.
"""


def watch():
    _watch_answers()
    for cls, name in sdk_methods():
        for each in (name, f"{name}_with_http_info"):
            setattr(cls, each, _sdk_method(getattr(cls, each), f"{cls.__name__}.{name}"))
    for owner, name in _wrapper_members():
        member = vars(owner)[name]
        if isinstance(member, property):
            setattr(owner, name, property(_wrapper_method(member.fget, name), member.fset, doc=member.__doc__))
        else:
            setattr(owner, name, _wrapper_method(member, name))
    for name in FUNCTIONS:
        watched = _wrapper_function(getattr(lakefs, name, None) or getattr(lakefs.client, name), name)
        for module in (lakefs, lakefs.client):
            if hasattr(module, name):
                setattr(module, name, watched)


def sdk_methods():
    """(class, method) of every operation of every API class."""
    classes = sorted((c for n, c in vars(lakefs_sdk).items() if n.endswith("Api")), key=lambda c: c.__name__)
    return [
        (cls, name)
        for cls in classes
        for name in sorted(vars(cls))
        if not name.startswith("_") and not name.endswith("_with_http_info")
    ]


@functools.cache
def route_of(cls, name):
    """The (HTTP method, path) that an operation of the SDK asks."""
    source = inspect.getsource(inspect.unwrap(getattr(cls, f"{name}_with_http_info")))
    path, method = re.search(r"call_api\(\s*'([^']+)', '(\w+)'", source).groups()
    return method, path


def _wrapper_classes():
    found = []
    for name in ("branch", "client", "import_manager", "object", "reference", "repository", "tag"):
        module = importlib.import_module(f"lakefs.{name}")
        found += [c for c in vars(module).values() if inspect.isclass(c) and c.__module__ == module.__name__]
    return found


def _is_base(cls):
    return cls.__name__.startswith("_Base") or cls.__name__ == "LakeFSIOBase"


def _shown(cls):
    return cls.__name__.lstrip("_")


def _wrapper_members():
    return [
        (cls, name)
        for cls in _wrapper_classes()
        for name, member in list(vars(cls).items())
        if not name.startswith("_") and (inspect.isfunction(member) or isinstance(member, property))
    ]


def wrapper_methods():
    """Names of every public method: Class.method under the class that has it, or that has it from a private base."""
    found = set(FUNCTIONS)
    for cls in _wrapper_classes():
        if not _is_base(cls):
            owners = [owner for owner in cls.__mro__ if owner is cls or _is_base(owner)]
            found |= {f"{_shown(cls)}.{name}" for owner, name in _wrapper_members() if owner in owners}
    return sorted(found)


@contextlib.contextmanager
def _inside():
    global _depth
    _depth += 1
    try:
        yield
    finally:
        _depth -= 1


def _note(table, key, end):
    if recording and _depth == 0:
        table.setdefault(key, set()).add(end)


def _watch_answers():
    plain = lakefs_sdk.rest.RESTClientObject.request

    def request(*arguments, **options):
        global _status
        try:
            answer = plain(*arguments, **options)
        except lakefs_sdk.ApiException as error:
            _status = error.status
            raise
        _status = answer.status
        return answer

    lakefs_sdk.rest.RESTClientObject.request = request


def _sdk_method(plain, key):
    @functools.wraps(plain)
    def call(*arguments, **options):
        global _status
        if _depth == 0:
            _status = None
        try:
            with _inside():
                return plain(*arguments, **options)
        finally:
            if _status:
                _note(sdk, key, _status)

    return call


def _wrapper_method(plain, name):
    return _watched(plain, lambda self: f"{_shown(_owner(type(self), name))}.{name}")


def _wrapper_function(plain, name):
    return _watched(plain, lambda *_: name)


def _owner(cls, name):
    owner = next(c for c in cls.__mro__ if name in vars(c))
    return cls if _is_base(owner) else owner


def _watched(plain, key_of):
    @functools.wraps(plain)
    def call(*arguments, **options):
        key = key_of(*arguments[:1])
        try:
            with _inside():
                result = plain(*arguments, **options)
        except Exception as error:
            _note(wrapper, key, type(error).__name__)
            raise
        if inspect.isgenerator(result):
            return _watched_generator(key, result)
        if isinstance(result, contextlib.AbstractContextManager) and inspect.isgenerator(getattr(result, "gen", None)):
            return _WatchedContext(key, result)
        _note(wrapper, key, "ok")
        return result

    return call


def _watched_generator(key, items):
    while True:
        try:
            with _inside():
                item = next(items)
        except StopIteration:
            _note(wrapper, key, "ok")
            return
        except Exception as error:
            _note(wrapper, key, type(error).__name__)
            raise
        _note(wrapper, key, "ok")
        yield item


class _WatchedContext:
    def __init__(self, key, manager):
        self.key = key
        self.manager = manager

    def __enter__(self):
        return self._end(self.manager.__enter__, None)

    def __exit__(self, kind, error, trace):
        return self._end(lambda: self.manager.__exit__(kind, error, trace), "ok" if kind is None else kind.__name__)

    def _end(self, call, end):
        try:
            with _inside():
                result = call()
        except Exception as error:
            end = type(error).__name__
            raise
        finally:
            if end:
                _note(wrapper, self.key, end)
        return result


# The table


def operations():
    """{(HTTP method, path): name} of every operation of the format, from the generated table."""
    lines = (ROOT / "docs/rest-compatibility.md").read_text().splitlines()
    rows = [[cell.strip(" `") for cell in line.split("|")[1:-1]] for line in lines if re.match(r"\| \w+ \| [A-Z]+ \|", line)]
    return {(row[1], row[2]): row[0] for row in rows}


def missing():
    """Methods without a success or without an error, and calls that contradict the lists above."""
    found = []
    names = operations()
    for cls, name in sdk_methods():
        ends = sdk.get(f"{cls.__name__}.{name}", set())
        operation = names[route_of(cls, name)]
        without = operation in not_yet.NOT_YET or operation in not_yet.REFUSED
        if any(end < 400 for end in ends) == without:
            found.append(f"{cls.__name__}.{name}: {'served after all' if without else 'no success'}")
        if not any(end >= 400 for end in ends) and not without and (cls.__name__, name) not in NEVER_REFUSED:
            found.append(f"{cls.__name__}.{name}: no error")
    for name in wrapper_methods():
        ends = wrapper.get(name, set())
        if ("ok" in ends) == (name in NO_SUCCESS):
            found.append(f"{name}: {'succeeds, and is said not to' if 'ok' in ends else 'no success'}")
        if bool(ends - {"ok"}) == (name in NO_ERROR):
            found.append(f"{name}: {'fails, and is said not to' if ends - {'ok'} else 'no error'}")
    for name in exceptions():
        if (name in raised()) == (name in NEVER_RAISED):
            found.append(f"{name}: {'raised, and is said not to be' if name in raised() else 'never raised'}")
    return found


def table():
    names = operations()
    lines = [HEAD, "## lakefs-sdk", "", "| method | operation | success | error |", "|---|---|---|---|"]
    for cls, name in sdk_methods():
        ends = sorted(sdk.get(f"{cls.__name__}.{name}", ()))
        operation = names[route_of(cls, name)]
        success = ", ".join(str(end) for end in ends if end < 400)
        if operation in not_yet.NOT_YET:
            success = "not served yet"
        elif operation in not_yet.REFUSED:
            success = "refused"
        error = ", ".join(str(end) for end in ends if end >= 400)
        if not error:
            error = str(not_yet.NOT_YET.get(operation, "none: needs no key and takes nothing"))
        lines.append(f"| {cls.__name__}.{name} | {operation} | {success} | {error} |")
    lines += ["", "## lakefs", "", "| method | success | error |", "|---|---|---|"]
    for name in wrapper_methods():
        ends = wrapper.get(name, set())
        success = "yes" if "ok" in ends else f"none: {NO_SUCCESS.get(name)}"
        error = ", ".join(sorted(ends - {"ok"})) or f"none: {NO_ERROR.get(name)}"
        lines.append(f"| {name} | {success} | {error} |")
    lines += ["", "| exception | raised |", "|---|---|"]
    lines += [f"| {name} | {'yes' if name in raised() else 'no: ' + NEVER_RAISED.get(name, '')} |" for name in exceptions()]
    return "\n".join(lines) + "\n"


def exceptions():
    return sorted(n for n, c in vars(lakefs.exceptions).items() if inspect.isclass(c) and c.__module__ == "lakefs.exceptions")


def raised():
    return set().union(*wrapper.values()) if wrapper else set()

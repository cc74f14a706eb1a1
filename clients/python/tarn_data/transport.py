"""Requests to the server: who asks, what is repeated when the connection breaks, and errors by kind."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator, Mapping
from typing import Any, BinaryIO, Union
from urllib.parse import quote

import requests

from tarn_data.errors import (
    Conflict,
    DestinationMoved,
    InvalidRequest,
    LimitReached,
    MergeConflict,
    NotAllowed,
    NotConfigured,
    NotFound,
    TarnError,
    Unavailable,
)
from tarn_data.settings import API_SUFFIX, Settings, load_settings

CONNECT_SECONDS = 10
ANSWER_SECONDS = 120
# How long a request that may be repeated is repeated.
RETRY_SECONDS = 30.0
FIRST_PAUSE_SECONDS = 0.2
LONGEST_PAUSE_SECONDS = 5.0
PAGE = 1000

Query = Mapping[str, Union[str, int, list[str], None]]

_ADVICE = {
    "policy_not_found": "set a gate policy first: tarn.apply_policy(repo, document)",
    "idempotency_key_reused": "the key belongs to another request; give a new one, or none",
}


class _Bearer(requests.auth.AuthBase):
    """As an auth object, because a netrc file would win over a header."""

    def __init__(self, token: str) -> None:
        self.token = token

    def __call__(self, request: requests.PreparedRequest) -> requests.PreparedRequest:
        request.headers["Authorization"] = f"Bearer {self.token}"
        return request


class Server:
    """One server as one user sees it. Threads and forked processes each get a connection of their own."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self._local = threading.local()

    def __reduce__(self) -> tuple[Any, ...]:
        return Server, (self.settings,)

    def _session(self) -> requests.Session:
        known: tuple[int, requests.Session] | None = getattr(self._local, "session", None)
        if known is not None and known[0] == os.getpid():
            return known[1]
        settings = self.settings
        session = requests.Session()
        if settings.token:
            session.auth = _Bearer(settings.token)
        elif settings.access_key and settings.secret_key:
            session.auth = (settings.access_key, settings.secret_key)
        else:
            raise NotConfigured("no keys: set TARN_ACCESS_KEY and TARN_SECRET_KEY (or TARN_TOKEN), or run `tarn auth login`")
        session.headers["User-Agent"] = "tarn-python/0.1.0"
        self._local.session = (os.getpid(), session)
        return session

    def request(
        self,
        method: str,
        *path: str,
        verb: str = "",
        query: Query | None = None,
        json: Any = None,
        body: bytes | BinaryIO | None = None,
        headers: Mapping[str, str] | None = None,
        repeat: bool | None = None,
        patience: float = 0,
    ) -> requests.Response:
        """The answer, whatever is not 2xx raised as an error.

        `repeat` says whether doing it twice is the same as once; default: for everything but POST. `patience` is
        what the server has been asked to wait, in seconds."""
        url = self.settings.endpoint + API_SUFFIX + "".join("/" + quote(part, safe="") for part in path) + verb
        repeat = method != "POST" if repeat is None else repeat
        deadline = time.monotonic() + RETRY_SECONDS
        pause = FIRST_PAUSE_SECONDS
        while True:
            try:
                answer = self._session().request(
                    method,
                    url,
                    params={k: v for k, v in (query or {}).items() if v is not None},
                    json=json,
                    data=body,
                    headers=dict(headers or {}),
                    timeout=(CONNECT_SECONDS, ANSWER_SECONDS + patience),
                    allow_redirects=False,
                )
            except (requests.ConnectionError, requests.Timeout) as error:
                again = repeat or _never_arrived(error)
                failure: TarnError = Unavailable(_no_answer(self.settings.endpoint, method, again, error))
            else:
                if answer.ok and not answer.is_redirect:
                    return answer
                failure = error_of(answer)
                again = _may_succeed_later(answer.status_code, failure.code, repeat)
                pause = max(pause, _wished_pause(answer))
            if not again or time.monotonic() + pause > deadline:
                raise failure
            time.sleep(pause)
            pause = min(2 * pause, LONGEST_PAUSE_SECONDS)
            if body is not None and not isinstance(body, bytes):
                body.seek(0)

    def call(self, method: str, *path: str, **options: Any) -> Any:
        """The answer's JSON; None when it has no body."""
        answer = self.request(method, *path, **options)
        return answer.json() if answer.content else None

    def each(self, *path: str, query: Query | None = None) -> Iterator[dict[str, Any]]:
        """The items of a list, page by page."""
        after = ""
        while True:
            page = self.call("GET", *path, query={"amount": PAGE, **(query or {}), "after": after or None})
            yield from page["results"]
            if not page["pagination"]["has_more"]:
                return
            after = page["pagination"]["next_offset"]

    def commit_of(self, repo: str, ref: str) -> str:
        """The commit that a ref means."""
        return str(self.call("GET", "repositories", repo, "commits", ref)["id"])

    def upload(self, repo: str, branch: str, path: str, body: bytes | BinaryIO, exclusive: bool = False) -> dict[str, Any]:
        headers = {"Content-Type": "application/octet-stream"}
        if exclusive:
            headers["If-None-Match"] = "*"
        # requests sends an empty file without a length.
        if not isinstance(body, bytes) and body.seek(0, os.SEEK_END) == 0:
            body = b""
        elif not isinstance(body, bytes):
            body.seek(0)
        stats: dict[str, Any] = self.call(
            "POST",
            "repositories",
            repo,
            "branches",
            branch,
            "objects",
            query={"path": path},
            body=body,
            headers=headers,
            repeat=not exclusive,
        )
        return stats


def connect(**settings: str | None) -> Server:
    """Settings that are not given come from the environment and the configuration file."""
    return Server(load_settings(None, **settings))


def lakefs_client(server: Server | None = None) -> Any:
    """A client of the lakefs package with the same settings, for what this package does not do."""
    from lakefs.client import Client

    settings = (server or connect()).settings
    if settings.token:
        return Client(host=settings.endpoint, access_token=settings.token)
    return Client(host=settings.endpoint, username=settings.access_key, password=settings.secret_key)


def error_of(answer: requests.Response) -> TarnError:
    status = answer.status_code
    try:
        body = answer.json()
    except ValueError:
        body = {}
    if not isinstance(body, dict):
        body = {}
    code = str(body.get("code") or answer.headers.get("X-Tarn-Error") or "")
    message = str(body.get("message") or f"{answer.request.method} {answer.url}: answered {status} {answer.reason}")
    if answer.is_redirect:
        message = f"redirected to {answer.headers['Location']}: set TARN_ENDPOINT to where the server is"
    elif status == 401 and code != "insufficient_permissions":
        message += "; check TARN_ACCESS_KEY and TARN_SECRET_KEY"
    elif code in _ADVICE and _ADVICE[code] not in message:
        message += f"; {_ADVICE[code]}"
    return _kind(status, code)(message, code, status, str(body.get("request_id") or ""))


def _kind(status: int, code: str) -> type[TarnError]:
    by_code: dict[str, type[TarnError]] = {
        "destination_moved": DestinationMoved,
        "winner_moved": DestinationMoved,
        "review_changed": DestinationMoved,
        "merge_conflict": MergeConflict,
        "destination_dirty": MergeConflict,
    }
    if code in by_code:
        return by_code[code]
    if status in (401, 403):
        return NotAllowed
    if status in (404, 410):
        return NotFound
    if status in (409, 412):
        return Conflict
    if code == "too_many_failures":
        return NotAllowed
    if status in (413, 507) or (status == 429 and code):
        return LimitReached
    if status in (423, 429) or status >= 502:
        return Unavailable
    return InvalidRequest if 400 <= status < 500 else TarnError


def _may_succeed_later(status: int, code: str, repeat: bool) -> bool:
    """423 (a locked branch), 503 and the 429 of other servers are said before anything is done; Tarn's 429 is about a limit."""
    if status in (502, 504) or code == "in_doubt":
        return repeat
    return status in (423, 503) or (status == 429 and not code)


def _never_arrived(error: requests.RequestException) -> bool:
    """Whether no connection was made: then nothing has been done."""
    if isinstance(error, requests.ConnectTimeout):
        return True
    reason = getattr(error.args[0] if error.args else None, "reason", None)
    return type(reason).__name__ in ("NewConnectionError", "NameResolutionError")


def _no_answer(endpoint: str, method: str, again: bool, error: Exception) -> str:
    what = (
        f"no answer from {endpoint} for {RETRY_SECONDS:.0f} s: is TARN_ENDPOINT right and the server running?"
        if again
        else f"the connection to {endpoint} broke before the answer to {method}: it may have been done "
        f"or not; look before doing it again"
    )
    return f"{what} ({error})"


def _wished_pause(answer: requests.Response) -> float:
    try:
        return min(float(answer.headers.get("Retry-After", "0")), LONGEST_PAUSE_SECONDS)
    except ValueError:
        return 0.0


def repository_name(server: Server, repo: Any) -> str:
    """A name, a lakefs.Repository, or None for TARN_REPO."""
    name = getattr(repo, "id", repo) or server.settings.repo
    if not isinstance(name, str) or not name:
        raise NotConfigured("which repository? name it, or set TARN_REPO")
    for scheme in ("tarn://", "lakefs://"):
        if name.startswith(scheme):
            name = name[len(scheme) :].rstrip("/")
    return name


def list_of_refs(candidates: Any) -> list[str]:
    """One ref or several; branches of the lakefs package are taken for their names."""
    if isinstance(candidates, str) or hasattr(candidates, "id"):
        candidates = [candidates]
    refs = [str(getattr(candidate, "id", candidate)) for candidate in candidates]
    if not refs:
        raise ValueError("candidates: name at least one branch, glob of branches ('exp-*') or other ref")
    return refs

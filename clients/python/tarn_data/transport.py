"""Requests to the server: who asks, what is repeated when the connection breaks, and errors by kind."""

from __future__ import annotations

import base64
import os
import threading
import time
from collections.abc import Iterable, Iterator, Mapping
from json import loads as json_of
from typing import Any, BinaryIO, Callable, Union
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
# Limit on connecting to a server that has not answered yet: its address is probably wrong.
FIRST_CONTACT_SECONDS = 2.5
FIRST_PAUSE_SECONDS = 0.2
LONGEST_PAUSE_SECONDS = 5.0
PAGE = 1000

Query = Mapping[str, Union[str, int, list[str], None]]

_ADVICE = {
    "policy_not_found": "set a gate policy first: tarn.apply_policy(repo, document)",
    "idempotency_key_reused": "the key belongs to another request; give a new one, or none",
}


class _Authorization(requests.auth.AuthBase):
    """As an auth object, because a netrc file would win over a header."""

    def __init__(self, value: str) -> None:
        self.value = value

    def __call__(self, request: requests.PreparedRequest) -> requests.PreparedRequest:
        request.headers["Authorization"] = self.value
        return request


class Server:
    """One server as one user sees it. Threads and forked processes each get a connection of their own."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.answered = False  # whether it ever did
        self._local = threading.local()

    def __reduce__(self) -> tuple[Any, ...]:
        return Server, (self.settings,)

    def _session(self) -> requests.Session:
        known: tuple[int, requests.Session] | None = getattr(self._local, "session", None)
        if known is not None and known[0] == os.getpid():
            return known[1]
        session = requests.Session()
        session.headers.update(self.headers())
        session.auth = _Authorization(str(session.headers["Authorization"]))
        self._local.session = (os.getpid(), session)
        return session

    def headers(self) -> dict[str, str]:
        """The headers of every request."""
        settings = self.settings
        if settings.token:
            authorization = f"Bearer {settings.token}"
        elif settings.access_key and settings.secret_key:
            keys = f"{settings.access_key}:{settings.secret_key}".encode()
            authorization = f"Basic {base64.b64encode(keys).decode()}"
        else:
            raise NotConfigured("no keys: set TARN_ACCESS_KEY and TARN_SECRET_KEY (or TARN_TOKEN), or run `tarn auth login`")
        return {"Authorization": authorization, "User-Agent": "tarn-python/0.1.0"}

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
        url = self.url(path, verb)
        attempts = Attempts(self, method, method != "POST" if repeat is None else repeat)
        while True:
            try:
                answer = self._session().request(
                    method,
                    url,
                    params=given(query),
                    json=json,
                    data=body,
                    headers=dict(headers or {}),
                    timeout=(CONNECT_SECONDS, ANSWER_SECONDS + patience),
                    allow_redirects=False,
                )
            except (requests.ConnectionError, requests.Timeout) as error:
                pause = attempts.broken(error, _never_arrived(error))
            else:
                self.answered = True
                if answer.ok and not answer.is_redirect:
                    return answer
                pause = attempts.refused(answer.status_code, answer.reason, url, answer.headers, answer.content)
            time.sleep(pause)
            if body is not None and not isinstance(body, bytes):
                body.seek(0)

    def url(self, path: Iterable[str], verb: str = "") -> str:
        return self.settings.endpoint + API_SUFFIX + "".join("/" + quote(part, safe="") for part in path) + verb

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


class Attempts:
    """The attempts at one request: which failures are worth another one, and for how long."""

    def __init__(self, server: Server, method: str, repeat: bool) -> None:
        self._server = server
        self._method = method
        self._repeat = repeat
        self._began = time.monotonic()
        self._pause = FIRST_PAUSE_SECONDS
        self._made = 0

    def broken(self, error: Exception, never_arrived: bool) -> float:
        """Seconds until the next attempt, after the connection was not made or broke; raises Unavailable after the last one."""
        again = self._repeat or never_arrived
        known = self._server.answered or not never_arrived
        return self._next(again, RETRY_SECONDS if known else FIRST_CONTACT_SECONDS, lambda: self._no_answer(again, error))

    def refused(self, status: int, phrase: str | None, url: str, headers: Mapping[str, str], content: bytes) -> float:
        """Seconds until the next attempt, after an answer that is not 2xx; raises the error that the answer says."""
        failure = error_of(self._method, url, status, phrase, headers, content)
        self._pause = max(self._pause, _wished_pause(headers))
        return self._next(_may_succeed_later(status, failure.code, self._repeat), RETRY_SECONDS, lambda: failure)

    def _next(self, again: bool, limit: float, failure: Callable[[], TarnError]) -> float:
        self._made += 1
        pause = self._pause
        if not again or time.monotonic() + pause > self._began + limit:
            raise failure()
        self._pause = min(2 * pause, LONGEST_PAUSE_SECONDS)
        return pause

    def _no_answer(self, again: bool, error: Exception) -> Unavailable:
        endpoint = self._server.settings.endpoint
        if not again:
            return Unavailable(
                f"the connection to {endpoint} broke before the answer to {self._method}: it may have been done or not; look "
                f"before doing it again ({error})"
            )
        times = "once" if self._made == 1 else f"{self._made} times"
        return Unavailable(
            f"no answer from {endpoint}, tried {times} in {time.monotonic() - self._began:.1f} s: is TARN_ENDPOINT right and the "
            f"server running? ({error})"
        )


def given(query: Query | None) -> dict[str, Any]:
    return {name: value for name, value in (query or {}).items() if value is not None}


def error_of(method: str, url: str, status: int, phrase: str | None, headers: Mapping[str, str], content: bytes) -> TarnError:
    try:
        body = json_of(content)
    except ValueError:
        body = {}
    if not isinstance(body, dict):
        body = {}
    code = str(body.get("code") or headers.get("X-Tarn-Error") or "")
    message = str(body.get("message") or f"{method} {url}: answered {status} {phrase}")
    if 300 <= status < 400 and "Location" in headers:
        message = f"redirected to {headers['Location']}: set TARN_ENDPOINT to where the server is"
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


def _wished_pause(headers: Mapping[str, str]) -> float:
    try:
        return min(float(headers.get("Retry-After", "0")), LONGEST_PAUSE_SECONDS)
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

"""Requests to the server from an event loop, several at once; needs aiohttp."""

from __future__ import annotations

import asyncio
import os
import ssl
from collections.abc import AsyncIterator, Awaitable, Mapping
from json import loads
from typing import Any, Callable, TypeVar, Union

import aiohttp
import requests
import yarl  # aiohttp depends on it

from tarn_data.transport import ANSWER_SECONDS, CONNECT_SECONDS, PAGE, Attempts, Query, Server, given

# Requests of one event loop; each has a connection.
REQUESTS_AT_ONCE = 32

Body = Union[bytes, Callable[[], bytes], None]
Result = TypeVar("Result")


class AsyncServer:
    """The requests of a Server in the event loop that made it."""

    def __init__(self, server: Server) -> None:
        self.loop = asyncio.get_running_loop()
        self._server = server
        self._slots = asyncio.Semaphore(REQUESTS_AT_ONCE)
        # Proxies and certificate authorities are those of Server. aiohttp's own trust_env would also let netrc win.
        endpoint = server.settings.endpoint
        environment = requests.Session().merge_environment_settings(endpoint, {}, None, None, None)
        self._proxy = requests.utils.select_proxy(endpoint, environment["proxies"])
        self.session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=REQUESTS_AT_ONCE, ssl=_trusted(endpoint, environment["verify"])),
            headers=server.headers(),
            timeout=aiohttp.ClientTimeout(total=None, sock_connect=CONNECT_SECONDS, sock_read=ANSWER_SECONDS),
            cookie_jar=aiohttp.DummyCookieJar(),
        )

    async def request(
        self,
        method: str,
        *path: str,
        take: Callable[[aiohttp.ClientResponse], Awaitable[Result]],
        query: Query | None = None,
        json: Any = None,
        body: Body = None,
        headers: Mapping[str, str] | None = None,
        repeat: bool | None = None,
    ) -> Result:
        """Passes the answer to `take`, which reads it, whatever is not 2xx raised as an error. As Server.request otherwise: after
        a broken connection `take` is called again. A `body` that is a function is called when its turn has come."""
        url = self._server.url(path)
        attempts = Attempts(self._server, method, method != "POST" if repeat is None else repeat)
        while True:
            try:
                async with (
                    self._slots,
                    self.session.request(
                        method,
                        yarl.URL(url, encoded=True),
                        params=given(query),
                        json=json,
                        data=body() if callable(body) else body,
                        headers=headers,
                        allow_redirects=False,
                        proxy=self._proxy,
                    ) as answer,
                ):
                    self._server.answered = True
                    if 200 <= answer.status < 300:
                        return await take(answer)
                    content = await answer.read()
            except (aiohttp.ClientConnectionError, aiohttp.ClientPayloadError, asyncio.TimeoutError) as error:
                pause = attempts.broken(error, isinstance(error, aiohttp.ClientConnectorError))
            else:
                pause = attempts.refused(answer.status, answer.reason, url, answer.headers, content)
            await asyncio.sleep(pause)

    async def call(self, method: str, *path: str, **options: Any) -> Any:
        """The answer's JSON; None when it has no body."""

        async def take(answer: aiohttp.ClientResponse) -> Any:
            content = await answer.read()
            return loads(content) if content else None

        return await self.request(method, *path, take=take, **options)

    async def each(self, *path: str, query: Query | None = None) -> AsyncIterator[dict[str, Any]]:
        """The items of a list, page by page."""
        after = ""
        while True:
            page = await self.call("GET", *path, query={"amount": PAGE, **(query or {}), "after": after or None})
            for item in page["results"]:
                yield item
            if not page["pagination"]["has_more"]:
                return
            after = page["pagination"]["next_offset"]


def _trusted(endpoint: str, authorities: Any) -> ssl.SSLContext | bool:
    """`authorities`: a file or directory, or True for those of requests."""
    if not endpoint.startswith("https:"):
        return True
    place = authorities if isinstance(authorities, str) else requests.utils.DEFAULT_CA_BUNDLE_PATH
    if os.path.isdir(place):
        return ssl.create_default_context(capath=place)
    return ssl.create_default_context(cafile=place)

"""Whole objects of the server: those that are asked for at the same time come as archives."""

from __future__ import annotations

import asyncio
import contextlib
import io
import os
import tarfile
from dataclasses import dataclass
from typing import Any

import aiohttp

from tarn_data.asynchronous import AsyncServer
from tarn_data.errors import TarnError

# Fewer objects come one by one, in parallel, as large ones should.
ARCHIVE_OBJECTS_MIN = 32
ARCHIVE_OBJECTS_MAX = 1000
ARCHIVES_AT_ONCE = 4
PIECE_BYTES = 1 << 20
BLOCK = tarfile.BLOCKSIZE


@dataclass
class Wanted:
    key: str
    to: Any  # the local file, or None for the bytes
    content: asyncio.Future[bytes]

    def done(self, content: bytes) -> None:
        if not self.content.done():
            self.content.set_result(content)


class Archives:
    """Collects what is asked for in one turn of the event loop."""

    def __init__(self, server: AsyncServer) -> None:
        self._server = server
        self._wanted: dict[tuple[str, str], list[Wanted]] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    async def content(self, repo: str, ref: str, key: str, to: Any = None) -> bytes:
        """Writes the object to the file `to`, or returns it."""
        wanted = Wanted(key, to, self._server.loop.create_future())
        waiting = self._wanted.setdefault((repo, ref), [])
        waiting.append(wanted)
        if len(waiting) == 1:
            self._server.loop.call_soon(self._fetch_waiting, repo, ref)
        return await wanted.content

    async def single(self, repo: str, ref: str, key: str, into: Any) -> None:
        """Writes the object to an open file, in pieces."""

        begun = False

        async def take(answer: aiohttp.ClientResponse) -> None:
            nonlocal begun
            if begun:  # by an attempt that broke
                into.seek(0)
                into.truncate()
            begun = True
            async for piece in answer.content.iter_chunked(PIECE_BYTES):
                into.write(piece)

        await self._server.request("GET", "repositories", repo, "refs", ref, "objects", query={"path": key}, take=take)

    def _fetch_waiting(self, repo: str, ref: str) -> None:
        waiting = self._wanted.pop((repo, ref))
        count = min(len(waiting) // ARCHIVE_OBJECTS_MIN, ARCHIVES_AT_ONCE)
        if count == 0:
            for wanted in waiting:
                self._start(self._single(repo, ref, wanted))
            return
        size = min(-(-len(waiting) // count), ARCHIVE_OBJECTS_MAX)
        for begin in range(0, len(waiting), size):
            self._start(self._archive(repo, ref, waiting[begin : begin + size]))

    def _start(self, work: Any) -> None:
        task = self._server.loop.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _single(self, repo: str, ref: str, wanted: Wanted) -> None:
        try:
            if wanted.to is None:
                into: Any = io.BytesIO()
                await self.single(repo, ref, wanted.key, into)
                wanted.done(into.getvalue())
                return
            with _removed_if_it_fails(wanted.to), open(wanted.to, "wb") as into:
                await self.single(repo, ref, wanted.key, into)
            wanted.done(b"")
        except Exception as error:
            if not wanted.content.done():
                wanted.content.set_exception(error)

    async def _archive(self, repo: str, ref: str, batch: list[Wanted]) -> None:
        """Objects that the archive does not bring, for whatever reason, are then asked for alone: their errors are their own."""

        async def take(answer: aiohttp.ClientResponse) -> None:
            for wanted in batch:
                await _take_member(answer.content, wanted)

        body = {"paths": [wanted.key for wanted in batch], "missing": "mark"}
        place = ("repositories", repo, "refs", ref, "objects", "archive")
        # A broken one is not repeated: that would write files again that somebody may read by now.
        with contextlib.suppress(TarnError, OSError, tarfile.TarError, asyncio.IncompleteReadError):
            await self._server.request("POST", *place, json=body, repeat=False, take=take)
        for wanted in batch:
            if not wanted.content.done():
                self._start(self._single(repo, ref, wanted))


async def _take_member(stream: aiohttp.StreamReader, wanted: Wanted) -> None:
    member = await _next_member(stream)
    if member.name != wanted.key:
        return  # KEY.missing, which is empty
    if wanted.to is None or member.size <= PIECE_BYTES:
        content = await stream.readexactly(member.size)
        if wanted.to is not None:
            with open(wanted.to, "wb") as file:
                file.write(content)
    else:
        content = b""
        with _removed_if_it_fails(wanted.to), open(wanted.to, "wb") as file:
            for begin in range(0, member.size, PIECE_BYTES):
                file.write(await stream.readexactly(min(PIECE_BYTES, member.size - begin)))
    await stream.readexactly(-member.size % BLOCK)
    wanted.done(content if wanted.to is None else b"")


async def _next_member(stream: aiohttp.StreamReader) -> tarfile.TarInfo:
    """The next header; a pax header before it has long names and sizes."""
    header = await stream.readexactly(BLOCK)
    member = tarfile.TarInfo.frombuf(header, "utf-8", "surrogateescape")
    if member.type != tarfile.XHDTYPE:
        return member
    blocks = header + await stream.readexactly(member.size + -member.size % BLOCK) + await stream.readexactly(BLOCK)
    with tarfile.open(fileobj=io.BytesIO(blocks), encoding="utf-8", errors="surrogateescape") as archive:
        return archive.next() or member


@contextlib.contextmanager
def _removed_if_it_fails(file: Any) -> Any:
    try:
        yield
    except BaseException:
        with contextlib.suppress(OSError):
            os.remove(file)
        raise

"""tarn://repository/ref/path for fsspec, so that pandas and others read and write branches; over the REST API.

What is written is staged on the branch: committing it is up to the caller (tarn.run does it)."""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextlib
import io
import os
import tempfile
import weakref
from collections.abc import AsyncIterator, Awaitable
from datetime import datetime, timezone
from pathlib import Path
from typing import Any, Callable, NoReturn, TypeVar

from fsspec.asyn import AsyncFileSystem, get_loop, sync
from fsspec.spec import AbstractBufferedFile

from tarn_data.archives import Archives
from tarn_data.asynchronous import AsyncServer, Body
from tarn_data.errors import Conflict, InvalidRequest, NotAllowed, NotFound, TarnError, Unavailable
from tarn_data.transport import Server, connect

SCHEMES = ("tarn://", "lakefs://")
DELETE_AT_ONCE = 1000
# Larger files are written by way of the disk, and sent from there.
WRITE_IN_MEMORY_BYTES = 8 * 1024 * 1024
CLOSE_SECONDS = 0.2

Result = TypeVar("Result")


class TarnFileSystem(AsyncFileSystem):  # type: ignore[misc]
    """`endpoint`, `access_key`, `secret_key` and `token` are storage options; else as tarn.connect() finds them."""

    protocol = "tarn"
    root_marker = ""
    cachable = True

    def __init__(
        self,
        endpoint: str | None = None,
        access_key: str | None = None,
        secret_key: str | None = None,
        token: str | None = None,
        server: Server | None = None,
        **options: Any,
    ) -> None:
        super().__init__(**options)
        self.server = server or connect(endpoint=endpoint, access_key=access_key, secret_key=secret_key, token=token)
        self._connected: tuple[AsyncServer, Archives] | None = None
        self._refs_found: set[tuple[str, str]] = set()
        self._pid = os.getpid()

    @property
    def loop(self) -> Any:
        """A forked process gets a loop, and with it connections, of its own."""
        if self._pid != os.getpid() and not self.asynchronous:
            self._pid, self._loop = os.getpid(), get_loop()
        return self._loop

    def _connection(self) -> tuple[AsyncServer, Archives]:
        """The connection of the running loop."""
        if self._connected is None or self._connected[0].loop is not asyncio.get_running_loop():
            made = AsyncServer(self.server)
            self._connected = made, Archives(made)
            weakref.finalize(self, _close, made, os.getpid())
        return self._connected

    @property
    def _remote(self) -> AsyncServer:
        return self._connection()[0]

    @classmethod
    def _strip_protocol(cls, path: Any) -> Any:
        if isinstance(path, list):
            return [cls._strip_protocol(one) for one in path]
        text = os.fspath(path)
        for scheme in SCHEMES:
            if text.startswith(scheme):
                text = text[len(scheme) :]
        return text.strip("/")

    async def _ls(self, path: str, detail: bool = True, **_: Any) -> list[Any]:
        path = self._strip_protocol(path)
        repo, ref, key = _parts(path)
        if not repo:
            found = [_directory(item["id"]) async for item in self._each(path, "repositories")]
        elif not ref:
            found = [_directory(f"{repo}/{item['id']}") async for item in self._each(path, "repositories", repo, "branches")]
        else:
            found = [item async for item in self._below(path, f"{key}/" if key else "", delimiter="/")]
            if not found and key:
                found = [await self._file_info(path)]
        return found if detail else [item["name"] for item in found]

    async def _info(self, path: str, **_: Any) -> dict[str, Any]:
        path = self._strip_protocol(path)
        repo, ref, key = _parts(path)
        if not key:
            if repo:
                await self._call(path, "GET", "repositories", repo, *(("commits", ref) if ref else ()))
            return _directory(path)
        try:
            return await self._file_info(path)
        except FileNotFoundError as error:
            if getattr(error.__cause__, "code", "") != "object_not_found":
                raise
            async for _item in self._below(path, f"{key}/", amount=1):
                return _directory(path)
            raise

    async def _find(
        self,
        path: str,
        maxdepth: int | None = None,
        withdirs: bool = False,
        detail: bool = False,
        prefix: str = "",
        **options: Any,
    ) -> Any:
        """One flat listing instead of one per directory."""
        path = self._strip_protocol(path)
        _, ref, key = _parts(path)
        if not ref or maxdepth is not None:
            return await super()._find(path, maxdepth=maxdepth, withdirs=withdirs, detail=detail, **options)
        files: dict[str, dict[str, Any]] = {}
        with contextlib.suppress(FileNotFoundError):
            async for item in self._below(path, (f"{key}/" if key else "") + prefix):
                files[item["name"]] = item
            if not files and key and not prefix:
                files = {path: await self._file_info(path)}
        if withdirs:
            for name in list(files):
                while len(name) > len(path) and (name := name.rpartition("/")[0]) not in files:
                    files[name] = _directory(name)
        names = sorted(files)
        return {name: files[name] for name in names} if detail else names

    def created(self, path: str) -> datetime:
        return self.modified(path)

    def modified(self, path: str) -> datetime:
        info = self.info(path)
        if info["type"] != "file":
            raise IsADirectoryError(path)
        return datetime.fromtimestamp(info["mtime"], timezone.utc)

    def ukey(self, path: str) -> str:
        return str(self.info(path).get("checksum", ""))

    def checksum(self, path: str) -> str:
        return self.ukey(path)

    async def _mkdir(self, path: str, create_parents: bool = True, **_: Any) -> None:
        """Directories are where objects are: there is nothing to make."""

    async def _makedirs(self, path: str, exist_ok: bool = False) -> None:
        """As mkdir."""

    def rmdir(self, path: str) -> None:
        """As mkdir; a directory goes with its last object."""

    async def _rm_file(self, path: str, **_: Any) -> None:
        repo, ref, key = self._object_parts(path)
        await self._file_info(path)
        await self._call(path, "DELETE", "repositories", repo, "branches", ref, "objects", query={"path": key})

    async def _rm(self, path: Any, recursive: bool = False, maxdepth: int | None = None, **_: Any) -> None:
        groups: dict[tuple[str, str], list[str]] = {}
        for one in await self._expand_path(path, recursive=recursive, maxdepth=maxdepth):
            repo, ref, key = _parts(one)
            if not key:
                if not recursive:
                    raise IsADirectoryError(f"{one}: is no object; recursive=True removes what is below")
                continue
            groups.setdefault((repo, ref), []).append(key)
        for (repo, ref), keys in groups.items():
            if recursive:
                await self._delete(repo, ref, keys)
            else:
                await asyncio.gather(*(self._rm_file(f"{repo}/{ref}/{key}") for key in keys))

    async def _delete(self, repo: str, branch: str, keys: list[str]) -> None:
        place = ("repositories", repo, "branches", branch, "objects", "delete")
        for begin in range(0, len(keys), DELETE_AT_ONCE):
            paths = keys[begin : begin + DELETE_AT_ONCE]
            answer = await self._call(f"{repo}/{branch}", "POST", *place, json={"paths": paths}, repeat=True)
            failed = (answer or {}).get("errors") or []
            if failed:
                raise OSError(f"{repo}/{branch}/{failed[0].get('path')}: {failed[0].get('message')}")

    async def _cp_file(self, path1: str, path2: str, **_: Any) -> None:
        """By reference within a repository: no bytes move."""
        source, target = self._strip_protocol(path1), self._strip_protocol(path2)
        repo, ref, key = _parts(source)
        to_repo, branch, to_key = self._object_parts(target)
        if not key:
            return
        try:
            if repo == to_repo:
                place = ("repositories", repo, "branches", branch, "objects", "copy")
                body = {"src_path": key, "src_ref": ref}
                await self._call(source, "POST", *place, query={"dest_path": to_key}, json=body, repeat=True)
            else:
                await self._cp_bytes(source, target)
        except FileNotFoundError:
            if not await self._isdir(source):
                raise

    async def _cp_bytes(self, source: str, target: str) -> None:
        with tempfile.SpooledTemporaryFile(WRITE_IN_MEMORY_BYTES) as spool:
            await self._fetch(source, spool)
            await self._send_file(target, spool)

    def _open(
        self,
        path: str,
        mode: str = "rb",
        block_size: Any = None,
        autocommit: bool = True,
        cache_options: dict[str, Any] | None = None,
        **options: Any,
    ) -> Any:
        self._object_parts(path)
        if mode == "rb":
            return TarnFile(self, path, mode, block_size or "default", autocommit, cache_options=cache_options, **options)
        if mode in ("wb", "xb"):
            return TarnUpload(self, path, mode, autocommit)
        raise ValueError(f"{path}: mode {mode!r}: objects are read, or written anew: use 'rb', 'wb' or 'xb'")

    async def _cat_file(self, path: str, start: int | None = None, end: int | None = None, **_: Any) -> bytes:
        if (start or 0) < 0 or (end or 0) < 0:
            size = (await self._info(path))["size"]
            start, end = (None if at is None else max(0, size + at) if at < 0 else at for at in (start, end))
        if end is not None and end <= (start or 0):
            return b""
        if start or end is not None:
            return (await self._read_range(path, start, end))[0]
        repo, ref, key = self._object_parts(path)
        return await self._ask(path, lambda: self._connection()[1].content(repo, ref, key))

    async def _cat(self, path: Any, recursive: bool = False, on_error: str = "raise", **options: Any) -> Any:
        """`recursive` reads the files below directories; their names are then no patterns."""
        if not recursive:
            return await super()._cat(path, on_error=on_error, **options)
        below = [await self._find(one) for one in await self._expand_path(path)]
        names = sorted({name for names in below for name in names})
        contents = await asyncio.gather(*(self._cat_file(name) for name in names), return_exceptions=on_error != "raise")
        found = dict(zip(names, contents))
        return {name: one for name, one in found.items() if on_error == "return" or not isinstance(one, BaseException)}

    async def _get_file(self, rpath: str, lpath: Any, **_: Any) -> None:
        if hasattr(lpath, "write"):
            await self._fetch(rpath, lpath)
        elif not os.path.isdir(lpath):
            repo, ref, key = self._object_parts(rpath)
            await self._ask(rpath, lambda: self._connection()[1].content(repo, ref, key, lpath))

    async def _fetch(self, path: str, into: Any) -> None:
        repo, ref, key = self._object_parts(path)
        await self._ask(path, lambda: self._connection()[1].single(repo, ref, key, into))

    async def _pipe_file(self, path: str, value: Any, mode: str = "overwrite", **_: Any) -> None:
        await self._send(path, bytes(value), mode)

    async def _put_file(self, lpath: Any, rpath: str, mode: str = "overwrite", **_: Any) -> None:
        if os.path.isdir(lpath):
            return
        if os.path.getsize(lpath) <= WRITE_IN_MEMORY_BYTES:
            await self._send(rpath, Path(lpath).read_bytes, mode)
            return
        with open(lpath, "rb") as content:
            await self._send_file(rpath, content, mode)

    async def _send(self, path: str, body: Body, mode: str) -> None:
        repo, branch, key = self._object_parts(path)
        headers = {"Content-Type": "application/octet-stream"}
        if mode == "create":
            headers["If-None-Match"] = "*"
        place = ("repositories", repo, "branches", branch, "objects")
        await self._call(path, "POST", *place, query={"path": key}, body=body, headers=headers, repeat=mode != "create")

    async def _send_file(self, path: str, content: Any, mode: str = "overwrite") -> None:
        """In a thread, which streams it."""
        repo, branch, key = self._object_parts(path)
        exclusive = mode == "create"
        await self._ask(path, lambda: asyncio.to_thread(self.server.upload, repo, branch, key, content, exclusive))

    async def _read_range(self, path: str, start: int | None = None, end: int | None = None) -> tuple[bytes, str]:
        """Bytes [start, end) and the object's ETag."""
        repo, ref, key = self._object_parts(path)
        headers = {"Range": f"bytes={start or 0}-{'' if end is None else end - 1}"}
        place = ("repositories", repo, "refs", ref, "objects")

        async def take(answer: Any) -> tuple[bytes, str]:
            return await answer.read(), answer.headers.get("ETag", "").strip('"')

        async def read() -> tuple[bytes, str]:
            try:
                return await self._remote.request("GET", *place, query={"path": key}, headers=headers, take=take)
            except InvalidRequest as error:
                if error.status == 416:
                    return b"", ""
                raise

        return await self._ask(path, read)

    def read_range(self, path: str, start: int, end: int) -> tuple[bytes, str]:
        return sync(self.loop, self._read_range, path, start, end)  # type: ignore[no-any-return]

    async def _file_info(self, path: str) -> dict[str, Any]:
        repo, ref, key = self._object_parts(path)
        place = ("repositories", repo, "refs", ref, "objects", "stat")
        return _info(repo, ref, await self._call(path, "GET", *place, query={"path": key}))

    async def _below(
        self, path: str, prefix: str, delimiter: str = "", amount: int | None = None
    ) -> AsyncIterator[dict[str, Any]]:
        repo, ref, _ = _parts(path)
        query: dict[str, Any] = {"prefix": prefix or None, "delimiter": delimiter or None}
        if amount:
            query["amount"] = amount
        async for item in self._each(path, "repositories", repo, "refs", ref, "objects", "ls", query=query):
            if item["path_type"] == "common_prefix":
                yield _directory(f"{repo}/{ref}/{item['path'].rstrip('/')}")
            elif item["path"] != prefix:
                yield _info(repo, ref, item)

    async def _each(self, path: str, *place: str, query: Any = None) -> AsyncIterator[dict[str, Any]]:
        try:
            async for item in self._remote.each(*place, query=query):
                yield item
        except TarnError as error:
            _raise_as_os_error(path, error)

    async def _call(self, path: str, method: str, *place: str, **options: Any) -> Any:
        return await self._ask(path, lambda: self._remote.call(method, *place, **options))

    def _object_parts(self, path: str) -> tuple[str, str, str]:
        repo, ref, key = _parts(self._strip_protocol(path))
        if not key:
            raise ValueError(f"{path}: expected tarn://repository/ref/path")
        return repo, ref, key

    async def _ask(self, path: str, question: Callable[[], Awaitable[Result]]) -> Result:
        """Errors as Python's file functions raise them."""
        try:
            return await question()
        except TarnError as error:
            if error.code == "object_not_found":
                await self._demand_ref(path)
            _raise_as_os_error(path, error)

    async def _demand_ref(self, path: str) -> None:
        """Reads of objects do not tell whether it is the branch that is missing. Asked once for each."""
        repo, ref, _ = self._object_parts(path)
        if (repo, ref) in self._refs_found:
            return
        try:
            await self._remote.call("GET", "repositories", repo, "commits", ref)
        except NotFound as error:
            _raise_as_os_error(path, error)
        except TarnError:
            return  # for example not allowed
        self._refs_found.add((repo, ref))


class TarnFile(AbstractBufferedFile):  # type: ignore[misc]
    """An object, read in ranges; that they are all of the same bytes is checked."""

    def _fetch_range(self, start: int, end: int) -> bytes:
        content, etag = self.fs.read_range(self.path, start, end)
        if etag != self.details["checksum"] and content:
            raise OSError(f"{self.path}: was written anew while it was read; read from a tag or a commit, or again")
        return bytes(content)


class TarnUpload(io.BufferedIOBase):
    """Collects what is written; the object is there, whole, when it is closed. After an exception in a `with` block
    nothing is uploaded."""

    def __init__(self, fs: TarnFileSystem, path: str, mode: str, autocommit: bool) -> None:
        self.fs = fs
        self.path = path
        self.mode = mode
        self.autocommit = autocommit
        self._exclusive = mode == "xb"
        self._spool: Any = tempfile.SpooledTemporaryFile(WRITE_IN_MEMORY_BYTES)  # noqa: SIM115

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        return int(self._spool.write(data))

    def tell(self) -> int:
        return int(self._spool.tell())

    def flush(self) -> None:
        """Nothing is there before close()."""

    def close(self) -> None:
        if self.closed:
            return
        try:
            if self.autocommit and self._spool is not None:
                self.commit()
        finally:
            super().close()

    def commit(self) -> None:
        """Uploads; fsspec's transactions call it at their end."""
        repo, branch, key = self.fs._object_parts(self.path)
        spool, self._spool = self._spool, None
        try:
            with spool:
                self.fs.server.upload(repo, branch, key, spool, self._exclusive)
        except TarnError as error:
            _raise_as_os_error(self.path, error)

    def discard(self) -> None:
        if self._spool is not None:
            self._spool.close()
            self._spool = None

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        if kind is not None:
            self.discard()
        self.close()


def _parts(path: str) -> tuple[str, str, str]:
    repo, _, rest = path.partition("/")
    ref, _, key = rest.partition("/")
    return repo, ref, key


def _directory(name: str) -> dict[str, Any]:
    return {"name": name, "size": 0, "type": "directory"}


def _info(repo: str, ref: str, stats: dict[str, Any]) -> dict[str, Any]:
    return {
        "name": f"{repo}/{ref}/{stats['path']}",
        "size": stats.get("size_bytes", 0),
        "type": "file",
        "checksum": stats["checksum"],
        "mtime": stats["mtime"],
    }


def _close(connection: AsyncServer, pid: int) -> None:
    """Called when its file system is collected, in any thread, or when the interpreter exits."""
    if os.getpid() != pid:
        return  # Connections belong to the process that made them.
    loop = connection.loop
    with contextlib.suppress(RuntimeError):
        if asyncio.get_running_loop() is loop:
            loop.create_task(connection.session.close())
            return
    if loop.is_running():
        with contextlib.suppress(concurrent.futures.TimeoutError):
            asyncio.run_coroutine_threadsafe(connection.session.close(), loop).result(CLOSE_SECONDS)
    elif connection.session.connector is not None:
        connection.session.connector._close()


def _raise_as_os_error(path: str, error: TarnError) -> NoReturn:
    if isinstance(error, NotFound):
        raise FileNotFoundError(f"{path}: {_what_is_missing(path, error)}") from error
    if isinstance(error, NotAllowed):
        raise PermissionError(f"{path}: {error}") from error
    if isinstance(error, Conflict) and error.status == 412:
        raise FileExistsError(f"{path}: {error}") from error
    if isinstance(error, Unavailable) and not error.status:
        raise ConnectionError(f"{path}: {error}") from error
    raise OSError(f"{path}: {error}") from error


def _what_is_missing(path: str, error: NotFound) -> str:
    """The server's own words do not always name it."""
    repo, ref, key = _parts(str(TarnFileSystem._strip_protocol(path)))
    if error.code == "repository_not_found":
        return f"repository {repo!r} not found"
    if error.code == "branch_not_found":
        return f"branch {ref!r} not found in repository {repo!r}"
    if error.code == "object_not_found":
        return f"object {key!r} not found in {repo}/{ref}"
    if error.code in ("ref_not_found", "alias_not_found", "tag_not_found", "commit_not_found"):
        return f"branch, tag, alias or commit {ref!r} not found in repository {repo!r}"
    return str(error)

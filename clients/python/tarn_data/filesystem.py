"""tarn://repository/ref/path for fsspec, so that pandas and others read and write branches; over the REST API.

What is written is staged on the branch: committing it is up to the caller (tarn.run does it)."""

from __future__ import annotations

import io
import os
import tempfile
from collections.abc import Iterator
from datetime import datetime, timezone
from typing import Any, Callable, NoReturn, TypeVar

from fsspec.spec import AbstractBufferedFile, AbstractFileSystem

from tarn_data.errors import Conflict, InvalidRequest, NotAllowed, NotFound, TarnError
from tarn_data.transport import Server, connect

SCHEMES = ("tarn://", "lakefs://")
DELETE_AT_ONCE = 1000
LIST_AT_ONCE = 1000
# Larger files are written by way of the disk.
WRITE_IN_MEMORY_BYTES = 8 * 1024 * 1024

Result = TypeVar("Result")


class TarnFileSystem(AbstractFileSystem):  # type: ignore[misc]
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

    @classmethod
    def _strip_protocol(cls, path: Any) -> Any:
        if isinstance(path, list):
            return [cls._strip_protocol(one) for one in path]
        text = os.fspath(path)
        for scheme in SCHEMES:
            if text.startswith(scheme):
                text = text[len(scheme) :]
        return text.strip("/")

    def ls(self, path: str, detail: bool = True, **_: Any) -> list[Any]:
        path = self._strip_protocol(path)
        repo, ref, key = _parts(path)
        if not repo:
            found = [_directory(item["id"]) for item in self._each(path, "repositories")]
        elif not ref:
            found = [_directory(f"{repo}/{item['id']}") for item in self._each(path, "repositories", repo, "branches")]
        else:
            found = list(self._below(path, f"{key}/" if key else "", delimiter="/"))
            if not found and key:
                found = [self._file_info(path)]
        return found if detail else [item["name"] for item in found]

    def info(self, path: str, **_: Any) -> dict[str, Any]:
        path = self._strip_protocol(path)
        repo, ref, key = _parts(path)
        if not key:
            if ref:
                self._ask(path, lambda: self.server.call("GET", "repositories", repo, "commits", ref))
            elif repo:
                self._ask(path, lambda: self.server.call("GET", "repositories", repo))
            return _directory(path)
        try:
            return self._file_info(path)
        except FileNotFoundError:
            if next(self._below(path, f"{key}/", amount=1), None) is None:
                raise
            return _directory(path)

    def find(self, path: str, maxdepth: int | None = None, withdirs: bool = False, detail: bool = False, **options: Any) -> Any:
        """One flat listing instead of one per directory."""
        path = self._strip_protocol(path)
        _, ref, key = _parts(path)
        if not ref or maxdepth is not None or withdirs:
            return super().find(path, maxdepth=maxdepth, withdirs=withdirs, detail=detail, **options)
        try:
            files = {item["name"]: item for item in self._below(path, f"{key}/" if key else "")}
            if not files and key:
                files = {path: self._file_info(path)}
        except FileNotFoundError:
            files = {}
        return files if detail else sorted(files)

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

    def mkdir(self, path: str, create_parents: bool = True, **_: Any) -> None:
        """Directories are where objects are: there is nothing to make."""

    def makedirs(self, path: str, exist_ok: bool = False) -> None:
        """As mkdir."""

    def rmdir(self, path: str) -> None:
        """As mkdir; a directory goes with its last object."""

    def rm_file(self, path: str) -> None:
        repo, ref, key = self._object_parts(path)
        self._ask(
            path, lambda: self.server.call("GET", "repositories", repo, "refs", ref, "objects", "stat", query={"path": key})
        )
        self._ask(
            path, lambda: self.server.request("DELETE", "repositories", repo, "branches", ref, "objects", query={"path": key})
        )

    def _rm(self, path: str) -> None:
        self.rm_file(path)

    def rm(self, path: Any, recursive: bool = False, maxdepth: int | None = None) -> None:
        groups: dict[tuple[str, str], list[str]] = {}
        for one in self.expand_path(path, recursive=recursive, maxdepth=maxdepth):
            repo, ref, key = _parts(one)
            if not key:
                if not recursive:
                    raise IsADirectoryError(f"{one}: is no object; recursive=True removes what is below")
                continue
            groups.setdefault((repo, ref), []).append(key)
        for (repo, ref), keys in groups.items():
            self._delete(repo, ref, keys, recursive)

    def cp_file(self, path1: str, path2: str, **_: Any) -> None:
        """By reference within a repository: no bytes move."""
        source, target = self._strip_protocol(path1), self._strip_protocol(path2)
        repo, ref, key = _parts(source)
        to_repo, branch, to_key = self._object_parts(target)
        if not key or self.info(source)["type"] == "directory":
            return
        if repo == to_repo:
            self._ask(
                path1,
                lambda: self.server.call(
                    "POST",
                    "repositories",
                    repo,
                    "branches",
                    branch,
                    "objects",
                    "copy",
                    repeat=True,
                    query={"dest_path": to_key},
                    json={"src_path": key, "src_ref": ref},
                ),
            )
            return
        with self.open(source, "rb") as reader, self.open(target, "wb") as writer:
            while chunk := reader.read(self.blocksize):
                writer.write(chunk)

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

    def cat_file(self, path: str, start: int | None = None, end: int | None = None, **_: Any) -> bytes:
        if (start or 0) < 0 or (end is not None and end < 0):
            return bytes(super().cat_file(path, start=start, end=end))
        if end is not None and end <= (start or 0):
            return b""
        return self.read_range(path, start, end)[0]

    def pipe_file(self, path: str, value: Any, mode: str = "overwrite", **_: Any) -> None:
        repo, branch, key = self._object_parts(path)
        self._ask(path, lambda: self.server.upload(repo, branch, key, bytes(value), exclusive=mode == "create"))

    def put_file(self, lpath: Any, rpath: str, callback: Any = None, mode: str = "overwrite", **_: Any) -> None:
        if os.path.isdir(lpath):
            return
        repo, branch, key = self._object_parts(rpath)
        with open(lpath, "rb") as content:
            self._ask(rpath, lambda: self.server.upload(repo, branch, key, content, exclusive=mode == "create"))

    def read_range(self, path: str, start: int | None = None, end: int | None = None) -> tuple[bytes, str]:
        """Bytes [start, end) and the object's ETag."""
        repo, ref, key = self._object_parts(path)
        headers = {}
        if start or end is not None:
            headers["Range"] = f"bytes={start or 0}-{'' if end is None else end - 1}"

        def read() -> tuple[bytes, str]:
            try:
                answer = self.server.request(
                    "GET", "repositories", repo, "refs", ref, "objects", query={"path": key}, headers=headers
                )
            except InvalidRequest as error:
                if error.status == 416:
                    return b"", ""
                raise
            return answer.content, answer.headers.get("ETag", "").strip('"')

        return self._ask(path, read)

    def _delete(self, repo: str, branch: str, keys: list[str], recursive: bool) -> None:
        if not recursive:
            for key in keys:
                self.rm_file(f"{repo}/{branch}/{key}")
            return
        for begin in range(0, len(keys), DELETE_AT_ONCE):
            paths = keys[begin : begin + DELETE_AT_ONCE]

            def delete(batch: list[str] = paths) -> Any:
                return self.server.call(
                    "POST", "repositories", repo, "branches", branch, "objects", "delete", json={"paths": batch}, repeat=True
                )

            failed = (self._ask(f"{repo}/{branch}", delete) or {}).get("errors") or []
            if failed:
                raise OSError(f"{repo}/{branch}/{failed[0].get('path')}: {failed[0].get('message')}")

    def _file_info(self, path: str) -> dict[str, Any]:
        repo, ref, key = self._object_parts(path)
        return _info(
            repo,
            ref,
            self._ask(
                path, lambda: self.server.call("GET", "repositories", repo, "refs", ref, "objects", "stat", query={"path": key})
            ),
        )

    def _below(self, path: str, prefix: str, delimiter: str = "", amount: int = LIST_AT_ONCE) -> Iterator[dict[str, Any]]:
        repo, ref, _ = _parts(path)
        query = {"prefix": prefix or None, "delimiter": delimiter or None, "amount": amount}
        for item in self._each(path, "repositories", repo, "refs", ref, "objects", "ls", query=query):
            if item["path_type"] == "common_prefix":
                yield _directory(f"{repo}/{ref}/{item['path'].rstrip('/')}")
            elif item["path"] != prefix:
                yield _info(repo, ref, item)

    def _each(self, path: str, *place: str, query: Any = None) -> Iterator[dict[str, Any]]:
        items = self.server.each(*place, query=query)
        while True:
            item = self._ask(path, lambda: next(items, None))
            if item is None:
                return
            yield item

    def _object_parts(self, path: str) -> tuple[str, str, str]:
        repo, ref, key = _parts(self._strip_protocol(path))
        if not key:
            raise ValueError(f"{path}: expected tarn://repository/ref/path")
        return repo, ref, key

    @staticmethod
    def _ask(path: str, question: Callable[[], Result]) -> Result:
        """Errors as Python's file functions raise them."""
        try:
            return question()
        except TarnError as error:
            _raise_as_os_error(path, error)


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
        with spool:
            self.fs._ask(self.path, lambda: self.fs.server.upload(repo, branch, key, spool, self._exclusive))

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


def _raise_as_os_error(path: str, error: TarnError) -> NoReturn:
    if isinstance(error, NotFound):
        raise FileNotFoundError(f"{path}: {error}") from error
    if isinstance(error, NotAllowed):
        raise PermissionError(f"{path}: {error}") from error
    if isinstance(error, Conflict) and error.status == 412:
        raise FileExistsError(f"{path}: {error}") from error
    raise OSError(f"{path}: {error}") from error

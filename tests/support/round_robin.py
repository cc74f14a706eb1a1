"""An address behind which several HTTP servers take turns, request by request.

usage: round_robin.py READY_FILE HOST:PORT ...

Requests and answers pass byte for byte, also those that break the rules of HTTP: a connection whose framing cannot be
followed is handed to one server for the rest of its life. Writes its own HOST:PORT to READY_FILE; ends with SIGTERM."""

import asyncio
import contextlib
import itertools
import sys
from pathlib import Path

PIECE_BYTES = 1 << 16
HEAD_BYTES_MAX = 1 << 20
LINGER_SECONDS = 5


class Unframed(Exception):
    """The body's end cannot be determined from the head."""


def fields(head):
    """(first line, {lower-case name: value}) of a head; a name twice, or a line that is none, is Unframed."""
    first, *lines = head.decode("latin-1").removesuffix("\r\n\r\n").split("\r\n")
    found = {}
    for line in lines:
        name, colon, value = line.partition(":")
        name = name.lower()
        if not colon or name != name.strip() or (name in ("content-length", "transfer-encoding") and name in found):
            raise Unframed
        found[name] = value.strip()
    if "content-length" in found and "transfer-encoding" in found:
        raise Unframed
    return first, found


async def pump(reader, writer):
    while piece := await reader.read(PIECE_BYTES):
        writer.write(piece)
        await writer.drain()
    if writer.can_write_eof():
        writer.write_eof()


async def copy_bytes(reader, writer, count):
    while count > 0:
        piece = await reader.read(min(count, PIECE_BYTES))
        if not piece:
            writer.write_eof()
            raise Unframed
        count -= len(piece)
        writer.write(piece)
        await writer.drain()


async def copy_chunks(reader, writer):
    while True:
        line = await reader.readline()
        writer.write(line)
        try:
            size = int(line.partition(b";")[0].strip(), 16)
        except ValueError:
            raise Unframed from None
        if size == 0:
            while (line := await reader.readline()).strip():  # trailers
                writer.write(line)
            writer.write(line)
            return await writer.drain()
        await copy_bytes(reader, writer, size + 2)


async def copy_body(headers, reader, writer):
    if "transfer-encoding" in headers:
        if headers["transfer-encoding"].lower() != "chunked":
            raise Unframed
        await copy_chunks(reader, writer)
    elif "content-length" in headers:
        if not headers["content-length"].isdecimal():
            raise Unframed
        await copy_bytes(reader, writer, int(headers["content-length"]))


async def copy_request_body(headers, reader, writer):
    try:
        await copy_body(headers, reader, writer)
    except Unframed:
        await pump(reader, writer)


async def copy_answer(method, reader, writer):
    """Returns whether the connection goes on."""
    while True:
        head = await reader.readuntil(b"\r\n\r\n")
        writer.write(head)
        await writer.drain()
        first, headers = fields(head)
        status = int(first.split(" ")[1])
        if status >= 200:
            break
    if method != "HEAD" and status not in (204, 304):
        if "content-length" not in headers and "transfer-encoding" not in headers:
            raise Unframed
        await copy_body(headers, reader, writer)
    return headers.get("connection", "").lower() != "close"


class Connection:
    """One client; it has at most one connection to each server."""

    def __init__(self, servers, turns, reader, writer):
        self.servers, self.turns, self.reader, self.writer = servers, turns, reader, writer
        self.open = {}

    async def server(self):
        number = next(self.turns) % len(self.servers)
        if number not in self.open or self.open[number][0].at_eof():
            self.open[number] = await asyncio.open_connection(*self.servers[number], limit=HEAD_BYTES_MAX)
        return self.open[number]

    async def run(self):
        try:
            while await self.one_request():
                pass
        except (OSError, EOFError, Unframed, asyncio.LimitOverrunError):
            pass
        finally:
            for writer in (self.writer, *(w for _, w in self.open.values())):
                writer.close()

    async def one_request(self):
        try:
            head = await self.reader.readuntil(b"\r\n\r\n")
            first, headers = fields(head)
        except asyncio.IncompleteReadError as short:
            if short.partial:
                await self.tunnel(short.partial)
            return False
        except Unframed:
            await self.tunnel(head)
            return False
        reader, writer = await self.server()
        writer.write(head)
        body = asyncio.create_task(copy_request_body(headers, self.reader, writer))
        try:
            if not await copy_answer(first.partition(" ")[0], reader, self.writer):
                await self.linger(body)
                return False
            await body
            return True
        except Unframed:
            await pump(reader, self.writer)
            return False
        finally:
            body.cancel()
            await asyncio.gather(body, return_exceptions=True)

    async def linger(self, body):
        """The client may still be sending: closing now would take the answer from it."""
        body.cancel()
        await asyncio.gather(body, return_exceptions=True)
        if self.writer.can_write_eof():
            self.writer.write_eof()
        with contextlib.suppress(asyncio.TimeoutError):
            async with asyncio.timeout(LINGER_SECONDS):
                while await self.reader.read(PIECE_BYTES):
                    pass

    async def tunnel(self, begun):
        reader, writer = await self.server()
        writer.write(begun)
        up = asyncio.create_task(pump(self.reader, writer))
        try:
            await pump(reader, self.writer)
        finally:
            up.cancel()
            await asyncio.gather(up, return_exceptions=True)


async def main(ready_file, *servers):
    servers = [server.rsplit(":", 1) for server in servers]
    turns = itertools.count()

    async def serve(reader, writer):
        await Connection(servers, turns, reader, writer).run()

    listener = await asyncio.start_server(serve, "127.0.0.1", 0, limit=HEAD_BYTES_MAX)
    host, port = listener.sockets[0].getsockname()
    Path(ready_file).write_text(f"{host}:{port}")
    await listener.serve_forever()


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))

"""A TCP proxy that adds a fixed delay: what it reads it passes on so much later, in either direction.

delay.py PORT MILLISECONDS TARGET_HOST:TARGET_PORT
A round trip through it takes twice as long. It listens on the loopback interface.
"""

import asyncio
import contextlib
import sys

CHUNK_BYTES = 256 * 1024
CHUNKS_MAX = 256  # of one direction of one connection that are on their way


async def pass_on(reader, writer, seconds):
    loop = asyncio.get_running_loop()
    waiting = asyncio.Queue(CHUNKS_MAX)

    async def deliver():
        while (item := await waiting.get()) is not None:
            moment, chunk = item
            if (pause := moment - loop.time()) > 0:
                await asyncio.sleep(pause)
            writer.write(chunk)
            await writer.drain()
        writer.close()

    delivery = asyncio.create_task(deliver())
    try:
        while chunk := await reader.read(CHUNK_BYTES):
            await waiting.put((loop.time() + seconds, chunk))
    except ConnectionError:
        pass
    await waiting.put(None)
    with contextlib.suppress(ConnectionError):
        await delivery


async def main(port, milliseconds, target):
    host, target_port = target.rsplit(":", 1)
    seconds = float(milliseconds) / 1000

    async def serve(reader, writer):
        their_reader, their_writer = await asyncio.open_connection(host, int(target_port))
        await asyncio.gather(pass_on(reader, their_writer, seconds), pass_on(their_reader, writer, seconds))

    server = await asyncio.start_server(serve, "127.0.0.1", int(port), backlog=1024)
    async with server:
        await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))

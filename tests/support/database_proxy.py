"""An address in front of PostgreSQL that loses answers, delays statements and breaks connections, at random.

usage: database_proxy.py READY_FILE PORT SEED

Passes all through until SIGUSR1; SIGUSR2 stops the faults again. A statement that has been seen seldom is chosen more often,
so that those which end a rare verb are not forgotten. A lost answer is one whose transaction is over: what it did stays, and
only then the connection breaks, at once or after a while. SIGTERM ends it and prints how often which statement was hit."""

import asyncio
import collections
import json
import random
import signal
import sys
from pathlib import Path

LOST_SHARE = 0.002
LOST_SHARE_OF_RARE = 0.2  # divided by how often the statement was seen
DELAYED_SHARE = 0.02
DELAYED_SHARE_OF_RARE = 0.5
DELAY_SECONDS = (0.002, 0.1)
BEFORE_SHARE = 0.2  # of the broken connections: before the statement is sent
HOLD_SECONDS = (0.0, 0.4)  # from the lost answer to the end of the connection
READY_FOR_QUERY = b"Z\0\0\0\5I"  # outside a transaction


class Faults:
    def __init__(self, seed):
        self.random = random.Random(seed)
        self.on = False
        self.seen = collections.Counter()
        self.lost = collections.Counter()
        self.connections = set()

    def fate(self, statement):
        """pass, delay, lose (the answer) or cut (before it is sent)."""
        self.seen[statement] += 1
        if not self.on:
            return "pass"
        rare = 1 / self.seen[statement] ** 0.7
        chance = self.random.random()
        if chance < LOST_SHARE + LOST_SHARE_OF_RARE * rare:
            self.lost[statement] += 1
            return "cut" if self.random.random() < BEFORE_SHARE else "lose"
        return "delay" if chance < DELAYED_SHARE + DELAYED_SHARE_OF_RARE * rare else "pass"


class ToServer(asyncio.Protocol):
    def __init__(self, client):
        self.client = client

    def connection_made(self, transport):
        self.client.server_is(transport)

    def data_received(self, data):
        self.client.answered(data)

    def connection_lost(self, _):
        self.client.end()


class FromClient(asyncio.Protocol):
    text_bytes = 60  # of a statement that are kept

    def __init__(self, faults, port):
        self.faults, self.port = faults, port
        self.client = self.server = None
        self.waiting = []
        self.names = {}  # SQL by the name it was prepared under
        self.losing = self.ended = False

    def connection_made(self, transport):
        self.client = transport
        self.faults.connections.add(self)
        task = asyncio.ensure_future(asyncio.get_running_loop().create_connection(lambda: ToServer(self), "127.0.0.1", self.port))
        task.add_done_callback(lambda done: done.exception() and self.end())

    def connection_lost(self, _):
        self.end()

    def server_is(self, transport):
        if self.ended:
            return transport.abort()
        self.server = transport
        for data in self.waiting:
            transport.write(data)
        self.waiting.clear()

    def data_received(self, data):
        fate = "pass"
        for statement in self.statements(data):
            fate = self.faults.fate(statement)
            if fate != "pass":
                break
        if fate == "cut":
            return self.end()
        self.losing = self.losing or fate == "lose"
        if fate == "delay":
            self.client.pause_reading()
            wait = self.faults.random.uniform(*DELAY_SECONDS)
            asyncio.get_running_loop().call_later(wait, self.go_on, data)
        else:
            self.pass_on(data)

    def go_on(self, data):
        if not self.ended:
            self.pass_on(data)
            self.client.resume_reading()

    def pass_on(self, data):
        if self.server is None:
            self.waiting.append(data)
        else:
            self.server.write(data)

    def statements(self, data):
        """The first words of what is run, read from messages that begin in this piece."""
        found, at = [], 0
        while at + 5 <= len(data):
            kind, size = data[at : at + 1], int.from_bytes(data[at + 1 : at + 5], "big")
            body = data[at + 5 : at + 1 + size]
            at += 1 + size
            if kind == b"P":
                name, _, rest = body.partition(b"\0")
                self.names[name] = b" ".join(rest.partition(b"\0")[0].split())[: self.text_bytes]
            elif kind == b"B":
                name = body.partition(b"\0")[2].partition(b"\0")[0]
                found.append(self.names.get(name, b"?"))
            elif kind == b"Q":
                found.append(b" ".join(body.rstrip(b"\0").split())[: self.text_bytes])
            elif kind not in b"EDSCHXdcfp" or size < 4:
                break  # the start of a session, or a message cut in two
        return found

    def answered(self, data):
        if self.ended:
            return
        if not self.losing:
            self.client.write(data)
        elif data.endswith(READY_FOR_QUERY):
            wait = self.faults.random.uniform(*HOLD_SECONDS) if self.faults.random.random() < 0.5 else 0
            asyncio.get_running_loop().call_later(wait, self.end)
        else:
            self.client.write(data)  # of a statement inside a transaction: its COMMIT is still to come

    def end(self):
        if self.ended:
            return
        self.ended = True
        self.faults.connections.discard(self)
        for transport in (self.client, self.server):
            if transport is not None:
                transport.abort()


async def main(ready_file, port, seed):
    loop = asyncio.get_running_loop()
    faults = Faults(int(seed))
    stopped = asyncio.Event()
    loop.add_signal_handler(signal.SIGUSR1, lambda: setattr(faults, "on", True))
    loop.add_signal_handler(signal.SIGUSR2, lambda: setattr(faults, "on", False))
    loop.add_signal_handler(signal.SIGTERM, stopped.set)
    listener = await loop.create_server(lambda: FromClient(faults, int(port)), "127.0.0.1", 0)
    Path(ready_file).write_text(str(listener.sockets[0].getsockname()[1]))
    await stopped.wait()
    print(json.dumps({name.decode(): count for name, count in faults.lost.most_common()}, indent=1))


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))

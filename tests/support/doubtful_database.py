"""An address in front of PostgreSQL that loses one chosen statement, or its answer, and may be away afterwards."""

import asyncio
import random
import threading

import database_proxy


class FromClient(database_proxy.FromClient):
    text_bytes = 4000

    def __init__(self, faults, port):
        super().__init__(faults, port)
        self.inside = self.chosen = self.doomed = False

    def connection_made(self, transport):
        if self.faults.away:
            self.ended = True
            return transport.abort()
        super().connection_made(transport)

    def data_received(self, data):
        """A statement in a transaction is lost with its COMMIT: before that the server knows that it is not done."""
        statements = self.statements(data)
        self.inside = self.inside or b"BEGIN" in statements
        self.chosen = self.chosen or any(self.faults.takes(statement) for statement in statements)
        if self.chosen and (not self.inside or b"COMMIT" in statements):
            self.chosen, self.doomed = False, True
            self.losing = self.faults.begin()
            if not self.losing:
                return self.end()
        self.inside = self.inside and not {b"COMMIT", b"ROLLBACK"} & set(statements)
        self.pass_on(data)

    def end(self):
        if not self.ended:
            super().end()
            if self.doomed:
                self.faults.end_all()


class DoubtfulDatabase:
    """Runs in a thread of the test. url: what servers connect to."""

    def __init__(self, database):
        self.random, self.connections = random.Random(0), set()
        self.text, self.answer, self.stays_away, self.away = None, False, False, False
        self.met = threading.Event()
        self.loop = asyncio.new_event_loop()
        self.listener = self.loop.run_until_complete(
            self.loop.create_server(lambda: FromClient(self, database.port), "127.0.0.1", 0)
        )
        self.url = f"postgresql://postgres@127.0.0.1:{self.listener.sockets[0].getsockname()[1]}/tarn?sslmode=disable"
        self.thread = threading.Thread(target=self.loop.run_forever)
        self.thread.start()

    def lose(self, text, answer, stays_away=False):
        """Of the next statement that holds `text`: its answer when it is done, or the statement before it is sent."""
        self.met.clear()
        self.answer, self.stays_away, self.text = answer, stays_away, text.encode()

    def takes(self, statement):
        if self.text is None or self.text not in statement:
            return False
        self.text = None
        return True

    def begin(self):
        """Whether the answer is lost; otherwise the statement."""
        self.away = self.stays_away
        self.met.set()
        return self.answer

    def end_all(self):
        """The other connections of the server break as well while it is away."""
        for connection in list(self.connections) if self.away else []:
            connection.end()

    def come_back(self):
        self.away = False

    def stop(self):
        self.away = True
        self.loop.call_soon_threadsafe(lambda: [connection.end() for connection in list(self.connections)])
        self.loop.call_soon_threadsafe(self.listener.close)
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join()
        self.loop.close()

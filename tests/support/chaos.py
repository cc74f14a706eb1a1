"""Two servers, each behind a proxy of its own to one PostgreSQL, and what happens to them while clients use them."""

import contextlib
import os
import signal
import subprocess
import sys
import time

import requests
import servers
from shifted_clock import ShiftedClock

SETTLE_SECONDS = servers.LEASE_SECONDS + 15
BRANCH_WAIT_SECONDS = 60
CLOCK_SHIFTS = (0, 240)
STOP_SECONDS = 2  # longer than a read lease
STOP_SECONDS_LONG = servers.LEASE_SECONDS + 3


def measured(server, *names):
    text = requests.get(f"{server.url}/metrics", timeout=20).text
    found = [float(line.split()[1]) for line in text.splitlines() if line.startswith(tuple(f"{name} " for name in names))]
    assert len(found) == len(names), text[:300]
    return found


class Chaos:
    """Two servers, each behind a proxy of its own to one PostgreSQL, and what happens to them."""

    pause = 0  # seconds between the operations of a client on objects

    def __init__(self, directory, chance, long_tests):
        self.directory, self.chance, self.long_tests = directory, chance, long_tests
        self.database = servers.Postgres(directory / "postgres")
        self.imports = directory / "import"
        self.proxies, self.servers = [], []
        kinds = [self.kill_server, self.restart_database, self.kill_backend, self.stop_server]
        wanted = os.environ.get("TARN_HISTORY_FAULTS")
        self.kinds = [kind for kind in kinds if wanted is None or kind.__name__ in wanted.split(",")]
        self.connections = wanted is None or "connections" in wanted.split(",")

    def start(self):
        directory = self.directory
        self.database.start()
        clock = ShiftedClock(directory)
        shared = {
            "TARN_STORE_LOCAL_ROOT": directory / "objects",
            "TARN_AUTH_MASTER_KEY": "a5" * 32,
            "TARN_STORE_LOCAL_IMPORT_ROOTS": self.imports,
            **servers.SHORT_LEASE,
            # Branches are leased for reads whenever nobody writes, however briefly.
            "TARN_CACHE_READ_LEASE_READS_MIN": "1",
            "TARN_CACHE_READ_LEASE_PAUSE": "0s",
        }
        self.imports.mkdir()
        for number, shift in enumerate(CLOCK_SHIFTS):
            ready = directory / f"proxy-{number}"
            proxy = servers.Process(
                [
                    sys.executable,
                    str(servers.ROOT / "tests/support/database_proxy.py"),
                    str(ready),
                    str(self.database.port),
                    str(self.chance.randrange(10**6)),
                ],
                directory / f"proxy-{number}.log",
                dict(os.environ),
            )
            proxy.wait_until(lambda ready=ready: ready.exists() and ready.read_text(), "database_proxy.py")
            url = f"postgresql://postgres@127.0.0.1:{ready.read_text()}/tarn?sslmode=disable"
            self.proxies.append(proxy)
            self.servers.append(
                servers.Tarnd(
                    directory / f"tarnd-{number}",
                    arguments=["--database", url],
                    environment={**shared, **clock.environment(shift)},
                )
            )
        for server in self.servers:
            server.start()

    def run(self, seconds):
        """Each kind of fault once, spread over the time; the first is the kill, whose lease then runs out soonest."""
        order = list(self.kinds)
        if self.long_tests:
            self.chance.shuffle(order)
        begun = time.monotonic()
        self.signal_proxies(signal.SIGUSR1 if self.connections else signal.SIGUSR2)
        for number, kind in enumerate(order):
            time.sleep(max(0, begun + seconds * (number + 0.5) / (len(order) + 1) - time.monotonic()))
            kind()
        time.sleep(max(0, begun + seconds - time.monotonic()))
        self.signal_proxies(signal.SIGUSR2)

    def signal_proxies(self, how, proxies=None):
        for proxy in self.proxies if proxies is None else proxies:
            os.kill(proxy.pid, how)

    def ask(self, statement):
        return self.database.ask(statement)

    def kill_server(self):
        number = self.chance.randrange(len(self.servers))
        self.servers[number].kill()
        self.signal_proxies(signal.SIGUSR2, self.proxies[number : number + 1])
        self.servers[number].start()
        if self.connections:
            self.signal_proxies(signal.SIGUSR1, self.proxies[number : number + 1])

    def restart_database(self):
        self.database.crash()
        self.database.launch()

    def kill_backend(self):
        """PostgreSQL then ends all others and recovers."""
        try:
            found = self.database.ask("SELECT pid FROM pg_stat_activity WHERE application_name = 'tarnd'")
        except subprocess.CalledProcessError:
            return  # it still recovers
        if found:
            with contextlib.suppress(ProcessLookupError):  # its server has closed the connection since
                os.kill(int(self.chance.choice(found)), signal.SIGKILL)

    def stop_server(self):
        pid = self.chance.choice(self.servers).process.pid
        os.kill(pid, signal.SIGSTOP)
        time.sleep(STOP_SECONDS_LONG if self.long_tests and self.chance.random() < 0.2 else STOP_SECONDS)
        os.kill(pid, signal.SIGCONT)

    def quiesce(self):
        """Waits until nothing that was begun is still under way: imports of dead servers, and requests that wait in a server
        for a branch although their clients have gone."""
        deadline = time.monotonic() + SETTLE_SECONDS + BRANCH_WAIT_SECONDS
        question = (
            "SELECT (SELECT count(*) FROM pg_stat_activity WHERE application_name = 'tarnd' AND state <> 'idle') "
            "|| ',' || (SELECT count(*) FROM jobs WHERE state IN ('queued', 'running'))"
        )
        quiet = 0
        while quiet < 3:
            try:
                found = self.ask(question)
            except subprocess.CalledProcessError as error:  # it still recovers
                found = [error.stderr]
            serving = sum(self.requests_of(server) for server in self.servers)
            quiet = quiet + 1 if found == ["0,0"] and not serving else 0
            assert time.monotonic() < deadline, f"still under way: {found}, {serving} requests"
            time.sleep(0.05)

    @staticmethod
    def requests_of(server):
        """How many are served or wait to be, without the one that asks."""
        return sum(measured(server, "tarn_http_running_requests", "tarn_http_queued_requests")) - 1

    def end(self):
        for server in self.servers:
            if server.process is not None and server.alive():
                server.kill()
        for proxy in self.proxies:
            proxy.stop()
        if self.database.process is not None:
            self.database.crash()

"""No server answers with less than any server has acknowledged, while servers that may read from memory are stopped.

Two servers over one database lease a branch whenever nobody writes to it. They are stopped (SIGSTOP) for shorter and for
longer than a lease, and killed. Each writer has a key of its own and writes ascending numbers; a reader notes what was
acknowledged before it asks. TARN_READ_LEASE_SECONDS=N: how long, with TARN_TEST_LONG=1 600 seconds.
"""

import os
import random
import signal
import threading
import time
from pathlib import Path

import requests
import servers

REPOSITORY = "leases"
WRITERS = 2
READERS = 3  # of each server
SECONDS, SECONDS_LONG = 15, 600
LEASE_SECONDS = 1
TIMEOUT_SECONDS = 30


class Race:
    def __init__(self, directory, chance):
        self.chance = chance
        self.database = servers.Postgres(directory / "postgres")
        shared = {
            "TARN_STORE_LOCAL_ROOT": directory / "objects",
            "TARN_AUTH_MASTER_KEY": "a5" * 32,
            "TARN_CACHE_READ_LEASE_READS_MIN": "5",
            "TARN_CACHE_READ_LEASE_PAUSE": "0s",
        }
        self.servers = [
            servers.Tarnd(directory / f"tarnd-{number}", environment=shared, arguments=["--database", self.database.url()])
            for number in (1, 2)
        ]
        self.acknowledged = [0] * WRITERS
        self.ending = threading.Event()
        self.reads, self.stale, self.leased, self.slow_writes, self.writes = 0, [], 0, 0, 0
        self.lock = threading.Lock()

    def session(self):
        session = requests.Session()
        session.auth = (servers.Tarnd.access_key, servers.Tarnd.secret_key)
        return session

    def start(self):
        self.database.start()
        for server in self.servers:
            server.start()
        body = {"name": REPOSITORY, "storage_namespace": f"local://{REPOSITORY}"}
        answer = self.session().post(f"{self.servers[0].url}/api/v1/repositories", json=body, timeout=TIMEOUT_SECONDS)
        assert answer.status_code == 201, answer.text

    def url(self, server, what):
        return f"{self.servers[server].url}/api/v1/repositories/{REPOSITORY}/{what}/objects"

    def write(self, writer):
        session, chance = self.session(), random.Random(writer)
        number = 0
        while not self.ending.wait(chance.uniform(0.05, 0.6)):
            number += 1
            begun = time.monotonic()
            try:
                answer = session.post(
                    self.url(chance.randrange(2), "branches/main"),
                    params={"path": f"k{writer}"},
                    data=str(number).encode(),
                    timeout=TIMEOUT_SECONDS,
                    headers={"Content-Type": "application/octet-stream"},
                )
            except requests.RequestException:  # the server was killed; it may have been written
                continue
            if answer.status_code == 201:
                self.acknowledged[writer] = number
                with self.lock:
                    self.writes += 1
                    self.slow_writes += time.monotonic() - begun > LEASE_SECONDS / 2
            else:
                assert answer.status_code in (500, 503), answer.text

    def read(self, server, number):
        session, chance = self.session(), random.Random(f"{server} {number}")
        while not self.ending.is_set():
            writer = chance.randrange(WRITERS)
            least = self.acknowledged[writer]
            try:
                answer = session.get(self.url(server, "refs/main"), params={"path": f"k{writer}"}, timeout=TIMEOUT_SECONDS)
            except requests.RequestException:
                time.sleep(0.05)
                continue
            if answer.status_code in (200, 404):
                found = int(answer.content) if answer.status_code == 200 else 0
                with self.lock:
                    self.reads += 1
                    if found < least:
                        self.stale.append((server, writer, found, least))
            else:
                assert answer.status_code in (500, 503), answer.text

    def count_leased(self, server):
        text = requests.get(f"{server.url}/metrics", timeout=TIMEOUT_SECONDS).text
        self.leased += sum(float(line.split()[1]) for line in text.splitlines() if line.startswith("tarn_leased_reads_total "))

    def disturb(self, seconds):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            time.sleep(self.chance.uniform(0.2, 1.5))
            server = self.chance.choice(self.servers)
            if self.chance.random() < 0.15:
                self.count_leased(server)
                server.kill()
                time.sleep(self.chance.uniform(0, 1))
                server.start()
                continue
            os.kill(server.process.pid, signal.SIGSTOP)
            time.sleep(self.chance.choice((0.3, LEASE_SECONDS * 0.9, LEASE_SECONDS * 1.1, LEASE_SECONDS * 1.6)))
            os.kill(server.process.pid, signal.SIGCONT)

    def run(self, seconds):
        failures = []

        def guarded(body, *arguments):
            try:
                body(*arguments)
            except Exception as error:  # a client's mistake must not pass for silence
                failures.append(f"{type(error).__name__}: {error}")
                self.ending.set()
                raise

        clients = [(self.write, writer) for writer in range(WRITERS)]
        clients += [(self.read, server, number) for server in range(2) for number in range(READERS)]
        threads = [threading.Thread(target=guarded, args=client) for client in clients]
        for thread in threads:
            thread.start()
        try:
            self.disturb(seconds)
        finally:
            self.ending.set()
            for thread in threads:
                thread.join()
        assert not failures, failures

    def end(self):
        for server in self.servers:
            if server.process is not None and server.alive():
                server.kill()
        if self.database.process is not None:
            self.database.crash()


def test_no_read_is_older_than_what_was_acknowledged(scratch_dir, long_tests):
    seed = int(os.environ.get("TARN_TEST_SEED", random.randrange(10**6)))
    race = Race(Path(scratch_dir), random.Random(seed))
    try:
        race.start()
        race.run(int(os.environ.get("TARN_READ_LEASE_SECONDS", SECONDS_LONG if long_tests else SECONDS)))
        for server in race.servers:
            race.count_leased(server)
    finally:
        race.end()
    print(
        f"seed {seed}: {race.reads} reads, {race.leased:.0f} of them under leases, {race.writes} writes, "
        f"{race.slow_writes} of them waited for a lease's end"
    )
    assert not race.stale, f"seed {seed}: {race.stale[:10]}"
    assert race.leased > 100 and race.writes > 10 and race.slow_writes > 0, f"seed {seed}: too little happened"

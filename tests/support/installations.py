"""Two servers over a primary and its synchronous standby, and what happens to them: failovers, an old primary that returns,
collections with default grace under a clock that moves on, and copies of the installation on the same store.
"""

import os
import random
import shutil
import subprocess
import time

import primary_pair
import servers
from chaos import CLOCK_SHIFTS, SETTLE_SECONDS, Chaos
from jumping_clock import JumpingClock
from shifted_clock import ShiftedClock
from wire import NotSent, Unknown, Wire

HOURS_25 = 25 * 3600
COLLECTION_SECONDS = 30
COLLECTIONS_MAX = 5  # tries, since failovers disturb collections
COPY_AHEAD_SECONDS = 3 * HOURS_25  # so that its collections would find everything old enough
OWNED = "owned_by_another_database"


class Installations(Chaos):
    """`repositories`: whose garbage is collected. `made`: a stopped pair of clusters."""

    pause = 0.02  # a round lasts longer than those of Chaos

    def __init__(self, directory, chance, long_tests, made):
        self.directory, self.chance, self.long_tests = directory, chance, long_tests
        self.clock = JumpingClock(directory, "database")
        self.copy_clock = JumpingClock(directory, "copy")
        self.pair = primary_pair.Pair(directory / "pair", self.clock.environment())
        self.made = made
        self.imports = directory / "import"
        self.objects = directory / "objects"
        self.servers, self.proxies = [], []  # no proxies: connections break by what happens to the databases
        self.shift = (0, 0)  # seconds that the database is ahead: at least, at most
        self.recorder = self.must = None  # those of the histories
        self.repositories = ()
        self.waiting = {}  # repository: the bytes of an object that is staged there and never committed
        self.collections = self.removed = self.copies = self.refusals = self.failovers = 0
        kinds = [
            self.copy_of_files,
            self.fail_over,
            self.collect,
            self.old_primary_returns,
            self.copy_of_rows,
            self.kill_server,
            self.promoted_copy,
            self.collect,
        ]
        wanted = os.environ.get("TARN_HISTORY_FAULTS")
        self.kinds = [kind for kind in kinds if wanted is None or kind.__name__ in wanted.split(",")]
        self.connections = False

    def start(self):
        self.pair.start(self.made)
        self.imports.mkdir()
        clock = ShiftedClock(self.directory)
        self.shared = {
            "TARN_STORE_LOCAL_ROOT": self.objects,
            "TARN_AUTH_MASTER_KEY": "a5" * 32,
            "TARN_STORE_LOCAL_IMPORT_ROOTS": self.imports,
        }
        for number, shift in enumerate(CLOCK_SHIFTS):
            environment = {
                **self.shared,
                **servers.SHORT_LEASE,
                **clock.environment(shift),
                "TARN_CACHE_READ_LEASE_READS_MIN": "1",
                "TARN_CACHE_READ_LEASE_PAUSE": "0s",
            }
            self.servers.append(
                servers.Tarnd(
                    self.directory / f"tarnd-{number}", environment=environment, arguments=["--database", self.pair.url()]
                )
            )
        for server in self.servers:
            server.start()

    def run(self, _):
        order = list(self.kinds)
        if self.long_tests:
            self.chance.shuffle(order)
        for kind in order:
            time.sleep(1)
            begun = time.monotonic()
            kind()
            print(f"  {kind.__name__}: {time.monotonic() - begun:.1f} s", flush=True)
        time.sleep(1)

    def ask(self, statement):
        return self.pair.leader.ask(statement)

    def end(self):
        for server in self.servers:
            if server.process is not None and server.alive():
                server.kill()
        self.pair.stop()

    # Failovers

    def fail_over(self):
        self.pair.leader.kill()
        self.pair.take_over()
        self.new_standby()

    def old_primary_returns(self):
        """Alone, on its timeline, while the new one restarts. Both servers have used the new one: one that has not cannot know
        of it, which is why old primaries must be fenced."""
        old = self.pair.leader
        old.kill()
        self.pair.take_over()
        for server in self.servers:
            self.wait_until_written(server)
        old.launch()
        old.ask("ALTER SYSTEM SET synchronous_standby_names = ''")
        old.ask("SELECT pg_reload_conf()")
        for _ in range(2):
            self.pair.leader.restart_immediately()
            time.sleep(1)
        self.new_standby()

    def wait_until_written(self, server):
        deadline = time.monotonic() + SETTLE_SECONDS
        while not self.try_rest("POST", "/repositories/versions/branches/main/objects?path=entered", server=server):
            assert time.monotonic() < deadline, f"{server.url} takes no writes after a failover"
            time.sleep(0.05)

    def new_standby(self):
        self.failovers += 1
        self.pair.copy_again()
        self.pair.set_synchronous("*")
        self.pair.wait_until_synchronous()

    # Collections

    def collect(self):
        """Collects each repository, 25 hours later. Returns those whose collection was done."""
        for repository in set(self.repositories) - set(self.waiting):
            self.stage_waiting(repository)
        later = self.shift[1] + HOURS_25
        self.shift = (self.shift[0], later)
        self.clock.jump_to(later)
        time.sleep(0.1)
        self.shift = (later, later)
        done = [repository for repository in self.repositories if self.is_collected(repository)]
        for repository, body in self.waiting.items():
            self.read_waiting(repository, body)
        return done

    def stage_waiting(self, repository):
        """Stages an object on a branch that nobody commits: it must outlast every collection, however old it gets. What clients stage
        is committed or replaced long before two collections have found it."""
        body = f"waits in {repository}".encode()
        self.try_rest("POST", f"/repositories/{repository}/branches", {"name": "waiting", "source": "main"})
        if self.try_rest("POST", f"/repositories/{repository}/branches/waiting/objects?path=staged", body=body):
            self.waiting[repository] = body

    def read_waiting(self, repository, body):
        read = self.must("GET", f"/repositories/{repository}/refs/waiting/objects?path=staged", raw=True)
        if read != body:
            self.recorder.problem(f"what is staged in {repository} and never committed: {read[:100]}")

    def is_collected(self, repository):
        base = f"/repositories/{repository}/gc/runs"
        before = self.newest_run(base)
        begun = before and self.try_rest("POST", base, {"yes_delete": 100})
        deadline = time.monotonic() + COLLECTION_SECONDS
        while begun and time.monotonic() < deadline:
            newest = self.newest_run(base)
            if newest and newest["run"] > before["run"] and newest["state"] != "running":
                self.collections += newest["state"] == "done"
                self.removed += newest["removed_objects"]
                if newest["state"] == "refused" and "percent" in newest["error"]:  # the daily one came first
                    before, begun = newest, self.try_rest("POST", base, {"yes_delete": 100})
                    continue
                if newest["state"] == "refused":
                    self.recorder.problem(f"a collection of {repository} by its owner was refused: {newest}")
                return newest["state"] == "done"
            time.sleep(0.05)
        return False

    def newest_run(self, base):
        """{"run": 0} before the first; None: no answer."""
        answer = self.try_rest("GET", f"{base}?amount=1")
        return (answer.json()["results"] or [{"run": 0}])[0] if answer else None

    def try_rest(self, method, path, document=None, server=None, body=None):
        """The answer of a server that has one and succeeds, or None."""
        wire = Wire(server or self.chance.choice(self.servers), timeout=10)
        try:
            answer = wire.rest(method, path, body=body, document=document)
            return answer if answer.status < 300 else None
        except (Unknown, NotSent):
            return None
        finally:
            wire.close()

    # Copies

    def copy_of_files(self):
        """As of a snapshot of the disk: the same identity and timeline. It lacks what servers of the original claim later."""

        def fill(server):
            self.backup_to(server)
            # The store cannot tell the copy from the original until the original has collected the repository.
            not_collected = set(self.repositories)
            for _ in range(COLLECTIONS_MAX):
                not_collected -= set(self.collect())
                if not not_collected:
                    return
            self.recorder.problem(f"the original cannot collect {not_collected}")

        self.copy(fill)

    def copy_of_rows(self):
        """A dump that is loaded elsewhere."""

        def fill(server):
            servers.make_cluster(server.data)
            server.launch()
            servers.create_database(server.port)
            rows = subprocess.run(
                ["pg_dump", "-h", "127.0.0.1", "-p", str(self.pair.leader.port), "-U", "postgres", "tarn"],
                check=True,
                capture_output=True,
            ).stdout
            subprocess.run(
                ["psql", "-X", "-q", "-h", "127.0.0.1", "-p", str(server.port), "-U", "postgres", "tarn"],
                input=rows,
                check=True,
                stdout=subprocess.DEVNULL,
            )

        self.copy(fill)

    def promoted_copy(self):
        """A standby that somebody promotes beside its primary: a newer timeline than the original's."""

        def fill(server):
            self.backup_to(server)
            (server.data / "standby.signal").touch()
            shutil.chown(server.data / "standby.signal", "postgres") if os.geteuid() == 0 else None
            server.launch()
            servers.run_as_postgres([primary_pair.BINARIES / "pg_ctl", "promote", "-w", "-D", server.data])

        self.copy(fill)

    def backup_to(self, server):
        servers.run_as_postgres(
            [
                primary_pair.BINARIES / "pg_basebackup",
                "-c",
                "fast",
                "--no-sync",
                "-h",
                "127.0.0.1",
                "-p",
                self.pair.leader.port,
                "-U",
                "postgres",
                "-D",
                server.data,
            ]
        )
        with open(server.data / "postgresql.auto.conf", "a", encoding="utf-8") as settings:
            settings.write("synchronous_standby_names = ''\n")

    def copy(self, fill):
        self.copies += 1
        directory = self.directory / f"copy-{self.copies}"
        directory.mkdir()
        directory.chmod(0o777)
        self.copy_clock.jump_to(self.shift[1] + COPY_AHEAD_SECONDS)
        database = primary_pair.Server(directory, self.copy_clock.environment())
        url = f"postgresql://postgres@127.0.0.1:{database.port}/tarn"
        server = servers.Tarnd(directory / "tarnd", arguments=["--database", url], environment=self.shared)
        try:
            fill(database)
            if database.process is None:
                database.launch()
            server.start()
            self.use_copy(server)
        finally:
            if server.process is not None and server.alive():
                server.kill()
            database.kill()
            shutil.rmtree(directory)

    def use_copy(self, server):
        """No write and no collection of a copy is done, whatever it is asked."""
        wire, base, chance = Wire(server, timeout=20), "/repositories/histories", random.Random(self.copies)
        asked = [
            ("POST", f"{base}/branches/hot/objects?path=r/0", None),
            ("DELETE", f"{base}/branches/hot/objects?path=r/0", None),
            ("POST", f"{base}/branches/hot/commits", {"message": "of the copy"}),
            ("POST", f"{base}/refs/hot-side/merge/hot", {"message": "of the copy"}),
            ("POST", f"{base}/branches", {"name": f"copy-{self.copies}", "source": "main"}),
            ("PUT", f"{base}/branches/hot", {"type": "reset"}),
        ]
        refused = 0
        for _ in range(3):
            chance.shuffle(asked)
            for method, path, document in asked:
                try:
                    answer = wire.rest(method, path, document=document, body=b"of the copy" if "path=" in path else None)
                except (Unknown, NotSent):
                    continue
                refused += OWNED.encode() in answer.body
                if answer.status < 300:
                    self.recorder.problem(f"a copy took a write: {method} {path}: {answer.status} {answer.reason}")
        if not refused:
            self.recorder.problem("a copy did not say whose the store is")
        self.refusals += refused
        for repository in self.repositories:
            runs = f"/repositories/{repository}/gc/runs"
            before = (wire.rest("GET", f"{runs}?amount=1").json()["results"] or [{"run": 0}])[0]["run"]
            wire.rest("POST", runs, document={"yes_delete": 100})
            deadline = time.monotonic() + COLLECTION_SECONDS
            while True:
                ended = [
                    run
                    for run in wire.rest("GET", f"{runs}?amount=100").json()["results"]
                    if run["run"] > before and run["state"] != "running"
                ]
                if ended:
                    break
                if time.monotonic() > deadline:
                    self.recorder.problem(f"a collection of {repository} by a copy does not end")
                    break
                time.sleep(0.05)
            for run in ended:
                if run["state"] == "done" or run["removed_objects"]:
                    self.recorder.problem(f"a copy collected {repository}: {run}")
        wire.close()

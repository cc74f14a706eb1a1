"""Two PostgreSQL servers, the second a synchronous standby of the first, and HAProxy in front of both."""

import contextlib
import http.server
import os
import shutil
import signal
import subprocess
import threading
from pathlib import Path

import servers

BINARIES = Path("/usr/lib/postgresql/15/bin")
HAPROXY = """
global
  maxconn 1000
defaults
  mode tcp
  timeout connect 2s
  timeout client 1h
  timeout server 1h
listen database
  bind 127.0.0.1:{port}
  option httpchk GET /
  default-server check inter 200ms fall 2 rise 1 port {check}{options}
  server first 127.0.0.1:{first}
  server second 127.0.0.1:{second} port {check_second}
"""


class Server:
    """One of the two. Its postmaster is our child; the others are the children of that."""

    def __init__(self, directory, environment=None):
        self.directory = Path(directory)
        self.data = self.directory / "data"
        self.environment = {**os.environ, **(environment or {})}
        self.port = servers.free_port()
        self.process = None

    def launch(self):
        command = servers.as_postgres(
            [
                BINARIES / "postgres",
                "-D",
                self.data,
                "-p",
                self.port,
                "-k",
                self.directory,
                "-c",
                "listen_addresses=127.0.0.1",
                "-c",
                "wal_keep_size=64MB",
                "-c",
                "max_connections=60",
                "-c",
                "wal_sender_timeout=0",
                "-c",
                "wal_receiver_timeout=0",
            ]
        )  # clocks jump
        self.process = servers.Process(command, self.directory / "postgres.log", self.environment)
        self.process.wait_until(self.answers, "PostgreSQL")
        return self

    def answers(self):
        ready = [BINARIES / "pg_isready", "-q", "-h", "127.0.0.1", "-p", self.port]
        return subprocess.run([str(word) for word in ready], check=False).returncode == 0

    def ask(self, statement):
        command = [
            BINARIES / "psql",
            "-X",
            "-A",
            "-t",
            "-q",
            "-h",
            "127.0.0.1",
            "-p",
            self.port,
            "-U",
            "postgres",
            "-d",
            "tarn",
            "-c",
            statement,
        ]
        return subprocess.run([str(word) for word in command], capture_output=True, text=True, check=True).stdout.splitlines()

    def pids(self):
        """The postmaster first."""
        main = self.process.pid
        return [main, *(int(pid) for pid in Path(f"/proc/{main}/task/{main}/children").read_text().split())]

    def signal_all(self, number):
        for pid in self.pids():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, number)

    def hang(self):
        self.signal_all(signal.SIGSTOP)

    def go_on(self):
        self.signal_all(signal.SIGCONT)

    def kill(self):
        """As if its machine had gone: no process of it does anything any more."""
        if self.process is None or not self.process.alive():
            return
        self.hang()
        self.signal_all(signal.SIGKILL)
        self.process.stop(signal.SIGKILL)

    def copy_to(self, other):
        """Its files as they are in a snapshot of the disk."""
        subprocess.run(["cp", "-a", str(self.data), str(other)], check=True)

    def restart_immediately(self):
        self.process.stop(signal.SIGQUIT)
        self.launch()

    def promote(self):
        """As Patroni does when it is not strict: the new primary waits for no standby until one comes."""
        servers.run_as_postgres([BINARIES / "pg_ctl", "promote", "-w", "-D", self.data])
        self.ask("ALTER SYSTEM SET synchronous_standby_names = ''")
        self.ask("SELECT pg_reload_conf()")


class Pair:
    """`first` begins as the primary. Every commit waits for `second`."""

    def __init__(self, directory, environment=None):
        self.directory = Path(directory)
        self.directory.mkdir(parents=True)
        self.directory.chmod(0o777)
        for name in ("first", "second"):
            (self.directory / name).mkdir()
            (self.directory / name).chmod(0o777)
        self.first = Server(self.directory / "first", environment)
        self.second = Server(self.directory / "second", environment)
        self.proxy = None
        self.leader = self.first
        self.checks = []

    def make(self):
        """Both clusters, stopped: what copies begin with."""
        servers.make_cluster(self.first.data)
        self.first.launch()
        servers.create_database(self.first.port)
        servers.run_as_postgres(
            [
                BINARIES / "pg_basebackup",
                "-R",
                "-c",
                "fast",
                "--no-sync",
                "-h",
                "127.0.0.1",
                "-p",
                self.first.port,
                "-U",
                "postgres",
                "-D",
                self.second.data,
            ]
        )
        self.first.process.stop(signal.SIGINT)
        return self

    def start(self, made):
        for mine, other in ((self.first, made.first), (self.second, made.second)):
            subprocess.run(["cp", "-a", str(other.data), str(mine.data)], check=True)
        with open(self.second.data / "postgresql.auto.conf", "a", encoding="utf-8") as settings:
            settings.write(f"primary_conninfo = 'host=127.0.0.1 port={self.first.port} user=postgres'\n")
        self.first.launch()
        self.second.launch()
        self.first.ask("ALTER SYSTEM SET synchronous_standby_names = '*'")
        self.first.ask("SELECT pg_reload_conf()")
        self.wait_until_synchronous()
        return self

    def wait_until_synchronous(self):
        self.leader.process.wait_until(
            lambda: self.leader.ask("SELECT sync_state FROM pg_stat_replication") == ["sync"], "the standby"
        )

    def url(self):
        """Of both hosts."""
        return f"postgresql://postgres@127.0.0.1:{self.first.port},127.0.0.1:{self.second.port}/tarn"

    def start_proxy(self, options):
        """HAProxy that leads to `leader`; returns the URL of the database behind it."""
        for server in (self.first, self.second):
            self.checks.append(self.serve_check(server))
        port = servers.free_port()
        file = self.directory / "haproxy.cfg"
        file.write_text(
            HAPROXY.format(
                port=port,
                first=self.first.port,
                second=self.second.port,
                options=options,
                check=self.checks[0].server_port,
                check_second=self.checks[1].server_port,
            )
        )
        self.proxy = servers.Process(
            ["/usr/sbin/haproxy", "-db", "-f", str(file)], self.directory / "haproxy.log", dict(os.environ)
        )
        url = f"postgresql://postgres@127.0.0.1:{port}/tarn"
        ask = [BINARIES / "psql", "-X", "-q", "-d", url, "-c", "SELECT 1 / (NOT pg_is_in_recovery())::int"]

        def leads():
            return subprocess.run([str(word) for word in ask], check=False, capture_output=True).returncode == 0

        # Until the first checks both count as up, and take turns.
        self.proxy.wait_until(lambda: all(leads() for _ in range(4)), "HAProxy")
        return url

    def serve_check(self, server):
        pair = self

        class Check(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                self.send_response(200 if pair.leader is server else 503)
                self.end_headers()

            def log_message(self, *_):
                pass

        check = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Check)
        threading.Thread(target=check.serve_forever, daemon=True).start()
        return check

    def fail_over(self):
        self.second.promote()
        self.leader = self.second

    def wait_for_standby(self):
        self.leader.process.wait_until(
            lambda: self.leader.ask("SELECT replay_lsn >= pg_current_wal_lsn() FROM pg_stat_replication") == ["t"], "the standby"
        )

    def set_synchronous(self, names):
        self.leader.ask(f"ALTER SYSTEM SET synchronous_standby_names = '{names}'")
        self.leader.ask("SELECT pg_reload_conf()")

    def other(self):
        return self.second if self.leader is self.first else self.first

    def take_over(self):
        """The standby becomes the leader, as Patroni does it when it is not strict."""
        standby = self.other()
        standby.promote()
        self.leader = standby

    def rewind(self):
        """The former primary, which is stopped, becomes the standby of the leader."""
        standby = self.other()
        source = f"host=127.0.0.1 port={self.leader.port} user=postgres dbname=tarn"
        self.leader.ask("CHECKPOINT")  # pg_rewind compares the timelines of the control files
        servers.run_as_postgres([BINARIES / "pg_rewind", "--no-sync", "-R", "-D", standby.data, "--source-server", source])
        self.follow(standby)

    def copy_again(self):
        """The former primary is replaced by a fresh standby."""
        standby = self.other()
        standby.kill()
        shutil.rmtree(standby.data)
        servers.run_as_postgres(
            [
                BINARIES / "pg_basebackup",
                "-R",
                "-c",
                "fast",
                "--no-sync",
                "-h",
                "127.0.0.1",
                "-p",
                self.leader.port,
                "-U",
                "postgres",
                "-D",
                standby.data,
            ]
        )
        self.follow(standby)

    def follow(self, standby):
        with open(standby.data / "postgresql.auto.conf", "a", encoding="utf-8") as settings:
            settings.write(f"primary_conninfo = 'host=127.0.0.1 port={self.leader.port} user=postgres'\n")
        standby.launch()
        self.leader.process.wait_until(
            lambda: self.leader.ask("SELECT count(*) FROM pg_stat_replication WHERE state = 'streaming'") == ["1"], "the standby"
        )

    def stop(self):
        if self.proxy:
            self.proxy.stop()
        for check in self.checks:
            check.shutdown()
        for server in (self.first, self.second):
            server.kill()

"""A cluster of PostgreSQL under Patroni with one etcd, of Debian's packages patroni, etcd-server and haproxy.

The network of a node is an HAProxy: its Patroni reaches etcd through it, and the other nodes reach its Patroni and PostgreSQL through
it. The servers do not, so a node that is cut off can still be used by them.
"""

import base64
import contextlib
import os
import shutil
import signal
from pathlib import Path

import requests
import servers

CONFIGURATION = """
scope: tarn
name: n{number}
restapi: {{listen: 127.0.0.1:{rest}, connect_address: 127.0.0.1:{rest_of_others}}}
etcd3: {{hosts: ['127.0.0.1:{etcd}'], use_proxies: true}}
bootstrap:
  dcs:
    ttl: 20
    loop_wait: 2
    retry_timeout: 5
    maximum_lag_on_failover: 1048576
    synchronous_mode: true
    synchronous_mode_strict: {strict}
    postgresql: {{use_pg_rewind: true, parameters: {{max_connections: 100, wal_level: replica, hot_standby: 'on'}}}}
  initdb: [{{encoding: UTF8}}, {{locale: C.UTF-8}}, data-checksums]
  pg_hba: ['host replication all 127.0.0.1/32 trust', 'host all all 127.0.0.1/32 trust', 'local all all trust']
postgresql:
  listen: 127.0.0.1:{port}
  connect_address: 127.0.0.1:{port_of_others}
  data_dir: {directory}/d{number}
  bin_dir: /usr/lib/postgresql/15/bin
  pgpass: {directory}/pgpass{number}
  authentication:
    replication: {{username: repl, password: repl}}
    superuser: {{username: postgres, password: super}}
    rewind: {{username: rewind, password: rewind}}
  parameters: {{unix_socket_directories: {directory}}}
"""

NETWORK = """
defaults
  mode tcp
  timeout connect 2s
  timeout client 1h
  timeout server 1h
listen etcd
  bind 127.0.0.1:{etcd}
  server etcd 127.0.0.1:{real_etcd}
listen rest
  bind 127.0.0.1:{rest_of_others}
  server patroni 127.0.0.1:{rest}
listen postgres
  bind 127.0.0.1:{port_of_others}
  server postgres 127.0.0.1:{port}
"""
PATH = os.environ["PATH"] + ":/usr/sbin"


def missing_tool():
    return next((tool for tool in ("patroni", "etcd", "haproxy") if not shutil.which(tool, path=PATH)), None)


class Node:
    def __init__(self, cluster, number):
        self.cluster = cluster
        self.name = f"n{number}"
        self.data = cluster.directory / f"d{number}"
        self.port = servers.free_port()
        self.rest = servers.free_port()
        self.file = cluster.directory / f"p{number}.yml"
        values = {
            "number": number,
            "rest": self.rest,
            "rest_of_others": servers.free_port(),
            "port": self.port,
            "port_of_others": servers.free_port(),
            "etcd": servers.free_port(),
            "real_etcd": cluster.etcd_port,
            "directory": cluster.directory,
            "strict": str(cluster.strict).lower(),
        }
        self.file.write_text(CONFIGURATION.format(**values))
        network = cluster.directory / f"haproxy{number}.cfg"
        network.write_text(NETWORK.format(**values))
        self.network = servers.Process(
            [shutil.which("haproxy", path=PATH), "-db", "-f", network],
            cluster.directory / f"haproxy{number}.log",
            dict(os.environ),
        )
        self.is_cut_off = False
        self.patroni = None

    def start(self):
        self.patroni = servers.Process(
            servers.as_postgres(["patroni", self.file]), self.cluster.directory / f"{self.name}.log", dict(os.environ)
        )

    def postgres(self):
        """The postmaster and its children."""
        try:
            main = int((self.data / "postmaster.pid").read_text().splitlines()[0])
            children = Path(f"/proc/{main}/task/{main}/children").read_text().split()
        except (OSError, ValueError, IndexError):
            return []
        return [main, *map(int, children)]

    def signal_all(self, number):
        """To Patroni and PostgreSQL at once, as if the machine stopped."""
        for pid in [self.patroni.pid, *self.postgres()]:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, number)

    def pause(self):
        self.signal_all(signal.SIGSTOP)

    def go_on(self):
        self.signal_all(signal.SIGCONT)

    def kill(self):
        self.signal_all(signal.SIGKILL)
        self.patroni.stop(signal.SIGKILL)

    def cut_off(self):
        """Nothing is answered or closed any more, between the node and etcd and the other nodes."""
        self.is_cut_off = True
        os.kill(self.network.pid, signal.SIGSTOP)

    def connect_again(self):
        self.is_cut_off = False
        os.kill(self.network.pid, signal.SIGCONT)


class Cluster:
    def __init__(self, directory, strict, count=2):
        self.directory = Path(directory)
        self.directory.mkdir(parents=True)
        self.directory.chmod(0o777)
        self.strict = strict
        self.etcd_port = servers.free_port()
        self.etcd = None
        self.nodes = [Node(self, number) for number in range(1, count + 1)]

    def start(self):
        client, peer = f"http://127.0.0.1:{self.etcd_port}", f"http://127.0.0.1:{servers.free_port()}"
        self.etcd = servers.Process(
            [
                "etcd",
                "--data-dir",
                self.directory / "etcd",
                "--listen-client-urls",
                client,
                "--advertise-client-urls",
                client,
                "--listen-peer-urls",
                peer,
                "--initial-advertise-peer-urls",
                peer,
                "--initial-cluster",
                f"default={peer}",
            ],
            self.directory / "etcd.log",
            dict(os.environ),
        )
        self.etcd.wait_until(lambda: servers.accepts(f"127.0.0.1:{self.etcd_port}"), "etcd")
        for node in self.nodes:
            node.start()
        self.nodes[0].patroni.wait_until(self.is_whole, "the cluster")
        return self

    def members(self):
        for node in [node for node in self.nodes if not node.is_cut_off]:
            try:
                found = requests.get(f"http://127.0.0.1:{node.rest}/cluster", timeout=2).json()["members"]
                return {member["name"]: member for member in found}
            except (requests.RequestException, ValueError, KeyError):
                continue
        return {}

    def leader(self):
        """The node that leads and runs; None: there is none at present."""
        led = [name for name, member in self.members().items() if member["role"] == "leader" and member["state"] == "running"]
        return next((node for node in self.nodes if node.name in led), None)

    def is_whole(self):
        roles = sorted(member["role"] for member in self.members().values())
        return roles == ["leader"] + ["replica"] * (len(self.nodes) - 2) + ["sync_standby"]

    def wait_until_whole(self):
        """An old leader of Patroni 3.0 that goes on after a pause may write the key that names the standby, which the new leader then
        leaves alone for ever; somebody has to remove it."""
        try:
            self.nodes[0].patroni.wait_until(self.is_whole, "the cluster")
        except RuntimeError:
            key = base64.b64encode(b"/service/tarn/sync").decode()
            requests.post(f"http://127.0.0.1:{self.etcd_port}/v3/kv/deleterange", json={"key": key}, timeout=5).raise_for_status()
            self.nodes[0].patroni.wait_until(self.is_whole, "the cluster, without the key of the standby")

    def url(self):
        hosts = ",".join(f"127.0.0.1:{node.port}" for node in self.nodes)
        return f"postgresql://postgres:super@{hosts}/postgres"

    def stop(self):
        for node in self.nodes:
            if node.patroni is not None:
                node.go_on()
                node.kill()
            node.connect_again()
            node.network.stop()
        if self.etcd is not None:
            self.etcd.stop()

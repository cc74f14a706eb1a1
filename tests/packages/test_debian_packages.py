"""The Debian packages in a fresh Debian with its own systemd: installed, started, upgraded, removed, purged."""

import hashlib
import json
import os
import re
import shutil
import sys
from pathlib import Path

import pytest
from fresh_debian import FreshDebian, run

ROOT = Path(__file__).resolve().parents[2]
pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root can make a system and its namespaces")


def built(out, number):
    run(sys.executable, ROOT / "packaging" / "packages.py", "--out", out, "--build", str(number))
    return out


def bill_of(place):
    return json.loads(only(place, "*.cdx.json").read_text())


def source_of(place):
    """The commit and the programs of packages."""
    component = bill_of(place)["metadata"]["component"]
    return {
        "commit": component["properties"][0]["value"],
        **{part["name"]: part["hashes"][0]["content"] for part in component["components"]},
    }


@pytest.fixture(scope="session")
def packages(tmp_path_factory):
    """Those of two builds of which the second upgrades the first."""
    place = tmp_path_factory.mktemp("packages")
    return built(place / "first", 1), built(place / "second", 2)


def only(directory, pattern):
    (found,) = directory.glob(pattern)
    return found


def test_the_same_build_gives_the_same_bytes(packages, tmp_path):
    again = built(tmp_path / "again", 1)
    before, now = source_of(packages[0]), source_of(again)
    if before != now:
        pytest.fail(
            f"the source changed during the run, from {before} to {now}: run the tests in a clone where nobody commits or builds "
            "(git clone --shared)"
        )
    digests = [
        {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in place.iterdir()} for place in (packages[0], again)
    ]
    assert digests[0] == digests[1] and len(digests[0]) == 7


def test_a_source_that_changes_while_it_is_packaged_is_refused(tmp_path):
    """A clone with the programs of this one. The change comes with dpkg-deb, which is replaced: compressing takes a minute."""
    clone, tools = tmp_path / "clone", tmp_path / "tools"
    run("git", "clone", "--quiet", "--shared", ROOT, clone)
    tools.mkdir()

    def packaged_while(change):
        (tools / "dpkg-deb").write_text(f"#!/bin/sh\n{change}\n")
        (tools / "dpkg-deb").chmod(0o755)
        return run(
            sys.executable,
            clone / "packaging" / "packages.py",
            "--programs",
            ROOT / "build" / "bin",
            "--out",
            tmp_path / "out",
            check=False,
            env={**os.environ, "PATH": f"{tools}:{os.environ['PATH']}"},
        )

    git = f"git -C {clone} -c user.name=tarn -c user.email=tarn@example.com"
    before = run("git", "-C", clone, "rev-parse", "HEAD").stdout.strip()
    committed = packaged_while(f"{git} commit --quiet --allow-empty -m other")
    assert committed.returncode == 1 and f"took the place of {before}" in committed.stderr, committed.stderr
    edited = packaged_while(f"echo >>{clone}/VERSION")
    assert edited.returncode == 1 and "changed while they were packaged" in edited.stderr, edited.stderr
    assert not (tmp_path / "out" / "SHA256SUMS").exists(), "nobody takes them for whole"


def test_lintian_has_nothing_to_say(packages):
    done = run(
        "lintian",
        "--allow-root",
        "--fail-on",
        "error,warning",
        "--tag-display-limit",
        "0",
        *packages[0].glob("*.deb"),
        check=False,
    )
    assert (done.returncode, done.stdout) == (0, ""), done.stdout + done.stderr


def test_the_bill_of_materials_names_what_is_linked(packages, tmp_path):
    bill = bill_of(packages[0])
    names = {part["name"]: part["version"] for part in bill["components"]}
    assert {"libpq5", "libssl3", "libcurl4", "nlohmann-json3-dev", "react"} <= set(names)
    assert names["libc6"] == run("dpkg-query", "-W", "-f", "${Version}", "libc6").stdout
    hashes = source_of(packages[0])
    assert hashes.pop("commit").startswith(run("git", "-C", ROOT, "rev-parse", "HEAD").stdout.strip())
    assert set(hashes) == {"tarnd", "tarn-lua", "tarn"}
    unpacked = tmp_path / "unpacked"
    run("dpkg-deb", "-x", only(packages[0], "tarn-server_*.deb"), unpacked)
    assert hashes["tarnd"] == hashlib.sha256((unpacked / "usr/lib/tarn/tarnd").read_bytes()).hexdigest()


def test_the_wheel_is_of_the_version(packages):
    assert only(packages[0], "tarn_data-*.whl").name == f"tarn_data-{(ROOT / 'VERSION').read_text().strip()}-py3-none-any.whl"


@pytest.fixture(scope="module")
def debian(packages, tmp_path_factory):
    """Not booted; the first build is installed."""
    system = FreshDebian(tmp_path_factory.mktemp("debian") / "root")
    try:
        system.install(*packages[0].glob("*.deb"))
        for package in packages[1].glob("*.deb"):
            shutil.copy(package, system.root / "srv")
        yield system.boot()
    finally:
        system.stop()


def properties(system, *names):
    shown = system.run("systemctl", "show", "tarnd", *(f"-p{name}" for name in names)).stdout
    return dict(line.split("=", 1) for line in shown.splitlines())


def keys(system):
    text = system.run("cat", "/var/lib/tarn/admin-credentials").stdout
    return " ".join(
        f"TARN_{name}={re.search(rf'{key}: (.*)', text).group(1)}"
        for name, key in (("ACCESS_KEY", "access_key_id"), ("SECRET_KEY", "secret_access_key"))
    )


def tarn(system, command):
    return system.shell(f"TARN_ENDPOINT=http://127.0.0.1:8000 {keys(system)} tarn {command}").stdout


# In this order: one system goes through its life.
def test_the_service_starts_in_its_sandbox(debian):
    state = properties(debian, "ActiveState", "SubState", "User", "NotifyAccess", "StatusText")
    assert state == {
        "ActiveState": "active",
        "SubState": "running",
        "User": "tarn",
        "NotifyAccess": "main",
        "StatusText": "serving http://127.0.0.1:8000",
    }
    assert debian.run("tarnd", "--probe", "--config", "/etc/tarn/tarnd.yaml").stdout == "ready\n"
    assert (
        debian.run("stat", "-c", "%U %G %a", "/var/lib/tarn", "/etc/tarn/tarnd.yaml").stdout == "tarn tarn 700\nroot tarn 640\n"
    )
    journal = debian.run("journalctl", "-u", "tarnd", "--no-pager").stdout
    secret = keys(debian).rsplit("=", 1)[1]
    assert "are in /var/lib/tarn/admin-credentials" in journal and secret not in journal
    process = properties(debian, "MainPID")["MainPID"]
    status = debian.run("cat", f"/proc/{process}/status").stdout
    assert re.search(r"^Seccomp:\t2$", status, re.MULTILINE) and re.search(r"^CapEff:\t0000000000000400$", status, re.MULTILINE)


def test_systemd_finds_no_fault_with_the_units(debian):
    for unit in ("tarnd.service", "tarnd.socket", "tarn-backup.service", "tarn-backup.timer"):
        done = debian.run("systemd-analyze", "verify", "--man=no", f"/lib/systemd/system/{unit}")
        assert done.stdout + done.stderr == "", unit
    for unit in ("tarnd.service", "tarn-backup.service"):
        exposure = debian.run("systemd-analyze", "security", "--no-pager", unit).stdout
        assert float(re.search(rf"Overall exposure level for {unit}: ([0-9.]+)", exposure).group(1)) <= 2.0


def test_the_command_works_with_completion_and_manual(debian):
    tarn(debian, "repo create tarn://lake local://lake")
    debian.shell("echo kept > /tmp/kept")
    tarn(debian, "fs upload /tmp/kept tarn://lake/main/kept")
    tarn(debian, "commit tarn://lake/main -m first")
    assert tarn(debian, "fs cat tarn://lake/main/kept") == "kept\n"
    for path in (
        "usr/share/bash-completion/completions/tarn",
        "usr/share/man/man1/tarn.1.gz",
        "usr/share/man/man1/tarn-commit.1.gz",
        "usr/share/man/man8/tarnd.8.gz",
        "usr/share/man/man5/tarnd.yaml.5.gz",
    ):
        assert (debian.root / path).stat().st_size > 300, path
    assert debian.shell("bash -n /usr/share/bash-completion/completions/tarn").returncode == 0


def test_a_script_of_a_hook_runs_in_the_sandbox(debian):
    action = (
        "name: check\non:\n  pre-commit:\nhooks:\n  - id: say\n    type: lua\n    properties:\n      script: print('it runs')\n"
    )
    (debian.root / "srv" / "check.yaml").write_text(action)
    tarn(debian, "fs upload /srv/check.yaml tarn://lake/main/_lakefs_actions/check.yaml")
    tarn(debian, "commit tarn://lake/main -m hooked")
    runs = json.loads(tarn(debian, "actions list tarn://lake -o json"))
    assert "completed" in json.dumps(runs), runs


def test_the_timer_is_off_until_enabled_and_every_server_shows_its_backup(debian):
    assert debian.run("systemctl", "is-enabled", "tarn-backup.timer", check=False).stdout == "disabled\n"
    metric = (
        """bash -c 'exec 3<>/dev/tcp/127.0.0.1/8000; printf "GET /metrics HTTP/1.0\\r\\n\\r\\n" >&3; grep -a ^tarn_backup <&3'"""
    )
    assert 'kind="objects"} 0\n' in debian.shell(metric).stdout
    debian.shell("install -d -o tarn -g tarn -m 0700 /var/backups/tarn && systemctl enable --now tarn-backup.timer")
    assert "tarn-backup.timer" in debian.run("systemctl", "list-timers", "--no-pager").stdout
    for _ in range(2):  # old ones go in the same run
        debian.shell("sed -i 's/^BACKUPS_KEPT=.*/BACKUPS_KEPT=1/' /etc/default/tarn-backup && systemctl start tarn-backup")
    listed = debian.shell("runuser -u tarn -- tarn admin backups --server-config /etc/tarn/tarnd.yaml").stdout
    assert listed.count("with objects") == 2 and "complete" in listed and "running" not in listed
    whole = debian.shell("runuser -u tarn -- tarn admin backups /var/backups/tarn --server-config /etc/tarn/tarnd.yaml").stdout
    assert whole.count("with objects") == 1
    debian.run("systemctl", "restart", "tarnd")  # it reads the time at its start, then every 20 s
    assert re.search(r'kind="objects"} 1\d{9}', debian.shell(metric).stdout)
    debian.run("systemctl", "disable", "--now", "tarn-backup.timer")


def test_a_reload_is_applied(debian):
    debian.shell("printf 'log:\\n  level: debug\\n' >> /etc/tarn/tarnd.yaml && systemctl reload tarnd")
    journal = ""
    for _ in range(100):
        journal = debian.run("journalctl", "-u", "tarnd", "--no-pager").stdout
        if "configuration_reloaded" in journal:
            break
    assert "configuration_reloaded changed=log.level" in journal


def test_an_upgrade_restarts_the_service_and_keeps_everything(debian):
    before = properties(debian, "MainPID")["MainPID"]
    done = debian.shell("DEBIAN_FRONTEND=noninteractive dpkg -i --force-confold /srv/tarn_*.deb /srv/tarn-server_*.deb")
    assert "dev2" in debian.run("dpkg-query", "-W", "-f", "${Version}", "tarn-server").stdout, done.stdout
    state = properties(debian, "ActiveState", "MainPID")
    assert state["ActiveState"] == "active" and state["MainPID"] != before
    assert tarn(debian, "fs cat tarn://lake/main/kept") == "kept\n"
    assert "level: debug" in debian.run("cat", "/etc/tarn/tarnd.yaml").stdout


def test_with_socket_activation_no_client_is_refused_during_a_restart(debian):
    debian.shell("systemctl stop tarnd && systemctl enable --now tarnd.socket && systemctl start tarnd")
    script = (
        "systemctl restart tarnd & n=0; while kill -0 $! 2>/dev/null; do "
        "tarnd --probe --config /etc/tarn/tarnd.yaml || exit 1; n=$((n+1)); done; echo probes $n"
    )
    done = debian.shell(script)
    assert int(re.search(r"probes (\d+)", done.stdout).group(1)) > 0
    debian.shell("systemctl disable --now tarnd.socket && systemctl restart tarnd")


def test_removing_stops_the_service_and_purging_keeps_the_data(debian):
    debian.run("dpkg", "-r", "tarn", "tarn-server")
    assert properties(debian, "ActiveState")["ActiveState"] == "inactive"
    assert (debian.root / "etc/tarn/tarnd.yaml").exists() and (debian.root / "var/lib/tarn/master.key").exists()
    done = debian.run("dpkg", "-P", "tarn-server")
    assert "/var/lib/tarn holds data and stays" in done.stderr + done.stdout
    assert not (debian.root / "etc/tarn").exists() and (debian.root / "var/lib/tarn/master.key").exists()
    left = [
        path for path in (debian.root / "lib/systemd/system", debian.root / "etc/systemd/system") for path in path.rglob("tarn*")
    ]
    assert left == []


def test_a_package_that_was_never_started_purges_without_a_trace(packages, tmp_path):
    system = FreshDebian(tmp_path / "root")
    system.install(*packages[0].glob("*.deb"))
    for option in ("-r", "-P"):
        run("chroot", system.root, "dpkg", option, "tarn-server", env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin"})
    assert not (system.root / "var/lib/tarn").exists() and not (system.root / "etc/tarn").exists()

"""docs/production.md: the commands of the checklist in order, as far as a machine without systemd and a certificate allows.

Paths are below a directory of the test. apt and systemctl are scripts that note what they are asked, except that systemctl runs the
program of a unit when it is (re)started. nginx with packaging/proxies/nginx.conf stands in for Caddy, whose recipe
tests/packages/test_proxies.py tries, and the test's own account for `tarn`.
"""

import os
import re
import shutil
import stat
import subprocess
from pathlib import Path

import proxies
import pytest
import servers

PAGE = (servers.ROOT / "docs/production.md").read_text()
BLOCK = re.compile(r"```sh\n(.*?)```", re.DOTALL)
PACKAGING = servers.ROOT / "packaging"
# `systemctl restart tarnd` and `systemctl start tarn-backup`; the test waits for the first, as the unit of Type=notify does.
SYSTEMCTL = """#!/bin/bash
set -eu
echo "systemctl $*" >> "$NOTED"
case "$*" in
  "restart tarnd")
    rm -f "$PLACE/ready"
    [ ! -f "$PLACE/pid" ] || { kill "$(cat "$PLACE/pid")"; while kill -0 "$(cat "$PLACE/pid")" 2>/dev/null; do sleep 0.1; done; }
    tarnd --config "$PLACE/etc/tarn/tarnd.yaml" --ready-file "$PLACE/ready" >> "$PLACE/tarnd.log" 2>&1 &
    echo $! > "$PLACE/pid"
    for _ in $(seq 300); do [ ! -f "$PLACE/ready" ] || exit 0; sleep 0.2; done
    exit 1 ;;
  "start tarn-backup")
    . "$PLACE/etc/default/tarn-backup"
    sed -n 's/^ExecStart=//p' "$UNITS/tarn-backup.service" | sed "s,/usr/sbin/,,; s,/etc/,$PLACE/etc/," > "$PLACE/steps"
    . "$PLACE/steps" ;;
esac
"""
NOTE = '#!/bin/sh\necho "${0##*/} $*" >> "$NOTED"\n'


def script(path, text):
    path.write_text(text)
    path.chmod(0o755)


@pytest.fixture
def machine(scratch_dir):
    """(directory, environment) of a machine where the packages have just been installed and the service runs."""
    place = scratch_dir
    for folder in ("bin", "etc/tarn", "etc/default", "etc/caddy", "etc/prometheus", "var/tmp", "var/backups", "home"):
        (place / folder).mkdir(parents=True)
    default = (PACKAGING / "debian/tarn-backup.default").read_text()
    (place / "etc/default/tarn-backup").write_text(default.replace("=/var/backups/", f"={place}/var/backups/"))
    for name in ("apt", *([] if shutil.which("promtool") else ["promtool"])):
        script(place / "bin" / name, NOTE)
    script(place / "bin/systemctl", SYSTEMCTL)
    script(place / "bin/runuser", '#!/bin/sh\nshift 3\nexec "$@"\n')
    tools = Path(servers.program("tarn")).parent.resolve()
    environment = servers.clean_environment(
        {
            "HOME": place / "home",
            "NOTED": place / "noted",
            "PLACE": place,
            "UNITS": PACKAGING / "systemd",
            "PATH": f"{place}/bin:{tools}:{os.environ['PATH']}",
        }
    )
    yield place, environment
    if (place / "pid").exists():
        subprocess.run(["kill", (place / "pid").read_text().strip()], check=False)


@pytest.fixture
def https(machine):
    """(URL, its authority's certificate, the port behind it) of nginx with the recipe of the documents."""
    place, _ = machine
    proxy = proxies.Nginx(place / "nginx", "http://127.0.0.1:1")
    proxy.make_certificates()
    port, behind = servers.free_port(), servers.free_port()
    recipe = (PACKAGING / "proxies/nginx.conf").read_text()
    for old, new in (
        ("listen 443 ssl http2", f"listen 127.0.0.1:{port} ssl http2"),
        ("lake.example.com *.s3.lake.example.com", "localhost"),
        ("127.0.0.1:8000", f"127.0.0.1:{behind}"),
        ("/etc/ssl/lake.pem", f"{place}/nginx/server.pem"),
        ("/etc/ssl/lake.key", f"{place}/nginx/server.key"),
    ):
        assert old in recipe
        recipe = recipe.replace(old, new)
    paths = "".join(f"{kind}_temp_path {place}/nginx/{kind};\n" for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
    (place / "nginx.conf").write_text(
        f"pid {place}/nginx/pid;\ndaemon off;\nmaster_process off;\nevents {{}}\nhttp {{\naccess_log off;\n{paths}{recipe}}}\n"
    )
    process = servers.Process(
        ["/usr/sbin/nginx", "-c", str(place / "nginx.conf"), "-e", str(place / "nginx/error.log")],
        place / "nginx.log",
        servers.clean_environment({}),
    )
    process.wait_until(lambda: servers.accepts(f"127.0.0.1:{port}"), "nginx")
    yield f"https://localhost:{port}", place / "nginx/ca.pem", behind
    process.stop()


def here(text, place, url, behind, metrics):
    """The commands with the paths, accounts and addresses of the test."""
    changes = [
        (r"(?<![\w/.])/(etc|var)/", rf"{place}/\1/"),
        (r"/usr/share/doc/tarn-server/examples/", f"{PACKAGING}/proxies/"),
        (r"/usr/share/tarn/monitoring/", f"{PACKAGING}/monitoring/"),
        (r"https://lake\.example\.com", url),
        (r"127\.0\.0\.1:8000", f"127.0.0.1:{behind}"),
        (r"127\.0\.0\.1:9000", f"127.0.0.1:{metrics}"),
        (r" -o tarn -g tarn\b", ""),
        (r"-m 0700", "-m 0711"),  # the embedded database of a tarnd that root starts runs as another user
        (r"^sleep 25\b", "systemctl restart tarnd"),  # a server reads the times of backups at its start, too
        (r"^(systemctl status tarnd)$", r"\1; systemctl restart tarnd"),  # the package starts it
    ]
    for pattern, new in changes:
        text, count = re.subn(pattern, new, text, flags=re.MULTILINE)
        assert count, pattern
    return text


def test_the_checklist_ends_with_a_doctor_who_finds_nothing(machine, https):
    place, environment = machine
    url, authority, behind = https
    (place / "etc/tarn/tarnd.yaml").write_text(f"listen: 127.0.0.1:{behind}\ndata: {place}/var/lib/tarn\n")
    (place / "var/lib").mkdir()
    commands = here("".join(BLOCK.findall(PAGE)), place, url, behind, servers.free_port())
    (place / "commands").write_text(commands)
    done = subprocess.run(
        ["bash", "-eu", "commands"],
        stdin=subprocess.DEVNULL,
        env={**environment, "SSL_CERT_FILE": str(authority)},
        cwd=place,
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-1000:]
    for check in ("https", "proxy", "operators' pages", "administrators", "servers", "backups"):
        assert re.search(rf"^{check} +yes ", done.stdout, re.MULTILINE), (check, done.stdout[-3000:])
    assert done.stdout.count("secret key") == 1, "of bea"
    links = re.findall(r"^link +(\S+)", done.stdout, re.MULTILINE)
    assert len(links) == 3 and all(re.fullmatch(r"https://[\w.:]+/invitation#[\w-]{43}", link) for link in links), links
    assert stat.S_IMODE((place / "home/.config/tarn/config.yaml").stat().st_mode) == 0o600
    noted = (place / "noted").read_text()
    assert "systemctl enable --now tarn-backup.timer\n" in noted and "apt install prometheus\n" in noted

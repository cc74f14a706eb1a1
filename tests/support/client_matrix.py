"""The matrix of S3 clients: what each file tests/e2e/clients/with_*.py declares, where its programs are, and the table in
docs/s3-compatibility.md. The checks themselves are in tests/e2e/clients/checks.py and table_checks.py.

A client's file assigns literals: NAME (with its version), ENVIRONMENT ("tests" for the interpreter of the tests, else X of
files X.KIND beside it (KINDS_OF_FILES), "system" for programs of the machine), and if need be KIND
(what it stores: "objects" or "tables"; "tools" have no checks but their own also_*, and are in docs/ecosystem.md),
NOT_OFFERED {check: reason}, TLS (the checks that it does through nginx too), HEAVY, NEEDS (a file without which it cannot run),
QUIET (why its errors hide the server's message), SCRIPT (for node: a file that speaks the protocol of client_child.py)."""

import ast
import base64
import contextlib
import dataclasses
import functools
import hashlib
import json
import os
import platform
import re
import select
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "tests/e2e/clients"
PAGE = ROOT / "docs/s3-compatibility.md"
BEGIN, END = "<!-- clients: begin -->\n", "<!-- clients: end -->\n"
ANSWER_SECONDS = 240
KINDS_OF_FILES = ("requirements.txt", "no-deps.txt", "debian.txt", "go.txt", "package.json", "pom.xml")

OK, NOT_OFFERED, FAILED = "ok", "–", "fails"

# How a client reaches the server, and what the table adds to its name.
WAYS = {"http": "", "tls": ", TLS", "tls-unbuffered": ", TLS, unbuffered proxy"}


@dataclasses.dataclass(frozen=True)
class Client:
    """The declarations of a file."""

    file: Path
    name: str
    environment: str
    not_offered: dict = dataclasses.field(default_factory=dict, hash=False)
    tls: list = dataclasses.field(default_factory=list, hash=False)  # checks
    heavy: bool = False
    needs: str = ""
    quiet: str = ""
    script: str = ""
    kind: str = "objects"
    also: tuple = ()  # names of its functions also_*: what it does beyond the table

    @property
    def id(self):
        return self.file.stem.removeprefix("with_")

    def ways(self):
        return list(WAYS) if self.tls else ["http"]

    def row(self, way):
        return self.name + WAYS[way]

    def programs(self):
        """The directory of its programs; for Python, its interpreter among them."""
        if self.environment == "tests":
            return Path(sys.executable).parent
        if self.environment == "system":
            return Path("/usr/bin")
        return environment_directory(self.environment) / "bin"

    def interpreter(self):
        own = self.programs() / "python"
        return str(own) if own.exists() and self.environment != "system" else sys.executable


def cache():
    return Path(os.environ.get("TARN_CACHE", Path.home() / ".cache/tarn"))


def requirements(environment):
    """The files that pin it, in the order of its key; none where the machine's packages do."""
    if environment == "system":
        return []
    if environment == "tests":
        return [ROOT / "tests/requirements.txt"]
    return [file for kind in KINDS_OF_FILES if (file := FOLDER / f"{environment}.{kind}").exists()]


def environment_directory(name):
    """As .ci/dev/clients.sh names it."""
    text = b"".join(file.read_bytes() for file in requirements(name)) + f"Python {platform.python_version()}\n".encode()
    return cache() / f"client-{name}-{hashlib.sha256(text).hexdigest()[:16]}"


@functools.cache
def clients():
    """Every client, in the order of the table."""
    return sorted((declared(file) for file in FOLDER.glob("with_*.py")), key=lambda client: client.name.lower())


def declared(file):
    """Read, not imported: the tests' interpreter need not have what the client needs."""
    fields = {field.name.upper(): field.name for field in dataclasses.fields(Client)}
    found = {fields[name]: value for name, value in declared_literals(file).items()}
    return Client(file=file, also=tuple(functions_also(file)), **found)


def declared_literals(file):
    names = {field.name.upper() for field in dataclasses.fields(Client)}
    assigned = {
        getattr(statement.targets[0], "id", None): statement.value
        for statement in ast.parse(file.read_text()).body
        if isinstance(statement, ast.Assign)
    }
    return {name: ast.literal_eval(value) for name, value in assigned.items() if name in names}


def functions_also(file):
    """Names of the functions also_* of a file, of those of which it imports everything, and of its script."""
    for statement in ast.parse(file.read_text()).body:
        if isinstance(statement, ast.FunctionDef) and statement.name.startswith("also_"):
            yield statement.name
        elif isinstance(statement, ast.ImportFrom) and statement.names[0].name == "*":
            yield from functions_also(FOLDER / f"{statement.module}.py")
    if script := declared_literals(file).get("SCRIPT"):
        yield from re.findall(r"^verbs\.(also_\w+) =", (FOLDER / script).read_text(), re.MULTILINE)


def chosen(which):
    """`which`: light, heavy or all."""
    return [client for client in clients() if which == "all" or client.heavy == (which == "heavy")]


class Child:
    """A running client; its verbs are called as methods."""

    def __init__(self, client, box):
        command = (
            ["node", str(FOLDER / client.script)]
            if client.script
            else [client.interpreter(), str(ROOT / "tests/support/client_child.py"), str(client.file)]
        )
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("TARN_", "AWS_"))}
        self.log = Path(box.scratch) / "client.log"
        with open(self.log, "wb") as log:
            self.process = subprocess.Popen(
                [*command, json.dumps(dataclasses.asdict(box))],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
                cwd=box.scratch,
                start_new_session=True,
                env={
                    **kept,
                    "HOME": box.scratch,
                    "AWS_EC2_METADATA_DISABLED": "true",
                    "PYTHONDONTWRITEBYTECODE": "1",
                    "PATH": f"{client.programs()}:{os.environ['PATH']}",
                    "NODE_PATH": str(client.programs().parent / "node_modules"),
                },
            )

    def __getattr__(self, verb):
        return lambda *arguments: self.call(verb, arguments)

    def call(self, verb, arguments):
        with contextlib.suppress(BrokenPipeError):
            print(json.dumps({"verb": verb, "arguments": arguments}), file=self.process.stdin, flush=True)
        ready, _, _ = select.select([self.process.stdout], [], [], ANSWER_SECONDS)
        line = self.process.stdout.readline() if ready else ""
        if not line:
            tail = self.log.read_text(errors="replace")[-2000:]
            raise AssertionError(f"{verb}: no answer in {ANSWER_SECONDS} s, or the client died:\n{tail}")
        answer = json.loads(line)
        if "error" in answer:
            raise AssertionError(f"{verb} failed in the client:\n{answer['error']}")
        result = answer["result"]
        return base64.b64decode(result["base64"]) if isinstance(result, dict) and "base64" in result else result

    def stop(self):
        with contextlib.suppress(BrokenPipeError):
            self.process.stdin.close()
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.process.stdout.close()


# The table


def rows(kind):
    """(client, way) of every row."""
    return [(client, way) for client in clients() if client.kind == kind for way in client.ways()]


def empty_cell(client, check):
    return NOT_OFFERED if check in client.not_offered else ""


def tables(kinds, ends):
    """`kinds`: {kind: module of checks}; `ends`: {(client id, way, check): end}; a check that did not run keeps its cell."""
    before = written_cells()
    return "\n".join(line for kind, checks in kinds.items() for line in table(kind, checks, ends, before))


def table(kind, checks, ends, before):
    yield f"| {kind} | {' | '.join(checks.COLUMNS.values())} |"
    yield "|---" * (len(checks.COLUMNS) + 1) + "|"
    for client, way in rows(kind):
        row, of = client.row(way), checks.of(client, way)
        cells = [
            ends.get((client.id, way, check)) or before.get((row, title), "") if check in of else empty_cell(client, check)
            for check, title in checks.COLUMNS.items()
        ]
        yield f"| {row} | {' | '.join(cells)} |"
    yield f"\n{NOT_OFFERED}: not offered by the client. Empty: not asked through a proxy.\n"
    for client in clients():
        if client.kind == kind:
            yield from notes(client, checks.COLUMNS)
    yield ""


def notes(client, columns):
    reasons = {}
    for check, reason in client.not_offered.items():
        reasons.setdefault(reason, []).append(columns[check])
    for reason, titles in reasons.items():
        yield f"- {client.name}: {', '.join(titles)}: {reason}"
    if client.quiet:
        yield f"- {client.name}: {columns['write_to_tag']}: {client.quiet}"


def written():
    return PAGE.read_text().partition(BEGIN)[2].partition(END)[0]


def written_cells():
    """{(row, column): cell} of the committed tables."""
    found, columns = {}, []
    for line in written().splitlines():
        cells = [cell.strip() for cell in line.split("|")[1:-1]]
        if cells and cells[0] in ("objects", "tables"):
            columns = cells[1:]
        elif cells and not line.startswith("|---"):
            found.update({(cells[0], column): cell for column, cell in zip(columns, cells[1:], strict=True)})
    return found


def write(text):
    head, begin, rest = PAGE.read_text().partition(BEGIN)
    PAGE.write_text(head + begin + text + END + rest.partition(END)[2])

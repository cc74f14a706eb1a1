"""The lines of `tarn` that the page offers, and those of documents, recipes and examples, are lines that the command takes."""

import json
import os
import re
import shlex
import shutil
import subprocess
from concurrent.futures import ThreadPoolExecutor

import pytest
import servers

COLLECTOR = "scripts/command_lines.js"
DOCUMENTS = ("README.md", "docs", "examples")
MADE_FROM_THE_COMMAND = "docs/cli-reference.md"
SHELL_BLOCK = re.compile(r"^ *```(?:sh|bash|console|yaml|)\n(.*?)^ *```", re.DOTALL | re.MULTILINE)
# In TypeScript, except in comments and in labels of lines.
OFFERED = re.compile(r"^(?!\s*(?://|/?\*)).*(?:(?<!label: )[\"'`>]tarn (?=[a-z])|\['tarn',)", re.MULTILINE)
# In the place of variables and of the output of commands: a name, and a number.
VALUE = "7"
BEFORE_A_COMMAND = {"if", "then", "else", "elif", "while", "until", "do", "!", "{", "time", "exec", "sudo"}
# Refused after the rest of a line is parsed, and before anything runs.
NO_COLOUR = "--color=none-such"


def tokens(line):
    for ending in ("", "'", '"'):  # of a quotation that goes on in the next line
        lexer = shlex.shlex(line + ending, posix=True, punctuation_chars=True)
        lexer.whitespace_split = True
        try:
            return list(lexer)
        except ValueError:
            continue
    return []


def commands_of(text):
    """The words behind `tarn` of each command in shell text, also behind a prompt and in lists of YAML."""
    for line in text.replace("\\\n", " ").splitlines():
        if "tarn" not in line:
            continue
        line = re.sub(r"^\s*(- )?(run: )?(\$ )?", "", line)
        while inner := re.search(r"[$<]\(([^()]*)\)", line):
            yield from commands_of(inner[1])
            line = line[: inner.start()] + VALUE + line[inner.end() :]
        line = re.sub(r"\$(\{\{.*?\}\}|\{[^}]*\}|\w+|[@*#?])", VALUE, line)
        line = re.sub(r"(?<=\s)\d(?=>)", "", line)  # of 2>
        words, is_file = [], False
        for token in [*tokens(line), ";"]:
            if token and set(token) <= set("<>&") and set(token) != {"&"}:
                is_file = True
            elif token and set(token) <= set(";&|()"):
                while words and (words[0] in BEFORE_A_COMMAND or re.match(r"[A-Za-z_]\w*=", words[0])):
                    words = words[1:]
                if words[:1] == ["tarn"] and words[1:]:
                    yield tuple(words[1:])
                words, is_file = [], False
            elif is_file:
                is_file = False
            else:
                words.append(token)


def test_commands_of_shell_text_are_found():
    def found(text):
        return [" ".join(words) for words in commands_of(text)]

    assert found("$ tarn log && tarn diff a  # tarn show") == ["log", "diff a"]
    assert found("if ! tarn gate check 'a b' >/dev/null 2>&1; then tarn status; fi") == ["gate check a b", "status"]
    assert found('open=$(tarn promote ls -o json)\n- run: tarn show "$REF" \\\n  -o md') == ["promote ls -o json", "show 7 -o md"]
    assert found('echo it\'s | tarn fs upload - "tarn://${REPO}/$B/x"') == []
    assert found('echo 1 | tarn fs upload - "tarn://${REPO}/$B/x"; TARN_REPO=a tarn log') == ["fs upload - tarn://7/7/x", "log"]
    assert found("tarn policy apply gate -f - <<'END'\nname: gate") == ["policy apply gate -f -"]


def refusals(lines, home):
    """{place and line: message} of those that the parser of the command refuses."""
    settings = home / "config.yaml"
    settings.write_text("profiles: {test: {}}\n")  # of a line of docs/cli.md
    environment = servers.clean_environment({"TARN_CONFIG": settings})

    def refusal(words):
        ended = subprocess.run(
            [servers.program("tarn"), NO_COLOUR, *words],
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        return None if "--color none-such: must be" in ended.stderr else ended.stderr

    with ThreadPoolExecutor(4) as pool:
        said = pool.map(refusal, lines)
    return {
        f"{place}: {shlex.join(('tarn', *words))}": message
        for (words, place), message in zip(lines.items(), said, strict=True)
        if message
    }


def test_the_page_offers_lines_that_the_command_takes(tmp_path):
    web = servers.ROOT / "web"
    node = os.environ.get("NODE") or shutil.which("node")
    if not node or not (web / "node_modules").exists():
        pytest.skip("needs node and web/node_modules: ./dev web --check")
    collected = subprocess.run([node, COLLECTOR], cwd=web, capture_output=True, text=True, timeout=120, check=False)
    assert collected.returncode == 0, collected.stderr
    lines, files = {}, set()
    for text in map(json.loads, collected.stdout.splitlines()):
        for words in commands_of(text["text"]):
            files.add(text["file"])
            lines.setdefault(words, f"web/{text['file']}:{text['line']}")
    assert refusals(lines, tmp_path) == {}
    # Fewer are a mistake of the collector.
    sources = [path for path in (web / "src").rglob("*.ts*") if not path.name.endswith(".test.ts")]
    offering = {str(path.relative_to(web)) for path in sources if OFFERED.search(path.read_text())}
    assert offering - files == set()
    assert len(lines) >= 100 and len(files) >= 30, sorted(lines)
    assert (
        "promote",
        "check",
        "id",
        "name",
        "--repo",
        "repository",
        "--commit",
        "commit",
        "--status",
        "success",
    ) in lines  # of <Command of={[...]}>
    assert ("branch", "stale", "repository", "--days", "7") in lines and (
        "branch",
        "stale",
        "repository",
    ) in lines  # both branches of a condition


def test_documents_have_lines_that_the_command_takes(tmp_path):
    listed = subprocess.run(
        ["git", "ls-files", *DOCUMENTS], cwd=servers.ROOT, capture_output=True, text=True, check=True
    ).stdout.split()
    lines = {}
    for name in listed:
        if name == MADE_FROM_THE_COMMAND:
            continue
        text = (servers.ROOT / name).read_bytes().decode(errors="ignore")
        for part in SHELL_BLOCK.findall(text) if name.endswith(".md") else [text]:
            for words in commands_of(part):
                lines.setdefault(words, name)
    assert refusals(lines, tmp_path) == {}
    assert len(lines) >= 130 and {
        "README.md",
        "docs/ci/promote.sh",
        "docs/ci/github-actions.yml",
        "docs/tutorial.md",
        "examples/ci/job.sh",
    } <= set(lines.values())

"""Words completed by real shells."""

import os
import pty
import select
import shutil
import subprocess
import time

import pytest
import servers


@pytest.fixture
def offered(cli):
    """The command's suggestions for the words, without their help."""

    def ask(*words, **environment):
        lines = cli.run("complete", "--", *words, **environment).text.splitlines()
        return [line.split("\t")[0] for line in lines]

    return ask


def test_names_of_things(cli, repo, offered, name):
    cli.run("branch", "create", "make-it")
    cli.run("tag", "create", "made", "main")
    repo.branch("main").object("dir/a").upload(b"a")
    repo.branch("main").object("diz").upload(b"a")
    assert offered("bran") == ["branch", "branch-protect"]
    assert offered("branch", "show", "ma") == ["main", "make-it"]
    assert offered("show", "ma") == ["main", "make-it", "made"]
    assert offered("tag", "show", "m") == ["made"]
    cli.run("alias", "set", "mate", "main")
    assert offered("alias", "show", "m") == ["mate"]
    assert offered("alias", "log", "@m") == offered("show", "@ma") == ["@mate"]
    assert offered("alias", "rm", f"tarn://{name}/@") == [f"tarn://{name}/@mate"]
    assert offered("fs", "ls", f"tarn://{name}/@m") == [f"tarn://{name}/@mate/"]
    assert offered("repo", "show", name[:45]) == [name]
    assert offered("repo", "show", f"tarn://{name[:45]}") == [f"tarn://{name}"]
    assert offered("log", f"lakefs://{name[:45]}") == [f"lakefs://{name}/"]
    assert offered("log", f"lakefs://{name}/mak") == [f"lakefs://{name}/make-it"]
    assert offered("fs", "ls", f"tarn://{name}/mak") == [f"tarn://{name}/make-it/"]
    assert offered("fs", "ls", f"tarn://{name}/main/di") == [f"tarn://{name}/main/dir/", f"tarn://{name}/main/diz"]
    assert offered("fs", "cat", "t") == ["tarn://"]
    assert offered("fs", "cp", "t") == [":files", "tarn://"]
    assert offered("fs", "upload", "x") == [":files"]
    assert offered("log", "-o", "j") == ["json", "jsonl"]
    assert offered("log", "--output=c") == ["--output=csv"]
    assert offered("--repo", name, "branch", "show", "mai", TARN_REPO="") == ["main"]
    assert offered("branch", "show", "mai", TARN_REPO="") == []
    assert "admin" in offered("auth", "users", "show", "ad")
    assert "What the shells ask" not in cli.run("--help").text


def test_no_server_no_names(cli):
    begun = time.monotonic()
    cli.run("complete", "--", "branch", "show", "m", status=9, TARN_ENDPOINT="http://127.0.0.1:9")
    assert time.monotonic() - begun < 3


class Shell:
    """A shell on a terminal of its own, into which keys are typed."""

    def __init__(self, words, environment, cwd):
        self.pid, self.terminal = pty.fork()
        if self.pid == 0:
            os.chdir(cwd)
            os.execvpe(words[0], words, environment)
        self.text = b""

    def type(self, keys):
        os.write(self.terminal, keys.encode())

    def wait_for(self, expected, seconds=20):
        """Reads until the text has come."""
        until = time.monotonic() + seconds
        while expected.encode() not in self.text:
            left = until - time.monotonic()
            assert left > 0, (expected, self.text.decode(errors="replace")[-2000:])
            if select.select([self.terminal], [], [], min(left, 0.5))[0]:
                self.text += os.read(self.terminal, 65536)
        self.text = b""

    def close(self):
        os.close(self.terminal)
        os.waitpid(self.pid, 0)


STARTS = {
    "bash": (["bash", "--norc", "--noprofile", "-i"], "source <(tarn completion bash)"),
    "zsh": (["zsh", "-f", "-i"], "autoload -Uz compinit && compinit -u -D; source <(tarn completion zsh)"),
    "fish": (["fish", "--no-config", "-i"], "tarn completion fish | source"),
}


def made_of(shell, typed, expected, result):
    """The line that the shell makes of the keys, written to a file instead of being run."""
    begin, end = "\x01", "\x05"
    for pause in (0.3, 1, 4):  # keys that come while a completion runs may be lost
        result.unlink(missing_ok=True)
        shell.type(typed)
        time.sleep(pause)
        shell.type(f"{begin}echo {end} > result; echo do''ne\r")
        shell.wait_for("done")
        if expected in result.read_text():
            break
    return result.read_text()


@pytest.mark.parametrize("name_of_shell", list(STARTS))
def test_in_a_shell(cli, repo, name, tmp_path, name_of_shell):
    """The echo after the key is the word that the shell made."""
    if not shutil.which(name_of_shell):
        pytest.skip(f"{name_of_shell} is not installed")
    repo.branch("main").object("some/thing").upload(b"a")
    (tmp_path / "local-file").write_text("x")
    directory = tmp_path / "bin"
    directory.mkdir()
    (directory / "tarn").symlink_to(servers.program("tarn"))
    words, setup = STARTS[name_of_shell]
    shell = Shell(words, {**cli.environment, "PATH": f"{directory}:{os.environ['PATH']}", "TERM": "xterm", "PS1": "> "}, tmp_path)
    try:
        shell.type(f"{setup}; echo re''ady\r")
        shell.wait_for("ready")
        for typed, whole in [
            ("tarn auth us\tsho\tadm", "tarn auth users show admin"),
            (f"tarn fs cat tarn://{name}/ma\tso\tth", f"tarn://{name}/main/some/thing"),
            ("tarn fs upload local-f", "local-file"),
            ("tarn log --first-p", "--first-parent"),
        ]:
            assert whole in made_of(shell, f"{typed}\t", whole, tmp_path / "result")
    finally:
        shell.close()


@pytest.mark.parametrize("name_of_shell", list(STARTS))
def test_scripts_parse(cli, name_of_shell, tmp_path):
    if not shutil.which(name_of_shell):
        pytest.skip(f"{name_of_shell} is not installed")
    (tmp_path / "script").write_text(cli.run("completion", name_of_shell).text)
    subprocess.run([name_of_shell, "-n", tmp_path / "script"], timeout=60, check=True)
    cli.run("completion", "tcsh", status=2)

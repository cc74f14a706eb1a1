"""Directories going up and coming down with the command: at once, again, and after being killed."""

import hashlib
import os
import signal
import socket
import subprocess
import time

import pytest
import servers

FILES = 1000


@pytest.fixture
def tree(tmp_path):
    """A thousand files in ten directories."""
    root = tmp_path / "tree"
    for number in range(FILES):
        file = root / f"d{number % 10}" / f"f{number:04}"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(f"{number}".encode() * 50)
    return root


def content(root):
    return {str(f.relative_to(root)): f.read_bytes() for f in root.rglob("*") if f.is_file()}


def counts(cli, *words, **options):
    tally = cli.json(*words, **options)
    return tally["done"], tally["skipped"], tally["failed"]


def addresses(repo, ref="main"):
    return {item.path: item.physical_address for item in repo.ref(ref).objects()}


def killed(cli, words, half_done, how=signal.SIGKILL):
    """Runs the command and sends it the signal as soon as `half_done` says so; its exit status and talk."""
    child = subprocess.Popen(
        [servers.program("tarn"), *map(str, words)],
        env=cli.environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    while not half_done():
        assert child.poll() is None, "it was done before it could be killed"
        time.sleep(0.01)
    child.send_signal(how)
    _, talk = child.communicate(timeout=60)
    return child.returncode, talk.decode()


def test_an_upload_that_was_killed_sends_only_the_rest(cli, repo, tree):
    words = ["fs", "upload", "-r", tree, f"tarn://{repo.id}/main/data"]
    page = repo.ref("main")
    status, _ = killed(cli, [*words, "-p", "1"], lambda: sum(1 for _ in page.objects(max_amount=500)) == 500)
    assert status == -signal.SIGKILL
    before = addresses(repo)
    assert FILES // 2 <= len(before) < FILES
    assert counts(cli, *words) == (FILES - len(before), len(before), 0)
    after = addresses(repo)
    assert len(after) == FILES and {path: after[path] for path in before} == before
    assert counts(cli, *words) == (0, FILES, 0)
    assert addresses(repo) == after


def test_a_download_that_was_killed_fetches_only_the_rest(cli, repo, tree, tmp_path):
    cli.run("fs", "upload", "-r", tree, f"tarn://{repo.id}/main/data")
    here = tmp_path / "here"
    words = ["fs", "download", "-r", f"tarn://{repo.id}/main/data", here]

    def fetched():
        return {path: path.stat().st_ino for path in here.rglob("f*") if path.is_file() and path.suffix == ""}

    status, talk = killed(cli, [*words, "-p", "1"], lambda: len(fetched()) >= FILES // 2, signal.SIGTERM)
    assert (status, "goes on with the rest" in talk) == (130, True)
    before = fetched()
    assert [path for path in here.rglob("*") if path.suffix] == []
    assert counts(cli, *words) == (FILES - len(before), len(before), 0)
    after = fetched()
    assert {path: after[path] for path in before} == before
    assert content(here) == content(tree)
    assert counts(cli, *words) == (0, FILES, 0)


def test_only_what_differs_is_sent(cli, repo, tmp_path):
    root, target = tmp_path / "up", f"tarn://{repo.id}/main/x/"
    root.mkdir()
    for name in ("same", "grown", "altered", "a.b", "a"):
        (root / name).write_text("12345")
    assert counts(cli, "fs", "cp", "-r", root, target) == (5, 0, 0)
    (root / "grown").write_text("123456")
    (root / "altered").write_text("54321")
    (root / "a").unlink()
    (root / "a").mkdir()
    (root / "a" / "new").write_text("n")
    assert counts(cli, "fs", "cp", "-r", root, target, "--size-only") == (2, 3, 0)
    assert counts(cli, "fs", "cp", "-r", root, target) == (1, 4, 0)
    assert counts(cli, "fs", "cp", "-r", root, target, "--meta", "Run=7") == (5, 0, 0)
    assert counts(cli, "fs", "cp", "-r", root, target, "--meta", "Run=7") == (0, 5, 0)
    assert counts(cli, "fs", "cp", "-r", root, target, "--content-type", "text/plain") == (5, 0, 0)
    assert counts(cli, "fs", "cp", "-r", root, target, "--content-type", "text/plain", "--all") == (5, 0, 0)
    (root / "altered").write_text("00000")
    ended = cli.run("fs", "cp", "-r", root, target, "--no-clobber", status=20)
    assert "altered" in ended.talk
    cli.run("fs", "cp", "-r", root, f"tarn://{repo.id}/nope/", status=4)
    cli.run("fs", "cp", "-r", root, target, "-p", "0", status=2)
    cli.run("fs", "cp", "-r", root, target, "-p", "65", status=2)


def test_only_what_differs_is_fetched(cli, repo, tmp_path):
    """Tried by comparing sizes alone: the altered file stayed as it was."""
    for name in ("same", "grown", "altered", "absent"):
        repo.branch("main").object(f"x/{name}").upload(b"12345")
    root, source = tmp_path / "down", f"tarn://{repo.id}/main/x/"
    assert counts(cli, "fs", "download", "-r", source, root) == (4, 0, 0)
    (root / "grown").write_text("123456")
    (root / "altered").write_text("54321")
    (root / "absent").unlink()
    assert counts(cli, "fs", "download", "-r", source, root, "--size-only") == (2, 2, 0)
    assert content(root)["altered"] == b"54321"
    assert counts(cli, "fs", "download", "-r", source, root) == (1, 3, 0)
    assert content(root) == dict.fromkeys(("same", "grown", "altered", "absent"), b"12345")
    assert counts(cli, "fs", "download", "-r", source, root, "--all") == (4, 0, 0)


def test_names_of_all_kinds_meet_in_byte_order(cli, repo, tmp_path):
    """Directory order and key order differ: "a-b" stands before "a/b" as a key, behind it as a path."""
    root = tmp_path / "up"
    for name in ("a/b", "a-b", "a b", "a/b c", "ä", "a/ä/%20", "+", "A", "a.d/e"):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(name)
    (root / "link").symlink_to(root / "A")
    (root / "left.123.tarn-part").write_text("of a download")
    assert counts(cli, "fs", "upload", "-r", root, f"tarn://{repo.id}/main") == (10, 0, 0)
    assert counts(cli, "fs", "upload", "-r", root, f"tarn://{repo.id}/main") == (0, 10, 0)
    assert counts(cli, "fs", "download", "-r", f"tarn://{repo.id}/main/", tmp_path / "down") == (10, 0, 0)
    assert content(tmp_path / "down")["a/ä/%20"] == "a/ä/%20".encode()


def a_socket(path):
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(str(path))


SPECIAL = {
    "link to nothing": lambda path: path.symlink_to("nowhere"),
    "link to a directory": lambda path: path.symlink_to(path.parent / "dir"),
    "link to itself": lambda path: path.symlink_to(path.name),
    "pipe": os.mkfifo,
    "socket": a_socket,
    "name that is not UTF-8": lambda path: open(os.fsencode(path) + b"\xff", "wb").close(),
}


@pytest.mark.parametrize("kind", SPECIAL)
def test_what_is_no_file_is_left_out(cli, repo, tmp_path, kind):
    root, target = tmp_path / "up", f"tarn://{repo.id}/main"
    (root / "dir").mkdir(parents=True)
    (root / "dir/a").write_text("a")
    SPECIAL[kind](root / "odd")
    ended = cli.run("fs", "upload", "-r", root, target, "-o", "json", status=20)
    assert f"{root}/odd" in ended.talk and '"done":1,"failed":1' in ended.text, (ended.text, ended.talk)
    assert list(addresses(repo)) == ["dir/a"]
    ended = cli.run("fs", "cp", "-r", root, target, "--skip-special", "-o", "json")
    assert f"{root}/odd" in ended.talk and '"done":0,"failed":0' in ended.text and '"skipped":2' in ended.text


def test_links_to_directories_are_followed_on_demand_but_in_no_circle(cli, repo, tmp_path):
    root = tmp_path / "up"
    for name in ("a/x", "b/y"):
        (root / name).parent.mkdir(parents=True)
        (root / name).write_text(name)
    (root / "a/b").symlink_to(root / "b")
    (root / "b/a").symlink_to(root / "a")
    (root / "b/b").symlink_to("../b")
    ended = cli.run("fs", "upload", "-r", root, f"tarn://{repo.id}/main", "--follow", status=20)
    assert sorted(addresses(repo)) == ["a/b/y", "a/x", "b/a/x", "b/y"]
    for path in ("a/b/a", "a/b/b", "b/a/b", "b/b"):
        assert f"{root}/{path}:" in ended.talk, ended.talk


def test_a_directory_that_cannot_be_read_sends_nothing(cli, repo, tmp_path):
    (tmp_path / "up/closed").mkdir(parents=True)
    (tmp_path / "up/a").write_text("a")
    (tmp_path / "up/closed").chmod(0)
    # Root reads every directory, unless that capability is taken away.
    without = ["setpriv", "--bounding-set=-dac_override,-dac_read_search"] if os.geteuid() == 0 else []
    refused = cli.run("fs", "upload", "-r", tmp_path / "up", f"tarn://{repo.id}/main", status=1, below=without)
    assert "up/closed: Permission denied; nothing was sent" in refused.talk and addresses(repo) == {}


def test_an_upload_to_a_branch_that_is_not_there_names_it(cli, repo, tmp_path):
    (tmp_path / "a").write_text("a")
    for words in [("-r", tmp_path), (tmp_path / "a",)]:
        failed = cli.run("fs", "upload", *words, f"tarn://{repo.id}/nope/in/", status=4)
        assert "branch 'nope' not found" in failed.talk, words


def test_objects_are_copied_and_moved_by_reference(cli, repo, tmp_path):
    root = f"tarn://{repo.id}/main"
    for name in ("a/x", "a/y/z"):
        repo.branch("main").object(name).upload(name.encode())
    was = addresses(repo)
    assert counts(cli, "fs", "cp", "-r", f"{root}/a", f"{root}/b") == (2, 0, 0)
    assert counts(cli, "fs", "mv", "-r", f"{root}/a", f"{root}/c/d") == (2, 0, 0)
    cli.run("fs", "mv", f"{root}/b/x", f"{root}/moved/")
    now = addresses(repo)
    assert now == {"b/y/z": was["a/y/z"], "c/d/x": was["a/x"], "c/d/y/z": was["a/y/z"], "moved/x": was["a/x"]}
    cli.run("fs", "mv", "-r", f"{root}/c", f"{root}/c/d", status=2)
    cli.run("fs", "mv", f"{root}/moved/x", f"{root}/moved/x", status=2)
    cli.run("fs", "mv", f"{root}/nope", f"{root}/x", status=4)
    cli.run("fs", "cp", "a", "b", status=2)
    assert addresses(repo) == now
    cli.run("fs", "cp", f"{root}/moved/x", tmp_path / "x")
    assert (tmp_path / "x").read_bytes() == b"a/x"
    cli.run("fs", "cp", tmp_path / "x", f"{root}/up/")
    cli.run("fs", "cp", "-", f"{root}/piped", stdin=b"p")
    assert cli.run("fs", "cat", f"{root}/piped").out == b"p"
    assert cli.json("fs", "stat", f"{root}/up/x")["checksum"] == hashlib.md5(b"a/x").hexdigest()


def test_a_tree_shows_its_progress_on_a_terminal(cli, repo, tmp_path):
    import pty

    (tmp_path / "up").mkdir()
    for number in range(20):
        (tmp_path / "up" / f"{number}").write_bytes(b"x" * 1_000_000)
    controller, terminal = pty.openpty()
    child = subprocess.Popen(
        [servers.program("tarn"), "fs", "upload", "-r", "-p", "1", str(tmp_path / "up"), f"tarn://{repo.id}/main"],
        env=cli.environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=terminal,
    )
    os.close(terminal)
    shown = b""
    try:
        while piece := os.read(controller, 65536):
            shown += piece
    except OSError:
        pass  # the other end is closed: all was read
    os.close(controller)
    child.communicate(timeout=60)
    assert child.returncode == 0
    assert b"uploading" in shown and b" of 19.1 MiB" in shown and shown.endswith(b"\r\x1b[K")


def test_a_directory_and_a_prefix_are_made_equal(cli, tmp_path, repo):
    where, tree = f"tarn://{repo.id}/main/data", tmp_path / "up"
    for name in ("a", "b/c", "b/d"):
        (tree / name).parent.mkdir(parents=True, exist_ok=True)
        (tree / name).write_text(name)
    repo.branch("main").object("database").upload(data=b"begins alike")
    cli.run("fs", "upload", "-r", tree, where)
    (tree / "b/c").unlink()
    (tree / "e").write_text("e")
    # Nothing is sent that could not be followed by the question.
    cli.run("fs", "upload", "-r", "--delete", tree, where, status=2)
    cli.run("fs", "upload", "--delete", "--yes", tree / "e", f"{where}/e", status=2)
    assert cli.run("fs", "ls", "-r", f"{where}/", "-o", "name").text.split() == ["data/a", "data/b/c", "data/b/d"]
    made = cli.json("fs", "upload", "-r", "--delete", "--yes", tree, where)
    assert (made["done"], made["skipped"], made["deleted"]) == (1, 2, 1)
    assert cli.run("fs", "ls", "-r", f"{where}/", "-o", "name").text.split() == ["data/a", "data/b/d", "data/e"]
    assert repo.branch("main").object("database").exists()

    there = tmp_path / "down"
    (there / "b").mkdir(parents=True)
    (there / "b/old").write_text("old")
    cli.run("fs", "download", "-r", "--delete", where, there, status=2)
    assert (there / "b/old").exists()
    assert cli.json("fs", "download", "-r", "--delete", "--yes", where, there)["deleted"] == 1
    assert sorted(str(file.relative_to(there)) for file in there.rglob("*") if file.is_file()) == ["a", "b/d", "e"]


def test_nothing_is_deleted_when_not_all_was_sent(cli, tmp_path, repo):
    where, tree = f"tarn://{repo.id}/main/data", tmp_path / "up"
    tree.mkdir()
    (tree / "gone").write_text("x")
    cli.run("fs", "upload", "-r", tree, where)
    (tree / "gone").rename(tree / "kept")
    (tree / "nowhere").symlink_to("nothing")  # counts as failed
    made = cli.run("fs", "upload", "-r", "--delete", "--yes", tree, where, status=20)
    assert "nothing was deleted" in made.talk
    assert repo.branch("main").object("data/gone").exists()

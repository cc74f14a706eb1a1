"""Every operation of RepositoriesApi, ImportApi, ActionsApi and PullsApi, and the internal twins of settings: effect
and usual refusal."""

import hashlib
import http.server
import threading
import time

import pytest
from lakefs_sdk import ApiException, models
from sdk import refused

NOWHERE = "no-such-repository"
# So often is an import started until one is cancelled before its end.
IMPORTS_MAX = 10


def head(sdk, repo, branch="main"):
    return sdk.branches.get_branch(repo.id, branch).commit_id


# RepositoriesApi


def test_create_repository(sdk, name):
    creation = models.RepositoryCreation(name=name, storage_namespace=f"local://{name}", default_branch="trunk")
    made = sdk.repositories.create_repository(creation)
    assert (made.id, made.default_branch, made.storage_namespace) == (name, "trunk", f"local://{name}")
    assert (made.storage_id, made.read_only) == ("", False)
    assert [c.message for c in sdk.refs.log_commits(name, "trunk").results] == ["Repository created"]
    refused(409, sdk.repositories.create_repository, creation, code="already_exists")
    refused(400, sdk.repositories.create_repository, creation.copy(update={"name": f"{name}x"}), code="namespace_in_use")
    refused(404, sdk.repositories.get_repository, f"{name}x")


def test_get_repository(sdk, repo):
    found = sdk.repositories.get_repository(repo.id)
    assert found.id == repo.id and found.creation_date <= time.time() + 1
    refused(404, sdk.repositories.get_repository, NOWHERE, code="repository_not_found")


def test_list_repositories(sdk, name):
    names = [f"{name[:40]}-{letter}" for letter in "abc"]
    for each in names:
        sdk.repositories.create_repository(models.RepositoryCreation(name=each, storage_namespace=f"local://{each}"))
    page = sdk.repositories.list_repositories(prefix=name[:40] + "-", amount=2)
    assert [r.id for r in page.results] == names[:2] and page.pagination.has_more
    rest = sdk.repositories.list_repositories(prefix=name[:40] + "-", after=names[1]).results
    assert [r.id for r in rest] == names[2:]
    assert [r.id for r in sdk.repositories.list_repositories(search=names[1][3:]).results] == [names[1]]


def test_list_repositories_without_a_key(tarn):
    import sdk as clients

    nobody = clients.Sdk(tarn, username="AKIAJNOBODY000000000", password="wrong")
    refused(401, nobody.repositories.list_repositories, code="unknown_access_key")


def test_delete_repository(sdk, repo):
    assert sdk.repositories.delete_repository(repo.id) is None
    refused(404, sdk.repositories.get_repository, repo.id, code="repository_not_found")
    refused(404, sdk.repositories.delete_repository, repo.id, code="repository_not_found")


def test_repository_metadata(sdk, repo):
    update = sdk.internal.set_repository_metadata
    assert sdk.repositories.get_repository_metadata(repo.id) == {}
    assert update(repo.id, models.RepositoryMetadataSet(metadata={"a": "1", "b": "2"})) is None
    update(repo.id, models.RepositoryMetadataSet(metadata={"b": "3"}))
    assert sdk.repositories.get_repository_metadata(repo.id) == {"a": "1", "b": "3"}
    sdk.internal.delete_repository_metadata(repo.id, models.RepositoryMetadataKeys(keys=["a", "unknown"]))
    assert sdk.repositories.get_repository_metadata(repo.id) == {"b": "3"}
    refused(404, sdk.repositories.get_repository_metadata, NOWHERE, code="repository_not_found")
    refused(404, update, NOWHERE, models.RepositoryMetadataSet(metadata={"a": "1"}))
    refused(404, sdk.internal.delete_repository_metadata, NOWHERE, models.RepositoryMetadataKeys(keys=["a"]))


# Settings


def test_settings_of_a_fresh_repository(sdk, repo):
    assert sdk.repositories.get_branch_protection_rules(repo.id) == []
    assert sdk.internal.internal_get_branch_protection_rules(repo.id) == []
    assert sdk.internal.create_branch_protection_rule_preflight(repo.id) is None
    assert sdk.internal.set_garbage_collection_rules_preflight(repo.id) is None
    for get in (sdk.repositories.get_gc_rules, sdk.internal.internal_get_garbage_collection_rules):
        refused(404, get, repo.id, code="not_found")
    for get in (
        sdk.repositories.get_branch_protection_rules,
        sdk.internal.internal_get_branch_protection_rules,
        sdk.internal.create_branch_protection_rule_preflight,
        sdk.internal.set_garbage_collection_rules_preflight,
    ):
        refused(404, get, NOWHERE, code="repository_not_found")


def test_set_branch_protection_rules(sdk, repo, upload):
    update = sdk.repositories.set_branch_protection_rules
    rules = [models.BranchProtectionRule(pattern="main")]
    assert update(repo.id, rules) is None
    answer = sdk.repositories.get_branch_protection_rules_with_http_info(repo.id)
    assert answer.data == rules and answer.headers["ETag"]
    refused(403, upload, "a", code="protected_branch")
    refused(412, update, repo.id, [], if_match="other", code="precondition_failed")
    update(repo.id, [], if_match=answer.headers["ETag"])
    assert sdk.repositories.get_branch_protection_rules(repo.id) == []
    upload("a")
    refused(404, update, NOWHERE, rules, code="repository_not_found")


def test_internal_branch_protection_rules(sdk, repo, upload):
    create, delete = (sdk.internal.internal_create_branch_protection_rule, sdk.internal.internal_delete_branch_protection_rule)
    assert create(repo.id, models.BranchProtectionRule(pattern="ma*")) is None
    assert [r.pattern for r in sdk.repositories.get_branch_protection_rules(repo.id)] == ["ma*"]
    refused(403, upload, "a")
    assert delete(repo.id, models.InternalDeleteBranchProtectionRuleRequest(pattern="ma*")) is None
    upload("a")
    refused(404, delete, repo.id, models.InternalDeleteBranchProtectionRuleRequest(pattern="ma*"))
    refused(404, create, NOWHERE, models.BranchProtectionRule(pattern="main"))


def test_gc_rules(sdk, repo):
    rules = models.GarbageCollectionRules(
        default_retention_days=7, branches=[models.GarbageCollectionRule(branch_id="main", retention_days=9)]
    )
    assert sdk.repositories.set_gc_rules(repo.id, rules) is None
    assert sdk.repositories.get_gc_rules(repo.id) == rules
    assert sdk.internal.internal_get_garbage_collection_rules(repo.id) == rules
    assert sdk.repositories.delete_gc_rules(repo.id) is None
    refused(404, sdk.repositories.get_gc_rules, repo.id)
    refused(404, sdk.repositories.set_gc_rules, NOWHERE, rules)
    refused(404, sdk.repositories.delete_gc_rules, NOWHERE)


def test_internal_gc_rules(sdk, repo):
    rules = models.GarbageCollectionRules(default_retention_days=3, branches=[])
    assert sdk.internal.internal_set_garbage_collection_rules(repo.id, rules) is None
    assert sdk.repositories.get_gc_rules(repo.id) == rules
    assert sdk.internal.internal_delete_garbage_collection_rules(repo.id) is None
    refused(404, sdk.internal.internal_get_garbage_collection_rules, repo.id)
    refused(404, sdk.internal.internal_set_garbage_collection_rules, NOWHERE, rules)
    refused(404, sdk.internal.internal_delete_garbage_collection_rules, NOWHERE)


# Garbage collection


def test_an_outside_collector_is_told_to_delete_nothing(sdk, repo):
    sdk.repositories.set_gc_rules(repo.id, models.GarbageCollectionRules(default_retention_days=7, branches=[]))
    for call in (
        sdk.internal.prepare_garbage_collection_commits,
        sdk.internal.prepare_garbage_collection_commits_async,
        sdk.internal.prepare_garbage_collection_uncommitted,
    ):
        refused(501, call, repo.id, code="unimplemented")
    refused(501, sdk.internal.prepare_garbage_collection_commits_status, repo.id, "x", code="unimplemented")


# Dump and restore


def finished(ask, field="done", seconds=30):
    deadline = time.monotonic() + seconds
    while not getattr(status := ask(), field):
        assert time.monotonic() < deadline, status
        time.sleep(0.02)
    return status


def restored(sdk, repo, name, restore):
    """A bare repository after `restore(id)` has what `repo` had; its commits have ids of their own."""
    sdk.repositories.create_repository(models.RepositoryCreation(name=name, storage_namespace=f"local://{name}"), bare=True)
    assert sdk.branches.list_branches(name).results == []
    restore(name)

    def history(repository, ref):
        return [(c.message, c.metadata, c.creation_date) for c in sdk.refs.log_commits(repository, ref).results]

    for ref in ("main", "v1"):
        assert history(name, ref) == history(repo.id, ref) != []
    assert [b.id for b in sdk.branches.list_branches(name).results] == ["main"]
    assert [t.id for t in sdk.tags.list_tags(name).results] == ["v1"]
    assert sdk.objects.get_object(name, "main", "a") == b"data"


@pytest.fixture
def dumped(sdk, repo, upload):
    upload("a")
    sdk.commits.commit(repo.id, "main", models.CommitCreation(message="m"))
    sdk.tags.create_tag(repo.id, models.TagCreation(id="v1", ref="main"))
    return repo


def test_dump_refs_and_restore_refs(sdk, dumped):
    refs = sdk.internal.dump_refs(dumped.id)
    restore = models.RefsRestore(**refs.dict())
    restored(sdk, dumped, f"{dumped.id[:50]}-copy", lambda name: sdk.internal.restore_refs(name, restore))
    refused(400, sdk.internal.restore_refs, dumped.id, restore)
    refused(404, sdk.internal.dump_refs, NOWHERE, code="repository_not_found")


def test_dump_and_restore_as_tasks(sdk, dumped):
    api = sdk.repositories
    task = api.dump_submit(dumped.id).id
    dump = finished(lambda: api.dump_status(dumped.id, task))
    assert dump.error is None
    restore = models.RefsRestore(**dump.refs.dict())

    def restore_as_task(name):
        task = api.restore_submit(name, restore).id
        assert finished(lambda: api.restore_status(name, task)).error is None

    restored(sdk, dumped, f"{dumped.id[:50]}-copy", restore_as_task)
    refused(400, api.restore_submit, dumped.id, restore)
    refused(404, api.dump_status, dumped.id, "unknown")
    refused(404, api.restore_status, dumped.id, "unknown")
    refused(404, api.dump_submit, NOWHERE)


def commit_id(tree, parent, committer, message, seconds):
    """As docs/format/commit.md has it; every length here fits one byte."""
    fields = [b"tarn commit 1", bytes.fromhex(tree)[:16], bytes.fromhex(parent), committer.encode(), message.encode()]
    domain, root, parent, committer, message = (bytes([len(field)]) + field for field in fields)
    time = (seconds * 1000).to_bytes(8, "big")
    whole = domain + root + b"\1" + parent + committer + message + b"\0" + b"\x08" + time
    return hashlib.sha256(whole).hexdigest()


def test_create_commit_record(sdk, dumped):
    head = sdk.commits.get_commit(dumped.id, "main")
    made = commit_id(head.meta_range_id, head.id, "ann", "recorded", 1700000000)
    record = models.CommitRecordCreation(
        commit_id=made,
        version=1,
        committer="ann",
        message="recorded",
        metarange_id=head.meta_range_id,
        creation_date=1700000000,
        parents=[head.id],
        metadata={},
        generation=head.generation + 1,
    )
    refused(400, sdk.internal.create_commit_record, dumped.id, record.copy(update={"commit_id": "a" * 64}))
    assert sdk.internal.create_commit_record(dumped.id, record) is None
    found = sdk.commits.get_commit(dumped.id, made)
    assert (found.message, found.committer, found.parents) == ("recorded", "ann", [head.id])
    assert sdk.objects.get_object(dumped.id, made, "a") == b"data"
    refused(409, sdk.internal.create_commit_record, dumped.id, record)


# ImportApi


def test_import(sdk, tarn, repo, name):
    source = tarn.import_root / name
    source.mkdir()
    (source / "a").write_text("hello")
    location = models.ImportLocation(type="common_prefix", path=f"local://{source}/", destination="in/")
    creation = models.ImportCreation(paths=[location], commit=models.CommitCreation(message="m", metadata={"k": "v"}))
    task = sdk.import_.import_start(repo.id, "main", creation).id
    status = finished(lambda: sdk.import_.import_status(repo.id, "main", task), "completed")
    assert (status.ingested_objects, status.error) == (1, None)
    assert status.commit.id == head(sdk, repo) and status.commit.metadata["k"] == "v"
    assert sdk.objects.get_object(repo.id, "main", "in/a") == b"hello"
    refused(409, sdk.import_.import_cancel, repo.id, "main", task)
    refused(404, sdk.import_.import_status, repo.id, "main", "unknown")
    refused(404, sdk.import_.import_start, repo.id, "nope", creation, code="branch_not_found")
    inside = location.copy(update={"path": repo.properties.storage_namespace + "/"})
    refused(
        400, sdk.import_.import_start, repo.id, "main", creation.copy(update={"paths": [inside]}), code="invalid_import_source"
    )


def test_import_cancel(sdk, tarn, repo, name):
    source = tarn.import_root / name
    source.mkdir()
    for number in range(2000):
        (source / f"{number:04}").touch()
    location = models.ImportLocation(type="common_prefix", path=f"local://{source}/", destination="")
    creation = models.ImportCreation(paths=[location], commit=models.CommitCreation(message="m"))
    for _ in range(IMPORTS_MAX):
        before = head(sdk, repo)
        task = sdk.import_.import_start(repo.id, "main", creation).id
        try:
            assert sdk.import_.import_cancel(repo.id, "main", task) is None
            break
        except ApiException as error:
            assert error.status == 409  # it was faster
    status = finished(lambda: sdk.import_.import_status(repo.id, "main", task), "error")
    assert not status.completed and "Canceled" in status.error.message
    assert head(sdk, repo) == before
    assert sdk.import_.import_cancel(repo.id, "main", task) is None


# ActionsApi


@pytest.fixture
def webhook():
    """An address that takes every POST; `bodies` is what came."""
    bodies = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self):
            bodies.append(self.rfile.read(int(self.headers["Content-Length"])))
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_):
            pass

    server = http.server.HTTPServer(("127.0.0.1", 0), Handler)
    server.bodies = bodies
    server.url = f"http://127.0.0.1:{server.server_port}/hook"
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server
    server.shutdown()
    server.server_close()


@pytest.fixture
def run_id(sdk, repo, upload, webhook):
    """The run of a pre-commit hook; any id while the server runs none."""
    upload(
        "_lakefs_actions/check.yaml",
        f"""\
name: check
on: {{pre-commit: {{branches: [main]}}}}
hooks: [{{id: ask, type: webhook, properties: {{url: "{webhook.url}"}}}}]
""",
    )
    sdk.commits.commit(repo.id, "main", models.CommitCreation(message="m"))
    runs = sdk.actions.list_repository_runs(repo.id).results
    return runs[0].run_id if runs else "none"


def test_list_repository_runs(sdk, repo):
    assert sdk.actions.list_repository_runs(repo.id).results == []
    refused(400, sdk.actions.list_repository_runs, repo.id, branch="main", commit="x")
    refused(404, sdk.actions.list_repository_runs, NOWHERE, code="repository_not_found")


def test_an_unknown_run_is_not_found(sdk, repo):
    for call in (sdk.actions.get_run, sdk.actions.list_run_hooks):
        refused(404, call, repo.id, "unknown", code="run_not_found")
    refused(404, sdk.actions.get_run_hook_output, repo.id, "unknown", "unknown", code="run_not_found")


def test_get_run(sdk, repo, run_id):
    run = sdk.actions.get_run(repo.id, run_id)
    assert (run.branch, run.event_type, run.status, run.commit_id) == ("main", "pre-commit", "completed", head(sdk, repo))


def test_list_run_hooks(sdk, repo, run_id, webhook):
    hooks = sdk.actions.list_run_hooks(repo.id, run_id).results
    assert [(h.action, h.hook_id, h.status) for h in hooks] == [("check", "ask", "completed")]
    assert len(webhook.bodies) == 1


def test_get_run_hook_output(sdk, repo, run_id):
    hook = sdk.actions.list_run_hooks(repo.id, run_id).results[0]
    assert sdk.actions.get_run_hook_output(repo.id, run_id, hook.hook_run_id)


# PullsApi, and its twin in ExperimentalApi


@pytest.fixture(params=["pulls", "experimental"])
def pulls(sdk, request):
    return getattr(sdk, request.param)


@pytest.fixture
def dev(sdk, repo, upload):
    sdk.branches.create_branch(repo.id, models.BranchCreation(name="dev", source="main"))
    upload("a", branch="dev")
    sdk.commits.commit(repo.id, "dev", models.CommitCreation(message="m"))
    return "dev"


def open_pull(pulls, repo, **changes):
    fields = {"title": "t", "description": "d", "source_branch": "dev", "destination_branch": "main", **changes}
    return pulls.create_pull_request(repo.id, models.PullRequestCreation(**fields)).id


def test_create_and_get_pull_request(repo, dev, pulls):
    found = pulls.get_pull_request(repo.id, open_pull(pulls, repo))
    assert (found.title, found.description, found.status, found.source_branch, found.destination_branch) == (
        "t",
        "d",
        "open",
        "dev",
        "main",
    )
    assert found.author and found.merged_commit_id is None and found.closed_date is None
    refused(
        404,
        pulls.create_pull_request,
        repo.id,
        models.PullRequestCreation(title="t", source_branch="nope", destination_branch="main"),
    )
    refused(
        400,
        pulls.create_pull_request,
        repo.id,
        models.PullRequestCreation(title="t", source_branch="main", destination_branch="main"),
    )
    refused(404, pulls.get_pull_request, NOWHERE, "0" * 20)


def test_list_pull_requests(repo, dev, pulls):
    first, second = open_pull(pulls, repo, title="one"), open_pull(pulls, repo, title="two")
    pulls.update_pull_request(repo.id, first, models.PullRequestBasic(status="closed"))
    assert [p.id for p in pulls.list_pull_requests(repo.id).results] == [second, first]
    assert [p.id for p in pulls.list_pull_requests(repo.id, status="open").results] == [second]
    refused(404, pulls.list_pull_requests, NOWHERE, code="repository_not_found")


def test_update_pull_request(repo, dev, pulls):
    pull = open_pull(pulls, repo)
    pulls.update_pull_request(repo.id, pull, models.PullRequestBasic(title="new", status="closed"))
    found = pulls.get_pull_request(repo.id, pull)
    assert (found.title, found.description, found.status) == ("new", "d", "closed") and found.closed_date
    refused(404, pulls.update_pull_request, NOWHERE, pull, models.PullRequestBasic(title="x"))


def test_merge_pull_request(sdk, repo, dev, pulls):
    pull = open_pull(pulls, repo)
    merged = pulls.merge_pull_request(repo.id, pull)
    assert merged.reference == head(sdk, repo) and sdk.objects.get_object(repo.id, "main", "a") == b"data"
    found = pulls.get_pull_request(repo.id, pull)
    assert (found.status, found.merged_commit_id) == ("merged", merged.reference)
    refused(400, pulls.merge_pull_request, repo.id, pull)

"""Every operation of ConfigApi, HealthCheckApi and MetadataApi, and those of InternalApi about the server itself:
effect and usual refusal."""

import pytest
import sdk as clients
import servers
from lakefs_sdk import models
from sdk import refused


@pytest.fixture
def nobody(tarn):
    """A client whose key is wrong."""
    return clients.Sdk(tarn, username=tarn.access_key, password="wrong")


def test_health_check(nobody):
    assert nobody.health_check.health_check() is None


def test_get_config(sdk, nobody):
    config = sdk.config.get_config()
    assert config.version_config.version and config.version_config.version_context == "lakeFS"
    assert (config.storage_config.blockstore_type, config.storage_config_list) == ("local", [])
    assert sdk.internal.get_lake_fs_version() == config.version_config
    assert sdk.internal.get_storage_config() == config.storage_config
    for call in (nobody.config.get_config, nobody.internal.get_lake_fs_version, nobody.internal.get_storage_config):
        refused(401, call, code="wrong_secret_key")


def test_get_garbage_collection_config(sdk, nobody):
    assert sdk.internal.get_garbage_collection_config().grace_period == 86400
    refused(401, nobody.internal.get_garbage_collection_config)


def test_setup_of_a_server_that_has_its_administrator(sdk):
    state = sdk.internal.get_setup_state()
    assert (state.state, state.comm_prefs_missing) == ("initialized", False)
    refused(409, sdk.internal.setup, models.Setup(username="second"), code="already_initialized")


def test_setup(scratch_dir):
    server = servers.Tarnd(scratch_dir / "tarnd", environment={"TARN_AUTH_SETUP": "http"}).start()
    try:
        internal = clients.Sdk(server).internal
        assert internal.get_setup_state().state == "not_initialized"
        preferences = models.CommPrefsInput(email="ann@example.org", featureUpdates=False, securityUpdates=False)
        refused(412, internal.setup_comm_prefs, preferences)
        refused(401, internal.setup, models.Setup(username="root"), code="setup_token_needed")
        token = (server.data_dir / "setup-token").read_text().strip()
        internal.api_client.set_default_header("Authorization", f"Bearer {token}")
        refused(400, internal.setup, models.Setup(username=""))
        key = internal.setup(models.Setup(username="root"))
        assert internal.get_setup_state().state == "initialized"
        theirs = clients.Sdk(server, username=key.access_key_id, password=key.secret_access_key)
        assert theirs.auth.get_current_user().user.id == "root"
        internal.setup_comm_prefs(preferences)
    finally:
        server.stop()


def test_post_stats_events(sdk, nobody):
    events = models.StatsEventsList(events=[models.StatsEvent(**{"class": "c", "name": "n", "count": 1})])
    assert sdk.internal.post_stats_events(events) is None
    refused(401, nobody.internal.post_stats_events, events)


def test_usage_names_the_installation_and_counts_nothing(sdk, nobody):
    report = sdk.internal.get_usage_report_summary()
    assert report.installation_id and report.reports == []
    refused(401, nobody.internal.get_usage_report_summary)


def test_ranges_and_metaranges_are_files_of_the_store(sdk, repo):
    repo.branch("main").object("a").upload(b"x")
    commit = repo.branch("main").commit("m").get_commit()
    metarange = sdk.metadata.get_meta_range(repo.id, commit.meta_range_id)
    # The tree is one leaf, so its only range has the same id.
    located = sdk.metadata.get_range(repo.id, commit.meta_range_id)
    assert metarange.location != located.location
    for kind in ("meta_range", "range"):
        assert len(sdk.internal.get_metadata_object(repo.id, commit.meta_range_id, kind)) > 500
    refused(404, sdk.metadata.get_meta_range, repo.id, "x", code="metarange_not_found")
    refused(404, sdk.metadata.get_range, repo.id, "x", code="range_not_found")
    refused(404, sdk.internal.get_metadata_object, repo.id, "x", "range", code="range_not_found")

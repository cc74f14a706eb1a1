// Runs every operation with all permissions: its changes of refs must equal the events that
// webhooks receive.
#include <map>
#include <set>

#include <gtest/gtest.h>

#include "core/branch/aliases.h"
#include "core/events/webhooks.h"
#include "server/api/authorisation_fixture.h"

namespace tarn::api {
namespace {

using Refs = std::map<std::string, std::string>;

/// Where the refs of repository data are: kind and name, commit in hex.
Refs refs_of(testing::TestEngine& engine) {
  constexpr db::Query kRefs{"test_refs", R"sql(
    SELECT 'branch ' || b.name, encode(b.head, 'hex') FROM branches b JOIN repositories r USING (repo_id)
    WHERE r.name = 'data' AND r.deleted_ms IS NULL
    UNION ALL
    SELECT 'alias ' || a.name, encode(a.commit_id, 'hex') FROM aliases a JOIN repositories r USING (repo_id)
    WHERE r.name = 'data' AND r.deleted_ms IS NULL AND a.commit_id IS NOT NULL
    UNION ALL
    SELECT 'tag ' || t.name, encode(t.commit_id, 'hex') FROM tags t JOIN repositories r USING (repo_id)
    WHERE r.name = 'data' AND r.deleted_ms IS NULL)sql"};
  const db::Rows rows = engine.pool.run(kRefs, {}, db::Pool::Retry::kRead);
  Refs out;
  for (size_t row = 0; row < rows.size(); ++row) out.emplace(rows.text(row, 0), rows.text(row, 1));
  return out;
}

/// The state of `refs` after the events that webhook "all" received.
void apply_events(testing::TestEngine& engine, Refs& refs, std::string_view operation) {
  constexpr db::Query kEvents{"test_ref_events", R"sql(
    SELECT (e.body::jsonb)->'data'->>'kind' || ' ' || ((e.body::jsonb)->'data'->>'name'),
      coalesce((e.body::jsonb)->'data'->>'old_commit', ''), coalesce((e.body::jsonb)->'data'->>'new_commit', ''),
      coalesce('branch ' || ((e.body::jsonb)->'data'->>'old_name'), '')
    FROM webhook_deliveries d JOIN events e USING (event_id) JOIN webhooks h USING (webhook_id)
      JOIN repositories r ON r.repo_id = h.repo_id
    WHERE r.name = 'data' AND r.deleted_ms IS NULL AND h.name = 'all' AND e.type <> 'alias.moved_by_hand'
    ORDER BY event_id)sql"};
  const db::Rows rows = engine.pool.run(kEvents, {}, db::Pool::Retry::kRead);
  for (size_t row = 0; row < rows.size(); ++row) {
    const std::string name(rows.text(row, 0));
    // A renamed branch has its commit under another name.
    if (auto renamed = refs.extract(std::string(rows.text(row, 3)))) {
      renamed.key() = name;
      refs.insert(std::move(renamed));
    }
    const auto at = refs.find(name);
    EXPECT_EQ(rows.text(row, 1), at == refs.end() ? "" : at->second) << operation << " " << name;
    if (rows.text(row, 2).empty()) {
      refs.erase(name);
    } else {
      refs[name] = rows.text(row, 2);
    }
  }
}

/// Calls that find something to move, in place of the rows that do not.
Row moving(const Row& row) {
  Row out = row;
  if (row.operation == "hardResetBranch") out.query = "ref=main";
  if (row.operation == "cherryPick") out.body = R"({"ref":"other"})";
  return out;
}

// Every operation on refs creates events for webhooks: a new operation is covered as soon as it has
// a row of permissions.
TEST_F(Authorisation, EveryRefMoveHasAnEvent) {
  std::set<std::string_view> moved;
  int made = 0;
  for (const Row& row : rows()) {
    if (is(row, kNeedsNothing) || is(row, kNeedsAnAccount)) continue;
    // With a repository its webhooks go too.
    if (row.operation == "deleteRepository" || row.operation == "createRepository") continue;
    branch::RepositoryCreation creation;
    creation.name = RepositoryName("data");
    creation.storage_namespace = "local://data-" + std::to_string(made++);
    const testing::TestRepository data{branch::create_repository(*engine, creation)};
    engine.put(data, "main", "m", "1");
    engine.commit(data, "main");
    for (const char* branch : {"topic", "target", "other"}) {
      if (row.operation == "createBranch" && branch == std::string_view("topic")) continue;
      engine.branch(data, branch, "main");
      engine.put(data, branch, std::string("dir/of-") + branch, "1");
      engine.commit(data, branch);
    }
    if (row.operation != "createTag") {
      branch::create_tag(*engine, data, TagName("v1"), "main", /*force=*/false);
    }
    if (row.operation != "setAlias") {
      branch::set_alias(*engine, data, {.name = AliasName("champion"), .actor = "ann"}, "main");
    }
    if (row.operation == "commit") engine.put(data, "topic", "dir/a", "of topic");
    events::put_webhook(*engine, service.context.webhook_key, data,
                        {.name = "all", .url = "http://10.1.2.3/", .created_by = "ann"}, {});

    Refs refs = refs_of(engine);
    ask(moving(row), {kEverything});
    const Refs after = refs_of(engine);
    if (refs != after) moved.insert(row.operation);
    apply_events(engine, refs, row.operation);
    EXPECT_EQ(refs, after) << row.operation;
    branch::delete_repository(*engine, data, /*force=*/true);
  }
  // That the test moves something at all.
  for (const char* mover :
       {"createBranch", "deleteBranch", "commit", "mergeIntoBranch", "revertBranch", "cherryPick",
        "hardResetBranch", "createTag", "deleteTag", "setAlias", "removeAlias"}) {
    EXPECT_TRUE(moved.contains(mover)) << mover;
  }
}

}  // namespace
}  // namespace tarn::api

// Publishing: a commit becomes the head of its branch.
#include "core/meta/branches.h"
#include "core/meta/commit_column.h"
#include "core/meta/commits.h"
#include "core/meta/gated_branch.h"

namespace tarn::meta {
namespace {

// SQLSTATEs that publish_commit raises.
constexpr std::string_view kStateBranchGone = "TN001";
constexpr std::string_view kStateChanged = "TN003";

constexpr db::Query kFence{"branches_fence_publication", R"sql(
  UPDATE branches SET lease_owner = NULL, lease_until = NULL WHERE branch_id = $1 AND lease_owner = $2)sql"};

constexpr db::Query kPublish{"branches_publish_commit",
                             R"sql(
  SELECT publish_commit($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19,
                        $20, $21, $22, $23, $24), )sql" TARN_COMMIT_POSITION,
                             /*has_position=*/true};

// Valid until the transaction ends: see refuse_gated_change in the schema.
constexpr db::Query kPermitPromotion{"branches_permit_promotion",
                                     "SELECT set_config('tarn.promotion', 'on', true)"};

// Whether a commit is the branch's head or one of its latest first-parent ancestors.
constexpr db::Query kWasPublished{"branches_was_published", R"sql(
  WITH RECURSIVE line AS (
    SELECT c.repo_id, c.commit_id, c.parents, 1 AS depth
    FROM branches b JOIN commits c ON c.repo_id = b.repo_id AND c.commit_id = b.head
    WHERE b.branch_id = $1
    UNION ALL
    SELECT c.repo_id, c.commit_id, c.parents, line.depth + 1
    FROM line JOIN commits c ON c.repo_id = line.repo_id AND c.commit_id = line.parents[1]
    WHERE line.depth < 1000)
  SELECT EXISTS (SELECT 1 FROM line WHERE commit_id = $2))sql"};

std::optional<int64_t> nullable(const TreeRoot& root) {
  return root.empty() ? std::nullopt : std::optional<int64_t>(root.nid);
}

std::vector<db::Bytes> views(const std::vector<std::string>& bytes) {
  std::vector<db::Bytes> out;
  out.reserve(bytes.size());
  for (const std::string& b : bytes) out.push_back({b});
  return out;
}

}  // namespace

db::Rows Branches::publish_with_more(std::initializer_list<db::Param> params,
                                     const Publication& p) {
  return pool_.transaction([&](db::Connection& connection) {
    if (p.promotion) connection.run(kPermitPromotion, {});
    db::Rows rows = connection.run(kPublish, params);
    if (rows.integer(0, 0) == 0 && p.within) p.within(connection);
    return rows;
  });
}

PublishOutcome Branches::publish(int64_t writer, const BranchLease& lease, const Publication& p) {
  std::vector<int16_t> levels(p.nodes.levels.begin(), p.nodes.levels.end());
  const db::Param settings =
      p.promotion ? db::Param(std::optional<int64_t>()) : db::Param(lease.settings_version);
  try {
    const std::initializer_list<db::Param> params = {writer,
                                                     lease.owner,
                                                     static_cast<int32_t>(p.repository),
                                                     static_cast<int32_t>(p.branch),
                                                     db::Bytes{view_of(lease.head)},
                                                     p.drained,
                                                     bytes_of(p.read),
                                                     p.nodes.nids,
                                                     levels,
                                                     views(p.nodes.hashes),
                                                     views(p.nodes.bodies),
                                                     db::Bytes{view_of(p.commit.id)},
                                                     p.commit.generation,
                                                     bytes_of(p.commit.parents),
                                                     nullable(p.commit.root),
                                                     db::Bytes{view_of(p.commit.root.hash)},
                                                     p.commit.committer,
                                                     p.commit.message,
                                                     metadata_to_array(p.commit.metadata),
                                                     to_millis(p.commit.created),
                                                     settings,
                                                     p.clean,
                                                     p.user,
                                                     db::Bytes{p.changed_paths}};
    const db::Rows rows = p.within || p.promotion
                              ? publish_with_more(params, p)
                              : pool_.run(kPublish, params, db::Pool::Retry::kWrite);
    constexpr int64_t kStatusWriterGone = 2;
    constexpr int64_t kStatusChanged = 3;
    switch (rows.integer(0, 0)) {
      case 0:
        return PublishOutcome::kDone;
      case kStatusWriterGone:
        return PublishOutcome::kWriterGone;
      case kStatusChanged:
        return PublishOutcome::kChanged;
      default:
        return PublishOutcome::kReadGone;
    }
  } catch (const db::DbError& error) {
    if (error.sqlstate() == kStateBranchGone) return PublishOutcome::kBranchGone;
    if (error.sqlstate() == kStateChanged) return PublishOutcome::kChanged;
    throw_if_gated(error);
    if (!error.in_doubt()) throw;
    // The response was lost, but the commit may have happened. Clearing the lease waits for a
    // running statement that has changed the branch's row; one that has not finds no lease. From
    // then on the history shows reliably whether the commit was published.
    const std::optional<bool> published = pool_.look_durably([&](db::Connection& connection) {
      connection.run(kFence, {static_cast<int32_t>(p.branch), lease.owner});
      return connection
          .run(kWasPublished, {static_cast<int32_t>(p.branch), db::Bytes{view_of(p.commit.id)}})
          .boolean(0, 0);
    });
    if (!published) throw;
    if (*published) return PublishOutcome::kDone;
    throw db::DbError(error.code(), error.sqlstate(), error.message(), false);
  }
}

}  // namespace tarn::meta

#include "core/promotion/gate_policy_store.h"

#include "core/base/digest.h"
#include "core/base/error.h"
#include "core/base/reasons.h"
#include "core/base/str_cat.h"
#include "core/branch/alias_store.h"
#include "core/meta/commit_column.h"
#include "core/model/listing.h"

namespace tarn::promotion {
namespace {

#define TARN_VERSION_COLUMNS                                                                \
  "v.name, v.version, v.destination, v.document, v.digest, v.author, v.at_ms, v.ancestor, " \
  "v.unchanged_since, v.users, v.groups, v.data"

// First in its transaction: serialises changes of a repository's settings.
constexpr db::Query kLockSettings{"gate_policies_lock_settings", R"sql(
  SELECT 1 FROM repositories WHERE repo_id = $1 AND deleted_ms IS NULL FOR NO KEY UPDATE)sql"};

constexpr db::Query kBumpSettings{"gate_policies_bump_settings", R"sql(
  UPDATE repositories SET settings_version = settings_version + 1 WHERE repo_id = $1)sql"};

constexpr db::Query kSelectHolding{"gate_policies_select_holding",
                                   "SELECT " TARN_VERSION_COLUMNS R"sql(
  FROM gate_policies p JOIN gate_policy_versions v USING (repo_id, name, version)
  WHERE p.repo_id = $1 AND p.name = $2 AND p.destination IS NOT NULL)sql"};

constexpr db::Query kSelectVersion{"gate_policies_select_version",
                                   "SELECT " TARN_VERSION_COLUMNS R"sql(
  FROM gate_policy_versions v WHERE v.repo_id = $1 AND v.name = $2 AND v.version = $3)sql"};

constexpr db::Query kSelectByDestination{"gate_policies_select_by_destination",
                                         "SELECT " TARN_VERSION_COLUMNS R"sql(
  FROM gate_policies p JOIN gate_policy_versions v USING (repo_id, name, version)
  WHERE p.repo_id = $1 AND p.destination = $2)sql"};

constexpr db::Query kSelectPolicies{"gate_policies_select_page",
                                    "SELECT " TARN_VERSION_COLUMNS R"sql(
  FROM gate_policies p JOIN gate_policy_versions v USING (repo_id, name, version)
  WHERE p.repo_id = $1 AND p.name > $2 AND p.name >= $3 AND starts_with(p.name, $3) AND p.destination IS NOT NULL
  ORDER BY p.name LIMIT $4)sql"};

constexpr db::Query kSelectVersions{"gate_policies_select_versions",
                                    "SELECT " TARN_VERSION_COLUMNS R"sql(
  FROM gate_policy_versions v WHERE v.repo_id = $1 AND v.name = $2 AND ($3 = 0 OR v.version < $3)
  ORDER BY v.version DESC LIMIT $4)sql"};

constexpr db::Query kSelectLastVersion{"gate_policies_select_last_version", R"sql(
  SELECT version, destination IS NOT NULL, confirms FROM gate_policies WHERE repo_id = $1 AND name = $2)sql"};

// A transaction that uses these has locked the settings: proposals change one at a time.
constexpr db::Query kSelectProposal{"gate_policies_select_proposal", R"sql(
  SELECT base, document, author, at_ms FROM gate_policy_proposals WHERE repo_id = $1 AND name = $2)sql"};

constexpr db::Query kTakeProposal{"gate_policies_take_proposal", R"sql(
  DELETE FROM gate_policy_proposals
  WHERE repo_id = $1 AND name = $2 AND base = $3 AND digest = $4 AND author <> $5
    AND author_id <> coalesce((SELECT user_id FROM users WHERE name = $5), -1)
  RETURNING 1)sql"};

constexpr db::Query kDropProposal{"gate_policies_drop_proposal", R"sql(
  DELETE FROM gate_policy_proposals WHERE repo_id = $1 AND name = $2)sql"};

// The same proposal again keeps its time, and tells nobody.
constexpr db::Query kPutProposal{"gate_policies_put_proposal", R"sql(
  INSERT INTO gate_policy_proposals AS p (repo_id, name, base, document, digest, author, author_id, at_ms)
  VALUES ($1, $2, $3, $4, $5, $6, coalesce((SELECT user_id FROM users WHERE name = $6), 0), $7)
  ON CONFLICT (repo_id, name) DO UPDATE SET base = excluded.base, document = excluded.document,
    digest = excluded.digest, author = excluded.author, author_id = excluded.author_id, at_ms = excluded.at_ms
  WHERE (p.base, p.digest, p.author, p.author_id)
    IS DISTINCT FROM (excluded.base, excluded.digest, excluded.author, excluded.author_id))sql"};

// Locked until its gate is set: a concurrent deletion of the branch either precedes the policy or
// is refused.
constexpr db::Query kLockBranch{"gate_policies_lock_branch", R"sql(
  SELECT 1 FROM branches WHERE repo_id = $1 AND name = $2 FOR NO KEY UPDATE)sql"};

// Checks the row again under the lock: a version that was set in the meantime does not match.
constexpr db::Query kHold{"gate_policies_hold_version", R"sql(
  SELECT 1 FROM gate_policies
  WHERE repo_id = $1 AND name = $2 AND version = $3 AND destination IS NOT NULL FOR SHARE)sql"};

constexpr db::Query kSelectRival{"gate_policies_select_rival", R"sql(
  SELECT name, destination IS NOT DISTINCT FROM $3 FROM gate_policies
  WHERE repo_id = $1 AND name <> $2 AND (destination = $3 OR alias = $4)
  ORDER BY destination IS NOT DISTINCT FROM $3 DESC, name LIMIT 1)sql"};

constexpr db::Query kInsertVersion{"gate_policies_insert_version", R"sql(
  INSERT INTO gate_policy_versions (repo_id, name, version, destination, document, digest, author, at_ms, ancestor,
                                    unchanged_since, users, groups, data)
  VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13))sql"};

// Locks the commit against garbage collection until the version is there.
constexpr db::Query kHoldData{"gate_policies_hold_data", R"sql(
  SELECT require_kept_commits($1, ARRAY[$2::bytea]))sql"};

struct PrincipalColumn {
  enum : int { kName, kId };
};

constexpr db::Query kSelectUsers{"gate_policies_select_users", R"sql(
  SELECT name, user_id AS id FROM users WHERE name = ANY ($1))sql"};

constexpr db::Query kSelectGroups{"gate_policies_select_groups", R"sql(
  SELECT name, group_id AS id FROM groups WHERE name = ANY ($1))sql"};

constexpr db::Query kUpsert{"gate_policies_upsert_row", R"sql(
  INSERT INTO gate_policies AS p (repo_id, name, version, destination, alias, confirms, expires_ms)
  VALUES ($1, $2, $3, $4, $5, $6, nullif($7::bigint, 0))
  ON CONFLICT (repo_id, name) DO UPDATE SET version = excluded.version, destination = excluded.destination,
    alias = excluded.alias, confirms = excluded.confirms, expires_ms = excluded.expires_ms,
    told = CASE WHEN p.expires_ms IS NOT DISTINCT FROM excluded.expires_ms THEN p.told END)sql"};

// Index promotions_by_result. Of two servers the second waits for the row, and finds it told.
constexpr db::Query kTellExpired{"gate_policies_tell_expired", R"sql(
  WITH expired AS (
    UPDATE gate_policies p SET told = a.commit_id FROM aliases a, promotions m
    WHERE p.expires_ms IS NOT NULL AND p.destination IS NOT NULL
      AND a.repo_id = p.repo_id AND a.name = p.alias AND p.told IS DISTINCT FROM a.commit_id
      AND m.repo_id = a.repo_id AND m.result = a.commit_id AND m.state = 'promoted' AND m.undoes IS NULL
      AND m.updated_ms + p.expires_ms <= $1
    RETURNING p.repo_id, p.name, p.destination, p.alias, a.commit_id, m.promotion_id)
  SELECT emit_event(repo_id, 'champion.expired', jsonb_build_object(
    'policy', name, 'destination', destination, 'alias', alias, 'commit', encode(commit_id, 'hex'),
    'promotion_id', promotion_id)) FROM expired)sql"};

// All branches whose gate this change sets or removes.
constexpr db::Query kUpdateGates{"gate_policies_update_gates", R"sql(
  UPDATE branches SET gate = CASE WHEN name = $3 THEN $2 END
  WHERE repo_id = $1 AND (name = $3 OR gate = $2) AND gate IS DISTINCT FROM CASE WHEN name = $3 THEN $2 END)sql"};

/// The inverse of pairs_of.
std::map<std::string, int32_t> ids_from(const std::vector<std::string>& pairs) {
  std::map<std::string, int32_t> out;
  for (size_t i = 0; i + 1 < pairs.size(); i += 2) out.emplace(pairs[i], std::stoi(pairs[i + 1]));
  return out;
}

GatePolicyVersion version_from(const db::Rows& rows, size_t row) {
  struct Column {
    enum : int {
      kName,
      kVersion,
      kDestination,
      kDocument,
      kDigest,
      kAuthor,
      kAtMs,
      kAncestor,
      kUnchangedSince,
      kUsers,
      kGroups,
      kData
    };
  };
  GatePolicyVersion out;
  out.name = rows.text(row, Column::kName);
  out.version = rows.integer(row, Column::kVersion);
  if (!rows.null(row, Column::kDestination)) {
    out.body = {.destination = BranchName(std::string(rows.text(row, Column::kDestination))),
                .document = std::string(rows.text(row, Column::kDocument)),
                .digest = std::string(rows.bytes(row, Column::kDigest)),
                .ancestor = meta::commit_or_none(rows, row, Column::kAncestor),
                .unchanged_since = meta::commit_or_none(rows, row, Column::kUnchangedSince)};
    out.body->users = ids_from(rows.strings(row, Column::kUsers));
    out.body->groups = ids_from(rows.strings(row, Column::kGroups));
    const std::vector<std::string> data = rows.strings(row, Column::kData);
    for (size_t i = 0; i + 2 < data.size(); i += 3) {
      out.body->data.emplace(data[i], PinnedData{static_cast<RepositoryId>(std::stoi(data[i + 1])),
                                                 parse_commit_id(data[i + 2]).value()});
    }
  }
  out.author = rows.text(row, Column::kAuthor);
  out.at = from_millis(rows.integer(row, Column::kAtMs));
  return out;
}

std::optional<GatePolicyVersion> only_version(const db::Rows& rows) {
  if (rows.empty()) return std::nullopt;
  return version_from(rows, 0);
}

/// The newest version of a name, and whether it is in force; 0 = there never was one.
struct Last {
  int64_t version = 0;
  bool holds = false;
  bool confirms = false;
  bool is(std::optional<int64_t> expected) const {
    return !expected || *expected == (holds ? version : 0);
  }
};

Last last_version(db::Connection& connection, int32_t repo, std::string_view name) {
  struct Column {
    enum : int { kVersion, kHolds, kConfirms };
  };
  const db::Rows rows = connection.run(kSelectLastVersion, {repo, name});
  if (rows.empty()) return {};
  return {rows.integer(0, Column::kVersion), rows.boolean(0, Column::kHolds),
          rows.boolean(0, Column::kConfirms)};
}

std::vector<std::string> pairs_of(const std::map<std::string, int32_t>& ids) {
  std::vector<std::string> out;
  for (const auto& [name, id] : ids) {
    out.push_back(name);
    out.push_back(std::to_string(id));
  }
  return out;
}

std::vector<std::string> triples_of(const std::map<std::string, PinnedData>& data) {
  std::vector<std::string> out;
  for (const auto& [name, pin] : data) {
    out.push_back(name);
    out.push_back(std::to_string(static_cast<int32_t>(pin.repository)));
    out.push_back(to_text(pin.commit));
  }
  return out;
}

/// A change that may need a second user. `setting` nullptr: it removes the policy.
struct Change {
  std::string_view name;
  const GatePolicyStore::Setting* setting;
  std::string_view author;
  Instant at;

  std::string digest() const {
    if (setting == nullptr) return sha256("");
    std::string text = setting->digest;
    for (const auto& commit : {setting->ancestor, setting->unchanged_since}) {
      text += commit ? to_text(*commit) : "-";
    }
    for (const auto* ids : {&setting->users, &setting->groups}) {
      for (const std::string& word : pairs_of(*ids)) text += str_cat(word, "\n");
      text += "\n";
    }
    for (const std::string& word : triples_of(setting->data)) text += str_cat(word, "\n");
    return sha256(text);
  }
};

/// Whether the change may be made now; if not, it is proposed. The settings are locked.
bool may_change(db::Connection& connection, int32_t repo, const Last& last, const Change& change) {
  if (!last.holds || !last.confirms) return true;
  const std::string digest = change.digest();
  if (!connection
           .run(kTakeProposal, {repo, change.name, last.version, db::Bytes{digest}, change.author})
           .empty()) {
    return true;
  }
  const std::optional<std::string> document =
      change.setting == nullptr ? std::nullopt : std::optional(change.setting->document);
  connection.run(kPutProposal, {repo, change.name, last.version, document, db::Bytes{digest},
                                change.author, to_millis(change.at)});
  return false;
}

}  // namespace

GatePolicyStore::Result GatePolicyStore::set(RepositoryId repository, const Setting& setting) {
  struct Column {
    enum : int { kName, kHasDestination };
  };
  const int32_t repo = static_cast<int32_t>(repository);
  const std::optional<std::string> alias =
      setting.alias.empty() ? std::nullopt : std::optional(setting.alias);
  return pool_.transaction([&](db::Connection& connection) -> Result {
    if (connection.run(kLockSettings, {repo}).empty()) return {Outcome::kRepositoryGone};
    const Last last = last_version(connection, repo, setting.name);
    if (!last.is(setting.expected)) return {Outcome::kMoved, last.version};
    if (connection.run(kLockBranch, {repo, setting.destination.str()}).empty()) {
      return {Outcome::kBranchGone};
    }
    const db::Rows rival =
        connection.run(kSelectRival, {repo, setting.name, setting.destination.str(), alias});
    if (!rival.empty()) {
      return {rival.boolean(0, Column::kHasDestination) ? Outcome::kDestinationTaken
                                                        : Outcome::kAliasTaken,
              last.version, std::string(rival.text(0, Column::kName))};
    }
    const auto present = only_version(connection.run(kSelectHolding, {repo, setting.name}));
    if (present && present->body->document == setting.document &&
        present->body->users == setting.users && present->body->groups == setting.groups &&
        present->body->data == setting.data) {
      connection.run(kDropProposal, {repo, setting.name});
      return {Outcome::kUnchanged, last.version};
    }
    if (!may_change(connection, repo, last, {setting.name, &setting, setting.author, setting.at})) {
      return {Outcome::kProposed, last.version};
    }
    for (const auto& [evaluation, pin] : setting.data) {
      const db::Rows kept = connection.run(
          kHoldData, {static_cast<int32_t>(pin.repository), db::Bytes{view_of(pin.commit)}});
      if (kept.integer(0, 0) != 1) return {Outcome::kDataGone, last.version, evaluation};
    }
    const int64_t version = last.version + 1;
    connection.run(
        kInsertVersion,
        {repo, setting.name, version, setting.destination.str(), setting.document,
         db::Bytes{setting.digest}, setting.author, to_millis(setting.at),
         meta::bytes_or_null(setting.ancestor), meta::bytes_or_null(setting.unchanged_since),
         pairs_of(setting.users), pairs_of(setting.groups), triples_of(setting.data)});
    connection.run(kUpsert,
                   {repo, setting.name, version, setting.destination.str(), alias, setting.confirms,
                    static_cast<int64_t>(setting.champion_expires.count())});
    connection.run(kUpdateGates, {repo, setting.name, setting.destination.str()});
    branch::AliasStore::clear_policy(connection, repository, setting.name);
    std::vector<std::string> aliases = setting.stages;
    if (alias) aliases.push_back(*alias);
    for (const std::string& one : aliases) {
      if (branch::AliasStore::set_policy(connection, repository, AliasName(one), setting.name))
        continue;
      throw Error(ErrorCode::kConflict, reason::kAliasHasPolicy,
                  str_cat("alias \"", one, "\": belongs to another policy already"));
    }
    connection.run(kBumpSettings, {repo});
    return {Outcome::kDone, version};
  });
}

GatePolicyStore::Result GatePolicyStore::remove(RepositoryId repository, std::string_view name,
                                                std::string_view author, Instant at,
                                                std::optional<int64_t> expected) {
  const int32_t repo = static_cast<int32_t>(repository);
  const std::optional<std::string> none;
  const std::optional<db::Bytes> no_bytes;
  return pool_.transaction([&](db::Connection& connection) -> Result {
    if (connection.run(kLockSettings, {repo}).empty()) return {Outcome::kRepositoryGone};
    const Last last = last_version(connection, repo, name);
    if (!last.holds) return {Outcome::kAbsent};
    if (!last.is(expected)) return {Outcome::kMoved, last.version};
    if (!may_change(connection, repo, last, {name, nullptr, author, at})) {
      return {Outcome::kProposed, last.version};
    }
    const int64_t version = last.version + 1;
    connection.run(kInsertVersion, {repo, name, version, none, none, no_bytes, author,
                                    to_millis(at), no_bytes, no_bytes, std::vector<std::string>(),
                                    std::vector<std::string>(), std::vector<std::string>()});
    connection.run(kUpsert, {repo, name, version, none, none, false, int64_t{0}});
    connection.run(kUpdateGates, {repo, name, none});
    branch::AliasStore::clear_policy(connection, repository, name);
    connection.run(kBumpSettings, {repo});
    return {Outcome::kDone, version};
  });
}

namespace {

/// The ids that the query has for the names; 0 = it has none.
std::map<std::string, int32_t> ids_of(db::Pool& pool, const db::Query& query,
                                      const std::vector<std::string>& names) {
  std::map<std::string, int32_t> out;
  for (const std::string& name : names) out.emplace(name, 0);
  if (names.empty()) return out;
  const db::Rows rows = pool.run(query, {names}, db::Pool::Retry::kRead);
  for (size_t row = 0; row < rows.size(); ++row) {
    out[std::string(rows.text(row, PrincipalColumn::kName))] =
        static_cast<int32_t>(rows.integer(row, PrincipalColumn::kId));
  }
  return out;
}

}  // namespace

std::map<std::string, int32_t> GatePolicyStore::user_ids(const std::vector<std::string>& names) {
  return ids_of(pool_, kSelectUsers, names);
}

std::map<std::string, int32_t> GatePolicyStore::group_ids(const std::vector<std::string>& names) {
  return ids_of(pool_, kSelectGroups, names);
}

size_t GatePolicyStore::tell_expired_champions(Instant now) {
  return pool_.run(kTellExpired, {to_millis(now)}, db::Pool::Retry::kWrite).size();
}

bool GatePolicyStore::hold(db::Connection& connection, RepositoryId repository,
                           std::string_view name, int64_t version) {
  return !connection.run(kHold, {static_cast<int32_t>(repository), name, version}).empty();
}

std::optional<GatePolicyProposal> GatePolicyStore::proposal(RepositoryId repository,
                                                            std::string_view name) {
  struct Column {
    enum : int { kBase, kDocument, kAuthor, kAtMs };
  };
  const db::Rows rows =
      pool_.run(kSelectProposal, {static_cast<int32_t>(repository), name}, db::Pool::Retry::kRead);
  if (rows.empty()) return std::nullopt;
  GatePolicyProposal out{.base = rows.integer(0, Column::kBase),
                         .document = std::nullopt,
                         .author = std::string(rows.text(0, Column::kAuthor)),
                         .at = from_millis(rows.integer(0, Column::kAtMs))};
  if (!rows.null(0, Column::kDocument)) out.document = rows.text(0, Column::kDocument);
  return out;
}

std::optional<GatePolicyVersion> GatePolicyStore::find(RepositoryId repository,
                                                       std::string_view name) {
  return only_version(
      pool_.run(kSelectHolding, {static_cast<int32_t>(repository), name}, db::Pool::Retry::kRead));
}

std::optional<GatePolicyVersion> GatePolicyStore::find_version(RepositoryId repository,
                                                               std::string_view name,
                                                               int64_t version) {
  return only_version(pool_.run(kSelectVersion, {static_cast<int32_t>(repository), name, version},
                                db::Pool::Retry::kRead));
}

std::optional<GatePolicyVersion> GatePolicyStore::find_by_destination(
    RepositoryId repository, const BranchName& destination) {
  return only_version(pool_.run(kSelectByDestination,
                                {static_cast<int32_t>(repository), destination.str()},
                                db::Pool::Retry::kRead));
}

Page<GatePolicyVersion> GatePolicyStore::list(RepositoryId repository, std::string_view prefix,
                                              std::string_view after, uint32_t limit) {
  const db::Rows rows = pool_.run(
      kSelectPolicies, {static_cast<int32_t>(repository), after, prefix, row_limit(limit)},
      db::Pool::Retry::kRead);
  return page_of<GatePolicyVersion>(rows, limit, version_from, &GatePolicyVersion::name);
}

Page<GatePolicyVersion> GatePolicyStore::versions(RepositoryId repository, std::string_view name,
                                                  int64_t before, uint32_t limit) {
  const db::Rows rows =
      pool_.run(kSelectVersions, {static_cast<int32_t>(repository), name, before, row_limit(limit)},
                db::Pool::Retry::kRead);
  return page_of<GatePolicyVersion>(rows, limit, version_from, [](const GatePolicyVersion& last) {
    return std::to_string(last.version);
  });
}

}  // namespace tarn::promotion

#include "core/branch/stage.h"

#include <algorithm>

#include "core/base/error.h"
#include "core/base/reasons.h"
#include "core/base/str_cat.h"
#include "core/branch/hook_files.h"
#include "core/branch/protection.h"
#include "core/branch/repositories.h"
#include "core/branch/store_owner.h"
#include "core/meta/node_store.h"
#include "core/meta/object_versions.h"
#include "core/meta/repositories.h"
#include "core/meta/repository_settings.h"
#include "core/meta/writer.h"
#include "core/quotas/quotas.h"
#include "core/tree/cursor.h"
#include "core/tree/entry_fields.h"

namespace tarn::branch {
namespace {

// Each round means that a concurrent write or a change of the rules came in between; a key with
// more contention is an error.
constexpr int kStageRoundsMax = 100;

[[noreturn]] void throw_branch_gone(const BranchName& branch) {
  throw Error(ErrorCode::kNotFound, reason::kBranchNotFound,
              str_cat("branch '", branch.str(), "' not found"));
}

[[noreturn]] void throw_contended() {
  throw Error(ErrorCode::kConflict, reason::kTooManyAttempts, "Too many attempts, try again later");
}

/// The same as Repositories::bucket_root; "" = none.
std::string root_of(const Repository& repository) {
  return repository.bucket_kind == BucketKind::kRooted ? repository.default_branch.str() : "";
}

bool any_equals(const std::vector<std::string>& etags, const std::string& etag) {
  return std::find(etags.begin(), etags.end(), etag) != etags.end();
}

}  // namespace

std::optional<Entry> visible_entry(Engine& engine, const meta::BranchLookup& seen, const Key& key) {
  switch (seen.state.kind) {
    case meta::StagedState::Kind::kEntry:
      return seen.state.entry;
    case meta::StagedState::Kind::kDeleted:
      return std::nullopt;
    case meta::StagedState::Kind::kNone:
      break;
  }
  return tree::find_entry(engine.nodes, seen.branch.root, key.str());
}

void check_condition(const Condition& condition, const std::optional<Entry>& current) {
  if (condition.needs_object() && !current) {
    throw Error(ErrorCode::kNotFound, reason::kNoObjectToMatch, "not found");
  }
  const bool holds =
      !(condition.if_absent && current) &&
      (condition.if_match.empty() || any_equals(condition.if_match, current->etag)) &&
      (!condition.if_size_bytes || *condition.if_size_bytes == current->size_bytes) &&
      (!condition.if_modified ||
       to_seconds(*condition.if_modified) == to_seconds(current->mtime)) &&
      !(current && any_equals(condition.if_none_match, current->etag));
  if (holds) return;
  throw Error(ErrorCode::kPreconditionFailed,
              condition.if_absent ? "path already exists" : "Precondition failed");
}

void throw_no_object() { throw Error(ErrorCode::kNotFound, reason::kObjectNotFound, "not found"); }

meta::BranchLookup lookup_branch(Engine& engine, const RepositoryName& repository,
                                 const BranchName& branch, const Key& key) {
  auto seen = engine.staging.lookup(repository, branch, key);
  if (!seen) {
    get_repository(engine, repository);  // says so when that is what is missing
    throw_branch_gone(branch);
  }
  return *std::move(seen);
}

void check_bucket(Engine& engine, const Repository& repository, const WriteTerms& terms) {
  if (!terms.bucket_root || *terms.bucket_root == root_of(repository)) return;
  engine.repositories.forget_root(repository.name);
  throw Error(ErrorCode::kUnavailable, reason::kBucketChanged,
              str_cat("repository \"", repository.name.str(),
                      "\" was removed and made anew as another kind of bucket, try again"));
}

void check_terms(Engine& engine, const Repository& repository, const WriteTerms& terms) {
  check_bucket(engine, repository, terms);
  check_writable(engine, repository, terms.force);
}

meta::BranchLookup lookup_for_write(Engine& engine, const RepositoryName& repository,
                                    const BranchName& branch, const Key& key,
                                    const WriteTerms& terms) {
  check_hook_file(engine, repository, key.str());
  meta::BranchLookup seen = lookup_branch(engine, repository, branch, key);
  check_terms(engine, engine.repositories.get(seen.repository), terms);
  check_branch_action(engine, seen.repository, seen.branch, BranchAction::kStage);
  return seen;
}

namespace {

/// The current state of the branch, which must permit the staging.
meta::BranchLookup look_again(Engine& engine, const StageTarget& target, const Key& key) {
  meta::BranchLookup seen = lookup_branch(engine, target.repository, target.branch, key);
  if (seen.branch.id != target.id) throw_branch_gone(target.branch);
  check_branch_action(engine, seen.repository, seen.branch, BranchAction::kStage);
  return seen;
}

bool keeps_versions(Engine& engine, RepositoryId repository, int64_t settings_version) {
  return engine.settings.versioning(repository, settings_version) == Versioning::kEnabled;
}

/// Calls `stage(settings_version)` until the rules do not change during the call. `key` is one of
/// the written keys. Returns false and does nothing if the repository keeps versions.
template <typename Stage>
bool stage_under_rules(Engine& engine, const StageTarget& target, const Key& key, Stage stage) {
  int64_t settings_version = target.settings_version;
  engine.owners.require(engine.repositories.get(target.repository_id));  // an upload takes time
  for (int round = 0; round < kStageRoundsMax; ++round) {
    if (keeps_versions(engine, target.repository_id, settings_version)) return false;
    switch (stage(settings_version)) {
      case meta::Staging::StageOutcome::kDone:
        engine.quotas.note(target.charge);
        return true;
      case meta::Staging::StageOutcome::kOverQuota:
        engine.quotas.refuse(target.repository_id, target.charge);
      case meta::Staging::StageOutcome::kBranchGone:
        throw_branch_gone(target.branch);
      case meta::Staging::StageOutcome::kChanged:
        settings_version = look_again(engine, target, key).branch.settings_version;
    }
  }
  throw_contended();
}

/// Stages over the current entry; repeats until no write comes between the read and the write.
std::optional<VersionId> stage_under_condition(Engine& engine, const StageTarget& target,
                                               const Key& key, const std::optional<Entry>& entry,
                                               const Condition& condition,
                                               const meta::Staging::Within& within) {
  engine.owners.require(engine.repositories.get(target.repository_id));  // an upload takes time
  for (int round = 0; round < kStageRoundsMax; ++round) {
    const meta::BranchLookup seen = look_again(engine, target, key);
    if (!condition.none()) check_condition(condition, visible_entry(engine, seen, key));
    const StagedOver staged = stage_over(engine, seen, key, entry, within, target.charge);
    switch (staged.outcome) {
      case meta::Staging::StageOutcome::kDone:
        engine.quotas.note(target.charge);
        return staged.version;
      case meta::Staging::StageOutcome::kOverQuota:
        engine.quotas.refuse(target.repository_id, target.charge);
      case meta::Staging::StageOutcome::kBranchGone:
        throw_branch_gone(target.branch);
      case meta::Staging::StageOutcome::kChanged:
        break;
    }
  }
  throw_contended();
}

/// Returns false and does nothing if the repository keeps versions.
bool stage_unconditionally(Engine& engine, const StageTarget& target, const Key& key,
                           const std::optional<Entry>& entry) {
  if (keeps_versions(engine, target.repository_id, target.settings_version)) return false;
  // Deleting a missing object would leave a row without effect.
  if (!entry &&
      !visible_entry(engine, lookup_branch(engine, target.repository, target.branch, key), key)) {
    return true;
  }
  return stage_under_rules(engine, target, key, [&](int64_t settings_version) {
    return engine.staging.stage(target.id, key, entry, settings_version, target.charge);
  });
}

/// Rolls back a transaction if another version was added since the state was read.
struct VersionsChanged {};

}  // namespace

bool shows(const std::optional<Entry>& visible, const meta::ObjectVersionRow& row) {
  return visible && row.entry ? tree::same_content(*visible, *row.entry) : !visible && !row.entry;
}

StagedOver stage_over(Engine& engine, const meta::BranchLookup& seen, const Key& key,
                      const std::optional<Entry>& entry, const meta::Staging::Within& within,
                      const Charge& charge) {
  if (!keeps_versions(engine, seen.repository, seen.branch.settings_version)) {
    return {within ? engine.staging.stage_if_within(seen, key, entry, within, charge)
                   : engine.staging.stage_if(seen, key, entry, charge)};
  }
  const auto newest = engine.versions.newest(seen.branch.id, key, 1);
  meta::ObjectVersionRecord record{.newest = std::nullopt,
                                   .version = new_version_id(),
                                   .entry = entry,
                                   .created = entry ? entry->mtime : engine.clock.now()};
  if (!newest.empty()) record.newest = newest[0].number;
  const std::optional<Entry> visible = visible_entry(engine, seen, key);
  if (visible && (newest.empty() || !shows(visible, newest[0]))) record.base = visible;
  try {
    const auto outcome = engine.staging.stage_if_within(
        seen, key, entry,
        [&](db::Connection& connection) {
          if (within) within(connection);
          if (!meta::ObjectVersions::record(connection, seen.branch.id, key, record)) {
            throw VersionsChanged{};
          }
        },
        charge);
    return {outcome, record.version};
  } catch (const VersionsChanged&) {
    return {meta::Staging::StageOutcome::kChanged};
  }
}

std::optional<VersionId> stage_entry(Engine& engine, const StageTarget& target, const Key& key,
                                     const std::optional<Entry>& entry,
                                     const Condition& condition) {
  // Check again: the first check was before the bytes arrived, which may have taken hours.
  check_hook_file(engine, target.repository, key.str());
  if (condition.none() && stage_unconditionally(engine, target, key, entry)) return std::nullopt;
  return stage_under_condition(engine, target, key, entry, condition, {});
}

std::optional<VersionId> stage_entry_within(Engine& engine, const StageTarget& target,
                                            const Key& key, const Entry& entry,
                                            const Condition& condition,
                                            const meta::Staging::Within& within) {
  check_hook_file(engine, target.repository, key.str());
  const bool done =
      condition.none() && stage_under_rules(engine, target, key, [&](int64_t settings_version) {
        return engine.staging.stage_within(target.id, key, entry, settings_version, within,
                                           target.charge);
      });
  if (done) return std::nullopt;
  return stage_under_condition(engine, target, key, entry, condition, within);
}

StagedEntry change_entry(Engine& engine, const RepositoryName& repository, const BranchName& branch,
                         const Key& key, const WriteTerms& terms,
                         const std::function<void(Entry&)>& change, const Condition& condition) {
  const meta::Writer::Operation operation(engine.writer);
  for (int round = 0; round < kStageRoundsMax; ++round) {
    const meta::BranchLookup seen = lookup_for_write(engine, repository, branch, key, terms);
    std::optional<Entry> entry = visible_entry(engine, seen, key);
    check_condition(condition, entry);
    if (!entry) throw_no_object();
    change(*entry);
    const StagedOver staged = stage_over(engine, seen, key, entry);
    switch (staged.outcome) {
      case meta::Staging::StageOutcome::kDone:
        return {*std::move(entry), staged.version};
      case meta::Staging::StageOutcome::kBranchGone:
        throw_branch_gone(branch);
      case meta::Staging::StageOutcome::kOverQuota:  // without a charge there is none
      case meta::Staging::StageOutcome::kChanged:
        break;
    }
  }
  throw_contended();
}

bool stage_deletions(Engine& engine, const StageTarget& target, std::span<const Key> keys) {
  if (keys.empty()) return true;
  for (const Key& key : keys) check_hook_file(engine, target.repository, key.str());
  return stage_under_rules(engine, target, keys.front(), [&](int64_t settings_version) {
    std::vector<meta::StagedRow> rows;
    rows.reserve(keys.size());
    for (const Key& key : keys) rows.push_back({key.str(), std::nullopt});
    return engine.staging.stage_many(target.id, std::move(rows), settings_version);
  });
}

}  // namespace tarn::branch

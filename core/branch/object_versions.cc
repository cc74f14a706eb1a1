#include "core/branch/object_versions.h"

#include "core/base/acting_user.h"
#include "core/base/error.h"
#include "core/base/reasons.h"
#include "core/base/str_cat.h"
#include "core/branch/repositories.h"
#include "core/branch/stage.h"
#include "core/meta/object_versions.h"
#include "core/meta/read_leases.h"
#include "core/meta/repository_settings.h"
#include "core/meta/writer.h"

namespace tarn::branch {
namespace {

// Each round means that a concurrent write came in between.
constexpr int kRoundsMax = 100;

using Rows = std::vector<meta::ObjectVersionRow>;

/// Whether the branch shows an entry other than the newest version of a key.
bool shows_null(const std::optional<Entry>& visible, const Rows& newest) {
  return newest.empty() ? visible.has_value() : !shows(visible, newest[0]);
}

ObjectVersion version_from(meta::ObjectVersionRow row) {
  return {.path = std::move(row.key),
          .id = row.version,
          .entry = std::move(row.entry),
          .latest = false,
          .created = row.created,
          .makers = std::move(row.makers)};
}

/// The state of a key on which a removal is based.
struct KeyVersions {
  std::optional<Entry> visible;
  Rows newest;  ///< at most two
  bool null_shown = false;
};

KeyVersions versions_of(Engine& engine, const meta::BranchLookup& seen, const Key& key) {
  KeyVersions out;
  out.visible = visible_entry(engine, seen, key);
  out.newest = engine.versions.newest(seen.branch.id, key, 2);
  out.null_shown = shows_null(out.visible, out.newest);
  return out;
}

/// The version row with this id; without id, the null version's.
std::optional<meta::ObjectVersionRow> find_row(Engine& engine, BranchId branch, const Key& key,
                                               const std::optional<VersionId>& id) {
  meta::ObjectVersions& versions = engine.versions;
  return id ? versions.find(branch, key, *id) : versions.find_null(branch, key);
}

/// Rolls back a transaction if the versions have changed since they were read.
struct OtherVersions {};

/// One attempt at a removal, based on the state that was read. `removed` is nullopt if there is
/// nothing to remove.
class Removal {
 public:
  Removal(Engine& engine, const meta::BranchLookup& seen, const Key& key,
          const std::optional<VersionId>& id)
      : engine_(engine), seen_(seen), key_(key), at_(versions_of(engine, seen, key)) {
    if (!id && at_.null_shown) {
      removed = ObjectVersion{.path = key.str(), .id = {}, .entry = at_.visible, .latest = true};
      return;
    }
    row_ = find_row(engine, seen.branch.id, key, id);
    if (!row_) return;
    removed = version_from(*row_);
    // The row was read after `newest`, so it may have been added in between. Then nothing is
    // removed.
    newest_goes_ = !at_.newest.empty() && row_->number == at_.newest[0].number;
    removed->latest = !at_.null_shown && newest_goes_;
  }

  meta::Staging::StageOutcome run() {
    // A row below the newest does not affect the branch's state.
    if (!removed->latest && !newest_goes_) {
      const bool done = engine_.versions.remove(seen_, key_, row_->number, at_.newest);
      return done ? meta::Staging::StageOutcome::kDone : meta::Staging::StageOutcome::kChanged;
    }
    // If the null version is removed, the newest row replaces it, else the row after the newest.
    const size_t below = row_ ? 1 : 0;
    std::optional<Entry> restored =
        below < at_.newest.size() ? at_.newest[below].entry : std::nullopt;
    // If a null version is shown, the branch's state does not change, but it must still be the
    // same: the state and the row were not read at the same moment.
    if (!removed->latest) restored = at_.visible;
    const CopiedWork work(below < at_.newest.size()
                              ? std::set<std::string>(at_.newest[below].makers.begin(),
                                                      at_.newest[below].makers.end())
                              : std::set<std::string>());
    try {
      return engine_.staging.stage_if_within(
          seen_, key_, restored, [&](db::Connection& connection) {
            // Numbers start at -1, so 0 removes nothing but still compares the newest rows.
            const int64_t number = row_ ? row_->number : 0;
            if (!meta::ObjectVersions::remove(connection, seen_.branch.id, key_, number,
                                              at_.newest)) {
              throw OtherVersions{};
            }
          });
    } catch (const OtherVersions&) {
      return meta::Staging::StageOutcome::kChanged;
    }
  }

  std::optional<ObjectVersion> removed;

 private:
  Engine& engine_;
  const meta::BranchLookup& seen_;
  const Key& key_;
  const KeyVersions at_;
  std::optional<meta::ObjectVersionRow> row_;
  bool newest_goes_ = false;
};

}  // namespace

Versioning get_versioning(Engine& engine, const Repository& repository) {
  return engine.settings.versioning(repository.id);
}

void set_versioning(Engine& engine, const Repository& repository, Versioning versioning) {
  check_writable(engine, repository, /*force=*/false);
  if (!engine.settings.set_versioning(repository.id, versioning)) {
    throw Error(ErrorCode::kNotFound, reason::kRepositoryNotFound, "repository not found");
  }
}

std::optional<VersionId> version_shown(Engine& engine, BranchId branch, const Key& key,
                                       const Entry& visible) {
  const Rows newest = engine.versions.newest(branch, key, 1);
  if (shows_null(visible, newest) || newest[0].is_null) return std::nullopt;
  return newest[0].version;
}

std::optional<VersionId> version_shown(Engine& engine, RepositoryId repository,
                                       const Branch& branch, const Key& key, const Entry& visible) {
  if (engine.settings.versioning(repository, branch.settings_version) == Versioning::kOff) {
    return std::nullopt;
  }
  return version_shown(engine, branch.id, key, visible);
}

std::optional<ObjectVersion> find_version(Engine& engine, const RepositoryName& repository,
                                          const BranchName& branch, const Key& key,
                                          const std::optional<VersionId>& id) {
  const auto seen = engine.staging.lookup(repository, branch, key);
  if (!seen) return std::nullopt;
  if (!id) {
    const KeyVersions at = versions_of(engine, *seen, key);
    if (at.null_shown) {
      const Instant created = at.visible ? at.visible->mtime : engine.clock.now();
      return ObjectVersion{key.str(), std::nullopt, at.visible, true, created};
    }
  }
  auto row = find_row(engine, seen->branch.id, key, id);
  if (!row) return std::nullopt;
  ObjectVersion out = version_from(*std::move(row));
  if (!id) out.id.reset();
  return out;
}

std::optional<VersionId> marker_shown(Engine& engine, const RepositoryName& repository,
                                      const BranchName& branch, const Key& key) {
  const auto seen = engine.read_leases.lookup(repository, branch, key);
  if (!seen || engine.settings.versioning(seen->repository, seen->branch.settings_version) ==
                   Versioning::kOff) {
    return std::nullopt;
  }
  const Rows newest = engine.versions.newest(seen->branch.id, key, 1);
  if (newest.empty() || newest[0].entry || visible_entry(engine, *seen, key)) return std::nullopt;
  return newest[0].version;
}

bool remove_noncurrent(Engine& engine, const meta::BranchLookup& seen, const Key& key,
                       const std::optional<VersionId>& id) {
  Removal removal(engine, seen, key, id);
  return removal.removed && !removal.removed->latest &&
         removal.run() == meta::Staging::StageOutcome::kDone;
}

std::optional<ObjectVersion> remove_version(Engine& engine, const RepositoryName& repository,
                                            const BranchName& branch, const Key& key,
                                            const std::optional<VersionId>& id,
                                            const WriteTerms& terms, const Condition& condition) {
  const meta::Writer::Operation operation(engine.writer);
  for (int round = 0; round < kRoundsMax; ++round) {
    const meta::BranchLookup seen = lookup_for_write(engine, repository, branch, key, terms);
    const auto kept = engine.settings.versioning(seen.repository, seen.branch.settings_version);
    if (!id && kept == Versioning::kOff) {
      stage_entry(
          engine,
          {repository, branch, seen.repository, seen.branch.id, seen.branch.settings_version}, key,
          std::nullopt, condition);
      return ObjectVersion{.path = key.str(), .id = {}, .entry = Entry{}, .latest = true};
    }
    Removal removal(engine, seen, key, id);
    if (!removal.removed) return std::nullopt;
    if (!condition.none()) check_condition(condition, removal.removed->entry);
    switch (removal.run()) {
      case meta::Staging::StageOutcome::kDone:
        return std::move(removal.removed);
      case meta::Staging::StageOutcome::kBranchGone:
        throw Error(ErrorCode::kNotFound, reason::kBranchNotFound,
                    str_cat("branch '", branch.str(), "' not found"));
      case meta::Staging::StageOutcome::kOverQuota:  // without a charge there is none
      case meta::Staging::StageOutcome::kChanged:
        break;
    }
  }
  throw Error(ErrorCode::kConflict, reason::kTooManyAttempts, "Too many attempts, try again later");
}

}  // namespace tarn::branch

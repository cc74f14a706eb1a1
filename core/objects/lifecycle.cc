#include "core/objects/lifecycle.h"

#include <algorithm>

#include "core/base/error.h"
#include "core/base/log.h"
#include "core/base/reasons.h"
#include "core/base/str_cat.h"
#include "core/branch/object_versions.h"
#include "core/branch/protection.h"
#include "core/branch/repositories.h"
#include "core/branch/stage.h"
#include "core/meta/repositories.h"
#include "core/meta/repository_settings.h"
#include "core/meta/staging.h"
#include "core/model/hook_event.h"
#include "core/objects/lifecycle_scans.h"
#include "core/objects/objects.h"
#include "core/objects/uploads.h"
#include "core/objects/version_listing.h"

namespace tarn::objects {
namespace {

using meta::SettingKind;
using SteadyClock = std::chrono::steady_clock;

/// Longer than a turn lasts.
constexpr std::chrono::milliseconds kClaim{60'000};
/// Pause before the next attempt on a repository that rejects writes.
constexpr std::chrono::hours kRefusedWait{1};
constexpr uint32_t kPage = 1000;

/// Thrown to end a turn whose rules are no longer in force.
struct RulesChanged {};

/// The state of one turn.
struct Turn {
  branch::Engine& engine;
  const Repository& repository;
  const LifecycleRules& rules;
  int64_t settings_version;  ///< of the rules
  Instant now;
  SteadyClock::time_point end;
  const std::stop_token& stop;
  uint64_t deleted = 0;
  uint64_t aborted = 0;

  bool over() const { return stop.stop_requested() || SteadyClock::now() >= end; }
};

/// The root of a bucket's keys: "branch/" if keys are paths of the default branch, "" if they are
/// "branch/path".
std::string upload_root(const Repository& repository) {
  return repository.bucket_kind == BucketKind::kRooted
             ? str_cat(repository.default_branch.str(), '/')
             : std::string();
}

using Acts = bool (*)(const LifecycleRule&);

bool expires(const LifecycleRule& rule) { return rule.expires(); }
bool ends_noncurrent(const LifecycleRule& rule) { return rule.noncurrent_days.has_value(); }

/// The common prefix of all keys on which the rules may act so.
std::string common_prefix(const LifecycleRules& rules, Acts acts) {
  std::optional<std::string> out;
  for (const LifecycleRule& rule : rules) {
    if (!rule.enabled || !acts(rule)) continue;
    const std::string prefix = rule.prefix.value_or("");
    if (!out) {
      out = prefix;
      continue;
    }
    const auto differ = std::mismatch(out->begin(), out->end(), prefix.begin(), prefix.end());
    out->erase(differ.first, out->end());
  }
  return out.value_or("");
}

bool any_enabled(const LifecycleRules& rules, Acts acts) {
  return std::any_of(rules.begin(), rules.end(),
                     [&](const LifecycleRule& rule) { return rule.enabled && acts(rule); });
}

/// Aborts uploads that a rule has expired.
void abort_uploads(Turn& turn, uint32_t uploads_max) {
  const std::string root = upload_root(turn.repository);
  std::string after_key;
  std::string after_id;
  for (uint32_t seen = 0; seen < uploads_max && !turn.over(); seen += kPage) {
    const std::vector<UploadRow> page =
        turn.engine.uploads.list(turn.repository.id, root, after_key, after_id, kPage);
    for (const UploadRow& upload : page) {
      after_key = str_cat(upload.branch_name.str(), '/', upload.key.str());
      after_id = upload.id;
      const auto at =
          abortion_of(turn.rules, std::string_view(after_key).substr(root.size()), upload.created);
      if (!at || *at > turn.now) continue;
      turn.aborted += turn.engine.uploads.remove_under_settings(upload.id, turn.repository.id,
                                                                turn.settings_version);
    }
    if (page.size() < kPage) return;
  }
}

/// The state of a key under the rules of the turn, for a change.
meta::BranchLookup look_up(const Turn& turn, const Key& key) {
  auto seen = turn.engine.staging.lookup(turn.repository.name, turn.repository.default_branch, key);
  if (!seen || seen->repository != turn.repository.id ||
      seen->branch.settings_version != turn.settings_version) {
    throw RulesChanged{};
  }
  branch::check_branch_action(turn.engine, turn.repository.id, seen->branch, BranchAction::kStage);
  return *std::move(seen);
}

/// Deletes the object if it is still the listed one.
void delete_expired(Turn& turn, const Key& key, const Entry& listed) {
  const meta::BranchLookup seen = look_up(turn, key);
  if (branch::visible_entry(turn.engine, seen, key) != listed) return;
  // Any other outcome means that it was written, or a setting changed, since the check. If versions
  // are kept, this makes a delete marker, and the object remains as a version.
  if (branch::stage_over(turn.engine, seen, key, std::nullopt).outcome ==
      meta::Staging::StageOutcome::kDone) {
    ++turn.deleted;
  }
}

/// Deletes expired objects after `position`, up to a limit. Returns the key after which the next
/// turn continues; nullopt at the end.
std::optional<std::string> delete_objects_behind(Turn& turn, std::string position,
                                                 uint32_t objects_max) {
  ListOptions options;
  options.prefix = common_prefix(turn.rules, expires);
  options.after = std::move(position);
  options.limit = std::min(kPage, objects_max);
  for (uint32_t seen = 0; seen < objects_max; seen += options.limit) {
    const Page<ListItem> page = list_objects(turn.engine, turn.repository.name,
                                             turn.repository.default_branch.str(), options);
    for (const ListItem& item : page.items) {
      const bool kept = item.path.starts_with(kActionFilesPrefix);
      const auto expiry = kept ? std::nullopt : expiry_of(turn.rules, item.path, *item.entry);
      if (expiry && expiry->at <= turn.now) delete_expired(turn, Key(item.path), *item.entry);
      options.after = item.path;
      if (turn.over()) return options.after;
    }
    if (page.next.empty()) return std::nullopt;
    options.after = page.next;
    if (turn.over()) break;
  }
  return options.after;
}

/// Removes noncurrent versions of keys after `position`, as delete_objects_behind. A turn ends
/// between two keys: the versions before one say how long it has been noncurrent.
std::optional<std::string> remove_versions_behind(Turn& turn, std::string position,
                                                  uint32_t versions_max) {
  VersionListOptions options;
  options.prefix = common_prefix(turn.rules, ends_noncurrent);
  options.after.path = position;
  std::string key;                 // of the last version
  std::optional<VersionId> first;  // of the key: it comes again when a page began at a removed one
  std::optional<Instant> since;    // when the next version of the key ceased to be the current one
  uint32_t newer = 0;
  uint32_t seen = 0;
  bool at_first_key = true;
  uint64_t deleted = turn.deleted;  // before the key
  // A key that takes longer than a turn is left before its end.
  const auto resume = [&] { return at_first_key && turn.deleted == deleted ? key : position; };
  while (true) {
    const VersionPage page =
        list_versions(turn.engine, turn.repository.name, turn.repository.default_branch, options);
    for (const VersionItem& item : page.items) {
      const branch::ObjectVersion& version = *item.version;
      ++seen;
      const bool same_key = item.path == key;
      if (!same_key || version.latest || version.id == first) {
        if (!same_key && !key.empty()) {
          if (seen > versions_max || turn.over()) return key;
          position = key;
          at_first_key = false;
        }
        if (!same_key) deleted = turn.deleted;
        key = item.path;
        first = version.id;
        newer = 0;
        since = version.id ? std::optional(version.created) : std::nullopt;
        continue;
      }
      // The time of the null version is that of its object, wherever that came from.
      const auto ceased = since ? std::optional(std::max(*since, version.created)) : std::nullopt;
      if (version.id) since = version.created;
      const uint32_t before = newer++;
      if (!ceased || key.starts_with(kActionFilesPrefix) ||
          !removes_noncurrent(turn.rules, {key, version.entry, *ceased, before}, turn.now)) {
        continue;
      }
      const Key at(key);
      if (branch::remove_noncurrent(turn.engine, look_up(turn, at), at, version.id)) {
        ++turn.deleted;
      }
      if (turn.over()) return resume();
    }
    if (!page.has_more) return std::nullopt;
    options.after = page.next;
    if (turn.over()) return resume();
  }
}

/// Where a scan is after the objects: behind a key of their versions.
constexpr char kVersionsMark = '\0';

/// Runs one turn. Returns the position of the next one; nullopt at the end of the scan.
std::optional<std::string> look(Turn& turn, const std::string& position,
                                const LifecycleLimits& limits) {
  if (position.empty() && any_enabled(turn.rules, [](const LifecycleRule& rule) {
        return rule.abort_days.has_value();
      })) {
    abort_uploads(turn, limits.uploads_max);
    if (turn.stop.stop_requested()) return position;
  }
  if (turn.repository.bucket_kind != BucketKind::kRooted ||
      !any_enabled(turn.rules, [](const LifecycleRule& rule) { return rule.deletes(); })) {
    return std::nullopt;
  }
  branch::check_writable(turn.engine, turn.repository, /*force=*/false);
  const bool in_versions = position.starts_with(kVersionsMark);
  if (!in_versions && any_enabled(turn.rules, expires)) {
    if (auto next = delete_objects_behind(turn, position, limits.objects_max)) return next;
  }
  if (!any_enabled(turn.rules, ends_noncurrent)) return std::nullopt;
  auto next =
      remove_versions_behind(turn, in_versions ? position.substr(1) : "", limits.objects_max);
  if (next) next->insert(0, 1, kVersionsMark);
  return next;
}

}  // namespace

std::optional<LifecycleRules> get_lifecycle(branch::Engine& engine, const Repository& repository) {
  const auto body = engine.settings.find(repository.id, SettingKind::kLifecycle);
  if (!body) return std::nullopt;
  return decode_lifecycle(*body);
}

void set_lifecycle(branch::Engine& engine, const Repository& repository,
                   const LifecycleRules& rules) {
  branch::check_writable(engine, repository, /*force=*/false);
  const bool done =
      engine.settings.update(repository.id, SettingKind::kLifecycle,
                             [&](const std::optional<std::string>&) -> std::optional<std::string> {
                               if (rules.empty()) return std::nullopt;
                               return encode_lifecycle(rules);
                             });
  if (!done) throw Error(ErrorCode::kNotFound, reason::kRepositoryNotFound, "repository not found");
}

std::shared_ptr<const LifecycleRules> shown_lifecycle(branch::Engine& engine,
                                                      RepositoryId repository,
                                                      std::optional<int64_t> settings_version) {
  return engine.settings.lifecycle(repository, settings_version);
}

bool run_one_lifecycle_scan(branch::Engine& engine, const std::stop_token& stop,
                            const LifecycleLimits& limits) {
  LifecycleScans& scans = engine.lifecycle_scans;
  const auto claim = scans.claim(kClaim);
  if (!claim) return false;
  const auto settings = engine.settings.find_versioned(claim->repository, SettingKind::kLifecycle);
  if (!settings || !settings->body) return true;  // removed in the meantime, with its row
  const Repository repository = engine.repositories.current(claim->repository);
  const LifecycleRules rules = decode_lifecycle(*settings->body);
  Turn turn{.engine = engine,
            .repository = repository,
            .rules = rules,
            .settings_version = settings->version,
            .now = claim->now,
            .end = SteadyClock::now() + limits.time_max,
            .stop = stop};
  try {
    const std::optional<std::string> position = look(turn, claim->position, limits);
    if (position) {
      scans.go_on(*claim, *position);
    } else {
      scans.finish(*claim);
    }
  } catch (const RulesChanged&) {
    // Any setting of the repository may have changed; new lifecycle rules have reset the row.
    scans.go_on(*claim, claim->position);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::kPermissionDenied && error.code() != ErrorCode::kNotFound) throw;
    log::info("lifecycle_refused",
              {{"repository", repository.name.str()}, {"message", error.message()}});
    scans.put_off(*claim, kRefusedWait);
  }
  if (turn.deleted + turn.aborted > 0) {
    log::info("lifecycle_turn", {{"repository", repository.name.str()},
                                 {"deleted_objects", turn.deleted},
                                 {"aborted_uploads", turn.aborted}});
  }
  return true;
}

}  // namespace tarn::objects

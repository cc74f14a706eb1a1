#include "core/objects/objects.h"

#include <algorithm>

#include "core/base/acting_user.h"
#include "core/base/error.h"
#include "core/base/reasons.h"
#include "core/base/str_cat.h"
#include "core/blob/stores.h"
#include "core/branch/overlay.h"
#include "core/branch/protection.h"
#include "core/branch/refs.h"
#include "core/branch/repositories.h"
#include "core/branch/stage.h"
#include "core/meta/read_leases.h"
#include "core/meta/repositories.h"
#include "core/meta/repository_settings.h"
#include "core/meta/staging.h"
#include "core/meta/writer.h"
#include "core/objects/foreign_copy.h"
#include "core/tree/cursor.h"

namespace tarn::objects {
namespace {

constexpr uint32_t kStagedRowsHintMin = 256;

std::optional<FoundObject> find_on_branch(branch::Engine& engine, const meta::BranchLookup& seen,
                                          const Key& key) {
  FoundObject out;
  std::optional<Entry> entry = branch::visible_entry(engine, seen, key);
  if (!entry) return std::nullopt;
  out.repository = engine.repositories.get(seen.repository);
  out.entry = *std::move(entry);
  out.branch = seen.branch.id;
  out.origin = {.repository = seen.repository,
                .branch = seen.branch.id,
                .commit = seen.branch.head,
                .token = seen.state.token};
  out.settings_version = seen.branch.settings_version;
  out.versioning = engine.settings.versioning(seen.repository, seen.branch.settings_version);
  return out;
}

/// The key at which a listing starts so that it skips `after`, or everything below `after` if that
/// is a common prefix.
std::string list_start(const ListOptions& options) {
  if (options.after.empty() || options.after < options.prefix) return options.prefix;
  if (!options.delimiter.empty() && options.after.starts_with(options.prefix)) {
    const size_t at = options.after.find(options.delimiter, options.prefix.size());
    if (at != std::string::npos && at + options.delimiter.size() == options.after.size()) {
      return prefix_end(options.after);
    }
  }
  return options.after + '\0';
}

/// Items from the cursor on, grouped at the delimiter, up to the limit.
Page<ListItem> fill_page(branch::OverlayCursor& cursor, const ListOptions& options) {
  Page<ListItem> page{.next_of = std::mem_fn(&ListItem::path)};
  size_t bytes = 0;
  while (cursor.valid() && cursor.key().starts_with(options.prefix)) {
    if (page.items.size() == options.limit || bytes >= kPageBytesMax) {
      page.end_here();
      return page;
    }
    const size_t fold = options.delimiter.empty()
                            ? std::string::npos
                            : cursor.key().find(options.delimiter, options.prefix.size());
    if (fold == std::string::npos) {
      page.items.push_back({cursor.key(), cursor.take_entry()});
      bytes += page.items.back().path.size() + bytes_of(*page.items.back().entry);
      cursor.next();
      continue;
    }
    page.items.push_back({cursor.key().substr(0, fold + options.delimiter.size()), std::nullopt});
    const std::string behind = prefix_end(page.items.back().path);
    if (behind.empty()) break;
    cursor.seek(behind);
  }
  if (cursor.stopped_at() && cursor.stopped_at()->starts_with(options.prefix)) {
    page.has_more = true;
    page.next = *cursor.stopped_at();
  }
  return page;
}

}  // namespace

std::optional<FoundObject> find_object(branch::Engine& engine, const RepositoryName& repository,
                                       std::string_view ref, const Key& key,
                                       uint32_t prefix_digits_min) {
  if (is_branch_name(ref) && !parse_commit_id(ref)) {
    const BranchName branch{std::string(ref)};
    if (const auto seen = engine.read_leases.lookup(repository, branch, key)) {
      return find_on_branch(engine, *seen, key);
    }
  }
  branch::ResolvedRef resolved;
  try {
    resolved =
        branch::resolve(engine, branch::get_repository(engine, repository), ref, prefix_digits_min);
  } catch (const Error& error) {
    if (error.reason() == reason::kRefNotFound) return std::nullopt;
    throw;
  }
  if (resolved.staged) {
    const auto seen = engine.read_leases.lookup(repository, resolved.branch->name, key);
    return seen ? find_on_branch(engine, *seen, key) : std::nullopt;
  }
  auto entry = tree::find_entry(engine.nodes, resolved.commit.root, key.str());
  if (!entry) return std::nullopt;
  return FoundObject{resolved.repository,
                     *std::move(entry),
                     resolved.commit.id,
                     {},
                     {},
                     {.repository = resolved.repository.id, .commit = resolved.commit.id}};
}

FoundObject get_object(branch::Engine& engine, const RepositoryName& repository,
                       std::string_view ref, const Key& key) {
  auto found = find_object(engine, repository, ref, key);
  if (!found) branch::throw_no_object();
  return *std::move(found);
}

Page<ListItem> list_objects(branch::Engine& engine, const RepositoryName& repository,
                            std::string_view ref, const ListOptions& options,
                            uint32_t prefix_digits_min) {
  const std::string start = list_start(options);
  const uint32_t rows_hint = std::max(options.limit + 1, kStagedRowsHintMin);
  // Staged deletions and grouped keys may need more rows than one statement returns. Then the
  // listing is repeated in a snapshot.
  for (const branch::StagedReading reading :
       {branch::StagedReading::kFirstRows, branch::StagedReading::kAll}) {
    const auto snapshot = branch::RefSnapshot::open(engine, repository, ref, start,
                                                    {reading, rows_hint}, prefix_digits_min);
    if (start.empty() && !options.after.empty())
      return {};  // nothing sorts after the common prefix
    branch::OverlayCursor cursor(snapshot->nodes(), snapshot->root(), snapshot->take_rows());
    cursor.limit_deletions(options.deletions_max);
    cursor.seek(start);
    Page<ListItem> page = fill_page(cursor, options);
    if (!cursor.ran_out()) return page;
  }
  throw Error(ErrorCode::kInternal, "listing: the snapshot ran out of staged rows");
}

std::optional<VersionId> delete_object(branch::Engine& engine, const RepositoryName& repository,
                                       const BranchName& branch, const Key& key,
                                       const branch::WriteTerms& terms,
                                       const branch::Condition& condition) {
  const meta::BranchLookup seen = branch::lookup_for_write(engine, repository, branch, key, terms);
  return branch::stage_entry(
      engine, {repository, branch, seen.repository, seen.branch.id, seen.branch.settings_version},
      key, std::nullopt, condition);
}

bool delete_objects(branch::Engine& engine, const RepositoryName& repository,
                    const BranchName& branch, std::span<const Key> keys,
                    const branch::WriteTerms& terms) {
  const Repository repo = branch::get_repository(engine, repository);
  branch::check_terms(engine, repo, terms);
  const Branch target = branch::get_branch(engine, repo, branch);
  branch::check_branch_action(engine, repo.id, target, BranchAction::kStage);
  return branch::stage_deletions(
      engine, {repository, branch, repo.id, target.id, target.settings_version}, keys);
}

void apply(const CopyChanges& changes, Entry& entry) {
  if (changes.content_type) entry.content_type = *changes.content_type;
  if (changes.extras) {
    // The attributes of the bytes stay; the headers are all replaced.
    const auto checksums = entry.checksums();
    const auto version = entry.source_version();
    const std::string digest(entry.extras.get(ExtraTag::kContentDigest));
    entry.extras = *changes.extras;
    entry.extras.set(ExtraTag::kContentDigest, digest);
    entry.set_checksums(checksums);
    if (version) entry.set_source_version(*version);
  }
  if (changes.user_metadata) entry.set_user_metadata(*changes.user_metadata);
}

std::shared_ptr<void> hold_sources(branch::Engine& engine) {
  return std::make_shared<meta::Writer::Operation>(engine.writer);
}

namespace {

/// Copies to a branch that has been looked up.
StagedEntry stage_copy(branch::Engine& engine, const FoundObject& source,
                       const meta::BranchLookup& seen, const Key& key, const CopyChanges& changes,
                       const branch::Condition& condition) {
  const Repository target = engine.repositories.get(seen.repository);
  Entry entry = source.entry;
  entry.mtime = engine.clock.now();
  apply(changes, entry);
  if (source.repository.id != target.id) {
    entry.address = address_for_foreign_copy(engine, source.repository, target, entry);
  }
  const CopiedWork copied(branch::makers_of_copy(engine, source.origin, target.id, seen.branch));
  const auto version = branch::stage_entry(
      engine,
      {target.name, seen.branch.name, target.id, seen.branch.id, seen.branch.settings_version}, key,
      entry, condition);
  return {std::move(entry), version};
}

}  // namespace

StagedEntry copy_object(branch::Engine& engine, const FoundObject& source,
                        const RepositoryName& repository, const BranchName& branch, const Key& key,
                        const CopyChanges& changes, const branch::WriteTerms& terms,
                        const branch::Condition& condition) {
  return stage_copy(engine, source,
                    branch::lookup_for_write(engine, repository, branch, key, terms), key, changes,
                    condition);
}

StagedEntry copy_object(branch::Engine& engine, const CopySource& source,
                        const RepositoryName& repository, const BranchName& branch, const Key& key,
                        const CopyChanges& changes, const branch::WriteTerms& terms,
                        const branch::Condition& condition) {
  if (source.repository == repository && source.ref == branch.str() && source.key == key) {
    const auto change = [&](Entry& entry) {
      entry.mtime = engine.clock.now();
      apply(changes, entry);
    };
    return branch::change_entry(engine, repository, branch, key, terms, change, condition);
  }
  const auto held = hold_sources(engine);
  const meta::BranchLookup seen = branch::lookup_for_write(engine, repository, branch, key, terms);
  return stage_copy(engine, get_object(engine, source.repository, source.ref, source.key), seen,
                    key, changes, condition);
}

StagedEntry update_user_metadata(branch::Engine& engine, const RepositoryName& repository,
                                 const BranchName& branch, const Key& key, const Metadata& metadata,
                                 const branch::WriteTerms& terms) {
  return branch::change_entry(engine, repository, branch, key, terms,
                              [&](Entry& entry) { entry.set_user_metadata(metadata); });
}

}  // namespace tarn::objects

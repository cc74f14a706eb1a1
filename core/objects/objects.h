// Verbs on objects at refs: reading, listing, deleting and copying.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/blob/blob_store.h"
#include "core/branch/authors.h"
#include "core/branch/condition.h"
#include "core/branch/engine.h"
#include "core/model/object_version.h"
#include "core/model/page.h"
#include "core/model/repository.h"

namespace tarn::objects {

/// An object as a ref shows it.
struct FoundObject {
  Repository repository;
  Entry entry;
  /// The commit read, when the ref is immutable (tag, commit, expression); absent for a branch.
  std::optional<CommitId> commit;
  /// Where it was read, for a branch, and whether that has versions.
  BranchId branch{};
  Versioning versioning = Versioning::kOff;
  branch::ObjectOrigin origin{};
  std::optional<int64_t> settings_version{};  ///< as in Branch; absent: not read on a branch
};

/// nullopt: no such key at the ref, or no such ref. Throws not_found only for the repository. One
/// round trip for a branch; committed objects come from the node cache.
std::optional<FoundObject> find_object(branch::Engine& engine, const RepositoryName& repository,
                                       std::string_view ref, const Key& key,
                                       uint32_t prefix_digits_min = 1);
/// The same as find_object; throws not_found "not found" if it does not exist.
FoundObject get_object(branch::Engine& engine, const RepositoryName& repository,
                       std::string_view ref, const Key& key);

/// Opens the bytes. `range` must be inside the object. Throws unavailable. Bytes that servers wrote
/// and that are missing (reason "bytes_missing") or too few ("object_corrupt") are data_loss, which
/// is logged and counted in tarn_object_corruption_total; those of a source are gone (reasons
/// "bytes_missing", "source_changed").
std::unique_ptr<blob::BlobReader> open_object(branch::Engine& engine, const Repository& repository,
                                              const Entry& entry, blob::ByteRange range);

/// Full URL of the bytes as clients see it: "<namespace>/data/<20>/<20>", or the external address.
/// For a part list the address of its first part.
std::string physical_address(branch::Engine& engine, const Repository& repository,
                             const Entry& entry);

/// Staged deletions that one page passes: a million of them would keep a request for seconds.
constexpr uint32_t kListedDeletionsMax = 100'000;

struct ListOptions {
  std::string prefix;
  std::string after;      ///< exclusive; any bytes; a common prefix skips everything below it
  std::string delimiter;  ///< "" = none
  uint32_t limit = 100;   ///< 1..1000
  uint32_t deletions_max = kListedDeletionsMax;
};
/// A key with its entry, or a common prefix (no entry).
struct ListItem {
  std::string path;
  std::optional<Entry> entry;
};
/// Byte order; one consistent state of the branch per page. `next` is the last path, or a later one
/// if a page ended at `deletions_max`: such a page may have fewer items than requested, or none.
/// Throws not_found (the ref).
Page<ListItem> list_objects(branch::Engine& engine, const RepositoryName& repository,
                            std::string_view ref, const ListOptions& options,
                            uint32_t prefix_digits_min = 1);

/// Deleting an absent key is no error. Returns the version that the deletion is, where the
/// repository keeps versions. Throws not_found (repository, branch: "branch not found"),
/// permission_denied (read-only).
std::optional<VersionId> delete_object(branch::Engine& engine, const RepositoryName& repository,
                                       const BranchName& branch, const Key& key,
                                       const branch::WriteTerms& terms,
                                       const branch::Condition& condition = {});
/// One staged batch. At most kDeleteObjectsMax keys. false, and nothing was done: the repository
/// keeps versions, and each deletion is one (delete_object).
constexpr size_t kDeleteObjectsMax = 1000;
bool delete_objects(branch::Engine& engine, const RepositoryName& repository,
                    const BranchName& branch, std::span<const Key> keys,
                    const branch::WriteTerms& terms);

/// Replaces attributes on the way; absent = keep the source's.
struct CopyChanges {
  std::optional<std::string> content_type;
  std::optional<Metadata> user_metadata;
  /// Replaces the standard headers (cache-control ...) as well when set.
  std::optional<Extras> extras;
};
void apply(const CopyChanges& changes, Entry& entry);

/// Taken before the source of a copy is read, and kept until the copy is staged: the bytes are kept
/// for as long.
std::shared_ptr<void> hold_sources(branch::Engine& engine);
/// By reference: no byte moves inside a repository; across repositories as a foreign address, so
/// the bytes stay where they are. Throws not_found (branch), permission_denied.
StagedEntry copy_object(branch::Engine& engine, const FoundObject& source,
                        const RepositoryName& repository, const BranchName& branch, const Key& key,
                        const CopyChanges& changes, const branch::WriteTerms& terms,
                        const branch::Condition& condition = {});

struct CopySource {
  RepositoryName repository;
  std::string ref;
  Key key;
};
/// Also reads the source; throws not_found for it. A copy onto itself changes the current object
/// and undoes no concurrent write (change_entry).
StagedEntry copy_object(branch::Engine& engine, const CopySource& source,
                        const RepositoryName& repository, const BranchName& branch, const Key& key,
                        const CopyChanges& changes, const branch::WriteTerms& terms,
                        const branch::Condition& condition = {});

/// Replaces the user metadata of an object. Throws not_found.
StagedEntry update_user_metadata(branch::Engine& engine, const RepositoryName& repository,
                                 const BranchName& branch, const Key& key, const Metadata& metadata,
                                 const branch::WriteTerms& terms);

}  // namespace tarn::objects

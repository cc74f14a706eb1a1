// Imports of objects by reference: a job that lists a source and commits the listing.
#pragma once

#include <chrono>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/owner_turns.h"
#include "core/branch/engine.h"
#include "core/model/repository.h"
#include "core/versioning/commit.h"

namespace tarn::imports {

struct ImportPath {
  enum class Kind { kPrefix, kObject };
  Kind kind = Kind::kPrefix;
  std::string url;          ///< "s3://bucket/prefix", "local:///absolute/dir"
  std::string destination;  ///< a key, or a prefix that gets a trailing '/' when it lacks one
};

struct ImportRequest {
  std::vector<ImportPath> paths;     ///< may be empty: an empty commit
  versioning::CommitRequest commit;  ///< message "" = "Import objects"
  bool force = false;
  /// Make no commit, and write nothing, when the branch has these very objects already.
  bool if_changed = false;
};

struct ImportStatus {
  std::string id;
  bool completed = false;
  bool changed = true;  ///< false: nothing to import, `commit` is the head that was compared
  Instant updated{};
  int64_t ingested_objects = 0;
  int64_t added = 0;     ///< objects that are new at the destinations
  int64_t replaced = 0;  ///< objects that differ from what was there
  int64_t removed = 0;   ///< objects that were below the destinations and that no source has
  std::optional<Commit> commit{};
  std::string error{};  ///< "" = none; "Canceled" when cancelled
};

constexpr size_t kIdempotencyKeyBytesMax = 255;

struct ImportPreview {
  struct Object {
    std::string path;  ///< at the destination
    uint64_t size_bytes = 0;
    Instant modified{};
  };
  std::vector<Object> objects{};
  bool has_more = false;
  uint64_t at_destination = 0;  ///< objects of the branch's head that the import would replace
  /// Number of source objects that are new at the destination, of those that differ from what is
  /// there, and of objects that the import would remove. Absent if more than kPreviewComparedMax
  /// would be listed to count them, or if two destinations overlap.
  std::optional<uint64_t> added{};
  std::optional<uint64_t> changed{};
  std::optional<uint64_t> removed{};
  /// The first paths of these, at most `limit` each. Empty where the numbers are absent.
  std::vector<std::string> added_paths{};
  std::vector<std::string> changed_paths{};
  std::vector<std::string> removed_paths{};
  /// Whether a prefix without a slash at its end is the name of an object.
  bool names_object = false;
  /// The URL of an object that such a prefix matches as well although it is neither that object nor
  /// below it as a directory: "in-secret/x" of "in". "" = none.
  std::string also_matches{};
};
/// Objects of the sources that a preview compares with what is at the destination.
constexpr uint64_t kPreviewComparedMax = 100'000;
/// The first objects that an import would bring, at most `limit`, in the order of the sources, and
/// what it would do to those that are there. Changes nothing. Throws as start_import for the same
/// request, and what listing the source throws.
ImportPreview preview_import(branch::Engine& engine, const Repository& repository,
                             const BranchName& branch, const ImportRequest& request, size_t limit);

/// Stores the job before it returns its id. With an idempotency key (not empty) the same request
/// of the same user on the branch gets the id of the first, as long as its record is kept. Throws:
/// not_found, permission_denied (read-only), invalid_argument (a source inside a repository's
/// namespace: message ends "invalid import source"), conflict (reason "idempotency_key_reused": the
/// key came with another request).
std::string start_import(branch::Engine& engine, const Repository& repository,
                         const BranchName& branch, const ImportRequest& request,
                         std::string_view idempotency_key = {});
/// Throws: not_found.
ImportStatus import_status(branch::Engine& engine, const Repository& repository,
                           const BranchName& branch, std::string_view id);
/// Again is no error; throws conflict "conflict found" when it has completed.
void cancel_import(branch::Engine& engine, const Repository& repository, const BranchName& branch,
                   std::string_view id);

/// Leases and runs a queued or orphaned import until asked to stop; called by server/jobs on its
/// own threads, which share `turns`. Returns whether it did any work. Transient errors of database
/// or store are retried after `first_pause`, and after twice as long each further time.
bool run_one_import(branch::Engine& engine, std::stop_token stop,
                    OwnerTurns& turns = OwnerTurns::unlimited(),
                    std::chrono::milliseconds first_pause = std::chrono::seconds{1});

}  // namespace tarn::imports

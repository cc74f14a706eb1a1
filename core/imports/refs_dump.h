// Dumps of branches, tags and aliases as a file next to the data, and restores of them, with their
// history, into another repository.
#pragma once

#include <cstdint>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "core/branch/engine.h"
#include "core/model/alias.h"
#include "core/model/names.h"
#include "core/model/repository.h"

namespace tarn::imports {

/// Branches, tags and aliases one dump may hold, and commits one restore may bring.
constexpr uint64_t kDumpedRefsMax = 1'000'000;
constexpr uint64_t kRestoredCommitsMax = 1'000'000;

/// Writes names and commits of all branches, tags and aliases, of one moment, to a file in the
/// repository's namespace and returns the dump's id. What is staged is no part of it, and the
/// commits stay where they are: collected ones cannot be restored. Throws: not_found.
std::string dump_refs(branch::Engine& engine, const RepositoryName& repository);

/// The repository that was dumped. Throws not_found (reason "dump_not_found": no such dump, or its
/// repository was deleted).
Repository dumped_repository(branch::Engine& engine, std::string_view dump);

/// The aliases that a restore makes, by name. Throws as dumped_repository.
std::vector<AliasName> aliases_of_dump(branch::Engine& engine, std::string_view dump);

/// Makes the dumped branches, tags and aliases with their whole history; that of aliases begins
/// with `user`. Messages, metadata, times and parents are the dumped ones; ids of commits are new,
/// as addresses of objects belong to the repository. No object's bytes move, but those of multipart
/// objects, which are copied. All appears at one moment. Throws: not_found (the repository, the
/// dump, a commit collected since), invalid_argument (reason "not_bare": it has branches, tags or
/// commits), permission_denied (read-only; reason "protected_branch" or "protected_tag": a rule of
/// the repository forbids one of them).
void restore_refs(branch::Engine& engine, const RepositoryName& repository, std::string_view dump,
                  bool force, std::string_view user);

enum class RefsTask { kDump, kRestore };
struct RefsTaskStatus {
  std::string id;
  bool done = false;
  Instant updated{};
  std::string error;                ///< "" = none
  std::optional<std::string> dump;  ///< of a dump that is done
};
/// Stores a job that does the same in the background. `dump` is for kRestore. Throws as the verb,
/// as far as errors are known in advance. If its process dies, another one starts the job again
/// after the lease has expired. A restore is published in the transaction that ends its job, so
/// either both happened or neither.
std::string start_dump(branch::Engine& engine, const RepositoryName& repository,
                       std::string_view user);
std::string start_restore(branch::Engine& engine, const RepositoryName& repository,
                          std::string_view dump, bool force, std::string_view user);
/// Throws: not_found.
RefsTaskStatus refs_task_status(branch::Engine& engine, const RepositoryName& repository,
                                RefsTask task, std::string_view id);
/// Runs one such job, if any; called by server/jobs. Returns whether it did any work.
bool run_one_refs_task(branch::Engine& engine, std::stop_token stop);

}  // namespace tarn::imports

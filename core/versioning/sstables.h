// Rows of tree nodes that clients may request as files, and of those files.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "core/db/pool.h"
#include "core/model/commit.h"
#include "core/model/names.h"

namespace tarn::versioning {

enum class SstableKind : int16_t { kRange = 0, kMetarange = 1 };

/// Where the files are, below a repository's namespace.
constexpr std::string_view kSstablesFolder = "_tarn/sstables";

/// Derived rows: they may be deleted at any time. A row is of one node, and several nodes may have
/// a hash. Rows may be of nodes that garbage collection has just removed: they are not found, and
/// the next collection deletes them. Safe from any thread.
class Sstables {
 public:
  explicit Sstables(db::Pool& pool) : pool_(pool) {}

  struct Found {
    Nid nid = 0;
    std::string file;  ///< below the repository's namespace; "" = none was written
  };
  /// A node that is there, one with a file if there is any. nullopt: no such row.
  std::optional<Found> find(RepositoryId repository, SstableKind kind, const Hash128& hash);
  /// Makes the nodes known, unless the repository is deleted by now. Those that are known keep
  /// their rows.
  void add(RepositoryId repository, SstableKind kind, std::span<const TreeRoot> nodes);
  /// Notes the file of a node: of several who write it the last one is found. A file of a node that
  /// was removed meanwhile has no row: garbage collection removes it later.
  void set_file(RepositoryId repository, SstableKind kind, const TreeRoot& node,
                std::string_view file);

 private:
  db::Pool& pool_;
};

}  // namespace tarn::versioning

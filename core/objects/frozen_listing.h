// A listing of a ref at one moment, for slow readers.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/branch/engine.h"
#include "core/branch/overlay.h"
#include "core/model/repository.h"
#include "core/objects/objects.h"

namespace tarn::objects {

/// Staged changes of a branch that are held in memory: some 50 MB.
constexpr size_t kFrozenRowsMax = 100'000;

/// The objects below a prefix in byte order, as often as wanted. No connection is held after
/// open(): a branch's staged changes are in memory, trees are immutable. One thread at a time.
class FrozenListing {
 public:
  /// Throws not_found (repository, ref), precondition_failed (reason "too_much_staged": more than
  /// kFrozenRowsMax changes below the prefix).
  static std::unique_ptr<FrozenListing> open(branch::Engine& engine,
                                             const RepositoryName& repository, std::string_view ref,
                                             std::string_view prefix);

  const Repository& repository() const { return repository_; }
  /// nullopt = no more. Every item has an entry.
  std::optional<ListItem> next();
  void rewind() { cursor_.seek(prefix_); }

 private:
  FrozenListing(Repository repository, std::string prefix, branch::OverlayCursor cursor)
      : repository_(std::move(repository)), prefix_(std::move(prefix)), cursor_(std::move(cursor)) {
    rewind();
  }

  const Repository repository_;
  const std::string prefix_;
  branch::OverlayCursor cursor_;
};

/// Several keys at one moment of a ref; nullopt for those that are not there. Throws not_found
/// (repository, ref).
struct FoundObjects {
  Repository repository;
  std::vector<std::optional<Entry>> entries;  ///< in the order of the keys
};
FoundObjects find_objects(branch::Engine& engine, const RepositoryName& repository,
                          std::string_view ref, std::span<const Key> keys);

}  // namespace tarn::objects

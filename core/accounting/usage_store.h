// Rows from which the objects of a repository are reached.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/db/connection.h"
#include "core/model/commit.h"
#include "core/model/names.h"
#include "core/tree/node.h"

namespace tarn::accounting {

/// A branch, tag or alias that is set.
struct RefRow {
  enum class Kind { kBranch, kTag, kAlias };
  Kind kind = Kind::kBranch;
  std::string name;
  CommitId commit;
  BranchId branch{};  ///< of a branch
};

/// The statements of one snapshot. One thread at a time.
class UsageStore {
 public:
  /// `connection` is in a snapshot, which this does not end.
  explicit UsageStore(db::Connection& connection) : connection_(connection) {}

  std::vector<RefRow> refs(RepositoryId repository);
  /// Addresses of the distinct trees of these commits and all their ancestors.
  std::vector<Nid> roots_below(RepositoryId repository, std::span<const CommitId> commits);
  /// Addresses of the distinct trees of all commits, but for `except`.
  std::vector<Nid> roots_of_all(RepositoryId repository, const std::optional<CommitId>& except);
  /// Address of the commit's tree, 0 = it is empty; nullopt if there is no such commit.
  /// Throws gone (reason "expired").
  std::optional<Nid> root_of(RepositoryId repository, const CommitId& commit);
  /// Repositories that may hold addresses of this one's objects.
  std::vector<RepositoryId> readers(RepositoryId repository);

  using OnBytes = std::function<void(std::string_view bytes)>;
  /// The entries that are staged on the branch, also those that newer rows hide, in their byte form
  /// (decode_entry).
  void staged_entries(BranchId branch, const OnBytes& on_entry);
  /// The entries of the versions of the branch's objects.
  void versions(BranchId branch, const OnBytes& on_entry);
  /// The parts of the branch's open uploads, each in the form of a part list with one part.
  void upload_parts(BranchId branch, const OnBytes& on_parts);
  /// Part lists by id, in their byte form.
  void part_lists(std::span<const int64_t> ids, const OnBytes& on_parts);

 private:
  db::Connection& connection_;
};

/// Nodes read through one connection past the cache of the server, which a walk over many leaves
/// would empty. One thread at a time.
class ScannedNodes final : public tree::NodeSource {
 public:
  explicit ScannedNodes(db::Connection& connection) : connection_(connection) {}
  using tree::NodeSource::load;
  std::vector<std::shared_ptr<const tree::Node>> load(std::span<const Nid> nids) override;

 private:
  db::Connection& connection_;
};

}  // namespace tarn::accounting

// The rows that a verification reads, straight from the tables: neither through the server's caches
// nor into them.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/db/pool.h"
#include "core/model/commit.h"
#include "core/model/names.h"

namespace tarn::verify {

struct BranchToVerify {
  BranchId id{};
  std::string name;
  std::string head;  ///< bytes of a commit id
  TreeRoot root;
  std::vector<int64_t> tokens;  ///< of its staging area
};
struct TagToVerify {
  std::string name;
  std::string commit;  ///< bytes of a commit id
};

/// A commit as its row has it.
struct CommitToVerify {
  std::string id;               ///< bytes
  std::optional<Commit> value;  ///< nullopt: the columns do not decode
  std::string problem;          ///< of the columns
};

struct StagedToVerify {
  int64_t token = 0;
  std::string key;
  bool deletes = false;
  std::string value;  ///< the encoded entry
};

struct VersionToVerify {
  std::string key;
  int64_t number = 0;
  bool deletes = false;
  std::string value;  ///< the encoded entry
};

/// The columns of VerifyStore::nodes().
struct NodeColumn {
  enum : int { kNid, kRepoId, kLevel, kHash, kBody };
};

/// Safe from any thread. Statements throw unavailable.
class VerifyStore {
 public:
  explicit VerifyStore(db::Pool& pool) : pool_(pool) {}

  std::vector<BranchToVerify> branches(RepositoryId repository);
  std::vector<TagToVerify> tags(RepositoryId repository);
  /// In the order of their ids, those greater than `after` (bytes), at most kCommitsPerPage.
  static constexpr int32_t kCommitsPerPage = 2000;
  std::vector<CommitToVerify> commits(RepositoryId repository, std::string_view after);
  /// The row of one commit; nullopt without one.
  std::optional<CommitToVerify> commit(RepositoryId repository, std::string_view id);
  /// The ids (bytes) among these that have a row.
  std::vector<std::string> existing(RepositoryId repository, std::span<const std::string> ids);
  /// The ids (bytes) among these of commits whose data has expired.
  std::vector<std::string> expired(RepositoryId repository, std::span<const std::string> ids);

  /// The nodes that exist.
  db::Rows nodes(std::span<const Nid> nids);
  /// Rows of these tokens after (token, key), at most kStagedPerPage.
  static constexpr int32_t kStagedPerPage = 2000;
  std::vector<StagedToVerify> staged(std::span<const int64_t> tokens, int64_t after_token,
                                     std::string_view after_key);
  /// Kept versions of the keys of a branch after (key, number), at most kStagedPerPage.
  std::vector<VersionToVerify> versions(BranchId branch, std::string_view after_key,
                                        int64_t after_number);
  /// The encoded part lists that exist, by id.
  std::map<int64_t, std::string> part_lists(std::span<const int64_t> ids);

 private:
  std::vector<std::string> select(const db::Query& query, RepositoryId repository,
                                  std::span<const std::string> ids);

  db::Pool& pool_;
};

}  // namespace tarn::verify

// A batch of staged changes that become visible at once.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/db/pool.h"
#include "core/meta/branches.h"
#include "core/meta/staging.h"

namespace tarn::meta {

/// A range of keys; `end` "" = no end.
struct KeyRange {
  std::string begin;
  std::string end;
};

/// Rows go into a token of their own that no branch refers to, a page at a time and in no common
/// transaction; publishing puts the token on the branch. What is never published, also because the
/// process died, is swept as a retired token. One thread; inside a Writer::Operation.
class StagedBatch {
 public:
  StagedBatch(db::Pool& pool, Writer& writer, RepositoryId repository);
  ~StagedBatch();
  StagedBatch(const StagedBatch&) = delete;
  StagedBatch& operator=(const StagedBatch&) = delete;

  /// Each key once. Rows leave in pages. Throws unavailable (reason "being_collected").
  void add(StagedRow row);
  /// Deletes what the range shows without this batch; the batch's rows win over it.
  void delete_range(const KeyRange& range);

  enum class Outcome {
    kDone,
    kOvertaken,  ///< something was staged in a watched range since the lease was taken, or other
                 ///< rules were set
    kLeaseLost,  ///< or the branch is gone
  };
  /// Given the rows that were staged in the watched ranges since the lease was taken, in order of
  /// their keys, returns those that the batch needs in addition to its own; nullopt: it must start
  /// over. Runs while the branch accepts no staging, and must not use the database.
  using CatchUp =
      std::function<std::optional<std::vector<StagedRow>>(const std::vector<StagedRow>&)>;
  /// The lease must have been taken with `rotate`: then what the branch shows in the watched ranges
  /// is still what it showed when the lease was taken, but for the rows that `catch_up` (may be
  /// empty) was given, kCaughtUpRowsMax at most. Under the lease's settings only. Once.
  Outcome publish(BranchId branch, const BranchLease& lease, const std::vector<KeyRange>& watched,
                  const CatchUp& catch_up = {});
  static constexpr uint32_t kCaughtUpRowsMax = 1000;

 private:
  void send_rows();
  /// false: overtaken.
  bool catch_up_with(db::Connection& connection, int64_t token,
                     const std::vector<KeyRange>& watched, const CatchUp& catch_up);

  db::Pool& pool_;
  Writer& writer_;
  const RepositoryId repository_;
  const int64_t token_;
  std::vector<StagedRow> rows_;  ///< not sent yet
  bool has_range_ = false;
  bool published_ = false;
};

}  // namespace tarn::meta

// The staging area: uncommitted changes of branches, and the rules of precedence among its rows.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/batcher.h"
#include "core/base/mutex.h"
#include "core/db/pool.h"
#include "core/meta/references.h"
#include "core/meta/writer.h"
#include "core/model/repository.h"
#include "core/quotas/quotas.h"

namespace tarn::meta {

/// The kinds of a staged row, column `kind` of the table staging.
constexpr int16_t kStagedEntry = 0;
constexpr int16_t kStagedDeletion = 1;

/// The state of one key in a staging area.
struct StagedState {
  enum class Kind {
    kNone,  ///< nothing staged: the committed tree decides
    kEntry,
    kDeleted,
  };
  Kind kind = Kind::kNone;
  std::optional<Entry> entry;  ///< for kEntry
  int64_t token = 0;           ///< of the row, for kEntry
};

/// Branch row and the newest staged row of one key, of one moment.
struct BranchLookup {
  RepositoryId repository{};
  Branch branch;
  int64_t token = 0;
  StagedState state;
  /// The current content of the key's row in the current token, for compare-and-set.
  std::optional<int16_t> row_kind;
  std::string row_bytes;
};

/// One staged change.
struct StagedRow {
  std::string key;
  std::optional<Entry> entry;  ///< absent = deleted
  int64_t token = 0;           ///< from which the row was read; 0 for one to be staged
};

/// A staged change of a whole range of keys; `end` "" = no end.
struct StagedRange {
  int64_t token = 0;
  std::string begin;
  std::string end;
  bool deletes = false;  ///< hides the tree as well as older tokens
};

/// The staged view of a branch for a listing, of one moment.
struct StagedPage {
  RepositoryId repository{};
  Branch branch;
  std::vector<StagedRow> rows;       ///< byte order, newest per key, range rows applied
  std::vector<StagedRange> deletes;  ///< ranges that hide the tree
  bool has_ranges = false;           ///< range rows were read: needs a snapshot to be of one moment
  bool complete = true;  ///< no staged row of the asked range is missing; else those after
  std::string rows_end;  ///< this key are
};

/// Safe from any thread.
class Staging {
 public:
  Staging(db::Pool& pool, Writer& writer);
  ~Staging();

  /// nullopt: no such repository or branch. Concurrent lookups share round trips.
  std::optional<BranchLookup> lookup(const RepositoryName& repository, const BranchName& branch,
                                     const Key& key);

  enum class StageOutcome {
    kDone,
    kBranchGone,
    kChanged,    ///< the state that the caller read: read it again
    kOverQuota,  ///< of a write with a charge
  };
  // A write of an entry whose object was stored before the running operation throws also
  // unavailable (reason "being_collected"): the object is being removed. A write throws DbError
  // with in_doubt() when its answer was lost and its effect is not found. Nothing of it is done
  // later, unless the database cannot be asked: then nothing is staged on the branch here before
  // that is made sure of.

  // A write with a charge counts it in the same transaction. If a hard limit would be exceeded,
  // nothing is staged and the outcome is kOverQuota.

  /// Durable on return. Concurrent calls for one branch share a statement; of two writes of a key
  /// in one batch the later wins. `entry` absent = delete. `settings_version`: the version of the
  /// rules that permit the write, which must still be current; 0 = there are none.
  StageOutcome stage(BranchId branch, const Key& key, const std::optional<Entry>& entry,
                     int64_t settings_version = 0, const Charge& charge = {});
  /// One statement, keys may repeat (the last wins).
  StageOutcome stage_many(BranchId branch, std::vector<StagedRow> rows,
                          int64_t settings_version = 0);

  /// Stages only if nothing that decides the key's visible state, and no setting of the repository,
  /// has changed since `seen`.
  StageOutcome stage_if(const BranchLookup& seen, const Key& key, const std::optional<Entry>& entry,
                        const Charge& charge = {});

  /// Runs in the transaction that stages, after the row was written; an exception undoes both.
  using Within = std::function<void(db::Connection&)>;
  /// The same as stage and stage_if, in a transaction with `within`, and shared with no other call.
  /// An outcome other than kDone has not run it.
  StageOutcome stage_within(BranchId branch, const Key& key, const std::optional<Entry>& entry,
                            int64_t settings_version, const Within& within,
                            const Charge& charge = {});
  StageOutcome stage_if_within(const BranchLookup& seen, const Key& key,
                               const std::optional<Entry>& entry, const Within& within,
                               const Charge& charge = {});

  /// The staged rows of keys from `begin` on, at most `limit`. nullopt: no such branch, or, with a
  /// `name`, that is not the repository's.
  std::optional<StagedPage> page(db::Connection& connection, RepositoryId repository,
                                 const BranchName& branch, std::string_view begin, uint32_t limit,
                                 const std::optional<RepositoryName>& name = std::nullopt);

  /// Names of the users whose work is among the changes of tokens, retired ones included as long as
  /// their rows are kept.
  std::set<std::string> makers(const std::vector<int64_t>& tokens);

  /// Ranges of keys of the tree that these frozen tokens delete: disjoint, ascending.
  std::vector<StagedRange> delete_ranges(const std::vector<int64_t>& tokens);
  /// The effective rows of frozen tokens from `*begin` on, newest per key, byte order. Reads at
  /// most `limit` rows and moves `*begin` on; "" when nothing is left.
  std::vector<StagedRow> drain(const std::vector<int64_t>& tokens, bool has_ranges,
                               std::string* begin, uint32_t limit);

  /// Copies the effective rows of frozen tokens into one new token and puts it in their place.
  /// false: the lease was lost (the copy is then swept as retired).
  bool fold(BranchId branch, int64_t lease_owner, const std::function<void()>& on_page);

  /// Deletes rows of tokens retired for longer than `grace`, at most `rows_max`; returns how many.
  uint64_t sweep_retired(std::chrono::milliseconds grace, uint32_t rows_max);

 private:
  struct LookupRequest {
    const RepositoryName* repository;
    const BranchName* branch;
    const Key* key;
  };
  struct StageRequest {
    const Key* key;
    std::string bytes;
    int16_t kind;
    int64_t settings_version;
    uint64_t registration;
    std::vector<std::string> makers;
    Charge charge;
  };
  struct Arrays;
  struct OneRow;
  using LookupBatcher = Batcher<LookupRequest, std::optional<BranchLookup>>;
  using StageBatcher = Batcher<StageRequest, StageOutcome>;

  std::vector<std::optional<BranchLookup>> run_lookups(std::span<const LookupRequest> requests);
  int64_t begin_fold(BranchId branch, int64_t lease_owner, std::vector<int64_t>* frozen,
                     bool* has_ranges);
  std::vector<StageOutcome> run_stages(BranchId branch, std::span<const StageRequest> requests);
  StageOutcome stage_batch(BranchId branch, std::span<const StageRequest> requests);
  template <typename Run>
  static int64_t run_stage(const Arrays& rows, int64_t writer, int64_t settings_version, bool hold,
                           const Run& run);
  StageOutcome stage_arrays(const Arrays& rows, int64_t settings_version,
                            const References& references);
  References references_of(const std::optional<Entry>& entry) const;
  template <typename Stage>
  int64_t staged(const Arrays& rows, bool proves, const Stage& stage);
  bool stand(const Arrays& rows, int64_t writer);
  static bool proves(const OneRow& row, const BranchLookup& seen);
  std::shared_ptr<StageBatcher> batcher_of(BranchId branch);

  db::Pool& pool_;
  Writer& writer_;
  LookupBatcher lookups_;
  Mutex mutex_;
  std::map<BranchId, std::weak_ptr<StageBatcher>> batchers_
      TARN_GUARDED_BY(mutex_);  // shared by the callers in it
};

}  // namespace tarn::meta

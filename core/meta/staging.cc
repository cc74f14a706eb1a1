// Writes of the staging area: rows (token, key) over the tree of the branch's head.
//
// A PUT is one statement. It checks in the database what was read before: the rules of the
// repository (settings_version), the condition of the request, quotas; and it stages under the id
// that this server has in `writers`. Concurrent writes of a branch share a statement (batcher_of):
// while one runs, the next are collected, the last of each key counts, and all are acknowledged by
// its commit. Near a quota a batch is refused as a whole, and its writes are tried one by one.
//
// An answer that is lost leaves a write in doubt: it may still be on its way. staged() never sends
// it again, since that could undo a later write. stand() fences the id of this server, so that
// nothing that was sent under it can take effect any more, and then looks for the rows. They prove
// the effect, because an entry has an address or a time of its own. If the database does not
// answer, the caller gets in_doubt, and the fence is raised before the next write to the branch
// (Writer::raise_fences).
//
// An entry that refers to an older object (a copy, a link) is staged in a transaction that takes
// the object's candidate row from garbage collection, or fails (References::rescue).
#include "core/meta/staging.h"

#include <algorithm>
#include <set>
#include <span>

#include "core/base/acting_user.h"
#include "core/base/reasons.h"
#include "core/base/str_cat.h"

namespace tarn::meta {
namespace {

// A lookup of a batch of 8 costs PostgreSQL half of one alone, of 32 a quarter.
constexpr size_t kLookupBatchMax = 32;
constexpr size_t kLookupLeadersMax = 3;
constexpr size_t kLookupsBesideMin = 8;
constexpr size_t kStageBatchMax = 128;
constexpr size_t kStageLeadersMax =
    4;  // concurrent batches of one branch: they share the WAL flush

// Results of stage_entries_under and stage_entry_if.
constexpr int64_t kStatusDone = 0;
constexpr int64_t kStatusBranchGone = 1;
constexpr int64_t kStatusWriterGone = 2;
constexpr int64_t kStatusChanged = 3;
constexpr int64_t kStatusOverQuota = 4;  // as kStateOverQuota

// Stages nothing (status 3: changed) under rules other than those that permitted it: a rule holds
// for every statement that starts after it was set. `hold`: the rules must not change until the
// transaction ends, for a write with several statements.
constexpr db::Query kStage{
    "staging_insert_rows",
    "SELECT stage_entries_under($6, $7, $1, $2, $3, $4, $5, $8), " TARN_COMMIT_POSITION,
    /*has_position=*/true};

// kStage for rows with charges: the rows of quotas are locked until the end, after all others.
constexpr db::Query kStageCharged{"staging_insert_charged", R"sql(
  SELECT charge_quotas(stage_entries_under($6, $7, $1, $2, $3, $4, $5, $8), $2, $9, $10, $11), )sql" TARN_COMMIT_POSITION,
                                  /*has_position=*/true};

constexpr db::Query kStageIf{"staging_insert_row_if", R"sql(
  SELECT CASE WHEN (
    SELECT CASE WHEN $11 THEN hold_repository(b.repo_id) ELSE r.settings_version END
    FROM branches b JOIN repositories r USING (repo_id) WHERE b.branch_id = $2) = $10
  THEN stage_entry_if($1, $2, $3, $4, $5, $6, $7, $8, $9, $12) ELSE 3 END, )sql" TARN_COMMIT_POSITION,
                             /*has_position=*/true};

constexpr db::Query kStageIfCharged{"staging_insert_charged_if", R"sql(
  SELECT charge_quotas(CASE WHEN (
    SELECT CASE WHEN $11 THEN hold_repository(b.repo_id) ELSE r.settings_version END
    FROM branches b JOIN repositories r USING (repo_id) WHERE b.branch_id = $2) = $10
  THEN stage_entry_if($1, $2, $3, $4, $5, $6, $7, $8, $9, $12) ELSE 3 END, $2, $13, $14, $15), )sql" TARN_COMMIT_POSITION,
                                    /*has_position=*/true};

// Whether a statement that staged these rows took effect: the bytes of an entry contain an address
// or a time that belongs to the request. Deletions are all alike and prove nothing.
constexpr db::Query kFindRows{"staging_find_rows", R"sql(
  SELECT EXISTS (
    SELECT 1 FROM branches b
    CROSS JOIN unnest(b.sealed || b.token) AS t(token)
    CROSS JOIN unnest($2::bytea[], $3::smallint[], $4::bytea[]) AS mine(key, kind, val)
    JOIN staging s ON s.token = t.token AND s.key = mine.key AND s.kind = mine.kind AND s.val = mine.val
    WHERE b.branch_id = $1 AND mine.kind = 0))sql"};

/// Rolls back a transaction that staged nothing: the response to a COMMIT could be lost too.
struct NotStaged {
  int64_t status;
};

Staging::StageOutcome outcome_of(int64_t status) {
  switch (status) {
    case kStatusBranchGone:
      return Staging::StageOutcome::kBranchGone;
    case kStatusChanged:
      return Staging::StageOutcome::kChanged;
    case kStatusOverQuota:
      return Staging::StageOutcome::kOverQuota;
    default:
      return Staging::StageOutcome::kDone;
  }
}

/// Returns the status of kStageIf, which `run` executes with the given parameters.
template <typename Run>
int64_t run_stage_if(int64_t writer, const BranchLookup& seen, const Key& key, int16_t kind,
                     const std::string& bytes, bool hold, const std::vector<std::string>& makers,
                     const quotas::ChargeArrays& charges, const Run& run) {
  const std::optional<int64_t> root =
      seen.branch.root.empty() ? std::nullopt : std::optional<int64_t>(seen.branch.root.nid);
  const std::optional<db::Bytes> expected =
      seen.row_kind ? std::optional<db::Bytes>(db::Bytes{seen.row_bytes}) : std::nullopt;
  const auto branch = static_cast<int32_t>(seen.branch.id);
  if (charges.empty()) {
    return run(kStageIf,
               {writer, branch, seen.token, root, seen.row_kind, expected, db::Bytes{key.str()},
                kind, db::Bytes{bytes}, seen.branch.settings_version, hold, makers})
        .integer(0, 0);
  }
  return run(kStageIfCharged,
             {writer, branch, seen.token, root, seen.row_kind, expected, db::Bytes{key.str()}, kind,
              db::Bytes{bytes}, seen.branch.settings_version, hold, makers, charges.quotas(),
              charges.addresses(), charges.sizes()})
      .integer(0, 0);
}

}  // namespace

/// Rows in the form of the statements' parameters; views of the caller's data.
struct Staging::Arrays {
  BranchId branch;
  uint64_t registration;  ///< of the operation that stages; the oldest of several
  std::vector<db::Bytes> keys;
  std::vector<int16_t> kinds;
  std::vector<db::Bytes> values;
  std::vector<std::string> makers;
  quotas::ChargeArrays charges{};
};

struct Staging::OneRow {
  OneRow(BranchId branch, uint64_t registration, const Key& key, const std::optional<Entry>& entry,
         const Charge& charge)
      : bytes(entry ? encode_entry(*entry) : std::string()),
        kind(entry ? kStagedEntry : kStagedDeletion),
        arrays{branch, registration, {{key.str()}}, {kind}, {{bytes}}, ActingUser::makers(), {}} {
    arrays.charges.add(charge);
  }
  OneRow(const OneRow&) = delete;
  OneRow& operator=(const OneRow&) = delete;

  const std::string bytes;
  const int16_t kind;
  Arrays arrays;
};

/// Whether finding this row proves that this write staged it: no equal row was there before.
bool Staging::proves(const OneRow& row, const BranchLookup& seen) {
  return seen.row_kind != row.kind || seen.row_bytes != row.bytes;
}

Staging::Staging(db::Pool& pool, Writer& writer)
    : pool_(pool),
      writer_(writer),
      lookups_(
          kLookupBatchMax, kLookupLeadersMax,
          [this](std::span<const LookupRequest> requests) { return run_lookups(requests); },
          kLookupsBesideMin) {}

Staging::~Staging() = default;

std::shared_ptr<Staging::StageBatcher> Staging::batcher_of(BranchId branch) {
  MutexLock lock(mutex_);
  std::weak_ptr<StageBatcher>& slot = batchers_[branch];
  auto batcher = slot.lock();
  if (!batcher) {
    batcher = std::make_shared<StageBatcher>(
        kStageBatchMax, kStageLeadersMax, [this, branch](std::span<const StageRequest> requests) {
          return run_stages(branch, requests);
        });
    slot = batcher;
    if (batchers_.size() > 1024) {
      std::erase_if(batchers_, [](const auto& item) { return item.second.expired(); });
    }
  }
  return batcher;
}

Staging::StageOutcome Staging::stage(BranchId branch, const Key& key,
                                     const std::optional<Entry>& entry, int64_t settings_version,
                                     const Charge& charge) {
  if (!references_of(entry).empty()) {
    return stage_within(branch, key, entry, settings_version, {}, charge);
  }
  StageRequest request{&key,
                       entry ? encode_entry(*entry) : std::string(),
                       entry ? kStagedEntry : kStagedDeletion,
                       settings_version,
                       writer_.registration(),
                       ActingUser::makers(),
                       charge};
  return batcher_of(branch)->submit(std::move(request));
}

std::vector<Staging::StageOutcome> Staging::run_stages(BranchId branch,
                                                       std::span<const StageRequest> requests) {
  const StageOutcome outcome = stage_batch(branch, requests);
  if (outcome != StageOutcome::kOverQuota || requests.size() == 1) {
    return std::vector<StageOutcome>(requests.size(), outcome);
  }
  // Near a limit each counts for itself: some may fit, and writes without a charge always do.
  std::vector<StageOutcome> out;
  out.reserve(requests.size());
  for (size_t i = 0; i < requests.size(); ++i) {
    try {
      out.push_back(stage_batch(branch, requests.subspan(i, 1)));
    } catch (const std::exception& error) {
      if (i == 0) throw;
      // All callers get it, also those whose change is staged: they must not undo anything.
      throw Error(ErrorCode::kUnavailable, reason::kInDoubt,
                  str_cat("staging changes near the limit of a quota: ", error.what()));
    }
  }
  return out;
}

Staging::StageOutcome Staging::stage_batch(BranchId branch,
                                           std::span<const StageRequest> requests) {
  // Sorted, so that concurrent batches cannot deadlock on rows; only the last write of each key.
  std::map<std::string_view, const StageRequest*> last;
  // Versions only grow: the oldest one permits nothing that the others forbid.
  int64_t settings_version = requests.front().settings_version;
  uint64_t registration = requests.front().registration;
  for (const StageRequest& request : requests) {
    last[request.key->str()] = &request;
    settings_version = std::min(settings_version, request.settings_version);
    registration = std::min(registration, request.registration);
  }
  Arrays rows{.branch = branch,
              .registration = registration,
              .keys = {},
              .kinds = {},
              .values = {},
              .makers = {},
              .charges = {}};
  // Also of a write that a later one of its key replaces: its bytes are stored.
  for (const StageRequest& request : requests) {
    rows.charges.add(request.charge);
    rows.makers.insert(rows.makers.end(), request.makers.begin(), request.makers.end());
  }
  for (const auto& [key, request] : last) {
    rows.keys.push_back({key});
    rows.kinds.push_back(request->kind);
    rows.values.push_back({request->bytes});
  }
  return stage_arrays(rows, settings_version, References({}));
}

Staging::StageOutcome Staging::stage_many(BranchId branch, std::vector<StagedRow> rows,
                                          int64_t settings_version) {
  std::map<std::string, std::optional<Entry>> last;
  for (StagedRow& row : rows) last[std::move(row.key)] = std::move(row.entry);
  std::vector<std::string> bytes;
  bytes.reserve(last.size());
  References references(writer_.fresh_since());
  Arrays arrays{.branch = branch,
                .registration = writer_.registration(),
                .keys = {},
                .kinds = {},
                .values = {},
                .makers = ActingUser::makers(),
                .charges = {}};
  for (const auto& [key, entry] : last) {
    if (entry) references.add(entry->address);
    bytes.push_back(entry ? encode_entry(*entry) : std::string());
    arrays.keys.push_back({key});
    arrays.kinds.push_back(entry ? kStagedEntry : kStagedDeletion);
    arrays.values.push_back({bytes.back()});
  }
  return stage_arrays(arrays, settings_version, references);
}

/// Returns the status of kStage, which `run` executes with the given parameters.
template <typename Run>
int64_t Staging::run_stage(const Arrays& rows, int64_t writer, int64_t settings_version, bool hold,
                           const Run& run) {
  const auto branch = static_cast<int32_t>(rows.branch);
  if (rows.charges.empty()) {
    return run(kStage, {writer, branch, rows.keys, rows.kinds, rows.values, settings_version, hold,
                        rows.makers})
        .integer(0, 0);
  }
  return run(kStageCharged,
             {writer, branch, rows.keys, rows.kinds, rows.values, settings_version, hold,
              rows.makers, rows.charges.quotas(), rows.charges.addresses(), rows.charges.sizes()})
      .integer(0, 0);
}

Staging::StageOutcome Staging::stage_arrays(const Arrays& rows, int64_t settings_version,
                                            const References& references) {
  const auto stage = [&](auto& database, int64_t writer, auto... retry) {
    return run_stage(rows, writer, settings_version, /*hold=*/false,
                     [&](const db::Query& query, std::initializer_list<db::Param> params) {
                       return database.run(query, params, retry...);
                     });
  };
  return outcome_of(staged(rows, /*proves=*/true, [&](int64_t writer) {
    if (references.empty()) return stage(pool_, writer, db::Pool::Retry::kWrite);
    return pool_.transaction([&](db::Connection& connection) {
      const int64_t status = stage(connection, writer);
      if (status != kStatusDone) throw NotStaged{status};
      references.rescue(connection, rows.branch);
      return status;
    });
  }));
}

/// Runs `stage`, which stages the rows under the given writer id and returns the status. Repeats it
/// only if it did nothing because a fence had ended that id. If the response is lost, the fence
/// keeps it from taking effect later, and the rows show whether it already has, if `proves`.
template <typename Stage>
int64_t Staging::staged(const Arrays& rows, bool proves, const Stage& stage) {
  writer_.raise_fences(rows.branch);
  const uint64_t registration = rows.registration;
  for (std::optional<int64_t> writer = writer_.staging_id(registration); writer;
       writer = writer_.staging_id_after(*writer, registration)) {
    try {
      const int64_t status = stage(*writer);
      if (status != kStatusWriterGone) return status;
    } catch (const NotStaged& refused) {
      if (refused.status != kStatusWriterGone) return refused.status;
    } catch (const db::DbError& error) {
      if (error.sqlstate() == quotas::kStateOverQuota) return kStatusOverQuota;
      // Do not stage again: that would undo concurrent writes. One statement stages all rows or
      // none.
      if (!error.in_doubt() || !stand(rows, *writer) || !proves) throw;
      return kStatusDone;
    }
  }
  throw Error(ErrorCode::kUnavailable, reason::kWriterLost,
              "staging a change: this server lost its registration in the database, try again");
}

References Staging::references_of(const std::optional<Entry>& entry) const {
  References out(writer_.fresh_since());
  if (entry) out.add(entry->address);
  return out;
}

/// Whether the rows are staged and will stay. If not, they cannot be staged under `writer` later.
bool Staging::stand(const Arrays& rows, int64_t writer) {
  const std::optional<bool> found = pool_.look_durably([&](db::Connection& connection) {
    Writer::fence(connection, rows.branch, writer);
    return connection
        .run(kFindRows, {static_cast<int32_t>(rows.branch), rows.keys, rows.kinds, rows.values})
        .boolean(0, 0);
  });
  if (!found) writer_.fence_later(rows.branch, writer);
  return found.value_or(false);
}

Staging::StageOutcome Staging::stage_if(const BranchLookup& seen, const Key& key,
                                        const std::optional<Entry>& entry, const Charge& charge) {
  if (!references_of(entry).empty()) return stage_if_within(seen, key, entry, {}, charge);
  const OneRow row(seen.branch.id, writer_.registration(), key, entry, charge);
  return outcome_of(staged(row.arrays, proves(row, seen), [&](int64_t writer) {
    return run_stage_if(writer, seen, key, row.kind, row.bytes, /*hold=*/false, row.arrays.makers,
                        row.arrays.charges,
                        [&](const db::Query& query, std::initializer_list<db::Param> params) {
                          return pool_.run(query, params, db::Pool::Retry::kWrite);
                        });
  }));
}

Staging::StageOutcome Staging::stage_within(BranchId branch, const Key& key,
                                            const std::optional<Entry>& entry,
                                            int64_t settings_version, const Within& within,
                                            const Charge& charge) {
  const OneRow row(branch, writer_.registration(), key, entry, charge);
  const References references = references_of(entry);
  return outcome_of(staged(row.arrays, /*proves=*/true, [&](int64_t writer) {
    return pool_.transaction([&](db::Connection& connection) {
      const int64_t status =
          run_stage(row.arrays, writer, settings_version, /*hold=*/true,
                    [&](const db::Query& query, std::initializer_list<db::Param> params) {
                      return connection.run(query, params);
                    });
      if (status != kStatusDone) throw NotStaged{status};
      references.rescue(connection, branch);
      if (within) within(connection);
      return status;
    });
  }));
}

Staging::StageOutcome Staging::stage_if_within(const BranchLookup& seen, const Key& key,
                                               const std::optional<Entry>& entry,
                                               const Within& within, const Charge& charge) {
  const OneRow row(seen.branch.id, writer_.registration(), key, entry, charge);
  const References references = references_of(entry);
  return outcome_of(staged(row.arrays, proves(row, seen), [&](int64_t writer) {
    return pool_.transaction([&](db::Connection& connection) {
      const int64_t status = run_stage_if(
          writer, seen, key, row.kind, row.bytes, /*hold=*/true, row.arrays.makers,
          row.arrays.charges, [&](const db::Query& query, std::initializer_list<db::Param> params) {
            return connection.run(query, params);
          });
      if (status != kStatusDone) throw NotStaged{status};
      references.rescue(connection, seen.branch.id);
      if (within) within(connection);
      return status;
    });
  }));
}

}  // namespace tarn::meta

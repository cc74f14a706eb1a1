#include "core/meta/staging.h"

#include <algorithm>
#include <set>
#include <span>

#include "core/base/encoding.h"
#include "core/base/reasons.h"
#include "core/base/str_cat.h"
#include "core/meta/staged_ranges.h"

namespace tarn::meta {
namespace {

// A lookup of a batch of 8 costs PostgreSQL half of one alone, of 32 a quarter.
constexpr size_t kLookupBatchMax = 32;
constexpr size_t kLookupLeadersMax = 3;
constexpr size_t kLookupsBesideMin = 8;
constexpr size_t kStageBatchMax = 128;
constexpr size_t kStageLeadersMax =
    4;  // concurrent batches of one branch: they share the WAL flush

constexpr int64_t kRangeDeletes = 1;

// Results of stage_entries_under and stage_entry_if.
constexpr int64_t kStatusDone = 0;
constexpr int64_t kStatusBranchGone = 1;
constexpr int64_t kStatusWriterGone = 2;
constexpr int64_t kStatusChanged = 3;
constexpr int64_t kStatusOverQuota = 4;  // as kStateOverQuota

// The newest staged row s and range row g of a key on branch b, by two probes of indexes.
#define TARN_NEWEST_STAGED(key)                                                                   \
  "LEFT JOIN LATERAL ("                                                                           \
  "  SELECT token, kind, val FROM staging WHERE token = ANY (b.sealed || b.token) AND key = " key \
  "  ORDER BY token DESC LIMIT 1) s ON true "                                                     \
  "LEFT JOIN LATERAL ("                                                                           \
  "  SELECT token, kind FROM staging_ranges"                                                      \
  "  WHERE b.has_ranges AND token = ANY (b.sealed || b.token) AND lo <= " key                     \
  "    AND (hi IS NULL OR hi > " key ") ORDER BY token DESC LIMIT 1) g ON true "

#define TARN_LOOKUP_COLUMNS                                                     \
  "b.repo_id, b.branch_id, b.name, b.head, b.root_nid, b.root_hash, b.hidden, " \
  "b.token, s.token, s.kind, s.val, g.token, g.kind, r.settings_version, b.gate"

// A single statement is a single snapshot, so the branch row and the staged rows belong together.
// Uses the primary keys of branches and staging, with three index probes.
constexpr db::Query kLookup{"staging_lookup_key",
                            "SELECT " TARN_LOOKUP_COLUMNS R"sql(
  FROM repositories r
  JOIN branches b ON b.repo_id = r.repo_id AND b.name = $2 )sql" TARN_NEWEST_STAGED(
                                "$3") "WHERE r.name = $1 AND r.deleted_ms IS NULL"};

// As kLookup, for many keys: the executor starts once, which is most of what a lookup costs.
// OFFSET 0 keeps the planner from joining sets, so that each key has the probes of kLookup.
constexpr db::Query kLookupMany{"staging_lookup_keys", "SELECT " TARN_LOOKUP_COLUMNS R"sql(, q.n
  FROM unnest($1::text[], $2::text[], $3::bytea[]) WITH ORDINALITY AS q(repository, branch, key, n)
  CROSS JOIN LATERAL (
    SELECT repo_id, settings_version FROM repositories
    WHERE name = q.repository AND deleted_ms IS NULL OFFSET 0) r
  CROSS JOIN LATERAL (
    SELECT repo_id, branch_id, name, head, root_nid, root_hash, hidden, token, sealed, has_ranges, gate
    FROM branches WHERE repo_id = r.repo_id AND name = q.branch OFFSET 0) b )sql" TARN_NEWEST_STAGED(
                                                           "q.key")};

// Stages nothing (status 3: changed) under rules other than those that permitted it: a rule holds
// for every statement that starts after it was set. `hold`: the rules must not change until the
// transaction ends, for a write with several statements.
constexpr db::Query kStage{"staging_insert_rows",
                           "SELECT stage_entries_under($6, $7, $1, $2, $3, $4, $5)"};

// As kStage, for rows with charges: the rows of quotas are locked until the end, after all others.
constexpr db::Query kStageCharged{"staging_insert_charged", R"sql(
  SELECT charge_quotas(stage_entries_under($6, $7, $1, $2, $3, $4, $5), $2, $8, $9, $10))sql"};

constexpr db::Query kStageIf{"staging_insert_row_if", R"sql(
  SELECT CASE WHEN (
    SELECT CASE WHEN $11 THEN hold_repository(b.repo_id) ELSE r.settings_version END
    FROM branches b JOIN repositories r USING (repo_id) WHERE b.branch_id = $2) = $10
  THEN stage_entry_if($1, $2, $3, $4, $5, $6, $7, $8, $9) ELSE 3 END)sql"};

constexpr db::Query kStageIfCharged{"staging_insert_charged_if", R"sql(
  SELECT charge_quotas(CASE WHEN (
    SELECT CASE WHEN $11 THEN hold_repository(b.repo_id) ELSE r.settings_version END
    FROM branches b JOIN repositories r USING (repo_id) WHERE b.branch_id = $2) = $10
  THEN stage_entry_if($1, $2, $3, $4, $5, $6, $7, $8, $9) ELSE 3 END, $2, $12, $13, $14))sql"};

// Returns the first $4 rows of every token in index order. The caller merges them: sorting them
// here took two thirds of the time of a page, with one token or several. The branch's own columns
// come once, in a row without a key and as one array: repeating them, even as NULLs, costs each
// row.
#define TARN_PAGE(condition)                                                                     \
  "SELECT NULL::bytea, NULL::smallint, NULL::bytea, NULL::bigint, ARRAY["                        \
  "  b.branch_id::text, b.name, encode(b.head, 'hex'), coalesce(b.root_nid::text, ''), "         \
  "  encode(b.root_hash, 'hex'), b.hidden::text, b.has_ranges::text] FROM branches b "           \
  "WHERE b.repo_id = $1 AND b.name = $2 " condition                                              \
  " UNION ALL "                                                                                  \
  "SELECT p.key, p.kind, p.val, t.token, NULL "                                                  \
  "FROM branches b, unnest(b.sealed || b.token) AS t(token), LATERAL ("                          \
  "  SELECT key, kind, val FROM staging WHERE token = t.token AND key >= $3 ORDER BY key LIMIT " \
  "  $4) p "                                                                                     \
  "WHERE b.repo_id = $1 AND b.name = $2 " condition

constexpr db::Query kSelectPage{"staging_select_page", TARN_PAGE("")};

// A repository that was deleted and restored may have another name than a server remembers.
constexpr db::Query kSelectPageOfName{
    "staging_select_page_of_name",
    TARN_PAGE("AND EXISTS (SELECT 1 FROM repositories r WHERE r.repo_id = $1 AND r.name = $5)")};

constexpr db::Query kSelectRangesOfBranch{"staging_select_branch_ranges", R"sql(
  SELECT r.token, r.lo, r.hi, r.kind
  FROM branches b JOIN staging_ranges r ON r.token = ANY (b.sealed || b.token)
  WHERE b.repo_id = $1 AND b.name = $2 AND b.has_ranges)sql"};

constexpr db::Query kSelectRanges{"staging_select_ranges", R"sql(
  SELECT token, lo, hi, kind FROM staging_ranges WHERE token = ANY ($1))sql"};

constexpr db::Query kDrain{"staging_drain_rows", R"sql(
  SELECT DISTINCT ON (p.key) p.key, p.kind, p.val, t.token
  FROM unnest($1::bigint[]) AS t(token),
  LATERAL (
    SELECT key, kind, val FROM staging WHERE token = t.token AND key >= $2 ORDER BY key LIMIT $3) p
  ORDER BY p.key, t.token DESC LIMIT $3)sql"};

// Whether a statement that staged these rows took effect: the bytes of an entry contain an address
// or a time that belongs to the request. Deletions are all alike and prove nothing.
constexpr db::Query kFindRows{"staging_find_rows", R"sql(
  SELECT EXISTS (
    SELECT 1 FROM branches b
    CROSS JOIN unnest(b.sealed || b.token) AS t(token)
    CROSS JOIN unnest($2::bytea[], $3::smallint[], $4::bytea[]) AS mine(key, kind, val)
    JOIN staging s ON s.token = t.token AND s.key = mine.key AND s.kind = mine.kind AND s.val = mine.val
    WHERE b.branch_id = $1 AND mine.kind = 0))sql"};

Branch branch_from(const db::Rows& rows, size_t row) {
  Branch b;
  b.id = static_cast<BranchId>(rows.integer(row, 1));
  b.name = BranchName(std::string(rows.text(row, 2)));
  b.head = commit_id_from_bytes(rows.bytes(row, 3));
  if (!rows.null(row, 4)) b.root.nid = rows.integer(row, 4);
  b.root.hash = hash128_from_bytes(rows.bytes(row, 5));
  b.hidden = rows.boolean(row, 6);
  return b;
}

std::optional<Entry> entry_of(int64_t kind, std::string_view bytes) {
  if (kind == kStagedDeletion) return std::nullopt;
  return decode_entry(bytes);
}

BranchLookup lookup_from(const db::Rows& rows, size_t row) {
  BranchLookup out;
  out.repository = static_cast<RepositoryId>(rows.integer(row, 0));
  out.branch = branch_from(rows, row);
  out.branch.settings_version = rows.integer(row, 13);
  if (!rows.null(row, 14)) out.branch.gate = rows.text(row, 14);
  out.token = rows.integer(row, 7);
  const bool staged = !rows.null(row, 8);
  const bool ranged = !rows.null(row, 11);
  if (staged && rows.integer(row, 8) == out.token) {
    out.row_kind = static_cast<int16_t>(rows.integer(row, 9));
    out.row_bytes = rows.bytes(row, 10);
  }
  // A range row is older than the point rows of its own token and newer than all older tokens.
  if (staged && (!ranged || rows.integer(row, 8) >= rows.integer(row, 11))) {
    out.state.entry = entry_of(rows.integer(row, 9), rows.bytes(row, 10));
    out.state.kind = out.state.entry ? StagedState::Kind::kEntry : StagedState::Kind::kDeleted;
  } else if (ranged && rows.integer(row, 12) == kRangeDeletes) {
    out.state.kind = StagedState::Kind::kDeleted;
  }
  return out;
}

std::vector<StagedRange> ranges_from(const db::Rows& rows) {
  std::vector<StagedRange> out;
  for (size_t row = 0; row < rows.size(); ++row) {
    out.push_back({rows.integer(row, 0), std::string(rows.bytes(row, 1)),
                   rows.null(row, 2) ? std::string() : std::string(rows.bytes(row, 2)),
                   rows.integer(row, 3) == kRangeDeletes});
  }
  return out;
}

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
                     const std::string& bytes, bool hold, const ChargeArrays& charges,
                     const Run& run) {
  const std::optional<int64_t> root =
      seen.branch.root.empty() ? std::nullopt : std::optional<int64_t>(seen.branch.root.nid);
  const std::optional<db::Bytes> expected =
      seen.row_kind ? std::optional<db::Bytes>(db::Bytes{seen.row_bytes}) : std::nullopt;
  const auto branch = static_cast<int32_t>(seen.branch.id);
  if (charges.empty()) {
    return run(kStageIf,
               {writer, branch, seen.token, root, seen.row_kind, expected, db::Bytes{key.str()},
                kind, db::Bytes{bytes}, seen.branch.settings_version, hold})
        .integer(0, 0);
  }
  return run(kStageIfCharged,
             {writer, branch, seen.token, root, seen.row_kind, expected, db::Bytes{key.str()}, kind,
              db::Bytes{bytes}, seen.branch.settings_version, hold, charges.quotas(),
              charges.addresses(), charges.sizes()})
      .integer(0, 0);
}

// The elements of the array of kSelectPage.
enum PageState : size_t { kId, kName, kHead, kRoot, kRootHash, kHidden, kHasRanges };

Branch branch_from(const std::vector<std::string>& state) {
  const auto bytes = [&state](PageState at) { return from_hex(state[at]).value(); };
  Branch b;
  b.id = static_cast<BranchId>(std::stol(state[kId]));
  b.name = BranchName(state[kName]);
  b.head = commit_id_from_bytes(bytes(kHead));
  if (!state[kRoot].empty()) b.root.nid = std::stoll(state[kRoot]);
  b.root.hash = hash128_from_bytes(bytes(kRootHash));
  b.hidden = state[kHidden] == "true";
  return b;
}

struct PageRow {
  std::string_view key;
  int64_t token;
  size_t index;  ///< in the result
};
struct PageRows {
  size_t branch = 0;  ///< the row without a key
  std::vector<PageRow> staged{};
};

/// The first `limit` keys of kSelectPage's result in order, each with its newest row. They are
/// complete, because the result has as many rows of each token.
PageRows page_rows(const db::Rows& rows, uint32_t limit) {
  PageRows out;
  out.staged.reserve(rows.size());
  bool ordered = true;
  for (size_t row = 0; row < rows.size(); ++row) {
    if (rows.null(row, 0)) {
      out.branch = row;
      continue;
    }
    const std::string_view key = rows.bytes(row, 0);
    ordered = ordered && (out.staged.empty() || out.staged.back().key < key);
    out.staged.push_back({key, rows.integer(row, 3), row});
  }
  if (!ordered) {  // several tokens
    std::ranges::sort(out.staged, [](const PageRow& a, const PageRow& b) {
      return a.key != b.key ? a.key < b.key : a.token > b.token;
    });
    const auto same_key = [](const PageRow& a, const PageRow& b) { return a.key == b.key; };
    out.staged.erase(std::unique(out.staged.begin(), out.staged.end(), same_key), out.staged.end());
  }
  if (out.staged.size() > limit) out.staged.resize(limit);
  return out;
}

}  // namespace

/// Rows in the form of the statements' parameters; views of the caller's data.
struct Staging::Arrays {
  BranchId branch;
  uint64_t registration;  ///< of the operation that stages; the oldest of several
  std::vector<db::Bytes> keys;
  std::vector<int16_t> kinds;
  std::vector<db::Bytes> values;
  ChargeArrays charges{};
};

struct Staging::OneRow {
  OneRow(BranchId branch, uint64_t registration, const Key& key, const std::optional<Entry>& entry,
         const Charge& charge)
      : bytes(entry ? encode_entry(*entry) : std::string()),
        kind(entry ? kStagedEntry : kStagedDeletion),
        arrays{branch, registration, {{key.str()}}, {kind}, {{bytes}}, {}} {
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

std::optional<BranchLookup> Staging::lookup(const RepositoryName& repository,
                                            const BranchName& branch, const Key& key) {
  return lookups_.submit({&repository, &branch, &key});
}

std::vector<std::optional<BranchLookup>> Staging::run_lookups(
    std::span<const LookupRequest> requests) {
  std::vector<std::optional<BranchLookup>> out(requests.size());
  if (requests.size() == 1) {
    const LookupRequest& one = requests[0];
    const db::Rows rows =
        pool_.run(kLookup, {one.repository->str(), one.branch->str(), db::Bytes{one.key->str()}},
                  db::Pool::Retry::kRead);
    if (!rows.empty()) out[0] = lookup_from(rows, 0);
    return out;
  }
  std::vector<std::string> repositories;
  std::vector<std::string> branches;
  std::vector<db::Bytes> keys;
  for (const LookupRequest& request : requests) {
    repositories.push_back(request.repository->str());
    branches.push_back(request.branch->str());
    keys.push_back({request.key->str()});
  }
  const db::Rows rows =
      pool_.run(kLookupMany, {repositories, branches, keys}, db::Pool::Retry::kRead);
  for (size_t row = 0; row < rows.size(); ++row) {
    out[static_cast<size_t>(rows.integer(row, 15)) - 1] = lookup_from(rows, row);
  }
  return out;
}

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
    out.push_back(stage_batch(branch, requests.subspan(i, 1)));
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
              .charges = {}};
  // Also of a write that a later one of its key replaces: its bytes are stored.
  for (const StageRequest& request : requests) rows.charges.add(request.charge);
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
    return run(kStage, {writer, branch, rows.keys, rows.kinds, rows.values, settings_version, hold})
        .integer(0, 0);
  }
  return run(kStageCharged,
             {writer, branch, rows.keys, rows.kinds, rows.values, settings_version, hold,
              rows.charges.quotas(), rows.charges.addresses(), rows.charges.sizes()})
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
      if (error.sqlstate() == kStateOverQuota) return kStatusOverQuota;
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
    return run_stage_if(writer, seen, key, row.kind, row.bytes, /*hold=*/false, row.arrays.charges,
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
      const int64_t status =
          run_stage_if(writer, seen, key, row.kind, row.bytes, /*hold=*/true, row.arrays.charges,
                       [&](const db::Query& query, std::initializer_list<db::Param> params) {
                         return connection.run(query, params);
                       });
      if (status != kStatusDone) throw NotStaged{status};
      references.rescue(connection, seen.branch.id);
      if (within) within(connection);
      return status;
    });
  }));
}

std::optional<StagedPage> Staging::page(db::Connection& connection, RepositoryId repository,
                                        const BranchName& branch, std::string_view begin,
                                        uint32_t limit, const std::optional<RepositoryName>& name) {
  const int32_t repo = static_cast<int32_t>(repository);
  const auto most = static_cast<int64_t>(limit);
  const db::Rows rows =
      name ? connection.run(kSelectPageOfName,
                            {repo, branch.str(), db::Bytes{begin}, most, name->str()})
           : connection.run(kSelectPage, {repo, branch.str(), db::Bytes{begin}, most});
  if (rows.empty()) return std::nullopt;
  const PageRows found = page_rows(rows, limit);
  StagedPage page;
  page.repository = repository;
  const std::vector<std::string> state = rows.strings(found.branch, 4);
  page.branch = branch_from(state);
  std::vector<StagedRange> ranges;
  if (state[kHasRanges] == "true") {
    // Only inside a snapshot does a second statement see the same state.
    page.has_ranges = true;
    ranges = ranges_from(
        connection.run(kSelectRangesOfBranch, {static_cast<int32_t>(repository), branch.str()}));
  }
  page.deletes = effective_deletes(ranges);
  if (found.staged.empty()) return page;
  page.complete = found.staged.size() < limit;
  page.rows.reserve(found.staged.size());
  for (const PageRow& row : found.staged) {
    const StagedRange* range = newest_covering(ranges, row.key);
    if (range != nullptr && range->token > row.token) continue;  // hidden by a later range
    page.rows.push_back(
        {std::string(row.key), entry_of(rows.integer(row.index, 1), rows.bytes(row.index, 2))});
  }
  page.rows_end = std::string(found.staged.back().key);
  return page;
}

std::vector<StagedRange> Staging::delete_ranges(const std::vector<int64_t>& tokens) {
  return effective_deletes(ranges_from(pool_.run(kSelectRanges, {tokens}, db::Pool::Retry::kRead)));
}

std::vector<StagedRow> Staging::drain(const std::vector<int64_t>& tokens, bool has_ranges,
                                      std::string* begin, uint32_t limit) {
  std::vector<StagedRow> out;
  std::vector<StagedRange> ranges;
  if (has_ranges) ranges = ranges_from(pool_.run(kSelectRanges, {tokens}, db::Pool::Retry::kRead));
  const db::Rows rows = pool_.run(kDrain, {tokens, db::Bytes{*begin}, static_cast<int64_t>(limit)},
                                  db::Pool::Retry::kRead);
  out.reserve(rows.size());
  for (size_t row = 0; row < rows.size(); ++row) {
    const std::string_view key = rows.bytes(row, 0);
    const StagedRange* range = newest_covering(ranges, key);
    if (range != nullptr && range->token > rows.integer(row, 3)) continue;
    out.push_back({std::string(key), entry_of(rows.integer(row, 1), rows.bytes(row, 2))});
  }
  begin->clear();
  // The successor of a key: no string lies between it and the key followed by NUL.
  if (rows.size() == limit) *begin = std::string(rows.bytes(rows.size() - 1, 0)) + '\0';
  return out;
}

}  // namespace tarn::meta

// Reads of the staging area: lookups of keys, pages of listings, and what a verb drains.
#include <algorithm>
#include <span>

#include "core/base/encoding.h"
#include "core/meta/staged_ranges.h"
#include "core/meta/staging.h"

namespace tarn::meta {
namespace {

constexpr int64_t kRangeDeletes = 1;

// The newest staged row s and range row g of a key on branch b.
// A single statement is a single snapshot, so the branch row and the staged rows belong together.
// Uses the primary keys of branches and staging, with three index probes.
constexpr db::Query kLookup{"staging_lookup_key", R"sql(
  SELECT b.repo_id, b.branch_id, b.name, b.head, b.root_nid, b.root_hash, b.hidden, b.token, s.token, s.kind, s.val,
         g.token, g.kind, r.settings_version, b.gate
  FROM repositories r
  JOIN branches b ON b.repo_id = r.repo_id AND b.name = $2
  LEFT JOIN LATERAL (
    SELECT token, kind, val FROM staging WHERE token = ANY (b.sealed || b.token) AND key = $3
    ORDER BY token DESC LIMIT 1) s ON true
  LEFT JOIN LATERAL (
    SELECT token, kind FROM staging_ranges
    WHERE b.has_ranges AND token = ANY (b.sealed || b.token) AND lo <= $3 AND (hi IS NULL OR hi > $3)
    ORDER BY token DESC LIMIT 1) g ON true
  WHERE r.name = $1 AND r.deleted_ms IS NULL)sql"};

// kLookup for many keys: the executor starts once, which is most of what a lookup costs.
// OFFSET 0 keeps the planner from joining sets, so that each key has the probes of kLookup.
constexpr db::Query kLookupMany{"staging_lookup_keys", R"sql(
  SELECT b.repo_id, b.branch_id, b.name, b.head, b.root_nid, b.root_hash, b.hidden, b.token, s.token, s.kind, s.val,
         g.token, g.kind, r.settings_version, b.gate, q.n
  FROM unnest($1::text[], $2::text[], $3::bytea[]) WITH ORDINALITY AS q(repository, branch, key, n)
  CROSS JOIN LATERAL (
    SELECT repo_id, settings_version FROM repositories
    WHERE name = q.repository AND deleted_ms IS NULL OFFSET 0) r
  CROSS JOIN LATERAL (
    SELECT repo_id, branch_id, name, head, root_nid, root_hash, hidden, token, sealed, has_ranges, gate
    FROM branches WHERE repo_id = r.repo_id AND name = q.branch OFFSET 0) b
  LEFT JOIN LATERAL (
    SELECT token, kind, val FROM staging WHERE token = ANY (b.sealed || b.token) AND key = q.key
    ORDER BY token DESC LIMIT 1) s ON true
  LEFT JOIN LATERAL (
    SELECT token, kind FROM staging_ranges
    WHERE b.has_ranges AND token = ANY (b.sealed || b.token) AND lo <= q.key AND (hi IS NULL OR hi > q.key)
    ORDER BY token DESC LIMIT 1) g ON true)sql"};

struct LookupColumn {
  enum : int {
    kRepoId,
    kBranchId,
    kName,
    kHead,
    kRootNid,
    kRootHash,
    kHidden,
    kBranchToken,
    kRowToken,
    kRowKind,
    kRowVal,
    kRangeToken,
    kRangeKind,
    kSettingsVersion,
    kGate,
    kEnd
  };
};

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

constexpr db::Query kSelectMakers{"staging_select_makers",
                                  "SELECT maker FROM staging_makers WHERE token = ANY ($1)"};

constexpr db::Query kDrain{"staging_drain_rows", R"sql(
  SELECT DISTINCT ON (p.key) p.key, p.kind, p.val, t.token
  FROM unnest($1::bigint[]) AS t(token),
  LATERAL (
    SELECT key, kind, val FROM staging WHERE token = t.token AND key >= $2 ORDER BY key LIMIT $3) p
  ORDER BY p.key, t.token DESC LIMIT $3)sql"};

Branch branch_from(const db::Rows& rows, size_t row) {
  using Column = LookupColumn;
  Branch b;
  b.id = static_cast<BranchId>(rows.integer(row, Column::kBranchId));
  b.name = BranchName(std::string(rows.text(row, Column::kName)));
  b.head = commit_id_from_bytes(rows.bytes(row, Column::kHead));
  if (!rows.null(row, Column::kRootNid)) b.root.nid = rows.integer(row, Column::kRootNid);
  b.root.hash = hash128_from_bytes(rows.bytes(row, Column::kRootHash));
  b.hidden = rows.boolean(row, Column::kHidden);
  return b;
}

std::optional<Entry> entry_of(int64_t kind, std::string_view bytes) {
  if (kind == kStagedDeletion) return std::nullopt;
  return decode_entry(bytes);
}

BranchLookup lookup_from(const db::Rows& rows, size_t row) {
  using Column = LookupColumn;
  BranchLookup out;
  out.repository = static_cast<RepositoryId>(rows.integer(row, Column::kRepoId));
  out.branch = branch_from(rows, row);
  out.branch.settings_version = rows.integer(row, Column::kSettingsVersion);
  if (!rows.null(row, Column::kGate)) out.branch.gate = rows.text(row, Column::kGate);
  out.token = rows.integer(row, Column::kBranchToken);
  const bool staged = !rows.null(row, Column::kRowToken);
  const bool ranged = !rows.null(row, Column::kRangeToken);
  if (staged && rows.integer(row, Column::kRowToken) == out.token) {
    out.row_kind = static_cast<int16_t>(rows.integer(row, Column::kRowKind));
    out.row_bytes = rows.bytes(row, Column::kRowVal);
  }
  // A range row is older than the point rows of its own token and newer than all older tokens.
  if (staged &&
      (!ranged || rows.integer(row, Column::kRowToken) >= rows.integer(row, Column::kRangeToken))) {
    out.state.entry =
        entry_of(rows.integer(row, Column::kRowKind), rows.bytes(row, Column::kRowVal));
    out.state.kind = out.state.entry ? StagedState::Kind::kEntry : StagedState::Kind::kDeleted;
    out.state.token = rows.integer(row, Column::kRowToken);
  } else if (ranged && rows.integer(row, Column::kRangeKind) == kRangeDeletes) {
    out.state.kind = StagedState::Kind::kDeleted;
  }
  return out;
}

std::vector<StagedRange> ranges_from(const db::Rows& rows) {
  struct Column {
    enum : int { kToken, kLo, kHi, kKind };
  };
  std::vector<StagedRange> out;
  for (size_t row = 0; row < rows.size(); ++row) {
    out.push_back(
        {rows.integer(row, Column::kToken), std::string(rows.bytes(row, Column::kLo)),
         rows.null(row, Column::kHi) ? std::string() : std::string(rows.bytes(row, Column::kHi)),
         rows.integer(row, Column::kKind) == kRangeDeletes});
  }
  return out;
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

struct PageColumn {
  enum : int { kKey, kKind, kVal, kToken, kBranch };
};

/// The first `limit` keys of kSelectPage's result in order, each with its newest row. They are
/// complete, because the result has as many rows of each token.
PageRows page_rows(const db::Rows& rows, uint32_t limit) {
  using Column = PageColumn;
  PageRows out;
  out.staged.reserve(rows.size());
  bool ordered = true;
  for (size_t row = 0; row < rows.size(); ++row) {
    if (rows.null(row, Column::kKey)) {
      out.branch = row;
      continue;
    }
    const std::string_view key = rows.bytes(row, Column::kKey);
    ordered = ordered && (out.staged.empty() || out.staged.back().key < key);
    out.staged.push_back({key, rows.integer(row, Column::kToken), row});
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

std::optional<BranchLookup> Staging::lookup(const RepositoryName& repository,
                                            const BranchName& branch, const Key& key) {
  return lookups_.submit({&repository, &branch, &key});
}

std::vector<std::optional<BranchLookup>> Staging::run_lookups(
    std::span<const LookupRequest> requests) {
  struct Column {
    enum : int { kN = LookupColumn::kEnd };
  };
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
    out[static_cast<size_t>(rows.integer(row, Column::kN)) - 1] = lookup_from(rows, row);
  }
  return out;
}

std::optional<StagedPage> Staging::page(db::Connection& connection, RepositoryId repository,
                                        const BranchName& branch, std::string_view begin,
                                        uint32_t limit, const std::optional<RepositoryName>& name) {
  using Column = PageColumn;
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
  const std::vector<std::string> state = rows.strings(found.branch, Column::kBranch);
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
        {std::string(row.key),
         entry_of(rows.integer(row.index, Column::kKind), rows.bytes(row.index, Column::kVal)),
         row.token});
  }
  page.rows_end = std::string(found.staged.back().key);
  return page;
}

std::set<std::string> Staging::makers(const std::vector<int64_t>& tokens) {
  const db::Rows rows = pool_.run(kSelectMakers, {tokens}, db::Pool::Retry::kRead);
  std::set<std::string> out;
  for (size_t row = 0; row < rows.size(); ++row) out.emplace(rows.text(row, 0));
  return out;
}

std::vector<StagedRange> Staging::delete_ranges(const std::vector<int64_t>& tokens) {
  return effective_deletes(ranges_from(pool_.run(kSelectRanges, {tokens}, db::Pool::Retry::kRead)));
}

std::vector<StagedRow> Staging::drain(const std::vector<int64_t>& tokens, bool has_ranges,
                                      std::string* begin, uint32_t limit) {
  struct Column {
    enum : int { kKey, kKind, kVal, kToken };
  };
  std::vector<StagedRow> out;
  std::vector<StagedRange> ranges;
  if (has_ranges) ranges = ranges_from(pool_.run(kSelectRanges, {tokens}, db::Pool::Retry::kRead));
  const db::Rows rows = pool_.run(kDrain, {tokens, db::Bytes{*begin}, static_cast<int64_t>(limit)},
                                  db::Pool::Retry::kRead);
  out.reserve(rows.size());
  for (size_t row = 0; row < rows.size(); ++row) {
    const std::string_view key = rows.bytes(row, Column::kKey);
    const StagedRange* range = newest_covering(ranges, key);
    if (range != nullptr && range->token > rows.integer(row, Column::kToken)) continue;
    out.push_back({std::string(key),
                   entry_of(rows.integer(row, Column::kKind), rows.bytes(row, Column::kVal))});
  }
  begin->clear();
  // The successor of a key: no string lies between it and the key followed by NUL.
  if (rows.size() == limit) *begin = std::string(rows.bytes(rows.size() - 1, Column::kKey)) + '\0';
  return out;
}

}  // namespace tarn::meta

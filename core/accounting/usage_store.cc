#include "core/accounting/usage_store.h"

#include <memory>
#include <unordered_map>
#include <utility>

#include "core/base/cancellation.h"
#include "core/base/error.h"
#include "core/base/str_cat.h"
#include "core/meta/commit_column.h"
#include "core/meta/expiry.h"
#include "core/meta/staging.h"

namespace tarn::accounting {
namespace {

constexpr int64_t kRowsPerPage = 5'000;
constexpr int64_t kVersionNumberMin = INT64_MIN;

// A deleted repository that can be restored has its rows put away as JSON.
constexpr db::Query kSelectRefs{"accounting_select_refs", R"sql(
  SELECT 0, name, head, branch_id FROM branches WHERE repo_id = $1
  UNION ALL SELECT 1, name, commit_id, NULL FROM tags WHERE repo_id = $1
  UNION ALL SELECT 2, name, commit_id, NULL FROM aliases WHERE repo_id = $1 AND commit_id IS NOT NULL
  UNION ALL
  SELECT CASE source WHEN 'branches' THEN 0 WHEN 'tags' THEN 1 ELSE 2 END, body->>'name',
         coalesce(body->>'head', body->>'commit_id')::bytea, (body->>'branch_id')::integer
  FROM deleted_rows
  WHERE repo_id = $1 AND source IN ('branches', 'tags', 'aliases')
    AND coalesce(body->>'head', body->>'commit_id') IS NOT NULL)sql"};

constexpr db::Query kSelectRootsBelow{"accounting_select_roots_below", R"sql(
  WITH RECURSIVE reached AS (
    SELECT commit_id FROM unnest($2::bytea[]) AS given(commit_id)
    UNION
    SELECT parent FROM reached JOIN commits c ON c.repo_id = $1 AND c.commit_id = reached.commit_id,
      unnest(c.parents) AS p(parent))
  SELECT DISTINCT root_nid FROM reached JOIN commits c ON c.repo_id = $1 AND c.commit_id = reached.commit_id
  WHERE root_nid > 0)sql"};

constexpr db::Query kSelectRoots{"accounting_select_roots", R"sql(
  SELECT DISTINCT root_nid FROM commits
  WHERE repo_id = $1 AND root_nid > 0 AND commit_id IS DISTINCT FROM $2)sql"};

constexpr db::Query kSelectRoot{"accounting_select_root", R"sql(
  SELECT coalesce(root_nid, 0) FROM commits WHERE repo_id = $1 AND commit_id = $2)sql"};

constexpr db::Query kSelectReaders{"accounting_select_readers", R"sql(
  SELECT reader_id FROM repository_readers JOIN repositories ON repo_id = reader_id
  WHERE owner_id = $1 AND reader_id <> $1 AND NOT purged)sql"};

constexpr db::Query kSelectTokens{"accounting_select_tokens", R"sql(
  SELECT t FROM branches, unnest(sealed || token) AS tokens(t) WHERE branch_id = $1
  UNION ALL SELECT t FROM deleted_branches, unnest(tokens) AS put_away(t) WHERE branch_id = $1)sql"};

constexpr db::Query kSelectStaged{"accounting_select_staged", R"sql(
  SELECT key, kind, val FROM staging WHERE token = $1 AND key >= $2 ORDER BY key LIMIT $3)sql"};

constexpr db::Query kSelectVersions{"accounting_select_versions", R"sql(
  SELECT key, number, kind, val FROM object_versions
  WHERE branch_id = $1 AND (key, number) > ($2, $3) ORDER BY key, number LIMIT $4)sql"};

constexpr db::Query kSelectUploadParts{"accounting_select_upload_parts", R"sql(
  SELECT p.upload_id, p.part_number, p.entry FROM uploads u JOIN upload_parts p USING (upload_id)
  WHERE u.branch_id = $1 AND u.expires_at > now() AND (p.upload_id, p.part_number) > ($2, $3)
  ORDER BY p.upload_id, p.part_number LIMIT $4)sql"};

constexpr db::Query kSelectPartLists{"accounting_select_part_lists",
                                     "SELECT body FROM part_lists WHERE part_list_id = ANY ($1)"};

constexpr db::Query kSelectNodes{"accounting_select_nodes",
                                 "SELECT nid, body FROM nodes WHERE nid = ANY ($1)"};

std::vector<Nid> nids_from(const db::Rows& rows) {
  std::vector<Nid> out;
  out.reserve(rows.size());
  for (size_t row = 0; row < rows.size(); ++row) out.push_back(rows.integer(row, 0));
  return out;
}

}  // namespace

std::vector<RefRow> UsageStore::refs(RepositoryId repository) {
  struct Column {
    enum : int { kKind, kName, kHead, kBranchId };
  };
  const db::Rows rows = connection_.run(kSelectRefs, {static_cast<int32_t>(repository)});
  std::vector<RefRow> out;
  out.reserve(rows.size());
  for (size_t row = 0; row < rows.size(); ++row) {
    out.push_back({static_cast<RefRow::Kind>(rows.integer(row, Column::kKind)),
                   std::string(rows.text(row, Column::kName)),
                   commit_id_from_bytes(rows.bytes(row, Column::kHead)),
                   rows.null(row, Column::kBranchId)
                       ? BranchId{}
                       : static_cast<BranchId>(rows.integer(row, Column::kBranchId))});
  }
  return out;
}

std::vector<Nid> UsageStore::roots_below(RepositoryId repository,
                                         std::span<const CommitId> commits) {
  return nids_from(connection_.run(kSelectRootsBelow,
                                   {static_cast<int32_t>(repository), meta::bytes_of(commits)}));
}

std::vector<Nid> UsageStore::roots_of_all(RepositoryId repository,
                                          const std::optional<CommitId>& except) {
  const auto id = except ? std::optional(db::Bytes{view_of(*except)}) : std::nullopt;
  return nids_from(connection_.run(kSelectRoots, {static_cast<int32_t>(repository), id}));
}

std::optional<Nid> UsageStore::root_of(RepositoryId repository, const CommitId& commit) {
  const db::Rows rows =
      connection_.run(kSelectRoot, {static_cast<int32_t>(repository), db::Bytes{view_of(commit)}});
  if (rows.empty()) return std::nullopt;
  meta::require_kept(connection_, rows.integer(0, 0));
  return rows.integer(0, 0);
}

std::vector<RepositoryId> UsageStore::readers(RepositoryId repository) {
  const db::Rows rows = connection_.run(kSelectReaders, {static_cast<int32_t>(repository)});
  std::vector<RepositoryId> out;
  for (size_t row = 0; row < rows.size(); ++row) {
    out.push_back(static_cast<RepositoryId>(rows.integer(row, 0)));
  }
  return out;
}

void UsageStore::staged_entries(BranchId branch, const OnBytes& on_entry) {
  struct Column {
    enum : int { kKey, kKind, kVal };
  };
  for (const Nid token :
       nids_from(connection_.run(kSelectTokens, {static_cast<int32_t>(branch)}))) {
    for (std::string from;;) {
      throw_if_cancelled();
      const db::Rows rows = connection_.run(kSelectStaged, {token, db::Bytes{from}, kRowsPerPage});
      for (size_t row = 0; row < rows.size(); ++row) {
        if (rows.integer(row, Column::kKind) == meta::kStagedEntry)
          on_entry(rows.bytes(row, Column::kVal));
      }
      if (rows.size() < static_cast<size_t>(kRowsPerPage)) break;
      from = std::string(rows.bytes(rows.size() - 1, Column::kKey)) + '\0';
    }
  }
}

void UsageStore::versions(BranchId branch, const OnBytes& on_entry) {
  struct Column {
    enum : int { kKey, kNumber, kKind, kVal };
  };
  std::string key;
  for (int64_t number = kVersionNumberMin;;) {
    throw_if_cancelled();
    const db::Rows rows = connection_.run(
        kSelectVersions, {static_cast<int32_t>(branch), db::Bytes{key}, number, kRowsPerPage});
    for (size_t row = 0; row < rows.size(); ++row) {
      if (rows.integer(row, Column::kKind) == meta::kStagedEntry)
        on_entry(rows.bytes(row, Column::kVal));
    }
    if (rows.size() < static_cast<size_t>(kRowsPerPage)) return;
    key = rows.bytes(rows.size() - 1, Column::kKey);
    number = rows.integer(rows.size() - 1, Column::kNumber);
  }
}

void UsageStore::upload_parts(BranchId branch, const OnBytes& on_parts) {
  struct Column {
    enum : int { kUploadId, kPartNumber, kEntry };
  };
  std::string upload;
  for (int32_t part = 0;;) {
    throw_if_cancelled();
    const db::Rows rows = connection_.run(
        kSelectUploadParts, {static_cast<int32_t>(branch), upload, part, kRowsPerPage});
    for (size_t row = 0; row < rows.size(); ++row) on_parts(rows.bytes(row, Column::kEntry));
    if (rows.size() < static_cast<size_t>(kRowsPerPage)) return;
    upload = rows.text(rows.size() - 1, Column::kUploadId);
    part = static_cast<int32_t>(rows.integer(rows.size() - 1, Column::kPartNumber));
  }
}

void UsageStore::part_lists(std::span<const int64_t> ids, const OnBytes& on_parts) {
  throw_if_cancelled();
  const db::Rows rows = connection_.run(kSelectPartLists, {ids});
  if (rows.size() != ids.size()) {
    throw Error(ErrorCode::kDataLoss, "part lists: an entry refers to one that is missing");
  }
  for (size_t row = 0; row < rows.size(); ++row) on_parts(rows.bytes(row, 0));
}

std::vector<std::shared_ptr<const tree::Node>> ScannedNodes::load(std::span<const Nid> nids) {
  struct Column {
    enum : int { kNid, kBody };
  };
  throw_if_cancelled();
  const db::Rows rows = connection_.run(kSelectNodes, {nids});
  std::unordered_map<Nid, std::shared_ptr<const tree::Node>> found;
  for (size_t row = 0; row < rows.size(); ++row) {
    found[rows.integer(row, Column::kNid)] = tree::Node::decode(rows.bytes(row, Column::kBody));
  }
  std::vector<std::shared_ptr<const tree::Node>> out;
  out.reserve(nids.size());
  for (const Nid nid : nids) {
    const auto at = found.find(nid);
    if (at == found.end()) {
      throw Error(ErrorCode::kDataLoss, str_cat("tree node ", nid, ": is not in the database"));
    }
    out.push_back(at->second);
  }
  return out;
}

}  // namespace tarn::accounting

// Columns that hold ids of commits.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "core/db/connection.h"
#include "core/model/commit.h"

namespace tarn::meta {

inline std::optional<CommitId> commit_or_none(const db::Rows& rows, size_t row, int column) {
  if (rows.null(row, column)) return std::nullopt;
  return commit_id_from_bytes(rows.bytes(row, column));
}

/// A view of `commit`.
inline std::optional<db::Bytes> bytes_or_null(const std::optional<CommitId>& commit) {
  if (!commit) return std::nullopt;
  return db::Bytes{view_of(*commit)};
}

/// Views of `commits`, for a bytea[].
inline std::vector<db::Bytes> bytes_of(std::span<const CommitId> commits) {
  std::vector<db::Bytes> out;
  out.reserve(commits.size());
  for (const CommitId& commit : commits) out.push_back({view_of(commit)});
  return out;
}

}  // namespace tarn::meta

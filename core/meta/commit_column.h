// Columns that may hold the id of a commit.
#pragma once

#include <cstddef>
#include <optional>

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

}  // namespace tarn::meta

// Rows of quotas as values, for the files of quotas::Quotas.
#pragma once

#include <cstring>
#include <string_view>

#include "core/base/error.h"
#include "core/db/pool.h"
#include "core/quotas/quotas.h"

namespace tarn::quotas {

#define TARN_QUOTA_COLUMNS                                                                       \
  "q.quota_id, q.repo_id, q.user_name, q.branches, q.soft_bytes, q.hard_bytes, q.soft_objects, " \
  "q.hard_objects, q.soft_branches, q.hard_branches, q.soft_uploads, q.hard_uploads, q.bytes, "  \
  "q.objects, q.counted_ms, q.soft_metadata, q.hard_metadata, "                                  \
  "(SELECT m.bytes FROM quota_metadata m WHERE m.quota_id = q.quota_id)"

inline QuotaLimit limit_from(const db::Rows& rows, size_t row, int column) {
  QuotaLimit out;
  if (!rows.null(row, column)) out.soft = rows.integer(row, column);
  if (!rows.null(row, column + 1)) out.hard = rows.integer(row, column + 1);
  return out;
}

inline Quota quota_from(const db::Rows& rows, size_t row) {
  Quota out;
  out.id = static_cast<QuotaId>(rows.integer(row, 0));
  out.scope.repository = static_cast<RepositoryId>(rows.integer(row, 1));
  out.scope.user = rows.text(row, 2);
  out.scope.branches = rows.text(row, 3);
  out.limits.bytes = limit_from(rows, row, 4);
  out.limits.objects = limit_from(rows, row, 6);
  out.limits.branches = limit_from(rows, row, 8);
  out.limits.uploads = limit_from(rows, row, 10);
  out.bytes = static_cast<uint64_t>(rows.integer(row, 12));
  out.objects = static_cast<uint64_t>(rows.integer(row, 13));
  if (!rows.null(row, 14)) out.counted = from_millis(rows.integer(row, 14));
  out.limits.metadata = limit_from(rows, row, 15);
  if (!rows.null(row, 17)) out.metadata = static_cast<uint64_t>(rows.integer(row, 17));
  return out;
}

inline db::Bytes bytes_of(const OwnAddress& address) {
  return {std::string_view(reinterpret_cast<const char*>(address.id.data()), address.id.size())};
}

inline OwnAddress address_from(std::string_view bytes) {
  OwnAddress out;
  TARN_CHECK(bytes.size() == out.id.size());
  std::memcpy(out.id.data(), bytes.data(), bytes.size());
  return out;
}

}  // namespace tarn::quotas

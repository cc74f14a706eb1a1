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

struct QuotaColumn {
  enum : int {
    kQuotaId,
    kRepoId,
    kUserName,
    kBranches,
    kSoftBytes,
    kHardBytes,
    kSoftObjects,
    kHardObjects,
    kSoftBranches,
    kHardBranches,
    kSoftUploads,
    kHardUploads,
    kBytes,
    kObjects,
    kCountedMs,
    kSoftMetadata,
    kHardMetadata,
    kMetadata,
    kEnd
  };
};

inline QuotaLimit limit_from(const db::Rows& rows, size_t row, int soft, int hard) {
  QuotaLimit out;
  if (!rows.null(row, soft)) out.soft = rows.integer(row, soft);
  if (!rows.null(row, hard)) out.hard = rows.integer(row, hard);
  return out;
}

inline Quota quota_from(const db::Rows& rows, size_t row) {
  using Column = QuotaColumn;
  Quota out;
  out.id = static_cast<QuotaId>(rows.integer(row, Column::kQuotaId));
  out.scope.repository = static_cast<RepositoryId>(rows.integer(row, Column::kRepoId));
  out.scope.user = rows.text(row, Column::kUserName);
  out.scope.branches = rows.text(row, Column::kBranches);
  out.limits.bytes = limit_from(rows, row, Column::kSoftBytes, Column::kHardBytes);
  out.limits.objects = limit_from(rows, row, Column::kSoftObjects, Column::kHardObjects);
  out.limits.branches = limit_from(rows, row, Column::kSoftBranches, Column::kHardBranches);
  out.limits.uploads = limit_from(rows, row, Column::kSoftUploads, Column::kHardUploads);
  out.bytes = static_cast<uint64_t>(rows.integer(row, Column::kBytes));
  out.objects = static_cast<uint64_t>(rows.integer(row, Column::kObjects));
  if (!rows.null(row, Column::kCountedMs))
    out.counted = from_millis(rows.integer(row, Column::kCountedMs));
  out.limits.metadata = limit_from(rows, row, Column::kSoftMetadata, Column::kHardMetadata);
  if (!rows.null(row, Column::kMetadata))
    out.metadata = static_cast<uint64_t>(rows.integer(row, Column::kMetadata));
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

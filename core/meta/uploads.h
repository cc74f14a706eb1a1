// Multipart uploads in progress and handed-out addresses.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/db/pool.h"
#include "core/meta/part_lists.h"
#include "core/model/page.h"
#include "core/model/repository.h"

namespace tarn::meta {

/// Uploads that one sweep removes: each may have 10,000 parts.
constexpr uint32_t kSweptUploadsMax = 100;

struct UploadRow {
  std::string id;
  RepositoryId repository{};
  BranchId branch{};
  BranchName branch_name;
  Key key;
  std::string entry;  ///< encoded entry: the attributes of the object to be
  std::string owner;
  std::string checksum_algorithm;
  std::string checksum_type;
  Instant created{};
};

struct NumberedPart {
  uint32_t number = 0;
  StoredPart part;
};

/// Safe from any thread.
class Uploads {
 public:
  Uploads(db::Pool& pool, const Clock& clock, std::chrono::seconds multipart_lifetime)
      : pool_(pool), clock_(clock), multipart_lifetime_(multipart_lifetime) {}

  /// Fills in id and created time.
  UploadRow create_multipart(UploadRow row);
  /// nullopt: unknown, expired or its branch is gone.
  std::optional<UploadRow> find_multipart(std::string_view id);
  /// false: the upload is gone.
  bool put_part(std::string_view upload_id, uint32_t number, const StoredPart& part);
  std::vector<NumberedPart> parts(std::string_view upload_id, uint32_t after, uint32_t limit);
  void remove(std::string_view upload_id);
  /// Ordered by "branch/key", then id; behind (after_key, after_id).
  std::vector<UploadRow> list(RepositoryId repository, std::string_view prefix,
                              std::string_view after_key, std::string_view after_id,
                              uint32_t limit);
  /// A handed-out address is a floor for collection until it expires.
  void create_link(RepositoryId repository, const Branch& branch, const Key& key,
                   const OwnAddress& address, std::chrono::hours lifetime);
  /// Removes what has expired, at most kSweptUploadsMax; returns how many. Servers that sweep at
  /// once take different ones.
  uint64_t sweep();

 private:
  db::Pool& pool_;
  const Clock& clock_;
  const std::chrono::seconds multipart_lifetime_;
};

}  // namespace tarn::meta

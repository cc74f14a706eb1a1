// Part lists of objects that were uploaded in parts.
#pragma once

#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/base/mutex.h"
#include "core/db/pool.h"
#include "core/meta/writer.h"
#include "core/model/entry.h"
#include "core/model/names.h"

namespace tarn::meta {

/// One part as stored.
struct StoredPart {
  uint64_t size_bytes = 0;
  std::string md5;  ///< 16 bytes
  OwnAddress address;
  /// Whose bytes they are; absent: of the repository that the list belongs to.
  std::optional<RepositoryId> owner{};
  Instant modified{};
  std::vector<Checksum> checksums;
  /// Raw, computed by a server; "" = unknown. Lists need none: their entries have the digest.
  std::string sha256{};

  bool operator==(const StoredPart&) const = default;
};

using PartList = std::vector<StoredPart>;

std::string encode_parts(const PartList& parts);
/// Throws: data_loss.
PartList decode_parts(std::string_view bytes);

/// Safe from any thread. Rows never change, so they are cached.
class PartLists {
 public:
  PartLists(db::Pool& pool, const Writer& writer) : pool_(pool), writer_(writer) {}
  /// Inside a Writer::Operation. Throws unavailable (reason "being_collected").
  int64_t insert(RepositoryId repository, const PartList& parts);
  /// Clears the cache: garbage collection has removed lists.
  void forget_all();
  /// Throws data_loss when the row is missing. The list is shared with other readers of the same
  /// object.
  std::shared_ptr<const PartList> get(int64_t id);

 private:
  db::Pool& pool_;
  const Writer& writer_;
  Mutex mutex_;
  std::map<int64_t, std::shared_ptr<const PartList>> cache_ TARN_GUARDED_BY(mutex_);
};

}  // namespace tarn::meta

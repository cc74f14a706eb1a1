// A store in the memory of the process, for tests.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "core/base/mutex.h"
#include "core/blob/blob_store.h"

namespace tarn::blob {

/// Holds any key. The etag is the MD5 of the bytes. Safe from any thread; writers and readers may
/// outlive it.
class MemoryStore final : public BlobStore {
 public:
  MemoryStore();

  std::unique_ptr<BlobWriter> create(std::string_view key,
                                     std::optional<uint64_t> size_hint) override;
  std::optional<BlobStat> stat(std::string_view key) override;
  std::unique_ptr<BlobReader> open(std::string_view key, ByteRange range,
                                   std::string_view if_etag) override;
  ListPage list(std::string_view prefix, std::string_view after, uint32_t limit) override;
  void remove(std::string_view key) override;

  struct Object {
    BlobStat stat;
    std::string bytes;
  };
  struct Objects {
    Mutex mutex;
    std::map<std::string, std::shared_ptr<const Object>, std::less<>> by_key TARN_GUARDED_BY(mutex);
  };

 private:
  std::shared_ptr<const Object> find(std::string_view key) const;

  std::shared_ptr<Objects> objects_;  // shared with the writers
};

}  // namespace tarn::blob

// A store that passes calls on to another one: the base of stores that differ in a call or two.
#pragma once

#include <memory>
#include <optional>
#include <string_view>

#include "core/blob/blob_store.h"

namespace tarn::testing {

/// Calls with an implementation in BlobStore reach the overridden calls below. As thread-safe as
/// the other store, which must outlive it.
class ForwardingStore : public blob::BlobStore {
 public:
  explicit ForwardingStore(blob::BlobStore& store) : store_(store) {}

  std::unique_ptr<blob::BlobWriter> create(std::string_view key,
                                           std::optional<uint64_t> size_hint) override {
    return store_.create(key, size_hint);
  }
  std::optional<blob::BlobStat> stat(std::string_view key) override { return store_.stat(key); }
  std::unique_ptr<blob::BlobReader> open(std::string_view key, blob::ByteRange range,
                                         std::string_view if_etag) override {
    return store_.open(key, range, if_etag);
  }
  blob::ListPage list(std::string_view prefix, std::string_view after, uint32_t limit) override {
    return store_.list(prefix, after, limit);
  }
  void remove(std::string_view key) override { store_.remove(key); }

 protected:
  blob::BlobStore& store_;
};

}  // namespace tarn::testing

// An object store in memory.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "core/base/digest.h"
#include "core/base/encoding.h"
#include "core/base/mutex.h"
#include "core/blob/blob_store.h"
#include "core/blob/checks.h"

namespace tarn::blob {

/// Accepts any key. The etag is the MD5 of the bytes. Safe from any thread; writers and readers may
/// outlive it.
class MemoryStore final : public BlobStore {
 public:
  std::unique_ptr<BlobWriter> create(std::string_view key, std::optional<uint64_t>) override {
    check_key(key);
    return std::make_unique<Writer>(objects_, key);
  }

  std::optional<BlobStat> stat(std::string_view key) override {
    const auto object = find(key);
    if (!object) return std::nullopt;
    return object->stat;
  }

  std::unique_ptr<BlobReader> open(std::string_view key, ByteRange range,
                                   std::string_view if_etag) override {
    auto object = find(key);
    if (!object) return nullptr;
    if (!if_etag.empty() && if_etag != object->stat.etag)
      throw_source_changed(key, "its etag differs");
    check_range(key, range, object->stat.size_bytes);
    return std::make_unique<Reader>(std::move(object), range);
  }

  ListPage list(std::string_view prefix, std::string_view after, uint32_t limit) override {
    check_list_limit(limit);
    ListPage page;
    MutexLock lock(objects_->mutex);
    auto at =
        after < prefix ? objects_->by_key.lower_bound(prefix) : objects_->by_key.upper_bound(after);
    for (; at != objects_->by_key.end() && at->first.starts_with(prefix); ++at) {
      if (page.items.size() == limit) {
        page.has_more = true;
        break;
      }
      page.items.push_back(at->second->stat);
    }
    return page;
  }

  void remove(std::string_view key) override {
    check_key(key);
    if (on_remove_) on_remove_(key);
    MutexLock lock(objects_->mutex);
    const auto at = objects_->by_key.find(key);
    if (at != objects_->by_key.end()) objects_->by_key.erase(at);
  }

  /// Called before each removal; an error that it throws is the store's. Set before any thread
  /// runs.
  void on_remove(std::function<void(std::string_view)> action) { on_remove_ = std::move(action); }

 private:
  struct Object {
    BlobStat stat;
    std::string bytes;
  };
  struct Objects {
    Mutex mutex;
    std::map<std::string, std::shared_ptr<const Object>, std::less<>> by_key TARN_GUARDED_BY(mutex);
  };

  class Writer final : public BlobWriter {
   public:
    Writer(std::shared_ptr<Objects> objects, std::string_view key)
        : objects_(std::move(objects)), key_(key) {}

    void write(std::string_view bytes) override { bytes_.append(bytes); }

    bool finish() override {
      const auto now = std::chrono::system_clock::now().time_since_epoch();
      auto object = std::make_shared<Object>();
      object->stat = {.key = key_,
                      .size_bytes = bytes_.size(),
                      .etag = to_hex(md5(bytes_)),
                      .mtime_ns = std::chrono::duration_cast<std::chrono::nanoseconds>(now).count(),
                      .version_id = ""};
      object->bytes = std::move(bytes_);
      MutexLock lock(objects_->mutex);
      return objects_->by_key.emplace(key_, std::move(object)).second;
    }

   private:
    std::shared_ptr<Objects> objects_;
    std::string key_;
    std::string bytes_;
  };

  class Reader final : public BlobReader {
   public:
    Reader(std::shared_ptr<const Object> object, ByteRange range)
        : object_(std::move(object)), left_(object_->bytes) {
      left_ = left_.substr(range.offset, range.length);
    }

    size_t read(std::span<char> out) override {
      const size_t count = left_.copy(out.data(), out.size());
      left_.remove_prefix(count);
      return count;
    }

   private:
    std::shared_ptr<const Object> object_;
    std::string_view left_;
  };

  std::shared_ptr<const Object> find(std::string_view key) const {
    check_key(key);
    MutexLock lock(objects_->mutex);
    const auto at = objects_->by_key.find(key);
    return at == objects_->by_key.end() ? nullptr : at->second;
  }

  std::shared_ptr<Objects> objects_ = std::make_shared<Objects>();  // shared with the writers
  std::function<void(std::string_view)> on_remove_;
};

}  // namespace tarn::blob

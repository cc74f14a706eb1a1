#include "core/blob/memory_store.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "core/base/digest.h"
#include "core/base/encoding.h"
#include "core/blob/checks.h"

namespace tarn::blob {
namespace {

int64_t now_ns() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::nanoseconds>(now).count();
}

class MemoryWriter final : public BlobWriter {
 public:
  MemoryWriter(std::shared_ptr<MemoryStore::Objects> objects, std::string_view key)
      : objects_(std::move(objects)), key_(key) {}

  void write(std::string_view bytes) override { bytes_.append(bytes); }

  bool finish() override {
    auto object = std::make_shared<MemoryStore::Object>();
    object->stat = {.key = key_,
                    .size_bytes = bytes_.size(),
                    .etag = to_hex(md5(bytes_)),
                    .mtime_ns = now_ns(),
                    .version_id = ""};
    object->bytes = std::move(bytes_);
    MutexLock lock(objects_->mutex);
    return objects_->by_key.emplace(key_, std::move(object)).second;
  }

 private:
  std::shared_ptr<MemoryStore::Objects> objects_;
  std::string key_;
  std::string bytes_;
};

class MemoryReader final : public BlobReader {
 public:
  MemoryReader(std::shared_ptr<const MemoryStore::Object> object, ByteRange range)
      : object_(std::move(object)), left_(object_->bytes) {
    left_ = left_.substr(range.offset, range.length);
  }

  size_t read(std::span<char> out) override {
    const size_t count = left_.copy(out.data(), out.size());
    left_.remove_prefix(count);
    return count;
  }

 private:
  std::shared_ptr<const MemoryStore::Object> object_;
  std::string_view left_;
};

}  // namespace

MemoryStore::MemoryStore() : objects_(std::make_shared<Objects>()) {}

std::unique_ptr<BlobWriter> MemoryStore::create(std::string_view key, std::optional<uint64_t>) {
  check_key(key);
  return std::make_unique<MemoryWriter>(objects_, key);
}

std::shared_ptr<const MemoryStore::Object> MemoryStore::find(std::string_view key) const {
  check_key(key);
  MutexLock lock(objects_->mutex);
  const auto at = objects_->by_key.find(key);
  return at == objects_->by_key.end() ? nullptr : at->second;
}

std::optional<BlobStat> MemoryStore::stat(std::string_view key) {
  const auto object = find(key);
  if (!object) return std::nullopt;
  return object->stat;
}

std::unique_ptr<BlobReader> MemoryStore::open(std::string_view key, ByteRange range,
                                              std::string_view if_etag) {
  const auto object = find(key);
  if (!object) return nullptr;
  if (!if_etag.empty() && if_etag != object->stat.etag)
    throw_source_changed(key, "its etag differs");
  check_range(key, range, object->stat.size_bytes);
  return std::make_unique<MemoryReader>(object, range);
}

ListPage MemoryStore::list(std::string_view prefix, std::string_view after, uint32_t limit) {
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

void MemoryStore::remove(std::string_view key) {
  check_key(key);
  MutexLock lock(objects_->mutex);
  const auto at = objects_->by_key.find(key);
  if (at != objects_->by_key.end()) objects_->by_key.erase(at);
}

}  // namespace tarn::blob

#include "core/blob/cached_store.h"

#include <utility>
#include <vector>

#include "core/base/digest.h"
#include "core/base/encoding.h"
#include "core/base/error.h"
#include "core/base/log.h"
#include "core/base/metrics.h"
#include "core/base/reasons.h"
#include "core/base/str_cat.h"
#include "core/blob/checks.h"
#include "core/blob/local_reader.h"
#include "core/blob/store_metrics.h"

namespace tarn::blob {
namespace {

metrics::Counter& hits() {
  static metrics::Counter& counter =
      metrics::counter("tarn_store_cache_hits_total", "Reads served from store.cache.directory.");
  return counter;
}

metrics::Counter& misses() {
  static metrics::Counter& counter =
      metrics::counter("tarn_store_cache_misses_total",
                       "Reads of objects small enough for store.cache.directory that went to the "
                       "store.");
  return counter;
}

constexpr int kFetchesMax = 2;
/// Etags of stores that encrypt are no MD5s: after so many in a row they are compared with nothing.
constexpr uint32_t kEtagsWithoutMd5Max = 8;
constexpr size_t kMd5Bytes = 16;
constexpr size_t kCopyReadBytes = 256 * 1024;

class EtagCheck final : public BytesCheck {
 public:
  explicit EtagCheck(std::string md5) : recorded_(std::move(md5)) {}

  void update(std::string_view bytes) override { digest_.update(bytes); }
  bool matches() override { return (computed_ = digest_.finish()) == recorded_; }
  std::string expected() const override { return str_cat("md5 ", to_hex(recorded_)); }
  std::string found() const override { return str_cat("md5 ", to_hex(computed_)); }

 private:
  const std::string recorded_;
  std::string computed_;
  Digest digest_{DigestAlgorithm::kMd5};
};

/// A reader of a copy, which has the bytes that were recorded and a trailer.
std::unique_ptr<BlobReader> reader_of(Descriptor file, std::string_view key,
                                      const RecordedBytes& bytes, ByteRange range) {
  BlobStat stat;
  stat.key = key;
  stat.size_bytes = bytes.size_bytes;
  return std::make_unique<LocalReader>(std::move(file), std::move(stat), range, false);
}

}  // namespace

CachedStore::CachedStore(std::unique_ptr<BlobStore> store, std::shared_ptr<DiskCache> cache,
                         std::string identity, bool refuses)
    : store_(std::move(store)),
      cache_(std::move(cache)),
      identity_(std::move(identity)),
      refuses_(refuses) {
  hits();  // both are shown from the start
  misses();
}

std::string CachedStore::name_of(std::string_view key, std::string_view if_etag) const {
  // Keys have no NUL.
  const std::string version = if_etag.empty() ? "" : std::string(1, '\0').append(if_etag);
  return to_hex(sha256(str_cat(identity_, "\n", key, version)));
}

std::unique_ptr<BlobReader> CachedStore::open_unchanging(std::string_view key,
                                                         const RecordedBytes& bytes,
                                                         ByteRange range) {
  return open_kept(key, bytes, range, /*replaceable=*/false);
}

std::unique_ptr<BlobReader> CachedStore::open_revalidated(std::string_view key,
                                                          const RecordedBytes& bytes,
                                                          ByteRange range) {
  return open_kept(key, bytes, range, /*replaceable=*/true);
}

bool CachedStore::takes(const RecordedBytes& bytes) const {
  return cache_->takes(bytes.size_bytes) && (bytes.check || !bytes.etag.empty());
}

std::unique_ptr<BytesCheck> CachedStore::check_of(const RecordedBytes& bytes) const {
  auto check = bytes.check ? bytes.check() : nullptr;
  if (check) return check;
  if (etags_without_md5_ >= kEtagsWithoutMd5Max) return nullptr;
  auto md5 = from_hex(bytes.etag);
  if (!md5 || md5->size() != kMd5Bytes) return nullptr;
  return std::make_unique<EtagCheck>(*std::move(md5));
}

std::unique_ptr<BlobReader> CachedStore::open_kept(std::string_view key, const RecordedBytes& bytes,
                                                   ByteRange range, bool replaceable) {
  if (!takes(bytes) || range.length == 0 || range.length > bytes.size_bytes ||
      range.offset > bytes.size_bytes - range.length) {
    return store_->open(key, range, bytes.etag);
  }
  const std::string name = name_of(key, bytes.etag);
  const uint64_t end = range.offset + range.length;
  // A copy that another request fetched during the wait may also be of a state before this one.
  const auto read_copy = [&](Descriptor file) -> std::unique_ptr<BlobReader> {
    if (replaceable) {
      const auto now = store_->stat(key);
      if (!now || now->etag != bytes.etag) return store_->open(key, range, bytes.etag);
    }
    hits().add();
    return reader_of(std::move(file), key, bytes, range);
  };
  if (Descriptor file = cache_->find(name, end)) return read_copy(std::move(file));
  const DiskCache::Turn turn(*cache_, name);
  if (turn.mine()) {
    if (Descriptor file = cache_->find(name, end)) return read_copy(std::move(file));
    misses().add();
    if (Fetched fetched = fetch(key, name, bytes); fetched.file) {
      return reader_of(std::move(fetched.file), key, bytes, range);
    }
  } else {
    misses().add();
  }
  return store_->open(key, range, bytes.etag);
}

CachedStore::Warmth CachedStore::warm(std::string_view key, const RecordedBytes& bytes) {
  if (!takes(bytes)) return Warmth::kNotKept;
  const std::string name = name_of(key, bytes.etag);
  if (cache_->find(name, bytes.size_bytes)) return Warmth::kPresent;
  const DiskCache::Turn turn(*cache_, name);
  if (cache_->find(name, bytes.size_bytes)) return Warmth::kPresent;
  if (!turn.mine()) return Warmth::kNotKept;
  const Fetched fetched = fetch(key, name, bytes);
  if (fetched.file) return Warmth::kCopied;
  return fetched.exists ? Warmth::kNotKept : Warmth::kMissing;
}

CachedStore::Fetched CachedStore::fetch(std::string_view key, const std::string& name,
                                        const RecordedBytes& bytes) {
  // A second time because the first answer may have been damaged on its way.
  for (int attempt = 1; attempt <= kFetchesMax; ++attempt) {
    const auto check = check_of(bytes);
    if (!check) return {.exists = true, .file = {}};
    std::unique_ptr<BlobReader> source;
    bool differs = false;
    Descriptor file;
    try {
      source = store_->open(key, {0, bytes.size_bytes}, bytes.etag);
      if (!source) return {};
      file = cache_->add(name, *source, bytes.size_bytes, *check, differs);
    } catch (const Error& error) {
      // The object is shorter than recorded, but the requested range may exist.
      if (error.reason() != reason::kObjectCorrupt) throw;
      return {.exists = true, .file = {}};
    }
    const bool by_etag = dynamic_cast<const EtagCheck*>(check.get()) != nullptr;
    if (file && by_etag) etags_without_md5_ = 0;
    if (!differs) return {.exists = true, .file = std::move(file)};
    if (by_etag) {
      ++etags_without_md5_;
      continue;
    }
    corruptions().add();
    log::error("object_corrupt", {{"key", key},
                                  {"expected", check->expected()},
                                  {"found", check->found()},
                                  {"attempt", std::to_string(attempt)}});
    if (refuses_ && attempt == kFetchesMax) {
      throw_corrupt(key, "its bytes are not those that were stored");
    }
  }
  return {.exists = true, .file = {}};
}

bool CachedStore::check_copy(std::string_view key, const RecordedBytes& bytes) {
  const std::string name = name_of(key, bytes.etag);
  const auto check = cache_->contains(name) ? check_of(bytes) : nullptr;
  if (!check) return true;
  if (Descriptor file = cache_->find(name, bytes.size_bytes)) {
    const auto reader = reader_of(std::move(file), key, bytes, {0, bytes.size_bytes});
    std::vector<char> buffer(kCopyReadBytes);
    while (const size_t got = reader->read(buffer)) check->update({buffer.data(), got});
    if (check->matches()) return true;
  }
  cache_->remove(name);
  return false;
}

void CachedStore::remove(std::string_view key) {
  store_->remove(key);
  cache_->remove(name_of(key, ""));
}

std::vector<RemovalFailure> CachedStore::remove_all(std::span<const std::string> keys) {
  std::vector<RemovalFailure> failures = store_->remove_all(keys);
  for (const std::string& key : keys) cache_->remove(name_of(key, ""));
  return failures;
}

std::unique_ptr<BlobWriter> CachedStore::create(std::string_view key,
                                                std::optional<uint64_t> size_hint) {
  return store_->create(key, size_hint);
}

std::optional<BlobStat> CachedStore::stat(std::string_view key) { return store_->stat(key); }

std::unique_ptr<BlobReader> CachedStore::open(std::string_view key, ByteRange range,
                                              std::string_view if_etag) {
  return store_->open(key, range, if_etag);
}

ListPage CachedStore::list(std::string_view prefix, std::string_view after, uint32_t limit) {
  return store_->list(prefix, after, limit);
}

void CachedStore::walk(std::string_view prefix, std::string_view after, const Visit& visit) {
  store_->walk(prefix, after, visit);
}

uint64_t CachedStore::remove_unfinished(std::string_view prefix, Instant begun_before) {
  return store_->remove_unfinished(prefix, begun_before);
}

DirectAccess* CachedStore::direct() { return store_->direct(); }

}  // namespace tarn::blob

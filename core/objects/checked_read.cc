#include "core/objects/checked_read.h"

#include <string>
#include <utility>

#include "core/base/error.h"
#include "core/base/log.h"
#include "core/base/reasons.h"
#include "core/base/str_cat.h"
#include "core/blob/cached_store.h"
#include "core/blob/store_metrics.h"
#include "core/blob/stores.h"
#include "core/objects/content_check.h"
#include "core/objects/objects.h"
#include "core/objects/stored_bytes.h"

namespace tarn::objects {
namespace {

bool includes(ReadCheck check, std::string_view address) {
  return check == ReadCheck::kAll ||
         (check == ReadCheck::kLocal && address.starts_with("local://"));
}

/// Removes the copies that this server keeps of an object.
void forget_copies(branch::Engine& engine, const Repository& repository, const Entry& entry) {
  for (const StoredBytes& bytes : stored_bytes(engine, repository, entry)) {
    const blob::Located at = engine.stores.locate(bytes.url);
    if (auto* store = dynamic_cast<blob::CachedStore*>(at.store)) store->forget(at.key, bytes.etag);
  }
}

class CheckedReader final : public blob::BlobReader {
 public:
  CheckedReader(branch::Engine& engine, const Repository& repository, std::string_view path,
                const Entry& entry, ContentCheck check)
      : engine_(engine),
        repository_(repository),
        path_(path),
        entry_(entry),
        reader_(open_object(engine, repository, entry, {0, entry.size_bytes})),
        check_(std::move(check)) {}

  size_t read(std::span<char> out) override {
    if (read_ == 0 && out.size() >= entry_.size_bytes) return read_whole(out);
    const size_t got = read_some(out);
    if (read_ == entry_.size_bytes && got > 0 && !matches()) throw_corrupt();
    return got;
  }

 private:
  size_t read_some(std::span<char> out) {
    const size_t got = reader_->read(out);
    check_.update({out.data(), got});
    read_ += got;
    return got;
  }

  /// Nothing was handed out yet, so a wrong answer can be asked for again.
  size_t read_whole(std::span<char> out) {
    for (bool again = false;; again = true) {
      while (read_ < entry_.size_bytes && read_some(out.subspan(read_)) > 0) {
      }
      if (read_ < entry_.size_bytes || matches()) return read_;
      if (again) throw_corrupt();
      reader_ = open_object(engine_, repository_, entry_, {0, entry_.size_bytes});
      check_ = *ContentCheck::of(entry_, DigestChoice::kFastest);
      read_ = 0;
    }
  }

  /// A copy of other bytes is removed, so that the next read is of the store.
  bool matches() {
    if (check_.matches()) return true;
    forget_copies(engine_, repository_, entry_);
    blob::corruptions().add();
    log::error("object_corrupt", {{"repository", repository_.name.str()},
                                  {"path", path_},
                                  {"address", physical_address(engine_, repository_, entry_)},
                                  {"expected", check_.expected()},
                                  {"found", check_.found()}});
    return false;
  }

  [[noreturn]] void throw_corrupt() const {
    throw Error(ErrorCode::kDataLoss, reason::kObjectCorrupt,
                str_cat("reading \"", path_, "\": its bytes are not those that were stored"));
  }

  branch::Engine& engine_;
  const Repository repository_;
  const std::string path_;
  const Entry entry_;
  std::unique_ptr<blob::BlobReader> reader_;
  ContentCheck check_;
  uint64_t read_ = 0;
};

}  // namespace

std::unique_ptr<blob::BlobReader> open_checked_object(branch::Engine& engine,
                                                      const Repository& repository,
                                                      std::string_view path, const Entry& entry,
                                                      ReadCheck check) {
  if (check != ReadCheck::kOff && entry.size_bytes > 0) {
    auto digest = ContentCheck::of(entry, DigestChoice::kFastest);
    if (digest && includes(check, physical_address(engine, repository, entry))) {
      return std::make_unique<CheckedReader>(engine, repository, path, entry, *std::move(digest));
    }
  }
  return open_object(engine, repository, entry, {0, entry.size_bytes});
}

}  // namespace tarn::objects

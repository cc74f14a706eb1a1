#include "core/objects/checked_read.h"

#include <string>
#include <utility>

#include "core/base/error.h"
#include "core/base/log.h"
#include "core/base/reasons.h"
#include "core/base/str_cat.h"
#include "core/blob/store_metrics.h"
#include "core/objects/content_check.h"
#include "core/objects/objects.h"

namespace tarn::versioning {
namespace {

struct ReadObject {
  std::string repository;
  std::string path;
  std::string address;
  uint64_t size_bytes = 0;
};

[[noreturn]] void throw_corrupt(const ReadObject& object, const ContentCheck& check) {
  blob::corruptions().add();
  log::error("object_corrupt", {{"repository", object.repository},
                                {"path", object.path},
                                {"address", object.address},
                                {"expected", check.expected()},
                                {"found", check.found()}});
  throw Error(ErrorCode::kDataLoss, reason::kObjectCorrupt,
              str_cat("reading \"", object.path, "\": its bytes are not those that were stored"));
}

class CheckedReader final : public blob::BlobReader {
 public:
  CheckedReader(std::unique_ptr<blob::BlobReader> reader, ContentCheck check, ReadObject object)
      : reader_(std::move(reader)), check_(std::move(check)), object_(std::move(object)) {}

  size_t read(std::span<char> out) override {
    const size_t got = reader_->read(out);
    if (got == 0) return 0;
    check_.update({out.data(), got});
    read_ += got;
    if (read_ == object_.size_bytes && !check_.matches()) throw_corrupt(object_, check_);
    return got;
  }

 private:
  const std::unique_ptr<blob::BlobReader> reader_;
  ContentCheck check_;
  const ReadObject object_;
  uint64_t read_ = 0;
};

bool includes(ReadCheck check, std::string_view address) {
  return check == ReadCheck::kAll ||
         (check == ReadCheck::kLocal && address.starts_with("local://"));
}

}  // namespace

std::unique_ptr<blob::BlobReader> open_checked_object(Engine& engine, const Repository& repository,
                                                      std::string_view path, const Entry& entry,
                                                      ReadCheck check) {
  auto reader = open_object(engine, repository, entry, {0, entry.size_bytes});
  if (check == ReadCheck::kOff || entry.size_bytes == 0) return reader;
  auto digest = ContentCheck::of(entry, DigestChoice::kFastest);
  if (!digest) return reader;
  std::string address = physical_address(engine, repository, entry);
  if (!includes(check, address)) return reader;
  return std::make_unique<CheckedReader>(
      std::move(reader), *std::move(digest),
      ReadObject{repository.name.str(), std::string(path), std::move(address), entry.size_bytes});
}

}  // namespace tarn::versioning

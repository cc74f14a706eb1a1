// Access to the bytes of entries and their addresses (declared in objects.h and stored_bytes.h).
#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "core/base/encoding.h"
#include "core/base/error.h"
#include "core/base/log.h"
#include "core/base/reasons.h"
#include "core/base/str_cat.h"
#include "core/blob/store_metrics.h"
#include "core/blob/stores.h"
#include "core/meta/part_lists.h"
#include "core/meta/repositories.h"
#include "core/objects/content_check.h"
#include "core/objects/objects.h"
#include "core/objects/stored_bytes.h"

namespace tarn::objects {
namespace {

/// An object that only servers write and remove lost its bytes.
[[noreturn]] void throw_lost(std::string_view url, const Error& error) {
  blob::corruptions().add();
  log::error("object_corrupt", {{"address", url}, {"error", error.message()}});
  throw error;
}

class EmptyReader final : public blob::BlobReader {
 public:
  size_t read(std::span<char>) override { return 0; }
};

std::string own_url(const Repository& repository, const OwnAddress& address) {
  return str_cat(repository.storage_namespace, "/", relative_path(address));
}

std::string part_url(branch::Engine& engine, const Repository& repository,
                     const meta::StoredPart& part) {
  return own_url(part.owner ? engine.repositories.get(*part.owner) : repository, part.address);
}

/// nullptr if the entry records no digest.
std::unique_ptr<blob::BytesCheck> check_of(const Entry& entry) {
  auto check = ContentCheck::of(entry, DigestChoice::kFastest);
  return check ? std::make_unique<ContentCheck>(*std::move(check)) : nullptr;
}

/// Whether the object has another size than the entry says: then what is read is not what was
/// recorded, also where the range is there.
bool differs_in_size(const blob::BlobReader& reader, const StoredBytes& bytes) {
  const auto size = reader.object_bytes();
  return size && *size != bytes.size_bytes;
}

/// Opens an own address whose bytes never change: servers wrote it, or its mark was recorded when
/// it was linked.
std::unique_ptr<blob::BlobReader> open_unchanging(branch::Engine& engine, const StoredBytes& bytes,
                                                  blob::ByteRange range) {
  const blob::Located at = engine.stores.locate(bytes.url);
  std::unique_ptr<blob::BlobReader> reader;
  try {
    reader = at.store->open_unchanging(at.key, bytes.recorded(), range);
  } catch (const Error& error) {
    if (error.reason() != reason::kObjectCorrupt) throw;
    throw_lost(bytes.url, error);
  }
  if (!reader) throw_lost(bytes.url, Error(ErrorCode::kDataLoss, reason::kBytesMissing, "No data"));
  if (differs_in_size(*reader, bytes)) {
    throw_lost(bytes.url, Error(ErrorCode::kDataLoss, reason::kObjectCorrupt,
                                "reading an object: the store has more bytes than were recorded"));
  }
  return reader;
}

/// Opens an address whose bytes others may change, whether or not an etag was recorded.
std::unique_ptr<blob::BlobReader> open_changing(branch::Engine& engine, const StoredBytes& bytes,
                                                blob::ByteRange range) {
  const blob::Located at = engine.stores.locate(bytes.url);
  std::unique_ptr<blob::BlobReader> reader;
  try {
    reader = bytes.etag.empty() ? at.store->open(at.key, range)
                                : at.store->open_revalidated(at.key, bytes.recorded(), range);
  } catch (const Error& error) {
    if (error.reason() != reason::kObjectCorrupt) throw;
    throw Error(ErrorCode::kGone, reason::kSourceChanged, error.message());
  }
  if (!reader) throw Error(ErrorCode::kGone, reason::kBytesMissing, "No data");
  return reader;
}

/// Bytes of an entry without a part list. An object that was imported, or linked after its client
/// had uploaded it to the store, must be unchanged; "" in its source version means the entry's own
/// etag. A cached copy of a linked object stays valid: only its own client could have overwritten
/// the bytes.
StoredBytes whole_bytes(branch::Engine& engine, const Repository& repository, const Entry& entry) {
  const auto version = entry.source_version();
  std::string etag;
  if (version) etag = version->etag.empty() ? entry.etag : version->etag;
  return {physical_address(engine, repository, entry), entry.size_bytes, std::move(etag),
          std::holds_alternative<ExternalAddress>(entry.address),
          [&entry] { return check_of(entry); }};
}

StoredBytes part_bytes(branch::Engine& engine, const Repository& repository,
                       const std::shared_ptr<const meta::PartList>& parts, size_t number) {
  const meta::StoredPart& part = (*parts)[number];
  return {part_url(engine, repository, part), part.size_bytes, "", false, [parts, number] {
            Entry entry;
            entry.etag = to_hex((*parts)[number].md5);
            entry.set_checksums((*parts)[number].checksums);
            return check_of(entry);
          }};
}

/// Reads parts in sequence, each opened when it is reached.
class PartsReader final : public blob::BlobReader {
 public:
  PartsReader(branch::Engine& engine, Repository repository,
              std::shared_ptr<const meta::PartList> parts, blob::ByteRange range)
      : engine_(engine),
        repository_(std::move(repository)),
        parts_(std::move(parts)),
        left_(range.length) {
    skip_ = range.offset;
    while (at_ < parts_->size() && skip_ >= (*parts_)[at_].size_bytes)
      skip_ -= (*parts_)[at_++].size_bytes;
    open_part();  // report missing bytes before the response begins
  }

  size_t read(std::span<char> out) override {
    while (left_ > 0) {
      const size_t got = current_->read(out.first(std::min<uint64_t>(out.size(), left_)));
      if (got > 0) {
        left_ -= got;
        return got;
      }
      ++at_;
      skip_ = 0;
      open_part();
    }
    return 0;
  }

  /// At the end of a part, read() opens the next one.
  std::optional<size_t> splice(int pipe, size_t limit) override {
    if (left_ == 0) return 0;
    const auto got = current_->splice(pipe, std::min<uint64_t>(limit, left_));
    if (!got || *got == 0) return std::nullopt;
    left_ -= *got;
    return got;
  }

 private:
  void open_part() {
    if (at_ >= parts_->size()) {
      throw Error(ErrorCode::kDataLoss, reason::kObjectCorrupt,
                  "reading an object: its parts have fewer bytes than were recorded");
    }
    const uint64_t length = std::min((*parts_)[at_].size_bytes - skip_, left_);
    current_ =
        open_unchanging(engine_, part_bytes(engine_, repository_, parts_, at_), {skip_, length});
  }

  branch::Engine& engine_;
  const Repository repository_;
  const std::shared_ptr<const meta::PartList> parts_;  // shared with the cache
  uint64_t left_;
  size_t at_ = 0;
  uint64_t skip_ = 0;
  std::unique_ptr<blob::BlobReader> current_;
};

}  // namespace

std::unique_ptr<blob::BlobReader> open_object(branch::Engine& engine, const Repository& repository,
                                              const Entry& entry, blob::ByteRange range) {
  if (range.length == 0) return std::make_unique<EmptyReader>();
  if (const auto* list = std::get_if<PartListAddress>(&entry.address)) {
    return std::make_unique<PartsReader>(engine, repository, engine.part_lists.get(list->id),
                                         range);
  }
  const StoredBytes whole = whole_bytes(engine, repository, entry);
  return whole.may_change ? open_changing(engine, whole, range)
                          : open_unchanging(engine, whole, range);
}

std::vector<StoredBytes> stored_bytes(branch::Engine& engine, const Repository& repository,
                                      const Entry& entry) {
  const auto* list = std::get_if<PartListAddress>(&entry.address);
  if (list == nullptr) return {whole_bytes(engine, repository, entry)};
  std::vector<StoredBytes> out;
  const auto parts = engine.part_lists.get(list->id);
  out.reserve(parts->size());
  for (size_t n = 0; n < parts->size(); ++n) {
    out.push_back(part_bytes(engine, repository, parts, n));
  }
  return out;
}

std::string physical_address(branch::Engine& engine, const Repository& repository,
                             const Entry& entry) {
  if (const auto* own = std::get_if<OwnAddress>(&entry.address)) return own_url(repository, *own);
  if (const auto* foreign = std::get_if<ForeignAddress>(&entry.address)) {
    return own_url(engine.repositories.get(foreign->repository), foreign->own);
  }
  if (const auto* list = std::get_if<PartListAddress>(&entry.address)) {
    const auto parts = engine.part_lists.get(list->id);
    return parts->empty() ? std::string() : part_url(engine, repository, parts->front());
  }
  return std::get<ExternalAddress>(entry.address).url;
}

}  // namespace tarn::objects

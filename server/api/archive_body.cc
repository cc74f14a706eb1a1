#include "server/api/archive_body.h"

#include <algorithm>
#include <utility>

#include "core/base/crc.h"
#include "core/base/error.h"
#include "core/base/str_cat.h"
#include "core/objects/objects.h"

namespace tarn::api {
namespace {

/// The CRC-32 of the whole content, if it was stored with the object.
std::optional<uint32_t> known_crc32(const Entry& entry) {
  for (const Checksum& checksum : entry.checksums()) {
    if (checksum.algorithm == "crc32" && !checksum.composite) {
      return static_cast<uint32_t>(crc_value(CrcKind::kCrc32, checksum.digest));
    }
  }
  return std::nullopt;
}

}  // namespace

archive::Member member_of(const ArchivedObject& object) {
  return {object.name, object.entry.size_bytes, object.entry.mtime, known_crc32(object.entry)};
}

ArchiveBody::ArchiveBody(versioning::Engine& engine, Repository repository, archive::Format format,
                         ArchivedObjects objects)
    : engine_(engine),
      repository_(std::move(repository)),
      writer_(archive::make_writer(format)),
      objects_(std::move(objects)) {
  begin_next();
}

void ArchiveBody::begin_next() {
  const std::optional<ArchivedObject> object = objects_();
  framed_ = 0;
  if (!object) {
    framing_ = writer_->finish();
    finished_ = true;
    return;
  }
  framing_ = writer_->begin(member_of(*object));
  left_ = object->entry.size_bytes;
  if (left_ == 0) {
    framing_ += writer_->end();
    return;
  }
  name_ = object->name;
  reader_ = versioning::open_object(engine_, repository_, object->entry, {0, left_});
}

size_t ArchiveBody::read_content(std::span<char> out) {
  const size_t got = reader_->read(out.first(std::min<uint64_t>(out.size(), left_)));
  if (got == 0) {
    throw Error(ErrorCode::kDataLoss,
                str_cat("archiving \"", name_, "\": its bytes end ", left_, " early"));
  }
  writer_->content({out.data(), got});
  left_ -= got;
  if (left_ == 0) {
    reader_.reset();
    framing_ = writer_->end();
    framed_ = 0;
  }
  return got;
}

size_t ArchiveBody::read(std::span<char> out) {
  size_t filled = 0;
  while (filled < out.size()) {
    const std::span<char> space = out.subspan(filled);
    if (framed_ < framing_.size()) {
      filled += framing_.copy(space.data(), space.size(), framed_);
      framed_ = std::min(framing_.size(), framed_ + space.size());
    } else if (reader_) {
      filled += read_content(space);
    } else if (finished_) {
      break;
    } else {
      begin_next();
    }
  }
  return filled;
}

}  // namespace tarn::api

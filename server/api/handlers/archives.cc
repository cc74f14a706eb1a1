#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/archive/writer.h"
#include "core/auth/resource.h"
#include "core/base/crc.h"
#include "core/base/error.h"
#include "core/base/reasons.h"
#include "core/base/str_cat.h"
#include "core/base/text.h"
#include "core/blob/blob_store.h"
#include "core/branch/engine.h"
#include "core/http/message.h"
#include "core/model/repository.h"
#include "core/objects/frozen_listing.h"
#include "core/objects/objects.h"
#include "server/api/handlers/handlers.h"
#include "server/api/json/object.h"
#include "server/api/response.h"

namespace tarn::api {
namespace {

/// An object and its name in the archive.
struct ArchivedObject {
  std::string name;
  Entry entry;
};

/// An iterator over the members, in order; nullopt = the end.
using ArchivedObjects = std::function<std::optional<ArchivedObject>()>;

/// Streams objects one after another and opens each when it is reached; memory does not grow with
/// their size. read() throws errors, which cuts the response short. One thread at a time.
class ArchiveBody final : public http::BodySource {
 public:
  /// Opens the first object, so that its missing bytes are reported before the response begins.
  /// Throws what objects::open_object does.
  ArchiveBody(branch::Engine& engine, Repository repository, archive::Format format,
              ArchivedObjects objects);
  size_t read(std::span<char> out) override;

 private:
  void begin_next();
  size_t read_content(std::span<char> out);

  branch::Engine& engine_;
  const Repository repository_;
  const std::unique_ptr<archive::Writer> writer_;
  const ArchivedObjects objects_;
  std::string framing_;  // header or padding that is sent next
  size_t framed_ = 0;    // bytes of framing_ that were sent
  std::string name_;     // of the object that is open
  uint64_t left_ = 0;    // bytes left to read of it
  bool finished_ = false;
  std::unique_ptr<blob::BlobReader> reader_;
};

/// The CRC-32 of the whole content, if it was stored with the object.
std::optional<uint32_t> known_crc32(const Entry& entry) {
  for (const Checksum& checksum : entry.checksums()) {
    if (checksum.algorithm == "crc32" && !checksum.composite) {
      return static_cast<uint32_t>(crc_value(CrcKind::kCrc32, checksum.digest));
    }
  }
  return std::nullopt;
}

archive::Member member_of(const ArchivedObject& object) {
  return {object.name, object.entry.size_bytes, object.entry.mtime, known_crc32(object.entry)};
}

ArchiveBody::ArchiveBody(branch::Engine& engine, Repository repository, archive::Format format,
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
  reader_ = objects::open_object(engine_, repository_, object->entry, {0, left_});
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

/// Maximum number of objects in an archive of a prefix: permissions for all are checked before the
/// first byte.
constexpr uint64_t kArchiveObjectsMax = 2'000'000;
constexpr std::string_view kMissingSuffix = ".missing";

[[noreturn]] void throw_missing(std::string_view path) {
  throw Error(ErrorCode::kNotFound, reason::kObjectNotFound, str_cat("\"", path, "\": not found"));
}

archive::Format format_of(const Call& call) {
  return call.parameter("format") == "zip" ? archive::Format::kZip : archive::Format::kTar;
}

/// A file name of characters that need no quoting, for any ref.
std::string file_name(const Call& call, std::string_view folder) {
  std::string name = str_cat(call.path("repository"), "-", call.path("ref"));
  if (!folder.empty()) name += str_cat("-", folder);
  for (char& c : name) {
    if (!is_word(c) && c != '-' && c != '.') c = '_';
  }
  return name + (format_of(call) == archive::Format::kZip ? ".zip" : ".tar");
}

/// Iterates over all objects without reading them: rejects names that cannot be unpacked safely,
/// and returns the length of the archive.
uint64_t check(archive::Format format, const ArchivedObjects& objects) {
  const auto writer = archive::make_writer(format);
  uint64_t length = 0;
  while (const auto object = objects()) {
    if (!archive::is_safe_name(object->name) ||
        (object->name.ends_with('/') && object->entry.size_bytes > 0)) {
      throw Error(ErrorCode::kInvalidArgument, reason::kUnsafeName,
                  str_cat("archiving \"", object->name,
                          "\": no file can safely have this name where it is unpacked; name the "
                          "paths that are wanted instead of a prefix with it"));
    }
    const archive::Member member = member_of(*object);
    length += writer->begin(member).size() + member.size_bytes;
    length += writer->end().size();
  }
  return length + writer->finish().size();
}

http::Response answer_archive(const Context& context, const Call& call,
                              const Repository& repository, std::string_view folder,
                              uint64_t length, ArchivedObjects objects) {
  http::Response response;
  const bool zip = format_of(call) == archive::Format::kZip;
  response.headers.add("Content-Type", zip ? "application/zip" : "application/x-tar");
  response.headers.add("Content-Disposition",
                       str_cat("attachment; filename=\"", file_name(call, folder), "\""));
  response.headers.add("Cache-Control", "no-store");
  response.content_length = length;
  response.source = std::make_unique<ArchiveBody>(context.engine, repository, format_of(call),
                                                  std::move(objects));
  return response;
}

}  // namespace

http::Response archive_prefix(const Context& context, Call& call) {
  const RepositoryName repository = call.repository();
  const std::string prefix(call.parameter("prefix"));
  // Member names begin after the last folder of the prefix.
  const size_t folder_end = prefix.rfind('/') + 1;
  const std::shared_ptr<objects::FrozenListing> listing =
      objects::FrozenListing::open(context.engine, repository, call.path("ref"), prefix);
  const auto next = [listing, folder_end]() -> std::optional<ArchivedObject> {
    auto item = listing->next();
    // Skip the folder's own marker, which would have an empty name.
    if (item && item->path.size() == folder_end) item = listing->next();
    if (!item) return std::nullopt;
    return ArchivedObject{item->path.substr(folder_end), *std::move(item->entry)};
  };
  uint64_t count = 0;
  const uint64_t length = check(format_of(call), [&]() -> std::optional<ArchivedObject> {
    auto object = next();
    if (!object) return std::nullopt;
    if (++count > kArchiveObjectsMax) {
      throw_invalid(str_cat("archiving \"", prefix, "\": there are more than ", kArchiveObjectsMax,
                            " objects; take parts of the prefix"));
    }
    call.require_permission(auth::Action::kReadObject,
                            auth::object_arn(repository.str(), call.path("ref"),
                                             prefix.substr(0, folder_end) + object->name));
    return object;
  });
  if (count == 0) throw_missing(prefix);
  listing->rewind();
  std::string_view folder = std::string_view(prefix).substr(0, folder_end);
  if (!folder.empty()) folder.remove_suffix(1);
  return answer_archive(context, call, listing->repository(), folder.substr(folder.rfind('/') + 1),
                        length, next);
}

http::Response archive_paths(const Context& context, Call& call, json::ArchivePaths wanted) {
  std::vector<Key> keys;
  keys.reserve(wanted.paths.size());
  for (const std::string& path : wanted.paths) keys.push_back(parse_key(path));
  objects::FoundObjects found =
      objects::find_objects(context.engine, call.repository(), call.path("ref"), keys);
  const auto objects = std::make_shared<std::vector<ArchivedObject>>();
  objects->reserve(keys.size());
  for (size_t i = 0; i < keys.size(); ++i) {
    const std::string& path = keys[i].str();
    if (!found.entries[i] && !wanted.mark_missing) throw_missing(path);
    objects->push_back(found.entries[i] ? ArchivedObject{path, *std::move(found.entries[i])}
                                        : ArchivedObject{str_cat(path, kMissingSuffix), Entry{}});
  }
  const auto from_first = [objects] {
    return [objects, at = size_t{0}]() mutable -> std::optional<ArchivedObject> {
      if (at == objects->size()) return std::nullopt;
      return (*objects)[at++];
    };
  };
  const uint64_t length = check(format_of(call), from_first());
  return answer_archive(context, call, found.repository, "", length, from_first());
}
}  // namespace tarn::api

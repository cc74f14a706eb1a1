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
#include "server/api/handlers/archive_answer.h"
#include "server/api/handlers/handlers.h"
#include "server/api/json/object.h"
#include "server/api/response.h"

namespace tarn::api {
namespace {

/// An object and its name in the archive.
struct ArchivedObject {
  std::string name;
  Entry entry;
  std::optional<std::string> text = {};  ///< the content, of a file that is no object
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
  left_ = object->text ? 0 : object->entry.size_bytes;
  if (object->text) {
    writer_->content(*object->text);
    framing_ += *object->text;
  }
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

/// Whether a file can safely have the object's name where it is unpacked.
bool can_be_unpacked(const ArchivedObject& object) {
  return archive::is_safe_name(object.name) &&
         !(object.name.ends_with('/') && object.entry.size_bytes > 0);
}

/// The objects that an archive of a prefix leaves out because no file can safely have their names,
/// and the member that lists them.
class SkippedObjects {
 public:
  /// Returns the object unless it is left out.
  bool keeps(const ArchivedObject& object) {
    while (object.name == list_.name) list_.name += ".txt";
    if (can_be_unpacked(object)) return true;
    ++count_;
    if (list_.text->size() + object.name.size() < kListBytesMax) {
      for (const char c : object.name) *list_.text += c == '\n' ? "\\n" : std::string(1, c);
      *list_.text += '\n';
    } else {
      ++unlisted_;
    }
    return false;
  }
  uint64_t count() const { return count_; }
  /// nullopt if nothing was left out.
  std::optional<ArchivedObject> list() const {
    if (count_ == 0) return std::nullopt;
    ArchivedObject out = list_;
    if (unlisted_ > 0) *out.text += str_cat("and ", unlisted_, " more\n");
    out.entry.size_bytes = out.text->size();
    return out;
  }

 private:
  static constexpr size_t kListBytesMax = 1 << 20;

  ArchivedObject list_{"_skipped.txt", {}, ""};  // objects come in byte order, so that a longer
                                                 // name of the list is compared in time
  uint64_t count_ = 0;
  uint64_t unlisted_ = 0;
};

/// Iterates over all objects without reading them: rejects names that cannot be unpacked safely,
/// and returns the length of the archive.
uint64_t check(archive::Format format, const ArchivedObjects& objects) {
  const auto writer = archive::make_writer(format);
  uint64_t length = 0;
  while (const auto object = objects()) {
    if (!can_be_unpacked(*object)) {
      throw Error(ErrorCode::kInvalidArgument, reason::kUnsafeName,
                  str_cat("archiving \"", object->name,
                          "\": no file can safely have this name where it is unpacked; leave the "
                          "path out, or read the object alone"));
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

http::Response answer_tar(const Context& context, const Repository& repository,
                          std::vector<ArchivedFile> files) {
  const auto shared = std::make_shared<std::vector<ArchivedFile>>(std::move(files));
  const auto from_first = [shared] {
    return [shared, at = size_t{0}]() mutable -> std::optional<ArchivedObject> {
      if (at == shared->size()) return std::nullopt;
      const ArchivedFile& file = (*shared)[at++];
      return ArchivedObject{file.name, file.entry};
    };
  };
  http::Response response;
  response.headers.add("Content-Type", "application/x-tar");
  response.headers.add("Cache-Control", "no-store");
  response.content_length = check(archive::Format::kTar, from_first());
  response.source = std::make_unique<ArchiveBody>(context.engine, repository, archive::Format::kTar,
                                                  from_first());
  return response;
}

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
  const bool strict = call.flag("strict");
  const auto skipped = std::make_shared<SkippedObjects>();
  uint64_t count = 0;
  const uint64_t length = check(format_of(call), [&, listed = false]() mutable {
    auto object = next();
    while (object && !strict && !skipped->keeps(*object)) object = next();
    if (!object && !std::exchange(listed, true)) return skipped->list();
    if (!object) return object;
    if (++count > kArchiveObjectsMax) {
      throw_invalid(str_cat("archiving \"", prefix, "\": there are more than ", kArchiveObjectsMax,
                            " objects; take parts of the prefix"));
    }
    call.require_permission(auth::Action::kReadObject,
                            auth::object_arn(repository.str(), call.path("ref"),
                                             prefix.substr(0, folder_end) + object->name));
    return object;
  });
  if (count + skipped->count() == 0) throw_missing(prefix);
  listing->rewind();
  std::string_view folder = std::string_view(prefix).substr(0, folder_end);
  if (!folder.empty()) folder.remove_suffix(1);
  auto members = [next, skipped, strict,
                  listed = false]() mutable -> std::optional<ArchivedObject> {
    auto object = next();
    while (object && !strict && !can_be_unpacked(*object)) object = next();
    if (!object && !std::exchange(listed, true)) return skipped->list();
    return object;
  };
  http::Response response =
      answer_archive(context, call, listing->repository(), folder.substr(folder.rfind('/') + 1),
                     length, std::move(members));
  if (skipped->count() > 0) {
    response.headers.add("X-Tarn-Skipped", std::to_string(skipped->count()));
  }
  return response;
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

// A response body that streams many objects as one archive.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "core/archive/writer.h"
#include "core/blob/blob_store.h"
#include "core/branch/engine.h"
#include "core/http/message.h"
#include "core/model/repository.h"

namespace tarn::api {

/// An object and its name in the archive.
struct ArchivedObject {
  std::string name;
  Entry entry;
};

/// An iterator over the members, in order; nullopt = the end.
using ArchivedObjects = std::function<std::optional<ArchivedObject>()>;

archive::Member member_of(const ArchivedObject& object);

/// Streams objects one after another and opens each when it is reached; memory does not grow with
/// their size. read() throws errors, which cuts the response short. One thread at a time.
class ArchiveBody final : public http::BodySource {
 public:
  /// Opens the first object, so that its missing bytes are reported before the response begins.
  /// Throws what versioning::open_object does.
  ArchiveBody(versioning::Engine& engine, Repository repository, archive::Format format,
              ArchivedObjects objects);
  size_t read(std::span<char> out) override;

 private:
  void begin_next();
  size_t read_content(std::span<char> out);

  versioning::Engine& engine_;
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

}  // namespace tarn::api

// Many objects as the body of one answer.
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

/// An object and the name it has in the archive.
struct ArchivedObject {
  std::string name;
  Entry entry;
};

/// The members, in order; nullopt = the end.
using ArchivedObjects = std::function<std::optional<ArchivedObject>()>;

archive::Member member_of(const ArchivedObject& object);

/// Objects one after another, each opened when it is reached; memory does not grow with their size.
/// Errors are thrown by read(), so that the answer has no end. One thread at a time.
class ArchiveBody final : public http::BodySource {
 public:
  /// Opens the first object, so that bytes that are missing there are told before the answer
  /// begins. Throws what versioning::open_object does.
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
  std::string framing_;  // to be sent before anything else
  size_t framed_ = 0;    // bytes of it that were
  std::string name_;     // of the object that is open
  uint64_t left_ = 0;    // bytes of it
  bool finished_ = false;
  std::unique_ptr<blob::BlobReader> reader_;
};

}  // namespace tarn::api

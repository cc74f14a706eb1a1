#include "server/api/object_body.h"

#include <utility>

namespace tarn::api {
namespace {

class ReaderSource final : public http::BodySource {
 public:
  explicit ReaderSource(std::unique_ptr<blob::BlobReader> reader) : reader_(std::move(reader)) {}
  size_t read(std::span<char> out) override { return reader_->read(out); }
  std::optional<size_t> splice(int pipe, size_t limit) override {
    return reader_->splice(pipe, limit);
  }

 private:
  std::unique_ptr<blob::BlobReader> reader_;
};

}  // namespace

void send_object(std::unique_ptr<blob::BlobReader> reader, blob::ByteRange range,
                 http::Response& response) {
  if (const int fd = reader->duplicate_fd(); fd >= 0) {
    response.file.emplace(fd, reader->file_offset(), range.length);
    response.content_length.reset();
    return;
  }
  response.source = std::make_unique<ReaderSource>(std::move(reader));
  response.content_length = range.length;
}

}  // namespace tarn::api

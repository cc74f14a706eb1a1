#include "server/api/upload_body.h"

#include <utility>

#include "core/base/digest.h"
#include "core/base/encoding.h"
#include "core/base/error.h"
#include "core/base/reasons.h"
#include "core/base/str_cat.h"
#include "core/http/form_data.h"

namespace tarn::api {
namespace {

[[noreturn]] void throw_too_large(uint64_t bytes_max) {
  throw Error(ErrorCode::kResourceExhausted, reason::kBodyTooLarge,
              str_cat("uploading an object: it is larger than the limit of ", bytes_max, " bytes"));
}

/// Computes the MD5 of the bytes that pass and enforces the length limit.
class Meter {
 public:
  explicit Meter(uint64_t bytes_max) : bytes_max_(bytes_max) {}
  void pass(std::span<char> bytes) {
    passed_ += bytes.size();
    if (passed_ > bytes_max_) throw_too_large(bytes_max_);
    digest_.update(std::string_view(bytes.data(), bytes.size()));
  }
  objects::UploadDigests finish() { return {.etag = to_hex(digest_.finish()), .checksums = {}}; }

 private:
  const uint64_t bytes_max_;
  uint64_t passed_ = 0;
  Digest digest_{DigestAlgorithm::kMd5};
};

class RawUpload final : public objects::UploadBody {
 public:
  RawUpload(http::BodySource& source, uint64_t bytes_max) : source_(source), meter_(bytes_max) {}

  size_t read(std::span<char> out) override {
    const size_t count = source_.read(out);
    meter_.pass(out.first(count));
    return count;
  }
  objects::UploadDigests digests() override { return meter_.finish(); }

 private:
  http::BodySource& source_;
  Meter meter_;
};

class FormUpload final : public objects::UploadBody {
 public:
  FormUpload(http::BodySource& source, std::string_view boundary, uint64_t bytes_max)
      : form_(source, boundary), meter_(bytes_max) {}

  http::FormPart find_content() {
    while (std::optional<http::FormPart> part = form_.next_part()) {
      if (part->name == "content") return *std::move(part);
    }
    throw_invalid("multipart upload: missing the part 'content'");
  }

  size_t read(std::span<char> out) override {
    const size_t count = form_.read(out);
    meter_.pass(out.first(count));
    // Read the rest of the form: a form that is cut short after this part is an incomplete upload,
    // which its client expects to fail.
    if (count == 0) skip_rest();
    return count;
  }
  objects::UploadDigests digests() override { return meter_.finish(); }

 private:
  void skip_rest() {
    while (form_.next_part()) {
    }
  }

  http::FormDataReader form_;
  Meter meter_;
};

}  // namespace

IncomingObject open_upload(http::Request& request, uint64_t bytes_max) {
  const std::string content_type(request.headers.get("Content-Type"));
  if (const std::optional<std::string> boundary = http::form_boundary(content_type)) {
    auto form = std::make_unique<FormUpload>(*request.body, *boundary, bytes_max);
    http::FormPart part = form->find_content();
    return {.body = std::move(form),
            .content_type = std::move(part.content_type),
            .size_bytes = std::nullopt};
  }
  return open_raw_upload(request, bytes_max);
}

IncomingObject open_raw_upload(http::Request& request, uint64_t bytes_max) {
  std::optional<uint64_t> size = request.content_length;
  if (!size && !request.chunked) size = 0;
  if (size && *size > bytes_max) throw_too_large(bytes_max);
  return {.body = std::make_unique<RawUpload>(*request.body, bytes_max),
          .content_type = std::string(request.headers.get("Content-Type")),
          .size_bytes = size};
}

}  // namespace tarn::api

#include "server/api/upload_body.h"

#include <utility>

#include "core/base/digest.h"
#include "core/base/encoding.h"
#include "core/base/error.h"
#include "server/api/form_data.h"

namespace tarn::api {
namespace {

/// The MD5 of what passes.
class Md5 {
 public:
  void update(std::span<char> bytes) { digest_.update(std::string_view(bytes.data(), bytes.size())); }
  versioning::UploadDigests finish() { return {.etag = to_hex(digest_.finish()), .checksums = {}}; }

 private:
  Digest digest_{DigestAlgorithm::kMd5};
};

class RawUpload final : public versioning::UploadBody {
 public:
  explicit RawUpload(http::BodySource& source) : source_(source) {}

  size_t read(std::span<char> out) override {
    const size_t count = source_.read(out);
    md5_.update(out.first(count));
    return count;
  }
  versioning::UploadDigests digests() override { return md5_.finish(); }

 private:
  http::BodySource& source_;
  Md5 md5_;
};

class FormUpload final : public versioning::UploadBody {
 public:
  FormUpload(http::BodySource& source, std::string_view boundary) : form_(source, boundary) {}

  FormPart find_content() {
    while (std::optional<FormPart> part = form_.next_part()) {
      if (part->name == "content") return *std::move(part);
    }
    throw_invalid("multipart upload: missing the part 'content'");
  }

  size_t read(std::span<char> out) override {
    const size_t count = form_.read(out);
    md5_.update(out.first(count));
    // A form cut short after this part was not sent whole: the client does not count on it.
    if (count == 0) skip_rest();
    return count;
  }
  versioning::UploadDigests digests() override { return md5_.finish(); }

 private:
  void skip_rest() {
    while (form_.next_part()) {
    }
  }

  FormDataReader form_;
  Md5 md5_;
};

}  // namespace

IncomingObject open_upload(http::Request& request) {
  const std::string content_type(request.headers.get("Content-Type"));
  if (const std::optional<std::string> boundary = form_boundary(content_type)) {
    auto form = std::make_unique<FormUpload>(*request.body, *boundary);
    FormPart part = form->find_content();
    return {.body = std::move(form), .content_type = std::move(part.content_type), .size_bytes = std::nullopt};
  }
  std::optional<uint64_t> size = request.content_length;
  if (!size && !request.chunked) size = 0;
  return {.body = std::make_unique<RawUpload>(*request.body), .content_type = content_type, .size_bytes = size};
}

}  // namespace tarn::api

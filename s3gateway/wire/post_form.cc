#include "s3gateway/wire/post_form.h"

#include <algorithm>
#include <array>
#include <optional>

#include "core/base/str_cat.h"
#include "core/base/text.h"
#include "core/http/form_data.h"
#include "s3gateway/wire/address.h"
#include "s3gateway/wire/errors.h"

namespace tarn::s3 {
namespace {

constexpr size_t kFormReadBytes = 4 * 1024;
constexpr std::string_view kFile = "file";
constexpr std::string_view kKeyName = "key";
constexpr std::string_view kFileName = "${filename}";
/// Fields whose values are not header values.
constexpr std::array<std::string_view, 3> kTexts = {kKeyName, "policy", "tagging"};

Refusal bad_field(std::string_view name, std::string_view why) {
  return {failure::kInvalidArgument,
          str_cat("Bucket POST: the field \"", name, "\" ", why),
          {{"ArgumentName", std::string(name)}}};
}

/// Owns the form while its file is read.
class FormFile final : public http::BodySource {
 public:
  FormFile(std::unique_ptr<http::BodySource> source, std::string_view boundary)
      : source_(std::move(source)), form_(*source_, boundary) {}

  http::FormDataReader& form() { return form_; }

  size_t read(std::span<char> out) override {
    if (ended_ || out.empty()) return 0;
    const size_t count = form_.read(out);
    // Read the rest: a truncated form is an incomplete upload, and the browser reports it as
    // failed.
    if (count == 0) read_rest();
    return count;
  }

 private:
  void read_rest() {
    size_t rest = 0;
    std::array<char, kFormReadBytes> ignored;
    while (form_.next_part()) {
      while (const size_t count = form_.read(ignored)) {
        rest += count;
        if (rest > kAfterFileBytesMax) {
          throw Refusal(failure::kMalformedPostRequest,
                        "The form goes on after its file; \"file\" must be its last field.");
        }
      }
    }
    ended_ = true;
  }

  const std::unique_ptr<http::BodySource> source_;
  http::FormDataReader form_;
  bool ended_ = false;
};

/// Reads the fields before the file.
class FieldReader {
 public:
  explicit FieldReader(http::FormDataReader& form) : form_(form) {}

  /// Adds the fields up to the file and returns the file's part.
  http::FormPart read_to_file(http::Headers& fields) {
    while (auto part = form_.next_part()) {
      if (equal_ignoring_case(part->name, kFile)) return *std::move(part);
      add(fields, std::move(part->name));
    }
    throw Refusal(failure::kInvalidArgument,
                  "Bucket POST must contain a file: a field named \"file\", behind all others.",
                  {{"ArgumentName", std::string(kFile)}});
  }

 private:
  void add(http::Headers& fields, std::string name) {
    if (name.empty()) {
      throw Refusal(failure::kMalformedPostRequest, "A field of the form has no name.");
    }
    if (fields.find(name)) throw bad_field(name, "occurs more than once.");
    std::string value;
    std::array<char, kFormReadBytes> piece;
    take(name.size());
    while (const size_t count = form_.read(piece)) {
      take(count);
      value.append(piece.data(), count);
    }
    if (fields.all().size() == kFormFieldsMax) refuse_size();
    check_value(name, value);
    fields.add(std::move(name), std::move(value));
  }

  void take(size_t bytes) {
    bytes_ += bytes;
    if (bytes_ > kFormFieldsBytesMax) refuse_size();
  }

  [[noreturn]] static void refuse_size() {
    throw Refusal(
        failure::kMaxPostPreDataLengthExceeded,
        str_cat("Your POST request fields preceding the upload file were too large: at "
                "most ",
                kFormFieldsMax, " fields of ", kFormFieldsBytesMax, " bytes together are taken."));
  }

  static void check_value(std::string_view name, std::string_view value) {
    const auto same = [&](std::string_view text) { return equal_ignoring_case(name, text); };
    if (std::any_of(kTexts.begin(), kTexts.end(), same)) return;
    const bool fits =
        std::none_of(value.begin(), value.end(), [](char c) { return is_control(c) && c != '\t'; });
    if (!fits) throw bad_field(name, "holds control characters.");
  }

  http::FormDataReader& form_;
  size_t bytes_ = 0;
};

/// Replaces ${filename} by the file's name without its directories, which some browsers send.
std::string key_of_form(const http::Headers& fields, const http::FormPart& file) {
  std::string key(fields.get(kKeyName));
  const std::string name = file.file_name.value_or("");
  const std::string_view last = std::string_view(name).substr(name.find_last_of("/\\") + 1);
  for (size_t at = 0; (at = key.find(kFileName, at)) != std::string::npos; at += last.size()) {
    key.replace(at, kFileName.size(), last);
    if (key.size() > kFormFieldsBytesMax) {
      throw Refusal(failure::kKeyTooLong, "Your key is too long.");
    }
  }
  if (key.empty()) throw bad_field(kKeyName, "must name the object, before the file.");
  check_key_bytes(key);
  return key;
}

}  // namespace

PostForm read_post_form(http::Request& request) {
  const auto boundary = http::form_boundary(request.headers.get("content-type"));
  if (!boundary) {
    throw Refusal(failure::kPreconditionFailed,
                  "Bucket POST must be of the enclosure-type multipart/form-data.",
                  {{"Condition", "Bucket POST must be of the enclosure-type multipart/form-data"}});
  }
  // The fields come from an unauthenticated client: the signature is one of them.
  http::BodySource& body = *request.body;
  body.end_by(std::chrono::steady_clock::now() + http::kDocumentTimeMax);
  auto file = std::make_unique<FormFile>(std::move(request.body), *boundary);
  request.body = http::empty_body();
  PostForm out;
  const http::FormPart part = FieldReader(file->form()).read_to_file(out.fields);
  body.end_by(std::chrono::steady_clock::time_point::max());
  out.key = key_of_form(out.fields, part);
  out.file = std::move(file);
  return out;
}

}  // namespace tarn::s3

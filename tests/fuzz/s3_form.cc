// Upload forms: the first byte chooses how the bytes arrive and whether the rest is a form with the
// boundary "B" or a policy document.
#include <algorithm>
#include <string>
#include <string_view>

#include "core/base/encoding.h"
#include "core/base/error.h"
#include "core/base/text.h"
#include "s3gateway/wire/errors.h"
#include "s3gateway/wire/post_form.h"
#include "s3gateway/wire/post_policy.h"
#include "tests/fuzz/piecewise_source.h"
#include "tests/fuzz/require.h"

namespace s3 = tarn::s3;

namespace {

constexpr std::string_view kUncoveredField = "x-amz-meta-uncovered";

void check_fields(const s3::PostForm& form) {
  require(!form.key.empty() && tarn::is_utf8(form.key), "a form names a key");
  require(form.fields.all().size() <= s3::kFormFieldsMax, "as many fields as are allowed");
  size_t bytes = 0;
  for (const auto& [name, value] : form.fields.all()) {
    require(!name.empty() && form.fields.count(name) == 1, "a field has one value");
    bytes += name.size() + value.size();
  }
  require(bytes <= s3::kFormFieldsBytesMax, "fields as large as is allowed");
}

/// Key and bytes, or the code of the error.
std::string outcome(std::string_view body, size_t piece) {
  tarn::http::Request request;
  request.headers.add("Content-Type", "multipart/form-data; boundary=B");
  request.body = std::make_unique<PiecewiseSource>(body, piece);
  try {
    s3::PostForm form = s3::read_post_form(request);
    check_fields(form);
    std::string out = form.key + '\n';
    std::string buffer(piece, '\0');
    while (const size_t count = form.file->read(buffer)) out.append(buffer, 0, count);
    return out;
  } catch (const tarn::Error& error) {
    require(s3::answer_for(error).failure.status == 400, "a bad form is the caller's");
    return std::string(error.reason());
  }
}

void read_policy(std::string_view document) {
  try {
    const s3::PostPolicy policy = s3::parse_post_policy(tarn::to_base64(document));
    require(policy.conditions.size() <= s3::kPolicyConditionsMax, "as many as are allowed");
    tarn::http::Headers fields;
    fields.add(std::string(kUncoveredField), "x");
    s3::check_post_policy(policy, fields, "lake", "main/a", policy.expires - std::chrono::hours{1});
    const bool covered = std::any_of(
        policy.conditions.begin(), policy.conditions.end(),
        [](const auto& c) { return tarn::equal_ignoring_case(c.field, kUncoveredField); });
    require(covered, "a field without a condition is refused");
  } catch (const s3::Refusal& refusal) {
    const std::string_view code = refusal.failure().code;
    require(code == "InvalidPolicyDocument" || code == "AccessDenied", "S3's codes only");
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  if (data[0] % 2 == 1) {
    read_policy(text);
  } else {
    require(outcome(text, 1 << 16) == outcome(text, 1 + data[0] / 2),
            "it does not matter how the bytes arrive");
  }
  return 0;
}

#include "s3gateway/wire/list_query.h"

#include <algorithm>

#include "core/base/encoding.h"
#include "core/base/str_cat.h"
#include "s3gateway/wire/address.h"
#include "s3gateway/wire/errors.h"
#include "s3gateway/wire/range.h"

namespace tarn::s3 {
namespace {

constexpr uint64_t kAnyCountMax = 2147483647;
constexpr std::string_view kTokenVersion = "tarn1:";

}  // namespace

uint64_t check_number(const std::optional<std::string>& text, std::string_view name, uint64_t least,
                      uint64_t most, uint64_t absent) {
  if (!text || text->empty()) return absent;
  const std::optional<uint64_t> value = parse_decimal(*text);
  if (!value || *value < least || *value > most) {
    throw Refusal(
        failure::kInvalidArgument,
        str_cat("Argument ", name, " must be an integer between ", least, " and ", most, "."),
        {{"ArgumentName", std::string(name)}, {"ArgumentValue", *text}});
  }
  return *value;
}

ListQuery check_list_parameters(const ListParameters& parameters, std::string_view max_name,
                                std::string after) {
  ListQuery out;
  out.prefix = parameters.prefix;
  out.delimiter = parameters.delimiter.value_or("");
  out.after = std::move(after);
  const uint64_t limit = check_number(parameters.max_keys, max_name, 0, kAnyCountMax, kListKeysMax);
  out.limit = static_cast<uint32_t>(std::min<uint64_t>(limit, kListKeysMax));
  if (parameters.encoding_type && !parameters.encoding_type->empty()) {
    if (*parameters.encoding_type != "url") {
      throw Refusal(
          failure::kInvalidArgument, "Argument encoding-type must be \"url\".",
          {{"ArgumentName", "encoding-type"}, {"ArgumentValue", *parameters.encoding_type}});
    }
    out.url_encoding = true;
  }
  check_key_bytes(out.prefix);
  check_key_bytes(out.delimiter);
  check_key_bytes(out.after);
  return out;
}

std::string encode_continuation(std::string_view last) {
  return to_base64url(str_cat(kTokenVersion, last));
}

std::string decode_continuation(std::string_view token) {
  std::optional<std::string> bytes = from_base64url(token);
  if (!bytes || !bytes->starts_with(kTokenVersion) || !is_utf8(*bytes) ||
      bytes->find('\0') != std::string::npos) {
    throw Refusal(failure::kInvalidArgument, "The continuation token provided is incorrect.",
                  {{"ArgumentName", "continuation-token"}, {"ArgumentValue", std::string(token)}});
  }
  return bytes->substr(kTokenVersion.size());
}

}  // namespace tarn::s3

// The validated parameters of a listing.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "s3gateway/wire/endpoint.h"

namespace tarn::s3 {

/// Maximum number of keys in one page. Source: S3's limit.
constexpr uint32_t kListKeysMax = 1000;
/// Maximum number of parts in one page. Source: S3's limit.
constexpr uint64_t kPartsPerPageMax = 1000;

struct ListQuery {
  std::string prefix;
  std::string delimiter;          ///< "" = none
  std::string after;              ///< exclusive; a common prefix skips all keys below it
  uint32_t limit = kListKeysMax;  ///< 0..kListKeysMax
  bool url_encoding = false;      ///< names in the response are percent-encoded
};

/// Throws InvalidArgument: max-keys is not a number from 0 to 2147483647 (above 1000 counts as
/// 1000), an unknown encoding-type; InvalidURI for text that is not UTF-8. `max_name` is the
/// parameter's name for the message.
ListQuery check_list_parameters(const ListParameters& parameters, std::string_view max_name,
                                std::string after);

/// A number from `least` to `most`, or `absent` for empty or missing text. Throws InvalidArgument
/// naming the parameter.
uint64_t check_number(const std::optional<std::string>& text, std::string_view name, uint64_t least,
                      uint64_t most, uint64_t absent);

/// The continuation token of a V2 listing or a listing of buckets: "tarn1" and the last key in
/// base64url, opaque to clients.
std::string encode_continuation(std::string_view last);
/// Throws InvalidArgument for a token that this server did not create.
std::string decode_continuation(std::string_view token);

}  // namespace tarn::s3

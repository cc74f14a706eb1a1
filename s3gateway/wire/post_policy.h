// The policy of an upload form: the signed document, and its comparison with the form.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/time.h"
#include "core/http/message.h"

namespace tarn::s3 {

/// More conditions than a form can have fields.
constexpr size_t kPolicyConditionsMax = 256;

struct PostPolicy {
  enum class Match { kEqual, kPrefix };
  struct Condition {
    std::string field;  ///< as written; names are compared without case
    Match match = Match::kEqual;
    std::string value;
  };
  Instant expires{};
  std::vector<Condition> conditions;
  // The intersection of all content-length-range conditions.
  uint64_t file_bytes_min = 0;
  uint64_t file_bytes_max = std::numeric_limits<uint64_t>::max();
};

/// Parses the field "policy". Throws InvalidPolicyDocument unless it is strict base64 of exactly
/// this document: unknown and repeated names are rejected.
PostPolicy parse_post_policy(std::string_view base64);

/// Compares the policy with the form: every condition must hold, and every field must be covered by
/// one, including `bucket` (the addressed one) and `key` (the key to be written, whatever the
/// fields say). Does not compare sizes. Throws AccessDenied, naming the field.
void check_post_policy(const PostPolicy& policy, const http::Headers& fields,
                       std::string_view bucket, std::string_view key, Instant now);

}  // namespace tarn::s3

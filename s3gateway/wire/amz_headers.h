// The table of x-amz-* request headers: supported, without effect here, or refused. Pure, no state.
#pragma once

#include <span>
#include <string_view>

#include "core/http/message.h"

namespace tarn::s3 {

enum class HeaderUse {
  kObeyed,
  kAccepted,  ///< requests the behaviour that applies anyway, or is informational
  kRefused,   ///< 501, because the client relies on it
};

struct AmzHeader {
  std::string_view name;  ///< lower case; a '*' at the end matches all names with that prefix
  HeaderUse use;
  std::string_view operations;  ///< separated by spaces; "" = all
  std::string_view note;        ///< for docs/s3-compatibility.md; of a refused header: the feature
  std::string_view harmless = "";  ///< accepted values of a refused header, separated by spaces
};

/// All rows; the first match counts.
std::span<const AmzHeader> amz_headers();

/// The treatment of the header `name`, in any case, by `operation`. nullptr: S3 has no such header,
/// or only for other operations.
const AmzHeader* find_amz_header(std::string_view name, std::string_view operation);

/// Throws NotImplemented, naming the header, for refused headers. Headers unknown to S3 are ignored
/// by reads and refused by other operations, because they may change the data that is written or
/// removed. Headers that S3 defines for other operations are ignored, as in S3.
void check_amz_headers(const http::Headers& headers, std::string_view operation, bool reads);

}  // namespace tarn::s3

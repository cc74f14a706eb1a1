// The table of x-amz-* request headers: which are obeyed, which change nothing here, which are
// refused. Pure, no state.
#pragma once

#include <span>
#include <string_view>

#include "core/http/message.h"

namespace tarn::s3 {

enum class HeaderUse {
  kObeyed,
  kAccepted,  ///< what it asks for is so anyway, or is a note that asks for nothing
  kRefused,   ///< 501, for the client counts on it
};

struct AmzHeader {
  std::string_view name;  ///< in lower case; with '*' at its end, all names that begin so
  HeaderUse use;
  std::string_view operations;  ///< between blanks; "" = all
  std::string_view note;  ///< for docs/s3-compatibility.md; of a refused one, what it asks for
  std::string_view harmless = "";  ///< values of a refused header that are accepted, between blanks
};

/// All rows; the first that fits counts.
std::span<const AmzHeader> amz_headers();

/// How `operation` treats the header `name`, of any case. nullptr: S3 has no such header, or has it
/// for other operations only.
const AmzHeader* find_amz_header(std::string_view name, std::string_view operation);

/// Throws NotImplemented, naming the header, for one that is refused. One that S3 does not know is
/// passed over when the operation only reads, and refused otherwise: it may say what is to be
/// written or removed. Headers that S3 has for other operations are passed over, as S3 does.
void check_amz_headers(const http::Headers& headers, std::string_view operation, bool reads);

}  // namespace tarn::s3

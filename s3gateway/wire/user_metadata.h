// User metadata between headers and entries.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "core/http/message.h"
#include "core/model/entry.h"

namespace tarn::s3 {

/// Names and values together. Source: S3's limit.
constexpr size_t kUserMetadataBytesMax = 2 * 1024;

/// The x-amz-meta-* headers: names in lower case without the prefix, values of one name joined by
/// ",", RFC 2047 words decoded. Throws InvalidArgument for a value that is no UTF-8,
/// MetadataTooLarge.
Metadata parse_user_metadata(const http::Headers& headers);

/// Adds x-amz-meta-<lower case> for each pair; a name that has the prefix already, as lakeFS stores
/// it ("X-Amz-Meta-"), gets no second one. Of names that differ in case only the bytewise first
/// goes out; the others, and names that fit no header, are counted in x-amz-missing-meta. Values
/// that are not printable ASCII go out as RFC 2047 words. Names that begin with "::lakefs::" are
/// internal and stay hidden.
void add_user_metadata(http::Headers& headers, const Metadata& metadata);

/// "=?UTF-8?B?...?=", or the text itself when a header can carry it.
std::string encode_words(std::string_view text);
/// With every well-formed UTF-8 encoded word replaced by what it stands for. Source: RFC 2047.
std::string decode_words(std::string_view text);

}  // namespace tarn::s3

// User metadata: conversion between headers and entries.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "core/http/message.h"
#include "core/model/entry.h"

namespace tarn::s3 {

/// Total size of names and values. Source: S3's limit.
constexpr size_t kUserMetadataBytesMax = 2 * 1024;

/// Reads the x-amz-meta-* headers: names in lower case without the prefix, values of one name
/// joined by ",", RFC 2047 words decoded. Throws InvalidArgument for a value that is not UTF-8,
/// MetadataTooLarge.
Metadata parse_user_metadata(const http::Headers& headers);

/// Adds x-amz-meta-<lower case> for each pair; a name that already has the prefix, as lakeFS stores
/// it ("X-Amz-Meta-"), gets no second one. Of names that differ only in case, only the bytewise
/// first is sent. The others, and names that are no valid header, are counted in
/// x-amz-missing-meta. Values that hold an encoded word, or more than printable ASCII and tabs,
/// become RFC 2047 words. Names that begin with "::lakefs::" are internal and hidden.
void add_user_metadata(http::Headers& headers, const Metadata& metadata);

/// "=?UTF-8?B?...?=", or the text itself if a header can contain it.
std::string encode_words(std::string_view text);
/// Replaces every well-formed UTF-8 encoded word by its text. Source: RFC 2047.
std::string decode_words(std::string_view text);

}  // namespace tarn::s3

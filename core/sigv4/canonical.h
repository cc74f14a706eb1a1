// The canonical forms that Signature Version 4 signs. Pure functions, shared by signing and
// verifying.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/http/message.h"

namespace tarn::sigv4 {

/// Query components in order of arrival, undecoded; a missing '=' is an empty value; empty
/// components are left out.
std::vector<std::pair<std::string_view, std::string_view>> raw_query_pairs(
    std::string_view raw_query);
/// Decodes %XX; a '%' without two hex digits is literal, '+' stays a plus.
std::string decoded(std::string_view text);
/// Whether an undecoded parameter name is `name`, case ignored.
bool is_parameter(std::string_view raw_name, std::string_view name);
/// The decoded value of the first parameter of that name (case ignored), or nullopt.
std::optional<std::string> query_value(std::string_view raw_query, std::string_view name);

/// The path as signers may have put it, most likely first, each once. S3 never normalises dots or
/// slashes.
///  1. every byte decoded and encoded again, "%2F" kept apart from "/";
///  2. as received, for signers that sign what they send;
///  3. as 1 with "%2F" as "/".
std::vector<std::string> canonical_paths(std::string_view raw_path);

/// Parameters decoded, encoded again and sorted by encoded name and value, except `without` (case
/// ignored). With a '+' there are two results: it may mean a plus or a space.
std::vector<std::string> canonical_queries(std::string_view raw_query,
                                           std::string_view without = {});

/// One header as signed: its values trimmed, runs of spaces collapsed, joined by commas in order of
/// arrival. nullopt if absent.
std::optional<std::string> canonical_header(const http::Headers& headers, std::string_view name);

/// All but the last line (the payload hash), ending in a newline. `header_lines` is "name:value\n"
/// each.
std::string canonical_head(std::string_view method, std::string_view path, std::string_view query,
                           std::string_view header_lines, std::string_view signed_headers);

std::string string_to_sign(std::string_view timestamp, std::string_view scope,
                           std::string_view canonical_request);

/// 64 lower-case hex digits.
std::string signature_of(std::string_view key, std::string_view text);
/// Compares hex signatures (case of the digits ignored) without a data-dependent branch.
bool same_signature(std::string_view a, std::string_view b);

}  // namespace tarn::sigv4

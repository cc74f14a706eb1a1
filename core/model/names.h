// Names of repositories, branches and tags, object keys, and the rules that user text must meet.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/base/named.h"

namespace tarn {

using RepositoryName = Named<struct RepositoryNameTag>;
using BranchName = Named<struct BranchNameTag>;
using TagName = Named<struct TagNameTag>;
/// The path of an object inside a ref: any bytes but NUL, well-formed UTF-8, compared bytewise.
/// Never a file path.
using Key = Named<struct KeyTag>;

/// Surrogate keys of the database; never reused.
enum class RepositoryId : int32_t {};
enum class BranchId : int32_t {};

/// Longest key in bytes, the ref not counted. Source: S3's limit, applied to the path alone.
constexpr size_t kKeyBytesMax = 1024;

/// Each throws invalid_argument with the rule in its message.
RepositoryName parse_repository_name(std::string_view text);  ///< [a-z0-9][a-z0-9-]{2,62}
BranchName parse_branch_name(std::string_view text);  ///< [A-Za-z0-9_][A-Za-z0-9_-]*, at most 255
TagName parse_tag_name(std::string_view text);        ///< git-like; no '/', no ref modifiers
/// The same as parse_tag_name, without characters that make one tag look like another: those that
/// are invisible or change the direction of writing. Older tags may have them.
TagName parse_new_tag_name(std::string_view text);
Key parse_key(std::string_view text);  ///< 1..1024 bytes, no NUL, UTF-8

/// Whether a program that copies the objects to a disk writes this key to a file of the same path:
/// no segment is empty, "." or "..", and there is no backslash and no control character. One slash
/// at the end is permitted: it marks a directory.
bool is_plain_path(std::string_view key);

bool is_repository_name(std::string_view text);
bool is_branch_name(std::string_view text);
bool is_tag_name(std::string_view text);

/// The smallest byte string greater than every string that starts with `prefix`; empty = none
/// exists.
std::string prefix_end(std::string_view prefix);

}  // namespace tarn

// Policies: the actions on resources that are allowed or denied. Values; the language is lakeFS's.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/time.h"

namespace tarn::auth {

/// A policy's name, statements and patterns are bounded, since each is examined on every request.
constexpr size_t kStatementsMax = 100;
constexpr size_t kPatternsMax = 1000;       ///< actions, resources or values of one statement
constexpr size_t kPatternBytesMax = 2048;   ///< of one of them
constexpr size_t kPolicyBytesMax = 65'536;  ///< as stored

struct Statement {
  enum class Effect { kAllow, kDeny };
  Effect effect = Effect::kAllow;
  /// "fs:ReadObject", "fs:Read*", "*".
  std::vector<std::string> actions;
  /// "*" or ARNs. In the last part of an ARN '*' matches any text and '?' one character; "${user}"
  /// is replaced by the caller's name.
  std::vector<std::string> resources;
  /// Operator -> field -> values: IpAddress, NotIpAddress, StringLike, StringNotLike on SourceIp.
  /// All operators and fields must hold, for each any of its values.
  std::map<std::string, std::map<std::string, std::vector<std::string>>> conditions;
};

struct Policy {
  std::string name;
  Instant created{};
  std::vector<Statement> statements;
};

/// A resource for which the statement denies reading at some refs only; nullptr = none. Such
/// statements are refused, because the same objects have other names: ids of commits, tags and
/// expressions.
const std::string* find_denial_of_ref(const Statement& statement);

/// Throws invalid_argument that names the statement and the rule it breaks.
void check_statements(const std::vector<Statement>& statements);

/// The stored form. decode throws data_loss.
std::string encode_statements(const std::vector<Statement>& statements);
std::vector<Statement> decode_statements(std::string_view bytes);

}  // namespace tarn::auth

#include "core/auth/policy.h"

#include <algorithm>
#include <array>

#include "core/auth/action.h"
#include "core/auth/permissions.h"
#include "core/auth/resource.h"
#include "core/base/error.h"
#include "core/base/reasons.h"
#include "core/base/str_cat.h"
#include "core/base/wire.h"

namespace tarn::auth {
namespace {

constexpr std::string_view kSourceIp = "SourceIp";
constexpr std::array<std::string_view, 2> kAddressOperators = {"IpAddress", "NotIpAddress"};
constexpr std::array<std::string_view, 2> kTextOperators = {"StringLike", "StringNotLike"};
/// Actions of the table catalog, which Tarn lacks: accepted, never required.
constexpr std::string_view kCatalogService = "catalog:";
constexpr uint8_t kVersion = 1;

[[noreturn]] void fail(size_t statement, std::string_view why) {
  throw Error(ErrorCode::kInvalidArgument, reason::kInvalidPolicy,
              str_cat("policy: statement ", statement + 1, ": ", why));
}

template <typename Texts>
bool holds(const Texts& texts, std::string_view wanted) {
  return std::find(texts.begin(), texts.end(), wanted) != texts.end();
}

bool names_an_action(std::string_view pattern) {
  if (pattern.starts_with(kCatalogService)) return true;
  for (size_t i = 0; i < kActionCount; ++i) {
    if (wildcard_match(pattern, name_of(static_cast<Action>(i)))) return true;
  }
  return false;
}

/// "arn:lakefs:<service>:<region>:<account>:<resource>"
bool is_arn(std::string_view text) {
  constexpr int kFieldsBeforeResource = 5;
  if (!text.starts_with("arn:lakefs:")) return false;
  size_t at = 0;
  for (int i = 0; i < kFieldsBeforeResource; ++i) {
    at = text.find(':', at);
    if (at == std::string_view::npos) return false;
    ++at;
  }
  return at < text.size();
}

void check_size(size_t statement, const std::vector<std::string>& patterns, std::string_view what) {
  if (patterns.empty()) fail(statement, str_cat("names no ", what));
  if (patterns.size() > kPatternsMax) {
    fail(statement, str_cat("has more than ", kPatternsMax, " of ", what));
  }
  for (const std::string& pattern : patterns) {
    if (pattern.empty()) fail(statement, str_cat("an empty ", what));
    if (pattern.size() > kPatternBytesMax) {
      fail(statement, str_cat("a ", what, " is longer than ", kPatternBytesMax, " bytes"));
    }
  }
}

void check_condition(size_t statement, const std::string& op,
                     const std::map<std::string, std::vector<std::string>>& fields) {
  const bool addresses = holds(kAddressOperators, op);
  if (!addresses && !holds(kTextOperators, op)) {
    fail(statement, str_cat("unknown condition operator \"", op,
                            "\": use IpAddress, NotIpAddress, StringLike or StringNotLike"));
  }
  if (fields.empty()) fail(statement, str_cat("condition ", op, " names no field"));
  for (const auto& [field, values] : fields) {
    if (field != kSourceIp) {
      fail(statement, str_cat("unknown condition field \"", field, "\": use SourceIp"));
    }
    check_size(statement, values, "condition value");
    for (const std::string& value : values) {
      if (addresses && !is_address_block(value)) {
        fail(statement, str_cat("\"", value, "\" is no IP address or CIDR block"));
      }
    }
  }
}

/// Whether the pattern covers the resources of some refs only.
bool is_limited_to_refs(std::string_view pattern) {
  constexpr size_t kRefWord = 2;  // repository/NAME/ref/REF
  for (size_t i = 0; i < kRefWord; ++i) {
    const size_t slash = pattern.find('/');
    if (slash == std::string_view::npos) return false;
    pattern.remove_prefix(slash + 1);
  }
  const size_t end = pattern.find('/');
  const std::string_view word = pattern.substr(0, end);
  if (end == std::string_view::npos || !wildcard_match(word, "ref")) return false;
  if (word.find_first_not_of('*') == std::string_view::npos) return false;
  const std::string_view ref = pattern.substr(end + 1, pattern.find('/', end + 1) - end - 1);
  return ref.find_first_not_of('*') != std::string_view::npos;
}

bool names(const Statement& statement, Action action) {
  return std::any_of(
      statement.actions.begin(), statement.actions.end(),
      [&](const std::string& pattern) { return wildcard_match(pattern, name_of(action)); });
}

void put_texts(std::string& out, const std::vector<std::string>& texts) {
  put_varint(out, texts.size());
  for (const std::string& text : texts) put_bytes(out, text);
}

std::vector<std::string> read_texts(WireReader& in) {
  std::vector<std::string> out;
  for (uint64_t count = in.varint(); count > 0; --count) out.emplace_back(in.bytes());
  return out;
}

}  // namespace

const std::string* find_denial_of_ref(const Statement& statement) {
  if (statement.effect != Statement::Effect::kDeny) return nullptr;
  if (!names(statement, Action::kReadObject) && !names(statement, Action::kListObjects))
    return nullptr;
  const auto at =
      std::find_if(statement.resources.begin(), statement.resources.end(),
                   [](const std::string& pattern) { return is_limited_to_refs(pattern); });
  return at == statement.resources.end() ? nullptr : &*at;
}

void check_statements(const std::vector<Statement>& statements) {
  if (statements.empty()) {
    throw Error(ErrorCode::kInvalidArgument, reason::kInvalidPolicy, "policy: has no statement");
  }
  if (statements.size() > kStatementsMax) {
    throw Error(ErrorCode::kInvalidArgument, reason::kInvalidPolicy,
                str_cat("policy: has more than ", kStatementsMax, " statements"));
  }
  for (size_t i = 0; i < statements.size(); ++i) {
    const Statement& statement = statements[i];
    check_size(i, statement.actions, "action");
    for (const std::string& action : statement.actions) {
      if (!names_an_action(action)) {
        fail(i, str_cat("unknown action \"", action,
                        "\": use <service>:<name> with wildcards, for example fs:ReadObject, "
                        "fs:Read* or auth:*"));
      }
    }
    check_size(i, statement.resources, "resource");
    for (const std::string& resource : statement.resources) {
      if (resource != kEverything && !is_arn(resource)) {
        fail(i, str_cat("\"", resource,
                        "\" is no resource: use * or "
                        "arn:lakefs:<service>:<region>:<account>:<resource>, for example "
                        "arn:lakefs:fs:::repository/data/object/models/*"));
      }
    }
    for (const auto& [op, fields] : statement.conditions) check_condition(i, op, fields);
    if (const std::string* denied = find_denial_of_ref(statement)) {
      fail(i, str_cat("\"", *denied,
                      "\" denies reading by the name of a ref, and the same commits have other "
                      "names, such as their ids: allow what may be read instead"));
    }
  }
  if (encode_statements(statements).size() > kPolicyBytesMax) {
    throw Error(ErrorCode::kInvalidArgument, reason::kInvalidPolicy,
                str_cat("policy: is larger than ", kPolicyBytesMax, " bytes"));
  }
}

std::string encode_statements(const std::vector<Statement>& statements) {
  std::string out(1, static_cast<char>(kVersion));
  put_varint(out, statements.size());
  for (const Statement& statement : statements) {
    out.push_back(statement.effect == Statement::Effect::kDeny ? 1 : 0);
    put_texts(out, statement.actions);
    put_texts(out, statement.resources);
    put_varint(out, statement.conditions.size());
    for (const auto& [op, fields] : statement.conditions) {
      put_bytes(out, op);
      put_varint(out, fields.size());
      for (const auto& [field, values] : fields) {
        put_bytes(out, field);
        put_texts(out, values);
      }
    }
  }
  return out;
}

std::vector<Statement> decode_statements(std::string_view bytes) {
  WireReader in(bytes, "policy");
  if (in.u8() != kVersion) in.fail("unknown version");
  std::vector<Statement> out;
  for (uint64_t count = in.varint(); count > 0; --count) {
    Statement statement;
    statement.effect = in.u8() == 1 ? Statement::Effect::kDeny : Statement::Effect::kAllow;
    statement.actions = read_texts(in);
    statement.resources = read_texts(in);
    for (uint64_t operators = in.varint(); operators > 0; --operators) {
      auto& fields = statement.conditions[std::string(in.bytes())];
      for (uint64_t n = in.varint(); n > 0; --n) {
        std::string field(in.bytes());
        fields[std::move(field)] = read_texts(in);
      }
    }
    out.push_back(std::move(statement));
  }
  in.expect_end();
  return out;
}

}  // namespace tarn::auth

// JSON bodies of branches, tags and aliases.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "core/model/alias.h"
#include "core/model/repository.h"
#include "core/versioning/rebase.h"
#include "server/api/json/document.h"
#include "server/api/json/values.h"
#include "server/api/json/writer.h"

namespace tarn::api::json {

void write_branch(Writer& out, const Branch& branch);
void write_tag(Writer& out, const Tag& tag);
std::string branch_body(const Branch& branch);
std::string tag_body(const Tag& tag);

struct CreateBranch {
  std::string name;
  std::string source;
  bool force = false;
  bool hidden = false;
  std::optional<Deadline> expires;
};
CreateBranch parse_create_branch(const Value& body);

/// The time when the branch is deleted automatically; nullopt = never.
std::optional<Deadline> parse_branch_expiry(const Value& body);

struct RenameBranch {
  std::string name;
};
RenameBranch parse_rename_branch(const Value& body);

struct Rebase {
  std::string onto;
  std::string strategy;
  bool force = false;
};
Rebase parse_rebase(const Value& body);
std::string rebase_body(const versioning::Rebase& done);

struct CreateTag {
  std::string id;
  std::string ref;
  bool force = false;
};
CreateTag parse_create_tag(const Value& body);

struct ResetBranch {
  enum class Kind { kObject, kPrefix, kAll };
  Kind kind = Kind::kAll;
  std::string path;
  bool force = false;
};
ResetBranch parse_reset_branch(const Value& body);

// JSON bodies of aliases and their history.

void write_alias(Writer& out, const Alias& alias);
std::string alias_body(const Alias& alias);
/// The alias and "changed".
std::string set_alias_body(const Alias& alias, bool changed);
void write_alias_change(Writer& out, const AliasChange& change);

struct SetAlias {
  std::string to;  ///< any ref expression
  AliasExpectation expected;
  std::string reason;
};
/// "expect": a commit id, "" = the alias must not exist, absent = any position.
SetAlias parse_set_alias(const Value& body);

}  // namespace tarn::api::json

// JSON bodies of branches, tags and merge bases.
#pragma once

#include <optional>
#include <string>

#include "core/model/repository.h"
#include "server/api/json/document.h"
#include "server/api/json/moment.h"
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

}  // namespace tarn::api::json

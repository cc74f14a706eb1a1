// JSON bodies of groups and their access levels.
#pragma once

#include <string>
#include <string_view>

#include "core/auth/groups.h"
#include "server/api/json/document.h"
#include "server/api/json/writer.h"

namespace tarn::api::json {

struct CreateGroup {
  std::string id;
  std::string description;
};
CreateGroup parse_create_group(const Value& body);
/// ACL: the access level; not validated.
std::string parse_acl(const Value& body);

void write_group(Writer& out, const auth::Group& group);
std::string group_body(const auth::Group& group);
std::string acl_body(std::string_view level);
/// The 404 for a group whose policies match no access level.
std::string no_acl_body(std::string_view request_id);

}  // namespace tarn::api::json

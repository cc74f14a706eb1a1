#include "server/api/json/group.h"

namespace tarn::api::json {

CreateGroup parse_create_group(const Value& body) {
  return {.id = body.at("id").text(), .description = body.text_or_empty("description")};
}

std::string parse_acl(const Value& body) { return body.at("permission").text(); }

void write_group(Writer& out, const auth::Group& group) {
  out.begin_object();
  out.number("creation_date", to_seconds(group.created));
  out.text("description", group.description);
  out.text("id", group.name);
  out.text("name", group.name);
  out.end_object();
}

std::string group_body(const auth::Group& group) {
  Writer out;
  write_group(out, group);
  return std::move(out).take();
}

std::string acl_body(std::string_view level) {
  Writer out;
  out.begin_object();
  out.text("permission", level);
  out.end_object();
  return std::move(out).take();
}

std::string no_acl_body(std::string_view request_id) {
  Writer out;
  out.begin_object();
  out.text("message", "the group's policies are not one access level");
  out.boolean("no_acl", true);
  out.text("code", "no_acl");
  out.text("request_id", request_id);
  out.end_object();
  return std::move(out).take();
}

}  // namespace tarn::api::json

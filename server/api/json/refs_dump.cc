#include "server/api/json/refs_dump.h"

#include "core/base/str_cat.h"
#include "server/api/json/moment.h"
#include "server/api/json/writer.h"

namespace tarn::api::json {
namespace {

struct Part {
  std::string_view member;
  std::string_view prefix;
};
constexpr Part kParts[] = {{"commits_meta_range_id", "commits-"},
                           {"tags_meta_range_id", "tags-"},
                           {"branches_meta_range_id", "branches-"}};

void write_dump(Writer& out, std::string_view dump) {
  out.begin_object();
  for (const Part& part : kParts) out.text(part.member, str_cat(part.prefix, dump));
  out.end_object();
}

}  // namespace

RestoreRefs parse_refs_restore(const Value& body) {
  RestoreRefs out{.dump = "", .force = body.flag("force")};
  for (const Part& part : kParts) {
    const Value given = body.at(part.member);
    const std::string id = given.text();
    if (!id.starts_with(part.prefix)) given.fail("is no id of a dump");
    const std::string dump = id.substr(part.prefix.size());
    if (!out.dump.empty() && dump != out.dump) given.fail("is of another dump than the others");
    if (dump.empty()) given.fail("is no id of a dump");
    out.dump = dump;
  }
  return out;
}

std::string refs_dump_body(std::string_view dump) {
  Writer out;
  write_dump(out, dump);
  return std::move(out).take();
}

std::string refs_task_body(const versioning::RefsTaskStatus& status) {
  Writer out;
  out.begin_object();
  out.text("id", status.id);
  out.boolean("done", status.done);
  out.text("update_time", to_rfc3339(status.updated));
  if (!status.error.empty()) out.text("error", status.error);
  if (status.dump) {
    out.key("refs");
    write_dump(out, *status.dump);
  }
  out.end_object();
  return std::move(out).take();
}

}  // namespace tarn::api::json

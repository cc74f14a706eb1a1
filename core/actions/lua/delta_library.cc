// Actions of a Delta table's log, for the modules that are written in Lua. They are read and
// rewritten here because Lua tables cannot hold null and do not distinguish an empty list from an
// empty map. Source: the Delta transaction log protocol, "Actions".
#include <nlohmann/json.hpp>

#include "core/actions/lua/libraries.h"
#include "core/actions/lua/value.h"
#include "core/base/encoding.h"
#include "core/base/error.h"
#include "core/base/str_cat.h"

namespace tarn::actions::lua {
namespace {

using Json = nlohmann::json;

/// Throws unless the text is an object with one member, not counting null members.
Json action_of(const std::string& text) {
  Json action = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (action.is_object()) {
    for (auto at = action.begin(); at != action.end();) {
      at = at->is_null() ? action.erase(at) : std::next(at);
    }
  }
  if (!action.is_object() || action.size() != 1)
    throw_invalid("a line is no action of a Delta log");
  return action;
}

bool names_file(std::string_view kind) {
  return kind == "add" || kind == "remove" || kind == "cdc";
}

/// Whether a deletion vector in another file marks rows of the file as deleted.
bool has_vector_file(const Json& body) {
  const auto at = body.find("deletionVector");
  return at != body.end() && at->is_object() && at->value("storageType", "") != "i";
}

Json text_or_empty(const Json& body, const char* name) {
  const auto at = body.find(name);
  return at != body.end() && at->is_string() ? *at : Json("");
}

Json metadata_of(const Json& body) {
  Json out{{"id", text_or_empty(body, "id")},
           {"name", text_or_empty(body, "name")},
           {"description", text_or_empty(body, "description")},
           {"schema_string", text_or_empty(body, "schemaString")},
           {"partition_columns", body.value("partitionColumns", Json::array())},
           {"configuration", body.value("configuration", Json::object())}};
  if (const auto at = body.find("createdTime"); at != body.end()) out["created_time"] = *at;
  return out;
}

/// describe(line): {kind, path (decoded), absolute, vector_file, metadata}, as far as the kind has
/// them.
int describe(lua_State* state) {
  const Json action = action_of(text_argument(state, 1));
  const std::string& kind = action.begin().key();
  const Json& body = action.begin().value();
  Json out{{"kind", kind}};
  if (names_file(kind)) {
    const auto path = body.is_object() ? body.find("path") : body.end();
    if (!body.is_object() || path == body.end() || !path->is_string()) {
      throw_invalid(str_cat("an action \"", kind, "\" of a Delta log names no file"));
    }
    const auto decoded = percent_decode(path->get<std::string>());
    if (!decoded) throw_invalid("a path of a Delta log is not percent-encoded");
    out["path"] = *decoded;
    out["absolute"] = path->get<std::string>().find("://") != std::string::npos;
    out["vector_file"] = has_vector_file(body);
  } else if (kind == "metaData" && body.is_object()) {
    out["metadata"] = metadata_of(body);
  }
  push_value(state, out);
  return 1;
}

/// with_path(line, path): the line with another file path; `path` is written as given.
int with_path(lua_State* state) {
  Json action = action_of(text_argument(state, 1));
  if (!names_file(action.begin().key())) throw_invalid("this action names no file");
  action.begin().value()["path"] = text_argument(state, 2);
  push(state, action.dump(-1, ' ', false, Json::error_handler_t::replace));
  return 1;
}

}  // namespace

void push_delta(lua_State* state) {
  push_library(state, {{"describe", &guarded<describe>}, {"with_path", &guarded<with_path>}});
}

}  // namespace tarn::actions::lua

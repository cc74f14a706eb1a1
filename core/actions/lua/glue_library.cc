// aws.glue_client: databases and tables of the AWS Glue Data Catalog.
#include <nlohmann/json.hpp>

#include "core/actions/lua/aws_request.h"
#include "core/actions/lua/libraries.h"
#include "core/base/error.h"
#include "core/base/str_cat.h"

namespace tarn::actions::lua {
namespace {

using Json = nlohmann::json;

struct GlueAnswer {
  Json body;
  std::string error{};  ///< the error type, such as "EntityNotFoundException"; "" = none
};

std::string text_of(const Json& json, const char* name) {
  const auto at = json.find(name);
  return at == json.end() || !at->is_string() ? "" : at->get<std::string>();
}

/// Throws errors except `expected`.
GlueAnswer ask(lua_State* state, const std::string& action, const Json& input,
               std::string_view expected = {}) {
  const AwsClient client = client_of(state, "glue");
  AwsRequest request{.method = "POST",
                     .body = input.dump(-1, ' ', false, Json::error_handler_t::replace)};
  request.headers.add("content-type", "application/x-amz-json-1.1");
  request.headers.add("x-amz-target", str_cat("AWSGlue.", action));
  const AwsAnswer answer = send(state, client, request);
  GlueAnswer out{Json::parse(answer.body, nullptr, /*allow_exceptions=*/false)};
  const bool object = out.body.is_object();
  if (answer.ok()) {
    if (!object && !answer.body.empty()) throw_invalid(str_cat("Glue: ", action, ": no JSON came"));
    return out;
  }
  std::string type = object ? text_of(out.body, "__type") : "";
  type.erase(0, type.rfind('#') + 1);  // some servers add a namespace prefix
  std::string message = object ? text_of(out.body, "message") : "";
  if (message.empty() && object) message = text_of(out.body, "Message");
  if (type.empty() || type != expected) {
    throw_failure(client, str_cat("Glue: ", action), answer.status, type, message);
  }
  out.error = type;
  return out;
}

Json with_catalog(lua_State* state, int index, Json input) {
  const std::string catalog = text_argument_or(state, index, "");
  if (!catalog.empty()) input["CatalogId"] = catalog;
  return input;
}

/// Returns the entity as a table and true; "" and false if it does not exist.
int get_entity(lua_State* state, const char* action, const Json& input) {
  const GlueAnswer answer = ask(state, action, input, "EntityNotFoundException");
  if (answer.error.empty()) {
    push_value(state, answer.body);
  } else {
    push(state, "");
  }
  lua_pushboolean(state, answer.error.empty() ? 1 : 0);
  return 2;
}

int get_table(lua_State* state) {
  return get_entity(
      state, "GetTable",
      with_catalog(state, 3,
                   {{"DatabaseName", text_argument(state, 1)}, {"Name", text_argument(state, 2)}}));
}

int get_database(lua_State* state) {
  return get_entity(state, "GetDatabase",
                    with_catalog(state, 2, {{"Name", text_argument(state, 1)}}));
}

/// The table's description: JSON text, or a Lua table that is converted to JSON.
Json table_input(lua_State* state) {
  Json input = lua_istable(state, 2)
                   ? json_at(state, 2)
                   : Json::parse(text_argument(state, 2), nullptr, /*allow_exceptions=*/false);
  if (!input.is_object()) throw_invalid("argument 2: a JSON object was expected");
  return input;
}

int create_table(lua_State* state) {
  ask(state, "CreateTable",
      with_catalog(
          state, 3,
          {{"DatabaseName", text_argument(state, 1)}, {"TableInput", table_input(state)}}));
  return 0;
}

/// update_table(database, table_input [, catalog_id, version_id, skip_archive])
int update_table(lua_State* state) {
  Json input = with_catalog(
      state, 3, {{"DatabaseName", text_argument(state, 1)}, {"TableInput", table_input(state)}});
  const std::string version = text_argument_or(state, 4, "");
  if (!version.empty()) input["VersionId"] = version;
  if (!lua_isnoneornil(state, 5)) input["SkipArchive"] = lua_toboolean(state, 5) != 0;
  ask(state, "UpdateTable", input);
  return 0;
}

int delete_table(lua_State* state) {
  ask(state, "DeleteTable",
      with_catalog(state, 3,
                   {{"DatabaseName", text_argument(state, 1)}, {"Name", text_argument(state, 2)}}));
  return 0;
}

/// create_database(database [, options]): options.create_db_input is the request except for the
/// name; options.error_on_already_exists = false accepts an existing database.
int create_database(lua_State* state) {
  const std::string name = text_argument(state, 1);
  const Json options = lua_istable(state, 2) ? json_at(state, 2) : Json::object();
  if (!options.is_object()) throw_invalid("argument 2: a table of options was expected");
  Json input = options.value("create_db_input", Json::object());
  if (!input.is_object()) throw_invalid("create_db_input: a table was expected");
  Json& database = input["DatabaseInput"];
  if (!database.is_object()) database = Json::object();
  database["Name"] = name;
  const bool strict = options.value("error_on_already_exists", true);
  ask(state, "CreateDatabase", input, strict ? "" : "AlreadyExistsException");
  return 0;
}

int delete_database(lua_State* state) {
  ask(state, "DeleteDatabase", with_catalog(state, 2, {{"Name", text_argument(state, 1)}}));
  return 0;
}

int new_glue_client(lua_State* state) {
  push_aws_client(state, "glue",
                  {{"get_table", &guarded<get_table>},
                   {"create_table", &guarded<create_table>},
                   {"update_table", &guarded<update_table>},
                   {"delete_table", &guarded<delete_table>},
                   {"get_database", &guarded<get_database>},
                   {"create_database", &guarded<create_database>},
                   {"delete_database", &guarded<delete_database>}});
  return 1;
}

}  // namespace

void push_aws(lua_State* state) {
  push_library(
      state, {{"s3_client", &guarded<new_s3_client>}, {"glue_client", &guarded<new_glue_client>}});
}

}  // namespace tarn::actions::lua

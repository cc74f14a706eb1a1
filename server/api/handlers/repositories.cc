#include "core/branch/repositories.h"

#include "core/auth/resource.h"
#include "core/base/error.h"
#include "server/api/handlers/handlers.h"
#include "server/api/json/list.h"
#include "server/api/json/repository.h"
#include "server/api/response.h"
#include "server/api/sample_data.h"

namespace tarn::api {
namespace {

constexpr size_t kBytesPerRepository = 200;

bool exists(versioning::Engine& engine, const RepositoryName& name) {
  const Page<Repository> found = versioning::list_repositories(engine, name.str(), "", "", 1, {});
  return !found.items.empty() && found.items[0].name == name;
}

/// Reports a name that exists before an unknown storage, as clients that create "if absent" expect.
void check_storage_id(versioning::Engine& engine, const json::CreateRepository& given) {
  if (given.storage_id.empty() || exists(engine, given.name)) return;
  throw_invalid("storage id: invalid value: validation error");
}

}  // namespace

http::Response list_repositories(const Context& context, Call& call) {
  const Page<Repository> page = versioning::list_repositories(
      context.engine, call.parameter("prefix"), call.parameter("search"), call.parameter("after"),
      call.amount(), [&](const Repository& repository) {
        return call.allows(auth::Action::kReadRepository,
                           auth::repository_arn(repository.name.str()));
      });
  return json_response(200, json::list_of(page, kBytesPerRepository, json::write_repository));
}

http::Response create_repository(const Context& context, Call& call, json::CreateRepository given) {
  check_storage_id(context.engine, given);
  versioning::RepositoryCreation creation{.name = given.name,
                                          .storage_namespace = given.storage_namespace,
                                          .read_only = given.read_only,
                                          .bare = call.flag("bare")};
  if (!given.default_branch.empty())
    creation.default_branch = parse_branch_name(given.default_branch);
  const Repository made = versioning::create_repository(context.engine, creation);
  if (given.sample_data && !creation.bare)
    add_sample_data(context.engine, made, call.caller.user.committer());
  return json_response(201, json::repository_body(made));
}
JsonHandler create_repository() {
  return json_handler<json::parse_create_repository, create_repository>;
}

http::Response get_repository(const Context& context, Call& call) {
  return json_response(200, json::repository_body(repository_of(context, call)));
}

http::Response delete_repository(const Context& context, Call& call) {
  versioning::delete_repository(context.engine, call.repository(), call.flag("force"));
  return empty_response(204);
}

http::Response get_repository_metadata(const Context& context, Call& call) {
  json::Writer out;
  out.text_map(versioning::get_repository_metadata(context.engine, call.repository()));
  return json_response(200, std::move(out).take());
}

http::Response set_repository_metadata(const Context& context, Call& call, Metadata metadata) {
  versioning::set_repository_metadata(context.engine, call.repository(), metadata);
  return empty_response(204);
}
JsonHandler set_repository_metadata() {
  return json_handler<json::parse_set_metadata, set_repository_metadata>;
}

http::Response delete_repository_metadata(const Context& context, Call& call,
                                          std::vector<std::string> keys) {
  versioning::delete_repository_metadata(context.engine, call.repository(), keys);
  return empty_response(204);
}
JsonHandler delete_repository_metadata() {
  return json_handler<json::parse_metadata_keys, delete_repository_metadata>;
}

}  // namespace tarn::api

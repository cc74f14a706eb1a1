#include "core/branch/repositories.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <span>
#include <string>
#include <string_view>

#include "core/auth/resource.h"
#include "core/base/digest.h"
#include "core/base/encoding.h"
#include "core/base/error.h"
#include "core/branch/settings.h"
#include "core/model/repository.h"
#include "core/objects/upload.h"
#include "core/versioning/commit.h"
#include "server/api/handlers/handlers.h"
#include "server/api/json/repository.h"
#include "server/api/json/values.h"
#include "server/api/json/writer.h"
#include "server/api/response.h"

namespace tarn::api {
namespace {

struct Sample {
  std::string_view path;
  std::string_view content_type;
  std::string_view bytes;
};

constexpr std::array kSamples = {
    Sample{"README.md", "text/markdown",
           "# Sample repository\n\nTry it: make a branch, change data/flowers.csv there, look at "
           "the diff,\n"
           "commit, and merge the branch back.\n"},
    Sample{"data/flowers.csv", "text/csv",
           "petal_length,petal_width,species\n1.4,0.2,setosa\n4.7,1.4,versicolor\n6.0,2.5,"
           "virginica\n"},
};

class SampleBody final : public objects::UploadBody {
 public:
  explicit SampleBody(std::string_view bytes) : left_(bytes), etag_(to_hex(md5(bytes))) {}
  size_t read(std::span<char> out) override {
    const size_t count = std::min(out.size(), left_.size());
    std::memcpy(out.data(), left_.data(), count);
    left_.remove_prefix(count);
    return count;
  }
  objects::UploadDigests digests() override { return {.etag = etag_, .checksums = {}}; }

 private:
  std::string_view left_;
  std::string etag_;
};

/// Uploads a readme and a small table to the default branch, commits them, and protects the branch.
void add_sample_data(branch::Engine& engine, const Repository& repository,
                     const std::string& committer) {
  // Writes to read-only repositories too: nobody could add the samples later.
  constexpr bool kForce = true;
  for (const Sample& sample : kSamples) {
    const objects::UploadTarget target =
        objects::check_upload(engine, repository.name, repository.default_branch,
                              Key(std::string(sample.path)), kForce, {});
    SampleBody body(sample.bytes);
    objects::put_object(
        engine, target, body, sample.bytes.size(),
        {.content_type = std::string(sample.content_type), .user_metadata = {}, .extras = {}}, {});
  }
  versioning::commit_branch(engine, repository, repository.default_branch,
                            {.committer = committer,
                             .message = "Add sample data",
                             .metadata = {},
                             .date = std::nullopt,
                             .force = kForce});
  branch::set_branch_rules(engine, repository, {{.pattern = Glob(repository.default_branch.str())}},
                           {.if_match = std::nullopt, .force = kForce});
}

constexpr size_t kBytesPerRepository = 200;

bool exists(branch::Engine& engine, const RepositoryName& name) {
  const Page<Repository> found = branch::list_repositories(engine, name.str(), "", "", 1, {});
  return !found.items.empty() && found.items[0].name == name;
}

/// Reports a name that exists before an unknown storage, as clients that create "if absent" expect.
void check_storage_id(branch::Engine& engine, const json::CreateRepository& given) {
  if (given.storage_id.empty() || exists(engine, given.name)) return;
  throw_invalid("storage id: there is no such storage; leave it out");
}

void write_deleted(json::Writer& out, const meta::DeletedRepository& deleted) {
  out.begin_object();
  out.text("id", std::to_string(static_cast<int32_t>(deleted.repository.id)));
  out.text("name", deleted.repository.name.str());
  out.text("storage_namespace", deleted.repository.storage_namespace);
  out.text("deletion_date", to_rfc3339(deleted.deleted));
  out.text("purge_date", to_rfc3339(deleted.purged));
  out.end_object();
}

RepositoryId parse_repository_id(const std::string& text) {
  int32_t number = 0;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (failure != std::errc() || end != text.data() + text.size()) {
    throw_invalid("id: is not the id of a deleted repository");
  }
  return static_cast<RepositoryId>(number);
}

}  // namespace

RestoreBody parse_restoration(const json::Value& body) {
  RestoreBody out;
  if (const auto as = body.find_text("as")) out.as = parse_repository_name(*as);
  if (const auto id = body.find_text("id")) out.id = *id;
  return out;
}

http::Response list_repositories(const Context& context, Call& call) {
  const Page<Repository> page = branch::list_repositories(
      context.engine, call.parameter("prefix"), call.parameter("search"), call.parameter("after"),
      call.amount(), [&](const Repository& repository) {
        return call.allows(auth::Action::kReadRepository,
                           auth::repository_arn(repository.name.str()));
      });
  return json_response(200, json::list_of(page, kBytesPerRepository, json::write_repository));
}

http::Response create_repository(const Context& context, Call& call, json::CreateRepository given) {
  check_storage_id(context.engine, given);
  branch::RepositoryCreation creation{.name = given.name,
                                      .storage_namespace = given.storage_namespace,
                                      .read_only = given.read_only,
                                      .bare = call.flag("bare"),
                                      .strict_paths = given.strict_paths};
  if (!given.default_branch.empty())
    creation.default_branch = parse_branch_name(given.default_branch);
  const Repository made = branch::create_repository(context.engine, creation);
  if (given.sample_data && !creation.bare)
    add_sample_data(context.engine, made, call.caller.user.committer());
  return json_response(201, json::repository_body(made));
}

http::Response get_repository(const Context& context, Call& call) {
  return json_response(200, json::repository_body(repository_of(context, call)));
}

http::Response delete_repository(const Context& context, Call& call) {
  branch::RepositoryDeletion deletion{.force = call.flag("force"), .grace = std::nullopt};
  const std::string grace(call.parameter("grace"));
  if (!grace.empty()) deletion.grace = json::parse_delay(grace, "grace");
  branch::delete_repository(context.engine, call.repository(), deletion);
  return empty_response(204);
}

http::Response list_deleted_repositories(const Context& context, Call& call) {
  const auto page = branch::list_deleted_repositories(
      context.engine, call.parameter("after"), call.amount(), context.collection.deleted_kept,
      [&](const Repository& repository) {
        return call.allows(auth::Action::kReadRepository,
                           auth::repository_arn(repository.name.str()));
      });
  return json_response(200, json::list_of(page, kBytesPerRepository, write_deleted));
}

http::Response restore_repository(const Context& context, Call& call, RestoreBody given) {
  branch::RepositoryRestoration restoration{
      .name = call.repository(), .as = given.as, .grace = context.collection.deleted_kept};
  if (!given.id.empty()) restoration.id = parse_repository_id(given.id);
  const RepositoryName as = given.as.value_or(restoration.name);
  call.require_permission(auth::Action::kCreateRepository, auth::repository_arn(as.str()));
  return json_response(
      200, json::repository_body(branch::restore_repository(context.engine, restoration)));
}

http::Response get_path_settings(const Context& context, Call& call) {
  return json_response(200, json::paths_body(repository_of(context, call).strict_paths));
}

http::Response set_path_settings(const Context& context, Call& call, bool strict) {
  branch::set_strict_paths(context.engine, call.repository(), strict);
  return empty_response(204);
}

http::Response get_repository_metadata(const Context& context, Call& call) {
  json::Writer out;
  out.text_map(branch::get_repository_metadata(context.engine, call.repository()));
  return json_response(200, std::move(out).take());
}

http::Response set_repository_metadata(const Context& context, Call& call, Metadata metadata) {
  branch::set_repository_metadata(context.engine, call.repository(), metadata);
  return empty_response(204);
}

http::Response delete_repository_metadata(const Context& context, Call& call,
                                          std::vector<std::string> keys) {
  branch::delete_repository_metadata(context.engine, call.repository(), keys);
  return empty_response(204);
}
}  // namespace tarn::api

#include "core/objects/objects.h"

#include "core/auth/resource.h"
#include "core/base/error.h"
#include "core/branch/hook_files.h"
#include "core/branch/repositories.h"
#include "core/model/content_type.h"
#include "core/objects/symlinks.h"
#include "core/objects/upload.h"
#include "core/versioning/checkout.h"
#include "core/versioning/move.h"
#include "server/api/conditional.h"
#include "server/api/errors.h"
#include "server/api/handlers/handlers.h"
#include "server/api/json/object.h"
#include "server/api/object_answer.h"
#include "server/api/object_listing.h"
#include "server/api/presigner.h"
#include "server/api/quota_warning.h"
#include "server/api/response.h"
#include "server/api/upload_body.h"
#include "server/api/user_metadata.h"

namespace tarn::api {
namespace {

objects::FoundObject find_object(const Context& context, const Call& call) {
  return objects::get_object(context.engine, call.repository(), call.path("ref"), call.key());
}

}  // namespace

http::Response get_object(const Context& context, Call& call) {
  const objects::FoundObject found = find_object(context, call);
  if (call.request.headers.get("If-None-Match") == quoted_etag(found.entry))
    return empty_response(304);
  if (const auto presigner = Presigner::asked_for(context, call)) {
    http::Response response = empty_response(302);
    response.headers.add("Location", presigner->read_url(found.repository, call.path("ref"),
                                                         call.parameter("path"), found.entry));
    return response;
  }
  return object_answer(context.engine, call.request, found.repository, call.parameter("path"),
                       found.entry, context.read_check);
}

http::Response head_object(const Context& context, Call& call) {
  const objects::FoundObject found = find_object(context, call);
  return object_answer(context.engine, call.request, found.repository, call.parameter("path"),
                       found.entry, context.read_check);
}

http::Response stat_object(const Context& context, Call& call) {
  const auto presigner = Presigner::asked_for(context, call);
  const objects::FoundObject found = find_object(context, call);
  const bool with_metadata = call.parameter("user_metadata").empty() || call.flag("user_metadata");
  using Shown = json::ObjectView::UserMetadata;
  const ShownAddress address =
      shown_address(context, presigner ? &*presigner : nullptr, found.repository, call.path("ref"),
                    call.parameter("path"), found.entry);
  return json_response(
      200, json::object_body({.path = call.parameter("path"),
                              .entry = found.entry,
                              .physical_address = address.text,
                              .address_expiry = address.expiry,
                              .user_metadata = with_metadata ? Shown::kAlways : Shown::kEmpty}));
}

http::Response list_objects(const Context& context, Call& call) {
  const auto presigner = Presigner::asked_for(context, call);
  const auto page = objects::list_objects(context.engine, call.repository(), call.path("ref"),
                                          {.prefix = std::string(call.parameter("prefix")),
                                           .after = std::string(call.parameter("after")),
                                           .delimiter = std::string(call.parameter("delimiter")),
                                           .limit = call.amount()});
  return object_listing(context, call, presigner, page);
}

http::Response get_underlying_properties(const Context& context, Call& call) {
  const objects::FoundObject found = find_object(context, call);
  const std::string storage_class(found.entry.extras.get(ExtraTag::kStorageClass));
  return json_response(200, json::underlying_properties_body(storage_class));
}

http::Response create_symlinks(const Context& context, Call& call) {
  const std::string location = objects::create_symlinks(
      context.engine, call.repository(), call.path("branch"), call.parameter("location"));
  return json_response(201, json::storage_uri_body(location));
}

namespace {

/// Storage classes are single words.
constexpr size_t kStorageClassBytesMax = 64;

http::Response object_response(int status, const Context& context,
                               const objects::UploadTarget& target, const Entry& entry) {
  http::Response response =
      json_response(status, json::object_body({.path = target.key.str(),
                                               .entry = entry,
                                               .physical_address = objects::physical_address(
                                                   context.engine, target.repository, entry)}));
  add_quota_warning(context, target.repository.id, target.branch.name.str(), response);
  return response;
}

void set_storage_class(objects::ObjectAttributes& attributes, std::string_view storage_class) {
  if (storage_class.empty()) return;
  const bool word =
      storage_class.size() <= kStorageClassBytesMax &&
      storage_class.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZ_") == std::string_view::npos;
  if (!word)
    throw_invalid("parameter \"storageClass\" in query has an error: must be an upper-case word");
  attributes.extras.set(ExtraTag::kStorageClass, storage_class);
}

/// Staging an address must not reveal bytes that the caller may not read. An own address may belong
/// to any object of the repository, at any ref.
void demand_right_to_bytes(const Call& call, const Repository& repository, const std::string& url) {
  if (objects::in_own_namespace(repository, url)) {
    call.require_permission_on_all_objects(auth::Action::kReadObject, repository.name.str());
  } else {
    call.require_permission(auth::Action::kImportFromStorage, auth::namespace_arn(url));
  }
}

/// The valid keys among the paths; invalid ones become failures. Empty paths are ignored.
std::vector<Key> keys_of(const std::vector<std::string>& paths,
                         std::vector<json::ObjectFailure>& failures) {
  std::vector<Key> keys;
  keys.reserve(paths.size());
  for (const std::string& path : paths) {
    if (path.empty()) continue;
    if (path.size() > kKeyBytesMax || path.find('\0') != std::string::npos) {
      failures.push_back(
          {.path = path,
           .status = 400,
           .message = "argument path: is longer than a path may be, or has a NUL byte"});
    } else {
      keys.emplace_back(path);
    }
  }
  return keys;
}

/// Turns what the caller may not delete, by its policies or as a file of hooks, into failures and
/// removes it from the keys.
void take_out_forbidden(const Context& context, const Call& call, const RepositoryName& repository,
                        std::vector<Key>& keys, std::vector<json::ObjectFailure>& failures) {
  std::erase_if(keys, [&](const Key& key) {
    try {
      call.require_permission(auth::Action::kDeleteObject,
                              auth::object_arn(repository.str(), call.path("branch"), key.str()));
      branch::check_hook_file(context.engine, repository, key.str());
      return false;
    } catch (const Error& error) {
      if (error.code() != ErrorCode::kPermissionDenied) throw;
      failures.push_back({.path = key.str(), .status = 403, .message = error.message()});
      return true;
    }
  });
}

}  // namespace

http::Response upload_object(const Context& context, Call& call) {
  const branch::Condition condition = write_condition(call.request.headers);
  objects::ObjectAttributes attributes{
      .content_type = {}, .user_metadata = metadata_of(call.request.headers), .extras = {}};
  set_storage_class(attributes, call.parameter("storageClass"));
  const objects::UploadTarget target = objects::check_upload(
      context.engine, call.repository(), call.branch(), call.key(), call.flag("force"), condition);
  IncomingObject incoming = open_upload(call.request, context.upload_bytes_max);
  attributes.content_type = content_type_of_new(std::move(incoming.content_type), target.key.str());
  const Entry entry = objects::put_object(context.engine, target, *incoming.body,
                                          incoming.size_bytes, attributes, condition);
  return object_response(201, context, target, entry);
}

http::Response allow_upload(const Context& context, Call& call) {
  objects::check_upload(context.engine, call.repository(), call.branch(), call.key(), false, {});
  return empty_response(204);
}

http::Response stage_object(const Context& context, Call& call, json::StagedBytes given) {
  check_user_metadata(given.metadata);
  const objects::UploadTarget target = objects::check_upload(
      context.engine, call.repository(), call.branch(), call.key(), given.force, {});
  demand_right_to_bytes(call, target.repository, given.physical_address);
  const Entry entry = objects::stage_address(
      context.engine, target, given.physical_address, given.size_bytes, given.checksum, given.mtime,
      {.content_type = content_type_of_new(std::move(given.content_type), target.key.str()),
       .user_metadata = std::move(given.metadata),
       .extras = {}},
      {});
  return object_response(201, context, target, entry);
}

http::Response delete_object(const Context& context, Call& call) {
  objects::delete_object(context.engine, call.repository(), call.branch(), call.key(),
                         call.flag("force"));
  return empty_response(204);
}

http::Response delete_objects(const Context& context, Call& call, std::vector<std::string> paths) {
  if (paths.size() > objects::kDeleteObjectsMax) {
    throw_invalid("request size exceeded, max paths is set to 1000");
  }
  const RepositoryName repository = call.repository();
  const bool force = call.flag("force");
  std::vector<json::ObjectFailure> failures;
  std::vector<Key> keys = keys_of(paths, failures);
  take_out_forbidden(context, call, repository, keys, failures);
  try {
    if (!keys.empty() &&
        !objects::delete_objects(context.engine, repository, call.branch(), keys, force)) {
      for (const Key& key : keys) {
        objects::delete_object(context.engine, repository, call.branch(), key, force);
      }
    }
  } catch (const Error& error) {
    // A read-only or protected branch is reported path by path, as clients expect.
    if (error.code() != ErrorCode::kPermissionDenied) throw;
    for (const Key& key : keys) {
      failures.push_back({.path = key.str(), .status = 403, .message = error.message()});
    }
  }
  return json_response(200, json::object_failures_body(failures));
}

http::Response copy_object(const Context& context, Call& call, json::CopyObject given) {
  const RepositoryName repository = call.repository();
  const BranchName branch = call.branch();
  const Key destination = parse_key(call.parameter("dest_path"));
  const Entry entry =
      objects::copy_object(context.engine,
                           {.repository = repository,
                            .ref = given.src_ref.empty() ? branch.str() : given.src_ref,
                            .key = parse_key(given.src_path)},
                           repository, branch, destination, {}, given.force);
  objects::UploadTarget target{.repository = branch::get_repository(context.engine, repository),
                               .branch = {},
                               .key = destination};
  target.branch.name = branch;
  return object_response(201, context, target, entry);
}

http::Response move_objects(const Context& context, Call& call, json::MoveObjects given) {
  const std::string& repository = call.path("repository");
  const Repository in = repository_of(context, call);
  // The route has checked the prefixes; a policy may deny keys below them.
  const auto check = [&](const Key& from, const Key& to) {
    branch::check_new_path(in, to.str());
    const std::string source = auth::object_arn(repository, call.path("branch"), from.str());
    call.require_permission(auth::Action::kReadObject, source);
    call.require_permission(auth::Action::kDeleteObject, source);
    call.require_permission(auth::Action::kWriteObject,
                            auth::object_arn(repository, call.path("branch"), to.str()));
  };
  const uint64_t moved = versioning::move_objects(context.engine, in, call.branch(),
                                                  {.source = std::move(given.source),
                                                   .destination = std::move(given.destination),
                                                   .prefixes = given.prefixes,
                                                   .overwrite = given.overwrite,
                                                   .force = given.force,
                                                   .check = check});
  return json_response(200, json::moved_body(moved));
}

http::Response checkout_path(const Context& context, Call& call, json::CheckoutPath given) {
  const std::string& repository = call.path("repository");
  const Repository in = repository_of(context, call);
  const auto check = [&, ref = given.ref](const Key& key, bool deleted) {
    const std::string object = auth::object_arn(repository, call.path("branch"), key.str());
    if (deleted) {
      call.require_permission(auth::Action::kDeleteObject, object);
    } else {
      branch::check_new_path(in, key.str());
      call.require_permission(auth::Action::kReadObject,
                              auth::object_arn(repository, ref, key.str()));
      call.require_permission(auth::Action::kWriteObject, object);
    }
  };
  return json_response(
      200, json::checkout_body(versioning::checkout_paths(context.engine, in, call.branch(),
                                                          {.ref = std::move(given.ref),
                                                           .paths = std::move(given.paths),
                                                           .force = given.force,
                                                           .dry_run = given.dry_run,
                                                           .check = check})));
}

http::Response update_user_metadata(const Context& context, Call& call, Metadata metadata) {
  check_user_metadata(metadata);
  objects::update_user_metadata(context.engine, call.repository(), call.branch(), call.key(),
                                metadata, false);
  return empty_response(204);
}

http::Response get_physical_address(const Context& context, Call& call) {
  const auto presigner = Presigner::asked_for(context, call);
  const auto address = objects::hand_out_address(context.engine, call.repository(), call.branch(),
                                                 call.key(), call.caller.user.name);
  std::optional<json::PresignedUrl> url;
  if (presigner) url = {presigner->write_url(address), presigner->expiry()};
  return json_response(200, json::staging_location_body(address.text, url));
}

http::Response link_physical_address(const Context& context, Call& call, json::StagedBytes given) {
  const branch::Condition condition = write_condition(call.request.headers);
  check_user_metadata(given.metadata);
  const objects::UploadTarget target = objects::check_upload(
      context.engine, call.repository(), call.branch(), call.key(), given.force, {});
  const Entry entry = objects::link_address(
      context.engine, target, given.physical_address, call.caller.user.name,
      {.size_bytes = given.size_bytes, .etag = given.checksum, .mtime = given.mtime},
      {.content_type = content_type_of_new(std::move(given.content_type), target.key.str()),
       .user_metadata = std::move(given.metadata),
       .extras = {}},
      condition);
  // The address is returned as it was sent, token included.
  http::Response response = json_response(
      200,
      json::object_body(
          {.path = target.key.str(), .entry = entry, .physical_address = given.physical_address}));
  add_quota_warning(context, target.repository.id, target.branch.name.str(), response);
  return response;
}

}  // namespace tarn::api

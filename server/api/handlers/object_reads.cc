#include "core/auth/resource.h"
#include "core/versioning/objects.h"
#include "core/versioning/repositories.h"
#include "core/versioning/search.h"
#include "core/versioning/symlinks.h"
#include "server/api/errors.h"
#include "server/api/handlers/handlers.h"
#include "server/api/json/list.h"
#include "server/api/json/object.h"
#include "server/api/object_answer.h"
#include "server/api/presigner.h"
#include "server/api/response.h"
#include "server/api/search_query.h"

namespace tarn::api {
namespace {

constexpr size_t kBytesPerObject = 320;

versioning::FoundObject find(const Context& context, const Call& call) {
  return versioning::get_object(context.engine, call.repository(), call.path("ref"), call.key());
}

/// Where the bytes are, or a URL to read them.
struct ShownAddress {
  std::string text;
  std::optional<Instant> expiry;
};

ShownAddress shown_address(const Context& context, const Presigner* presigner,
                           const Repository& repository, std::string_view path,
                           const Entry& entry) {
  if (presigner == nullptr)
    return {versioning::physical_address(context.engine, repository, entry), std::nullopt};
  return {presigner->read_url(repository, path, entry), presigner->expiry()};
}

http::Response listing(const Context& context, const Call& call,
                       const std::optional<Presigner>& presigner,
                       const Page<versioning::ListItem>& page) {
  const RepositoryName name = call.repository();
  const Repository repository = versioning::get_repository(context.engine, name);
  const bool with_metadata = call.parameter("user_metadata").empty() || call.flag("user_metadata");
  using Shown = json::ObjectView::UserMetadata;
  const auto write_item = [&](json::Writer& out, const versioning::ListItem& item) {
    if (!item.entry) return json::write_common_prefix(out, item.path);
    const bool presigned =
        presigner && call.allows(auth::Action::kReadObject,
                                 auth::object_arn(name.str(), call.path("ref"), item.path));
    const ShownAddress address = shown_address(context, presigned ? &*presigner : nullptr,
                                               repository, item.path, *item.entry);
    json::write_object(out, {.path = item.path,
                             .entry = *item.entry,
                             .physical_address = address.text,
                             .address_expiry = address.expiry,
                             .user_metadata = with_metadata ? Shown::kWhenAny : Shown::kNever});
  };
  return json_response(200, json::list_of(page, kBytesPerObject, write_item));
}

}  // namespace

http::Response get_object(const Context& context, Call& call) {
  const versioning::FoundObject found = find(context, call);
  if (call.request.headers.get("If-None-Match") == quoted_etag(found.entry))
    return empty_response(304);
  if (const auto presigner = Presigner::asked_for(context, call)) {
    http::Response response = empty_response(302);
    response.headers.add(
        "Location", presigner->read_url(found.repository, call.parameter("path"), found.entry));
    return response;
  }
  return object_answer(context.engine, call.request, found.repository, call.parameter("path"),
                       found.entry);
}

http::Response head_object(const Context& context, Call& call) {
  const versioning::FoundObject found = find(context, call);
  return object_answer(context.engine, call.request, found.repository, call.parameter("path"),
                       found.entry);
}

http::Response stat_object(const Context& context, Call& call) {
  const auto presigner = Presigner::asked_for(context, call);
  const versioning::FoundObject found = find(context, call);
  const bool with_metadata = call.parameter("user_metadata").empty() || call.flag("user_metadata");
  using Shown = json::ObjectView::UserMetadata;
  const ShownAddress address = shown_address(context, presigner ? &*presigner : nullptr,
                                             found.repository, call.parameter("path"), found.entry);
  return json_response(
      200, json::object_body({.path = call.parameter("path"),
                              .entry = found.entry,
                              .physical_address = address.text,
                              .address_expiry = address.expiry,
                              .user_metadata = with_metadata ? Shown::kAlways : Shown::kEmpty}));
}

http::Response list_objects(const Context& context, Call& call) {
  const auto presigner = Presigner::asked_for(context, call);
  const auto page = versioning::list_objects(context.engine, call.repository(), call.path("ref"),
                                             {.prefix = std::string(call.parameter("prefix")),
                                              .after = std::string(call.parameter("after")),
                                              .delimiter = std::string(call.parameter("delimiter")),
                                              .limit = call.amount()});
  return listing(context, call, presigner, page);
}

http::Response search_objects(const Context& context, Call& call) {
  const auto presigner = Presigner::asked_for(context, call);
  const auto found = versioning::search_objects(context.engine, call.repository(), call.path("ref"),
                                                {.query = search_query_of(call.query),
                                                 .after = std::string(call.parameter("after")),
                                                 .limit = call.amount(),
                                                 .limits = {}});
  return listing(context, call, presigner, found.page);
}

http::Response get_underlying_properties(const Context& context, Call& call) {
  const versioning::FoundObject found = find(context, call);
  const std::string* storage_class = found.entry.extra(ExtraTag::kStorageClass);
  return json_response(
      200, json::underlying_properties_body(storage_class == nullptr ? "" : *storage_class));
}

http::Response create_symlinks(const Context& context, Call& call) {
  const std::string location = versioning::create_symlinks(
      context.engine, call.repository(), call.path("branch"), call.parameter("location"));
  return json_response(201, json::storage_uri_body(location));
}

}  // namespace tarn::api

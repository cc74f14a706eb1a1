#include "server/api/object_listing.h"

#include <map>

#include "core/auth/resource.h"
#include "core/branch/repositories.h"
#include "server/api/json/object.h"
#include "server/api/json/writer.h"
#include "server/api/response.h"

namespace tarn::api {
namespace {

constexpr size_t kBytesPerObject = 320;

json::ObjectView::UserMetadata shown_metadata(const Call& call) {
  const bool shown = call.parameter("user_metadata").empty() || call.flag("user_metadata");
  using Shown = json::ObjectView::UserMetadata;
  return shown ? Shown::kWhenAny : Shown::kNever;
}

}  // namespace

ShownAddress shown_address(const Context& context, const Presigner* presigner,
                           const Repository& repository, std::string_view ref,
                           std::string_view path, const Entry& entry) {
  if (presigner == nullptr)
    return {objects::physical_address(context.engine, repository, entry), std::nullopt};
  return {presigner->read_url(repository, ref, path, entry), presigner->expiry()};
}

http::Response object_listing(const Context& context, const Call& call,
                              const std::optional<Presigner>& presigner,
                              const Page<objects::ListItem>& page) {
  const Repository repository = repository_of(context, call);
  const std::string& ref = call.path("ref");
  const auto metadata = shown_metadata(call);
  const auto write_item = [&](json::Writer& out, const objects::ListItem& item) {
    if (!item.entry) return json::write_common_prefix(out, item.path);
    const bool presigned =
        presigner && call.allows(auth::Action::kReadObject,
                                 auth::object_arn(repository.name.str(), ref, item.path));
    const ShownAddress address = shown_address(context, presigned ? &*presigner : nullptr,
                                               repository, ref, item.path, *item.entry);
    json::write_object(out, {.path = item.path,
                             .entry = *item.entry,
                             .physical_address = address.text,
                             .address_expiry = address.expiry,
                             .user_metadata = metadata});
  };
  return json_response(200, json::list_of(page, kBytesPerObject, write_item));
}

http::Response found_listing(const Context& context, const Call& call,
                             const Page<objects::FoundAtPlace>& page) {
  const auto presigner = Presigner::asked_for(context, call);
  const auto metadata = shown_metadata(call);
  std::map<std::string, Repository> repositories;
  for (const objects::FoundAtPlace& item : page.items) {
    const std::string& name = item.place.repository;
    if (!repositories.contains(name))
      repositories[name] = branch::get_repository(context.engine, RepositoryName(name));
  }
  const auto write_item = [&](json::Writer& out, const objects::FoundAtPlace& item) {
    const objects::Place& place = item.place;
    const ShownAddress address =
        shown_address(context, presigner ? &*presigner : nullptr, repositories[place.repository],
                      place.ref, place.path, item.entry);
    json::write_object(out, {.path = place.path,
                             .entry = item.entry,
                             .physical_address = address.text,
                             .address_expiry = address.expiry,
                             .user_metadata = metadata,
                             .repository = place.repository,
                             .ref = place.ref});
  };
  return json_response(200, json::list_of(page, kBytesPerObject, write_item));
}

}  // namespace tarn::api

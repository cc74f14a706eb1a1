// Objects in listings and search results.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "core/objects/objects.h"
#include "core/objects/search_place.h"
#include "server/api/call.h"
#include "server/api/presigner.h"

namespace tarn::api {

/// The address of the bytes, or a URL to read them.
struct ShownAddress {
  std::string text;
  std::optional<Instant> expiry;
};
/// `presigner`: nullptr = no URL was requested, or the caller may not read the object.
ShownAddress shown_address(const Context& context, const Presigner* presigner,
                           const Repository& repository, std::string_view ref,
                           std::string_view path, const Entry& entry);

/// Lists objects of the repository and ref in the path.
http::Response object_listing(const Context& context, const Call& call,
                              const std::optional<Presigner>& presigner,
                              const Page<objects::ListItem>& page);
/// Shows each object with its repository and ref. The caller must be allowed to read all of them.
http::Response found_listing(const Context& context, const Call& call,
                             const Page<objects::FoundAtPlace>& page);

}  // namespace tarn::api

#include "s3gateway/operations/expiration.h"

#include "core/base/encoding.h"
#include "core/base/str_cat.h"
#include "core/objects/lifecycle.h"

namespace tarn::s3 {

void add_expiration(const Call& call, const Location& location, RepositoryId repository,
                    const Entry& entry, http::Headers& headers) {
  if (!location.bare || !location.rooted) return;
  const auto rules = versioning::shown_lifecycle(call.engine(), repository);
  const auto expiry = expiry_of(*rules, location.path, entry);
  if (!expiry) return;
  headers.add("x-amz-expiration",
              str_cat("expiry-date=\"", to_http_date(expiry->at), "\", rule-id=\"",
                      percent_encode(expiry->rule->id), "\""));
}

}  // namespace tarn::s3

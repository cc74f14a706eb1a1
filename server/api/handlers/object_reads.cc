#include <algorithm>
#include <array>

#include "core/base/error.h"
#include "core/base/str_cat.h"
#include "core/versioning/objects.h"
#include "core/versioning/repositories.h"
#include "server/api/errors.h"
#include "server/api/handlers/handlers.h"
#include "server/api/json/list.h"
#include "server/api/json/object.h"
#include "server/api/object_body.h"
#include "server/api/range.h"
#include "server/api/response.h"

namespace tarn::api {
namespace {

constexpr size_t kBytesPerObject = 320;

/// Types that a browser may show in the page's origin; anything else is offered as a download.
constexpr std::array<std::string_view, 24> kInlineTypes = {"application/javascript",
                                                           "application/json",
                                                           "application/pdf",
                                                           "application/xml",
                                                           "audio/mpeg",
                                                           "audio/wav",
                                                           "audio/webm",
                                                           "image/avif",
                                                           "image/bmp",
                                                           "image/gif",
                                                           "image/jpeg",
                                                           "image/png",
                                                           "image/svg+xml",
                                                           "image/tiff",
                                                           "image/webp",
                                                           "text/css",
                                                           "text/csv",
                                                           "text/html",
                                                           "text/javascript",
                                                           "text/markdown",
                                                           "text/plain",
                                                           "text/xml",
                                                           "video/mp4",
                                                           "video/webm"};

/// Entries may come from places that check less than this API does; no header may be split by one.
std::string_view safe_type(const Entry& entry) {
  const bool printable =
      std::all_of(entry.content_type.begin(), entry.content_type.end(),
                  [](char c) { return static_cast<unsigned char>(c) >= 0x20 && c != 0x7f; });
  return entry.content_type.empty() || !printable ? json::kDefaultContentType
                                                  : std::string_view(entry.content_type);
}

std::string quoted_etag(const Entry& entry) { return str_cat('"', entry.etag, '"'); }

void add_guards(http::Response& response) {
  response.headers.add("X-Frame-Options", "SAMEORIGIN");
  response.headers.add("Content-Security-Policy", "default-src 'none'");
  response.headers.add("Expires", "0");
  response.headers.add("Cache-Control", "no-store, must-revalidate");
}

void add_object_headers(http::Response& response, const Entry& entry) {
  const std::string_view type = safe_type(entry);
  response.headers.add("ETag", quoted_etag(entry));
  response.headers.add("Last-Modified", to_http_date(entry.mtime));
  response.headers.add("Content-Type", std::string(type));
  const bool shown =
      std::find(kInlineTypes.begin(), kInlineTypes.end(), type) != kInlineTypes.end();
  response.headers.add("Content-Disposition", shown ? "inline" : "attachment");
  response.headers.add("Accept-Ranges", "bytes");
  add_guards(response);
}

http::Response unsatisfiable(const Call& call, const Entry& entry, bool with_size) {
  const Error error(ErrorCode::kInvalidArgument, "range_not_satisfiable",
                    "Requested Range Not Satisfiable");
  http::Response response = failure_response(error, call.request.id);
  response.headers.add("ETag", quoted_etag(entry));
  response.headers.add("Last-Modified", to_http_date(entry.mtime));
  if (with_size) response.headers.add("Content-Range", str_cat("bytes */", entry.size_bytes));
  add_guards(response);
  return response;
}

/// The answer but for its bytes, and which bytes it wants (none for an error or an empty object).
struct Head {
  http::Response response;
  std::optional<blob::ByteRange> bytes;
};

Head head_of(const Call& call, const Entry& entry) {
  const RequestedRange wanted = parse_range(call.request.headers.get("Range"), entry.size_bytes);
  const bool is_head = call.request.method == "HEAD";
  if (std::holds_alternative<MalformedRange>(wanted))
    return {unsatisfiable(call, entry, false), std::nullopt};
  if (std::holds_alternative<BehindEnd>(wanted))
    return {unsatisfiable(call, entry, !is_head), std::nullopt};

  Head head;
  blob::ByteRange range{.offset = 0, .length = entry.size_bytes};
  if (const auto* part = std::get_if<blob::ByteRange>(&wanted)) {
    range = *part;
    head.response.status = 206;
    head.response.headers.add(
        "Content-Range", str_cat("bytes ", range.offset, "-", range.offset + range.length - 1, "/",
                                 entry.size_bytes));
  }
  add_object_headers(head.response, entry);
  head.response.content_length = range.length;
  if (range.length > 0) head.bytes = range;
  return head;
}

versioning::FoundObject find(const Context& context, const Call& call) {
  return versioning::get_object(context.engine, call.repository(), call.path("ref"), call.key());
}

}  // namespace

http::Response get_object(const Context& context, Call& call) {
  const versioning::FoundObject found = find(context, call);
  if (call.request.headers.get("If-None-Match") == quoted_etag(found.entry))
    return empty_response(304);
  call.refuse_presign();
  Head head = head_of(call, found.entry);
  if (head.bytes) {
    send_object(versioning::open_object(context.engine, found.repository, found.entry, *head.bytes),
                *head.bytes, head.response);
  }
  return std::move(head.response);
}

http::Response head_object(const Context& context, Call& call) {
  return head_of(call, find(context, call).entry).response;
}

http::Response stat_object(const Context& context, Call& call) {
  call.refuse_presign();
  const versioning::FoundObject found = find(context, call);
  const bool with_metadata = call.parameter("user_metadata").empty() || call.flag("user_metadata");
  using Shown = json::ObjectView::UserMetadata;
  return json_response(
      200, json::object_body({.path = call.parameter("path"),
                              .entry = found.entry,
                              .physical_address = versioning::physical_address(
                                  context.engine, found.repository, found.entry),
                              .user_metadata = with_metadata ? Shown::kAlways : Shown::kEmpty}));
}

http::Response list_objects(const Context& context, Call& call) {
  call.refuse_presign();
  const RepositoryName name = call.repository();
  const auto page = versioning::list_objects(context.engine, name, call.path("ref"),
                                             {.prefix = std::string(call.parameter("prefix")),
                                              .after = std::string(call.parameter("after")),
                                              .delimiter = std::string(call.parameter("delimiter")),
                                              .limit = call.amount()});
  const Repository repository = versioning::get_repository(context.engine, name);
  const bool with_metadata = call.parameter("user_metadata").empty() || call.flag("user_metadata");
  using Shown = json::ObjectView::UserMetadata;
  const auto write_item = [&](json::Writer& out, const versioning::ListItem& item) {
    if (!item.entry) return json::write_common_prefix(out, item.path);
    json::write_object(out, {.path = item.path,
                             .entry = *item.entry,
                             .physical_address = versioning::physical_address(
                                 context.engine, repository, *item.entry),
                             .user_metadata = with_metadata ? Shown::kWhenAny : Shown::kNever});
  };
  return json_response(200, json::list_of(page, kBytesPerObject, write_item));
}

http::Response get_underlying_properties(const Context& context, Call& call) {
  const versioning::FoundObject found = find(context, call);
  const std::string* storage_class = found.entry.extra(ExtraTag::kStorageClass);
  return json_response(
      200, json::underlying_properties_body(storage_class == nullptr ? "" : *storage_class));
}

}  // namespace tarn::api

#include "server/api/object_answer.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>
#include <utility>

#include "core/base/encoding.h"
#include "core/base/error.h"
#include "core/base/reasons.h"
#include "core/base/str_cat.h"
#include "core/base/text.h"
#include "core/http/range.h"
#include "core/model/content_type.h"
#include "core/objects/objects.h"
#include "server/api/errors.h"
#include "server/api/json/object.h"
#include "server/api/object_body.h"
#include "server/api/response.h"

namespace tarn::api {
namespace {

/// Content types that a browser may display in the page's origin. All others are offered as a
/// download: an HTML page or an SVG would run scripts there, and a PDF cannot be shown in a
/// sandbox.
constexpr std::array<std::string_view, 16> kInlineTypes = {
    "application/json", "audio/mpeg", "audio/wav", "audio/webm", "image/avif", "image/bmp",
    "image/gif",        "image/jpeg", "image/png", "image/tiff", "image/webp", "text/csv",
    "text/markdown",    "text/plain", "video/mp4", "video/webm"};

/// The content type, replaced if it could split a header: some sources of entries check less than
/// this API does.
std::string_view safe_type(const Entry& entry) {
  return entry.content_type.empty() || has_control(entry.content_type)
             ? kDefaultContentType
             : std::string_view(entry.content_type);
}

void add_guards(http::Response& response) {
  response.headers.add("X-Frame-Options", "SAMEORIGIN");
  response.headers.add("Content-Security-Policy",
                       "default-src 'none'; sandbox; form-action 'none'; base-uri 'none'");
  response.headers.add("Expires", "0");
  response.headers.add("Cache-Control", "no-store, must-revalidate");
}

void add_object_headers(http::Response& response, std::string_view path, const Entry& entry) {
  const std::string_view type = safe_type(entry);
  response.headers.add("ETag", quoted_etag(entry));
  response.headers.add("Last-Modified", to_http_date(entry.mtime));
  response.headers.add("Content-Type", std::string(type));
  const bool shown =
      std::find(kInlineTypes.begin(), kInlineTypes.end(), type) != kInlineTypes.end();
  response.headers.add("Content-Disposition",
                       content_disposition(shown ? "inline" : "attachment", path));
  response.headers.add("Accept-Ranges", "bytes");
  add_guards(response);
}

http::Response unsatisfiable(const http::Request& request, const Entry& entry, bool with_size) {
  const Error error(ErrorCode::kInvalidArgument, reason::kRangeNotSatisfiable,
                    "Requested Range Not Satisfiable");
  http::Response response = failure_response(error, request.id);
  response.headers.add("ETag", quoted_etag(entry));
  response.headers.add("Last-Modified", to_http_date(entry.mtime));
  if (with_size) response.headers.add("Content-Range", str_cat("bytes */", entry.size_bytes));
  add_guards(response);
  return response;
}

}  // namespace

std::string content_disposition(std::string_view kind, std::string_view path) {
  const std::string_view name = path.substr(path.rfind('/') + 1);
  if (name.empty()) return std::string(kind);
  std::string ascii(name);
  for (char& c : ascii) {
    const bool plain = c >= 0x20 && c < 0x7f && c != '"' && c != '\\' && c != '%';
    if (!plain) c = '_';
  }
  std::string out = str_cat(kind, "; filename=\"", ascii, '"');
  if (ascii != name && is_utf8(name)) out += str_cat("; filename*=UTF-8''", percent_encode(name));
  return out;
}

std::string quoted_etag(const Entry& entry) { return str_cat('"', entry.etag, '"'); }

http::Response object_answer(branch::Engine& engine, const http::Request& request,
                             const Repository& repository, std::string_view path,
                             const Entry& entry, objects::ReadCheck check) {
  const http::RequestedRange wanted =
      http::parse_range(request.headers.get("Range"), entry.size_bytes);
  const bool is_head = request.method == "HEAD";
  if (std::holds_alternative<http::MalformedRange>(wanted)) {
    return unsatisfiable(request, entry, false);
  }
  if (std::holds_alternative<http::RangeBehindEnd>(wanted)) {
    return unsatisfiable(request, entry, !is_head);
  }

  http::Response response;
  blob::ByteRange range{.offset = 0, .length = entry.size_bytes};
  if (const auto* part = std::get_if<http::ByteRange>(&wanted)) {
    range = {.offset = part->offset, .length = part->length};
    response.status = 206;
    response.headers.add("Content-Range",
                         str_cat("bytes ", range.offset, "-", range.offset + range.length - 1, "/",
                                 entry.size_bytes));
  }
  add_object_headers(response, path, entry);
  response.content_length = range.length;
  if (range.length > 0 && !is_head) {
    auto reader = response.status == 206
                      ? objects::open_object(engine, repository, entry, range)
                      : objects::open_checked_object(engine, repository, path, entry, check);
    send_object(std::move(reader), range, response);
  }
  return response;
}

}  // namespace tarn::api

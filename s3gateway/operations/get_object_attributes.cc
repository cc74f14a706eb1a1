#include <algorithm>

#include "core/base/str_cat.h"
#include "core/base/text.h"
#include "core/objects/multipart.h"
#include "s3gateway/operations/lookup.h"
#include "s3gateway/operations/object_headers.h"
#include "s3gateway/operations/operations.h"
#include "s3gateway/wire/errors.h"
#include "s3gateway/wire/list_query.h"
#include "s3gateway/xml/documents.h"

namespace tarn::s3 {
namespace {

std::optional<std::string> header(const Call& call, std::string_view name) {
  const std::string* value = call.request.headers.find(name);
  return value ? std::optional<std::string>(*value) : std::nullopt;
}

std::optional<xml::ObjectAttributesResult::Parts> parts_page(Call& call, const Entry& entry) {
  const std::vector<objects::UploadedPart> parts = object_parts(call.engine(), entry);
  if (parts.empty()) return std::nullopt;
  xml::ObjectAttributesResult::Parts out;
  out.total = parts.size();
  out.max_parts = std::min(check_number(header(call, "x-amz-max-parts"), "x-amz-max-parts", 0,
                                        INT32_MAX, kPartsPerPageMax),
                           kPartsPerPageMax);
  out.marker = check_number(header(call, "x-amz-part-number-marker"), "x-amz-part-number-marker", 0,
                            INT32_MAX, 0);
  for (const objects::UploadedPart& part : parts) {
    if (part.number <= out.marker) continue;
    if (out.parts.size() == out.max_parts) {
      out.truncated = true;
      break;
    }
    out.parts.push_back({part.number, part.size_bytes, part.checksums});
    out.next_marker = part.number;
  }
  return out;
}

/// The names in x-amz-object-attributes, which may be spread over several headers.
std::vector<std::string> asked_for(const http::Headers& headers) {
  std::vector<std::string> out;
  for (const auto& [name, value] : headers.all()) {
    if (!equal_ignoring_case(name, "x-amz-object-attributes")) continue;
    std::string word;
    for (char c : value + ",") {
      if (c != ',' && c != ' ' && c != '\t') {
        word.push_back(c);
      } else if (!word.empty()) {
        out.push_back(std::exchange(word, {}));
      }
    }
  }
  return out;
}

}  // namespace

http::Response run(Call& call, const GetObjectAttributes& endpoint) {
  const std::vector<std::string> names = asked_for(call.request.headers);
  const VersionedObject found = require_object(
      call.engine(), locate(call, endpoint.bucket, endpoint.key), endpoint.version_id);
  const Entry& entry = found.entry;
  xml::ObjectAttributesResult result;
  for (const std::string& name : names) {
    if (name == "ETag") {
      result.etag = entry.etag;
    } else if (name == "Checksum") {
      result.checksums = entry.checksums();
    } else if (name == "ObjectParts") {
      result.parts = parts_page(call, entry);
    } else if (name == "StorageClass") {
      result.storage_class = std::string(storage_class_of(entry));
    } else if (name == "ObjectSize") {
      result.size_bytes = entry.size_bytes;
    } else {
      throw Refusal(
          failure::kInvalidArgument,
          "x-amz-object-attributes must name ETag, Checksum, ObjectParts, StorageClass or "
          "ObjectSize.",
          {{"ArgumentName", "x-amz-object-attributes"}, {"ArgumentValue", name}});
    }
  }
  if (names.empty()) {
    throw Refusal(failure::kInvalidArgument, "The header x-amz-object-attributes is required.",
                  {{"ArgumentName", "x-amz-object-attributes"}});
  }
  http::Response response = xml_response(200, to_xml(result));
  response.headers.add("Last-Modified", to_http_date(std::min(entry.mtime, call.now())));
  add_version_header(response.headers, found.version_id);
  return response;
}

}  // namespace tarn::s3

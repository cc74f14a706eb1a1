// Multipart uploads to presigned URLs. Where the store signs URLs, the upload is the store's own;
// otherwise it is ours, as over S3.
#include <charconv>

#include "core/base/error.h"
#include "core/base/reasons.h"
#include "core/base/str_cat.h"
#include "core/http/range.h"
#include "core/model/content_type.h"
#include "core/objects/direct_upload.h"
#include "core/objects/multipart.h"
#include "server/api/handlers/handlers.h"
#include "server/api/json/object.h"
#include "server/api/parameter.h"
#include "server/api/presigner.h"
#include "server/api/quota_warning.h"
#include "server/api/response.h"
#include "server/api/user_metadata.h"

namespace tarn::api {
namespace {

void check_offered(const Context& context) {
  if (context.installation.presign) return;
  throw Error(ErrorCode::kUnimplemented, reason::kPresignUnsupported,
              "presign multipart upload API is not supported");
}

uint32_t part_number(const Call& call) {
  const std::string& text = call.path("partNumber");
  uint32_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || number < 1 ||
      number > objects::kPartNumberMax) {
    throw_invalid(
        str_cat("parameter \"partNumber\" in path has an error: must be an integer from "
                "1 to ",
                objects::kPartNumberMax));
  }
  return number;
}

/// An upload in progress: its target and the store or server that keeps its parts.
struct OpenUpload {
  objects::UploadTarget target;
  OwnAddress address;
  objects::DirectObject object;
  std::string id;
};

OpenUpload open_upload(const Context& context, const Call& call,
                       const std::string& physical_address) {
  check_offered(context);
  objects::UploadTarget target = objects::check_upload(context.engine, call.repository(),
                                                       call.branch(), call.key(), false, {});
  const OwnAddress address = objects::own_handed_out_address(
      context.engine, target, physical_address, call.caller.user.name);
  auto object = objects::direct_object(context.engine, target.repository, address);
  return {std::move(target), address, std::move(object), call.path("uploadId")};
}

objects::MultipartUpload kept_upload(const Context& context, const OpenUpload& upload) {
  return objects::get_multipart(context.engine, upload.target.repository.name,
                                upload.target.branch.name, upload.target.key, upload.id);
}

std::string part_url(const Presigner& presigner, const OpenUpload& upload, uint32_t number) {
  if (upload.object.access == nullptr)
    return presigner.part_url(upload.target.repository, upload.address, upload.id, number);
  return upload.object.access->url_to_write_part({upload.object.key, upload.id, number},
                                                 presigner.terms());
}

std::string begin(const Context& context, const Call& call, const OpenUpload& upload) {
  if (upload.object.access != nullptr) {
    return objects::begin_direct_upload(context.engine, upload.target, upload.address,
                                        upload.object, call.caller.user.name);
  }
  return objects::create_multipart(context.engine, upload.target,
                                   {.owner = call.caller.user.name,
                                    .attributes = {},
                                    .checksum_algorithm = {},
                                    .checksum_type = {}})
      .upload_id;
}

Entry complete(const Context& context, const OpenUpload& upload, json::CompleteUpload given) {
  objects::ObjectAttributes attributes{
      .content_type = content_type_of_new(std::move(given.content_type), upload.target.key.str()),
      .user_metadata = std::move(given.metadata),
      .extras = {}};
  if (upload.object.access != nullptr) {
    std::vector<blob::SentPart> parts;
    for (json::CompleteUpload::Part& part : given.parts)
      parts.push_back({part.number, std::move(part.etag)});
    return objects::complete_direct_upload(context.engine, upload.target, upload.address, upload.id,
                                           parts, attributes);
  }
  objects::Completion completion;
  for (json::CompleteUpload::Part& part : given.parts)
    completion.parts.push_back({part.number, std::move(part.etag), {}});
  completion.attributes = std::move(attributes);
  const objects::UploadTarget& target = upload.target;
  std::optional<objects::MultipartUpload> kept;
  try {
    kept = kept_upload(context, upload);
  } catch (const Error& error) {
    if (error.reason() != reason::kNoSuchUpload) throw;
    auto entry = objects::completed_before(context.engine, target.repository.name,
                                           target.branch.name, target.key, completion.parts);
    if (!entry) throw;
    return *std::move(entry);
  }
  return objects::complete_multipart(context.engine, *kept, completion);
}

blob::ByteRange copied_range(const json::CopyPart& given, const Entry& entry) {
  const http::RequestedRange range = http::parse_range(given.range, entry.size_bytes);
  if (const auto* part = std::get_if<http::ByteRange>(&range)) return {part->offset, part->length};
  if (std::holds_alternative<http::WholeContent>(range)) return {0, entry.size_bytes};
  throw Error(ErrorCode::kInvalidArgument, reason::kRangeNotSatisfiable,
              "request body: /copy_source/range: is no range of the source");
}

}  // namespace

http::Response create_presigned_upload(const Context& context, Call& call) {
  check_offered(context);
  const Presigner presigner(context, call);
  OpenUpload upload{objects::check_upload(context.engine, call.repository(), call.branch(),
                                          call.key(), false, {}),
                    {},
                    {},
                    {}};
  const auto address = objects::hand_out_address(context.engine, upload.target.repository.name,
                                                 upload.target.branch.name, upload.target.key,
                                                 call.caller.user.name);
  upload.address = address.own;
  upload.object = objects::direct_object(context.engine, address.repository, address.own);
  upload.id = begin(context, call, upload);
  json::PresignedUpload out{.upload_id = upload.id, .physical_address = address.text, .urls = {}};
  const uint32_t parts = parse_part_count(call.parameter("parts")).value_or(0);
  for (uint32_t number = 1; number <= parts; ++number)
    out.urls.push_back(part_url(presigner, upload, number));
  return json_response(201, json::presigned_upload_body(out));
}

http::Response presign_part(const Context& context, Call& call, std::string address) {
  const OpenUpload upload = open_upload(context, call, address);
  if (upload.object.access == nullptr) kept_upload(context, upload);  // throws when it has ended
  return json_response(
      200, json::upload_to_body(part_url(Presigner(context, call), upload, part_number(call))));
}

http::Response copy_presigned_part(const Context& context, Call& call, json::CopyPart given) {
  const OpenUpload upload = open_upload(context, call, given.physical_address);
  const uint32_t number = part_number(call);
  const auto held = objects::hold_sources(context.engine);
  const objects::FoundObject source = objects::get_object(
      context.engine, parse_repository_name(given.repository), given.ref, parse_key(given.path));
  const blob::ByteRange range = copied_range(given, source.entry);
  const std::string etag =
      upload.object.access != nullptr
          ? objects::copy_direct_part(context.engine, *upload.object.access,
                                      {upload.object.key, upload.id, number}, source, range)
          : objects::copy_part(context.engine, kept_upload(context, upload), number, source, range)
                .etag;
  http::Response response = empty_response(204);
  response.headers.add("ETag", str_cat('"', etag, '"'));
  add_quota_warning(context, upload.target.repository.id, upload.target.branch.name.str(),
                    response);
  return response;
}

http::Response complete_presigned_upload(const Context& context, Call& call,
                                         json::CompleteUpload given) {
  check_user_metadata(given.metadata);
  const OpenUpload upload = open_upload(context, call, given.physical_address);
  const Entry entry = complete(context, upload, std::move(given));
  http::Response response =
      json_response(200, json::object_body({.path = upload.target.key.str(),
                                            .entry = entry,
                                            .physical_address = objects::physical_address(
                                                context.engine, upload.target.repository, entry)}));
  add_quota_warning(context, upload.target.repository.id, upload.target.branch.name.str(),
                    response);
  return response;
}

http::Response abort_presigned_upload(const Context& context, Call& call, std::string address) {
  const OpenUpload upload = open_upload(context, call, address);
  if (upload.object.access != nullptr) {
    objects::abort_direct_upload(context.engine, upload.target, upload.address, upload.object,
                                 upload.id);
  } else {
    objects::abort_multipart(context.engine, kept_upload(context, upload));
  }
  return empty_response(204);
}
}  // namespace tarn::api

#include "s3gateway/operations/bucket_cors.h"

#include "core/branch/bucket_settings.h"
#include "s3gateway/operations/lookup.h"
#include "s3gateway/operations/operations.h"
#include "s3gateway/wire/address.h"
#include "s3gateway/wire/errors.h"
#include "s3gateway/xml/bucket_documents.h"
#include "s3gateway/xml/cors.h"

namespace tarn::s3 {
namespace {

constexpr Failure kNoSuchCors{"NoSuchCORSConfiguration", 404};

/// The bucket that the request names; nullopt if none could have the name.
std::optional<BucketName> named_bucket(const S3Context& context, const http::Request& request) {
  try {
    return parse_bucket(parse_address(request, context.options.hosts).bucket);
  } catch (const Refusal&) {
    return std::nullopt;
  }
}

Repository existing_repository(Call& call, const std::string& bucket) {
  return require_existing(call.engine(), require_bucket(call, bucket));
}

}  // namespace

CorsRules cors_rules(const S3Context& context, const http::Request& request) {
  if (const auto bucket = named_bucket(context, request)) {
    const auto document = branch::find_cors(context.engine, bucket->repository);
    if (document) return xml::parse_cors(*document);
  }
  return context.options.cors;
}

http::Response run(Call& call, const CorsPreflight&) {
  return answer_preflight(cors_rules(call.context, call.request), call.request.headers);
}

http::Response run(Call& call, const GetBucketCors& endpoint) {
  const auto document =
      branch::find_cors(call.engine(), existing_repository(call, endpoint.bucket).name);
  if (document) return xml_response(200, *document);
  throw Refusal(kNoSuchCors, "The CORS configuration does not exist",
                {{"BucketName", endpoint.bucket}});
}

http::Response run(Call& call, const PutBucketCors& endpoint) {
  const CorsRules rules = xml::parse_cors(read_document(call, xml::kConfigurationDocumentBytesMax));
  branch::set_cors(call.engine(), existing_repository(call, endpoint.bucket),
                   xml::cors_to_xml(rules));
  return http::Response{};
}

http::Response run(Call& call, const DeleteBucketCors& endpoint) {
  branch::set_cors(call.engine(), existing_repository(call, endpoint.bucket), std::nullopt);
  return no_content();
}

}  // namespace tarn::s3

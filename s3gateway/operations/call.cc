#include "s3gateway/operations/call.h"

#include "core/base/encoding.h"
#include "core/base/str_cat.h"
#include "core/branch/repositories.h"
#include "s3gateway/wire/address.h"
#include "s3gateway/wire/checksums.h"
#include "s3gateway/wire/errors.h"

namespace tarn::s3 {
namespace {

sigv4::PayloadOptions options_for(const http::Headers& headers,
                                  const std::vector<sigv4::ChecksumAlgorithm>& keep) {
  sigv4::PayloadOptions options = payload_options(headers);
  options.compute = keep;
  if (!keep.empty()) options.crc64nvme = false;
  return options;
}

}  // namespace

std::optional<BucketName> find_bucket(Call& call, std::string_view bucket) {
  if (const auto at = call.buckets.find(bucket); at != call.buckets.end()) return at->second;
  std::optional<BucketName> name = parse_bucket(bucket);
  if (name && !name->rooted()) {
    if (const auto branch = branch::bucket_root(call.engine(), name->repository)) {
      name->ref = branch->str();
    }
  }
  return call.buckets.emplace(bucket, std::move(name)).first->second;
}

BucketName require_bucket(Call& call, std::string_view bucket) {
  std::optional<BucketName> name = find_bucket(call, bucket);
  if (!name) {
    throw Refusal(failure::kNoSuchBucket,
                  "The specified bucket does not exist: no repository can have this name.",
                  {{"BucketName", std::string(bucket)}});
  }
  return std::move(*name);
}

Location locate(Call& call, std::string_view bucket, std::string_view key) {
  return locate(require_bucket(call, bucket), key);
}

PayloadBody::PayloadBody(Call& call, std::vector<sigv4::ChecksumAlgorithm> keep)
    : keep_(std::move(keep)),
      payload_(sigv4::verified_payload(call.request, call.verified,
                                       options_for(call.request.headers, keep_))) {}

size_t PayloadBody::read(std::span<char> out) { return payload_->read(out); }

objects::UploadDigests PayloadBody::digests() {
  const sigv4::PayloadResult& result = payload_->result();
  objects::UploadDigests out{to_hex(result.md5), kept_checksums(result)};
  for (sigv4::ChecksumAlgorithm algorithm : keep_) {
    const std::string* digest = result.checksum(algorithm);
    if (digest && algorithm != result.declared) {
      out.checksums.push_back({std::string(sigv4::name_of(algorithm)), false, *digest, 0});
    }
  }
  out.sha256 = result.sha256;
  return out;
}

void check_upload_length(const Call& call, std::optional<uint64_t> length) {
  if (!call.request.content_length && !call.request.chunked) {
    throw Refusal(failure::kMissingContentLength,
                  "You must provide the Content-Length HTTP header.");
  }
  if (length.value_or(0) > kSinglePutBytesMax) {
    throw Refusal(
        failure::kEntityTooLarge,
        "Your proposed upload exceeds the maximum allowed size of 5 GiB. Use a multipart upload.",
        {{"ProposedSize", std::to_string(*length)},
         {"MaxSizeAllowed", std::to_string(kSinglePutBytesMax)}});
  }
}

std::string read_document(Call& call, size_t bytes_max) {
  sigv4::PayloadOptions options;
  options.md5 = options.crc64nvme = false;
  call.request.body->end_by(std::chrono::steady_clock::now() + http::kDocumentTimeMax);
  const auto payload = sigv4::verified_payload(call.request, call.verified, options);
  if (payload->length().value_or(0) > bytes_max) {
    throw Refusal(
        failure::kEntityTooLarge,
        str_cat("The document in the request's body is larger than ", bytes_max, " bytes."));
  }
  return http::read_all(*payload, bytes_max);
}

std::string object_url(const Call& call, std::string_view bucket, std::string_view key) {
  const std::string_view host = call.request.headers.get("host");
  const std::string in_host = subdomain_of(host, call.context.options.hosts).value_or("");
  std::string url = str_cat(call.request.tls ? "https://" : "http://", host, '/');
  if (in_host.empty()) url += str_cat(percent_encode(bucket), '/');
  return url + percent_encode(key, /*keep_slash=*/true);
}

http::Response xml_response(int status, std::string document) {
  http::Response response;
  response.status = status;
  response.headers.add("Content-Type", "application/xml");
  response.body = std::move(document);
  return response;
}

http::Response no_content() {
  http::Response response;
  response.status = 204;
  return response;
}

}  // namespace tarn::s3

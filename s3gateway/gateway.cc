#include "s3gateway/gateway.h"

#include <memory>
#include <utility>

#include "core/auth/authenticator.h"
#include "core/base/acting_user.h"
#include "core/base/digest.h"
#include "core/base/encoding.h"
#include "core/base/fault.h"
#include "core/base/memory_share.h"
#include "core/base/str_cat.h"
#include "core/base/text.h"
#include "core/branch/hooks.h"
#include "core/http/access_log.h"
#include "core/http/message.h"
#include "core/sigv4/authorization.h"
#include "core/sigv4/verify.h"
#include "s3gateway/operations/access_control.h"
#include "s3gateway/operations/authorise.h"
#include "s3gateway/operations/bucket_cors.h"
#include "s3gateway/operations/call.h"
#include "s3gateway/operations/operations.h"
#include "s3gateway/probe.h"
#include "s3gateway/wire/address.h"
#include "s3gateway/wire/amz_headers.h"
#include "s3gateway/wire/endpoint.h"
#include "s3gateway/wire/errors.h"
#include "s3gateway/wire/post_form.h"
#include "s3gateway/xml/documents.h"

namespace tarn::s3 {
namespace {

// Authentication of S3 requests by their signatures.

struct Caller {
  auth::Principal principal;
  sigv4::VerifiedRequest verified;
};

auth::AccessKey require_key(const S3Context& context, const sigv4::Authorization& authorization) {
  std::optional<auth::AccessKey> key = context.authenticator.find_key(authorization.access_key_id);
  if (key) return *std::move(key);
  throw Refusal(failure::kInvalidAccessKeyId,
                "The AWS Access Key Id you provided does not exist in our records.",
                {{"AWSAccessKeyId", authorization.access_key_id}});
}

/// The caller of an unsigned request. Without a user for such requests the caller has no
/// permissions; authorise may still let it read public buckets.
Caller anonymous(const S3Context& context) {
  if (context.options.anonymous_user.empty()) {
    if (!context.options.public_buckets) refuse_unsigned();
    return {{auth::User{}, std::make_shared<const auth::Permissions>()}, {}};
  }
  auto principal = context.authenticator.find_user(context.options.anonymous_user);
  if (!principal) {
    throw Refusal(
        failure::kAccessDenied,
        "Access Denied: the user that unsigned requests act as does not exist. Create it, "
        "or sign the request.");
  }
  return {*std::move(principal), {}};
}

/// Adds headers that a presigned URL carries in its query to the request. `bucket_in_host` is the
/// bucket in the Host header, "" for path style. Throws AccessDenied (no signature),
/// InvalidAccessKeyId, and what core/sigv4 throws.
Caller authenticate(const S3Context& context, http::Request& request,
                    std::string_view bucket_in_host) {
  const sigv4::Authorization authorization = sigv4::parse_authorization(request);
  if (authorization.mechanism == sigv4::Mechanism::kNone) return anonymous(context);
  auth::AccessKey key = require_key(context, authorization);
  // Any region is accepted: clients are often configured with one of their own. Signers of version
  // 2 leave out the parameters of listings, so only URLs, which others hold, must cover them.
  const bool is_shared = authorization.mechanism == sigv4::Mechanism::kV2Query;
  const sigv4::VerifyRules rules{context.options.allow_v2,
                                 {},
                                 bucket_in_host,
                                 is_shared ? &is_read_from_query : &selects_operation};
  Caller caller{std::move(key.principal),
                sigv4::verify(authorization, request, key.secret, rules, context.clock.now())};
  context.authenticator.note_signature(authorization.access_key_id, request.peer);
  if (authorization.mechanism == sigv4::Mechanism::kV4Query ||
      authorization.mechanism == sigv4::Mechanism::kV2Query) {
    sigv4::hoist_query_headers(request);
  }
  return caller;
}

/// Authenticates a form by its signed policy, but does not check that the policy permits the form.
/// `request` itself must be unsigned. Throws as authenticate does.
Caller authenticate_form(const S3Context& context, const http::Request& request,
                         const PostForm& form) {
  if (sigv4::looks_signed(request)) {
    throw Refusal(failure::kInvalidArgument,
                  "Only one auth mechanism allowed: a form is signed by its policy alone.");
  }
  const sigv4::Authorization authorization = sigv4::parse_form_authorization(form.fields);
  if (authorization.mechanism == sigv4::Mechanism::kNone) return anonymous(context);
  auth::AccessKey key = require_key(context, authorization);
  const sigv4::VerifyRules rules{context.options.allow_v2, {}, {}};
  return {std::move(key.principal), sigv4::verify_form(authorization, form.fields.get("policy"),
                                                       key.secret, rules, context.clock.now())};
}

constexpr size_t kHostIdBytes = 18;
constexpr std::string_view kRestPath = "/api";
constexpr std::string_view kMinioPath = "/minio/";
constexpr std::string_view kUnparsed = "Unparsed";

void check_expected_owner(const S3Context& context, const http::Request& request) {
  const std::string* owner = request.headers.find("x-amz-expected-bucket-owner");
  if (!owner || *owner == context.options.owner_id) return;
  throw Refusal(failure::kAccessDenied,
                "Access Denied: the bucket has another owner than x-amz-expected-bucket-owner.");
}

std::string bucket_in_host(const S3Context& context, const http::Request& request) {
  return subdomain_of(request.headers.get("host"), context.options.hosts).value_or("");
}

http::Response answer(const S3Context& context, http::Request& request,
                      http::AccessRecord& record) {
  Endpoint endpoint = parse_endpoint(request, context.options.hosts);
  record.operation = name_of(endpoint);
  std::optional<PostForm> form;
  if (auto* post = std::get_if<PostObject>(&endpoint)) {
    form = read_post_form(request);
    post->key = form->key;
  }
  Caller caller;  // empty for preflights, which are never signed
  if (form) {
    caller = authenticate_form(context, request, *form);
  } else if (!std::holds_alternative<CorsPreflight>(endpoint)) {
    caller = authenticate(context, request, bucket_in_host(context, request));
  }
  record.user = caller.principal.user.name;
  Call call{context, request, std::move(caller.principal), std::move(caller.verified),
            form ? &*form : nullptr};
  check_expected_owner(context, request);
  authorise(call, endpoint);
  if (action_of(endpoint)) {
    check_amz_headers(request.headers, record.operation,
                      request.method == "GET" || request.method == "HEAD");
  }
  const ActingUser user(call.caller.user.name, request.peer, call.caller.limits);
  const MemoryScope memory(call.caller.user.name);
  http::Response response = std::visit([&](const auto& e) { return run(call, e); }, endpoint);
  confirm_public(call, endpoint);
  response.hold_memory(request.method);
  return response;
}

/// Identifies this process, so that support can tell which of several servers answered.
const std::string& host_id() {
  static const std::string kId = to_base64(random_bytes(kHostIdBytes));
  return kId;
}

/// Whether the client's endpoint URL wrongly ends in the REST API's path.
bool looks_like_rest_endpoint(const http::Request& request, const Failure& failure) {
  const std::string_view path = request.raw_path();
  return failure.code == failure::kNoSuchBucket.code &&
         (path == kRestPath || path.starts_with("/api/"));
}

log::Level level_of(const Failure& failure, const std::exception& error) {
  if (failure.status >= 500 && failure.code != failure::kSlowDown.code && is_server_fault(error)) {
    return log::Level::kError;
  }
  // Credentials that were refused, as opposed to none.
  const bool refused_sign_in = failure.code == failure::kInvalidAccessKeyId.code ||
                               failure.code == failure::kSignatureDoesNotMatch.code ||
                               failure.code == failure::kRequestTimeTooSkewed.code;
  return refused_sign_in ? log::Level::kWarn : log::Level::kInfo;
}

http::Response failed(const http::Request& request, const std::exception& error,
                      http::AccessRecord& record) {
  ErrorAnswer answer = answer_for(error);
  if (looks_like_rest_endpoint(request, answer.failure)) {
    answer.failure = failure::kPossibleApiEndpoint;
    answer.message =
        "Repository \"api\" not found: the endpoint URL given to the S3 client seems to end in "
        "\"/api/v1\". Use the URL without it.";
  }
  if (answer.failure.code == failure::kNoSuchBucket.code &&
      request.raw_path().starts_with(kMinioPath)) {
    answer.message += ": this server is Tarn, not MinIO, and has nothing below /minio.";
  }
  record.code = answer.failure.code;
  record.error = error.what();
  record.level = level_of(answer.failure, error);
  http::Response response;
  response.status = answer.failure.status;
  response.headers = std::move(answer.headers);
  response.headers.add("Content-Type", "application/xml");
  const std::string document =
      to_xml(xml::ErrorDocument{answer.failure.code, answer.message, request.raw_path(), request.id,
                                host_id(), std::move(answer.elements)});
  if (request.method == "HEAD") {
    response.content_length = 0;
  } else {
    response.body = document;
  }
  return response;
}

/// Only pages of other origins send an Origin, so other requests do not wait for the bucket's
/// rules.
void add_cors(const S3Context& context, const http::Request& request, http::Headers& response) {
  if (!request.headers.find("origin")) {
    return add_cors_headers(context.options.cors, request, response);
  }
  try {
    add_cors_headers(cors_rules(context, request), request, response);
  } catch (const std::exception& error) {
    log::warn("cors_rules_unknown", {{"error", error.what()}});
  }
}

void add_common_headers(const S3Context& context, const http::Request& request,
                        http::Response& response) {
  response.headers.add("x-amz-request-id", request.id);
  response.headers.add("x-amz-id-2", host_id());
  response.headers.add("x-amz-bucket-region", context.options.region);
}

void finish(const S3Context& context, const http::Request& request, http::Response& response,
            http::AccessRecord& record) {
  add_common_headers(context, request, response);
  Probe::instance().answered({.operation = record.operation,
                              .code = record.code,
                              .status = response.status,
                              .seconds = record.seconds(),
                              .received_bytes = *record.received_bytes,
                              .sent_bytes = http::announced_bytes(request, response)});
  // Logs host-style requests as path-style ones, so that the path contains the bucket.
  const std::string bucket = bucket_in_host(context, request);
  if (!bucket.empty()) record.path = str_cat("/", bucket, request.raw_path());
  record.write_log(request, response);
}

/// The response to a request that no operation handles.
http::Response refused(const S3Context& context, const http::Request& request,
                       const Refusal& refusal) {
  http::AccessRecord record{.api = "s3", .operation = kUnparsed};
  http::Response response = failed(request, refusal, record);
  // This runs where nothing may wait, so the bucket's own rules are not asked for.
  add_cors_headers(context.options.cors, request, response.headers);
  finish(context, request, response, record);
  return response;
}

bool is_form_post(const http::Request& request, std::string_view path) {
  constexpr std::string_view kForm = "multipart/form-data";
  const std::string_view type = request.headers.get("content-type");
  if (request.method != "POST" || !starts_with_ignoring_case(type, kForm) || path.size() < 2) {
    return false;
  }
  // "/bucket" or "/bucket/"
  const size_t slash = path.find('/', 1);
  return slash == std::string_view::npos || slash + 1 == path.size();
}

}  // namespace

bool is_s3_request(const http::Request& request, const S3Options& options) {
  if (sigv4::looks_signed(request)) return true;
  if (subdomain_of(request.headers.get("host"), options.hosts)) return true;
  const std::string_view path = request.raw_path();
  if (path == kRestPath || path.starts_with("/api/")) return false;
  return is_form_post(request, path) ||
         (request.method == "OPTIONS" &&
          request.headers.find("access-control-request-method") != nullptr);
}

http::Response handle(const S3Context& context, http::Request& request) {
  http::AccessRecord record{.api = "s3", .operation = kUnparsed};
  record.count_body(request);
  http::Response response;
  try {
    response = answer(context, request, record);
  } catch (const std::exception& error) {
    response = failed(request, error, record);
  }
  add_cors(context, request, response.headers);
  finish(context, request, response, record);
  return response;
}

http::Response refuse(const S3Context& context, const http::Request& request,
                      std::string_view why) {
  http::Headers headers;
  headers.add("Retry-After", "1");
  return refused(context, request,
                 Refusal(failure::kSlowDown, str_cat("Please reduce your request rate: ", why, '.'),
                         {}, std::move(headers)));
}

http::Response refuse_large_head(const S3Context& context, const http::Request& request) {
  http::Request known;
  known.method = request.method;
  known.id = request.id;
  known.peer = request.peer;
  return refused(context, known,
                 Refusal(failure::kRequestHeaderSectionTooLarge,
                         "The request line and the headers are larger than this server reads: send "
                         "fewer or shorter headers and query parameters."));
}

}  // namespace tarn::s3

#include "core/sigv4/testing/signed_requests.h"

#include <charconv>

#include "core/base/digest.h"
#include "core/base/encoding.h"
#include "core/base/str_cat.h"
#include "core/base/text.h"
#include "core/sigv4/canonical.h"
#include "core/sigv4/signature_v2.h"

namespace tarn::sigv4::testing {
namespace {

std::string hex_of(size_t number) {
  char digits[16];
  const auto end = std::to_chars(digits, digits + sizeof digits, number, 16).ptr;
  return std::string(digits, end);
}

/// The signature chain of one body, as a client computes it: implemented independently of the
/// server.
class Chain {
 public:
  explicit Chain(const VerifiedRequest& verified)
      : verified_(verified), previous_(verified.seed_signature) {}

  std::string next(std::string_view algorithm, std::string_view tail) {
    previous_ = to_hex(
        hmac_sha256(verified_.signing_key, str_cat(algorithm, '\n', verified_.timestamp, '\n',
                                                   verified_.scope, '\n', previous_, '\n', tail)));
    return previous_;
  }
  std::string sign_chunk(std::string_view data) {
    return next("AWS4-HMAC-SHA256-PAYLOAD", str_cat(kEmptySha256, '\n', to_hex(sha256(data))));
  }

 private:
  const VerifiedRequest& verified_;
  std::string previous_;
};

}  // namespace

http::Request make_request(std::string method, std::string target, std::string body) {
  http::Request request;
  request.method = std::move(method);
  request.target = std::move(target);
  request.headers.add("Host", std::string(kHost));
  request.body = http::empty_body();
  if (!body.empty()) set_body(request, std::move(body));
  return request;
}

void set_body(http::Request& request, std::string body) {
  request.content_length = body.size();
  request.headers.set("Content-Length", std::to_string(body.size()));
  request.body = http::string_body(std::move(body));
}

void sign_v4(http::Request& request, std::string_view payload, Instant now) {
  const SigningTarget target{request.method, request.raw_path(), request.raw_query(), kRegion};
  sign(request.headers, target, kKey, payload, now);
}

void presign_v4(http::Request& request, std::chrono::seconds lifetime, Instant now) {
  const SigningTarget target{request.method, request.raw_path(), request.raw_query(), kRegion};
  request.target = str_cat(request.raw_path(), '?',
                           presign_query(request.headers.get("host"), target, kKey, lifetime, now));
}

void sign_v2(http::Request& request, Instant now) {
  request.headers.set("Date", to_http_date(now));
  Authorization authorization;
  authorization.mechanism = Mechanism::kV2Header;
  const std::string text = v2_strings_to_sign(authorization, request, "")[0];
  request.headers.set("Authorization",
                      str_cat("AWS ", kKey.id, ':', v2_signature_of(kKey.secret, text)));
}

void presign_v2(http::Request& request, int64_t expires_at_s) {
  const char mark = request.raw_query().empty() ? '?' : '&';
  request.target += str_cat(mark, "AWSAccessKeyId=", kKey.id, "&Expires=", expires_at_s);
  Authorization authorization;
  authorization.mechanism = Mechanism::kV2Query;
  const std::string text = v2_strings_to_sign(authorization, request, "")[0];
  request.target += "&Signature=" + percent_encode(v2_signature_of(kKey.secret, text));
}

VerifiedRequest authenticate(const http::Request& request, Instant now, const VerifyRules& rules) {
  return verify(parse_authorization(request), request, kKey.secret, rules, now);
}

std::string ChunkedBodyText::encode(const VerifiedRequest& verified) const {
  const bool is_signed = verified.payload != PayloadKind::kStreamingUnsignedTrailer;
  Chain chain(verified);
  std::string out;
  const auto header = [&](std::string_view data) {
    out += hex_of(data.size());
    if (is_signed) out += ";chunk-signature=" + chain.sign_chunk(data);
    out += "\r\n";
  };
  for (const std::string& chunk : chunks) {
    header(chunk);
    out += chunk + "\r\n";
  }
  header("");
  if (trailer_name) {
    out += str_cat(*trailer_name, ':', trailer_value, trailer_line_end);
  }
  if (verified.payload == PayloadKind::kStreamingSignedTrailer) {
    const std::string lines = trailer_name ? str_cat(*trailer_name, ':', trailer_value, '\n') : "";
    out += str_cat("x-amz-trailer-signature:",
                   chain.next("AWS4-HMAC-SHA256-TRAILER", to_hex(sha256(lines))), "\r\n");
  }
  return out + "\r\n";
}

http::Request chunked_put(std::string_view literal, const ChunkedBodyText& body,
                          std::string_view decoded_length) {
  http::Request request = make_request("PUT", "/lake/main/k");
  request.headers.add("x-amz-decoded-content-length", std::string(decoded_length));
  if (body.trailer_name) request.headers.add("x-amz-trailer", *body.trailer_name);
  sign_v4(request, literal);
  set_body(request, body.encode(authenticate(request)));
  return request;
}

http::Request chunked_put(std::string_view literal, const ChunkedBodyText& body) {
  size_t length = 0;
  for (const std::string& chunk : body.chunks) length += chunk.size();
  return chunked_put(literal, body, std::to_string(length));
}

void sign_by_hand(http::Request& request, const std::vector<std::string>& names,
                  std::string_view path, std::string_view query, std::string_view host,
                  std::string_view payload) {
  std::string lines;
  for (const std::string& name : names) {
    lines += str_cat(name, ':',
                     name == "host" ? std::string(host) : *canonical_header(request.headers, name),
                     '\n');
  }
  const std::string scope = "20261120/us-east-1/s3/aws4_request";
  const std::string canonical =
      str_cat(canonical_head(request.method, path, query, lines, joined(names, ";")), payload);
  const std::string signature =
      signature_of(signing_key(kKey.secret, "20261120", "us-east-1", "s3"),
                   string_to_sign("20261120T081542Z", scope, canonical));
  request.headers.set("Authorization",
                      str_cat("AWS4-HMAC-SHA256 Credential=", kKey.id, '/', scope,
                              ",SignedHeaders=", joined(names, ";"), ",Signature=", signature));
}

http::Request dated(std::string target, std::string body) {
  http::Request request =
      make_request(body.empty() ? "GET" : "PUT", std::move(target), std::move(body));
  request.headers.add("X-Amz-Date", "20261120T081542Z");
  request.headers.add("X-Amz-Content-Sha256", std::string(kUnsignedPayload));
  return request;
}

Rejection refusal_of(const http::Request& request, Instant now, const VerifyRules& rules) {
  try {
    authenticate(request, now, rules);
  } catch (const Rejection& rejection) {
    return rejection;
  }
  return Rejection(ErrorCode::kInternal, "accepted", "");
}

std::string element(const Rejection& rejection, std::string_view name) {
  for (const auto& [key, value] : rejection.elements()) {
    if (key == name) return value;
  }
  return "(absent)";
}

}  // namespace tarn::sigv4::testing

// Every operation of the dispatch table with false signatures, extended ones, and with parameters
// that are wrong or not its own.
#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "core/base/text.h"
#include "core/sigv4/signature_v2.h"
#include "s3gateway/role_matrix_fixture.h"
#include "tests/support/table_digests.h"

namespace tarn::s3 {
namespace {

using testing::Statements;

/// The body of a request that nobody may have read yet.
class WatchedBody final : public http::BodySource {
 public:
  WatchedBody(std::string text, size_t& reads)
      : body_(http::string_body(std::move(text))), reads_(reads) {}
  size_t read(std::span<char> out) override {
    ++reads_;
    return body_->read(out);
  }

 private:
  std::unique_ptr<http::BodySource> body_;
  size_t& reads_;
};

/// The ways to sign a request's head, each with a way to announce its body.
enum class Forgery {
  kNoPayloadHash,
  kPayloadHash,
  kUnsigned,
  kChunks,
  kV4Query,
  kV2Header,
  kV2Query
};
constexpr Forgery kForgeries[] = {
    Forgery::kNoPayloadHash, Forgery::kPayloadHash, Forgery::kUnsigned, Forgery::kChunks,
    Forgery::kV4Query,       Forgery::kV2Header,    Forgery::kV2Query};

/// Adds a well-formed signature of `key_id` that nobody made.
void forge(http::Request& request, Forgery how, const std::string& key_id, Instant now) {
  const std::string time = to_iso_basic(now);
  const std::string scope = str_cat(time.substr(0, time.find('T')), "/us-east-1/s3/aws4_request");
  const std::string zeros(64, '0');
  const std::string v2 = to_base64(std::string(20, '0'));
  const char mark = request.raw_query().empty() ? '?' : '&';
  const auto signed_headers = [&request] {
    std::set<std::string> names{"host"};
    for (const auto& [name, value] : request.headers.all()) {
      if (starts_with_ignoring_case(name, "x-amz-")) names.insert(lower(name));
    }
    return joined(names, ";");
  };
  switch (how) {
    case Forgery::kPayloadHash:
      request.headers.add("x-amz-content-sha256", zeros);
      break;
    case Forgery::kUnsigned:
      request.headers.add("x-amz-content-sha256", "UNSIGNED-PAYLOAD");
      break;
    case Forgery::kChunks:
      request.headers.add("x-amz-content-sha256", "STREAMING-AWS4-HMAC-SHA256-PAYLOAD");
      request.headers.add("x-amz-decoded-content-length", "3");
      break;
    case Forgery::kNoPayloadHash:
      break;
    case Forgery::kV4Query:
      request.target +=
          str_cat(mark, "X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Credential=",
                  percent_encode(str_cat(key_id, '/', scope)), "&X-Amz-Date=", time,
                  "&X-Amz-Expires=60&X-Amz-SignedHeaders=", percent_encode(signed_headers()),
                  "&X-Amz-Signature=", zeros);
      return;
    case Forgery::kV2Header:
      request.headers.add("Date", to_http_date(now));
      request.headers.add("Authorization", str_cat("AWS ", key_id, ':', v2));
      return;
    case Forgery::kV2Query:
      request.target += str_cat(mark, "AWSAccessKeyId=", key_id, "&Expires=", to_seconds(now) + 60,
                                "&Signature=", percent_encode(v2));
      return;
  }
  request.headers.add("x-amz-date", time);
  request.headers.add("Authorization",
                      str_cat("AWS4-HMAC-SHA256 Credential=", key_id, '/', scope,
                              ", SignedHeaders=", signed_headers(), ", Signature=", zeros));
}

/// All query parameters that an operation of the dispatch table reads.
std::set<std::string> read_parameters() {
  std::set<std::string> out;
  for (const OperationRow& row : operation_table()) {
    std::string_view names = row.parameters;
    for (size_t at = 0; (at = names.find_first_not_of(' ')) != std::string_view::npos;) {
      names.remove_prefix(at);
      out.emplace(names.substr(0, names.find(' ')));
      names.remove_prefix(names.find(' '));
    }
    if (!row.subresource.empty()) out.emplace(row.subresource);
  }
  return out;
}

/// Signs the request with version 2, in its query or in a header.
void sign_v2(http::Request& request, sigv4::Mechanism mechanism, const auth::NewKey& key,
             Instant now) {
  sigv4::Authorization authorization;
  authorization.mechanism = mechanism;
  if (mechanism == sigv4::Mechanism::kV2Query) {
    request.target += str_cat(request.raw_query().empty() ? '?' : '&', "AWSAccessKeyId=", key.id,
                              "&Expires=", to_seconds(now) + 60);
  } else {
    request.headers.add("Date", to_http_date(now));
  }
  const std::string signature =
      sigv4::v2_signature_of(key.secret, sigv4::v2_strings_to_sign(authorization, request, "")[0]);
  if (mechanism == sigv4::Mechanism::kV2Query) {
    request.target += "&Signature=" + percent_encode(signature);
  } else {
    request.headers.add("Authorization", str_cat("AWS ", key.id, ':', signature));
  }
}

/// Every operation gets a body, also those that take none.
TEST_F(S3RoleMatrix, FalseSignatureIsToldNothingAndItsBodyIsNotRead) {
  size_t asked = 0;
  for (const Statements& granted : {Statements{}, Statements{testing::allowing_everything()}}) {
    grant_and_wait(granted);
    const std::string before = testing::table_digests(first.engine.pool);
    const size_t objects = first.engine.store->list("", "", 1000).items.size();
    for (const Row& row : rows()) {
      for (const Forgery how : kForgeries) {
        SCOPED_TRACE(str_cat(row.operation, ", forgery ", static_cast<int>(how)));
        http::Request request = request_of(row);
        forge(request, how, key.id, clock.now());
        size_t reads = 0;
        request.content_length = 3;
        request.body = std::make_unique<WatchedBody>("new", reads);
        const http::Response response = handle(first.context, request);
        EXPECT_EQ(response.status / 100, 4) << response.status;
        EXPECT_EQ(reads, 0u);
        for (const char* told : {"ann", "fs:", "arn:"}) {
          EXPECT_EQ(response.body.find(told), std::string::npos) << response.body;
        }
        ++asked;
      }
    }
    // The fields of a form are its head.
    http::Request post = request_of({"PostObject", "POST", "/data", {}});
    post.headers.add("content-type", "multipart/form-data; boundary=B");
    std::string body = form(/*is_signed=*/true);
    body.replace(body.find("x-amz-signature") + 20, 64, 64, '0');
    post.content_length = body.size();
    post.body = http::string_body(std::move(body));
    const http::Response response = handle(first.context, post);
    EXPECT_NE(response.body.find("SignatureDoesNotMatch"), std::string::npos) << response.body;
    EXPECT_EQ(testing::table_digests(first.engine.pool), before);
    EXPECT_EQ(first.engine.store->list("", "", 1000).items.size(), objects);
  }
  EXPECT_GT(asked, 1000u);
}

/// Each operation's request, with each parameter that any operation reads.
TEST_F(S3RoleMatrix, Version2RequestsCannotBeExtended) {
  grant_and_wait({testing::allowing_everything()});
  const std::string before = testing::table_digests(first.engine.pool);
  const std::set<std::string> names = read_parameters();
  ASSERT_GT(names.size(), 60u);
  size_t accepted = 0;
  for (const auto mechanism : {sigv4::Mechanism::kV2Query, sigv4::Mechanism::kV2Header}) {
    for (const Row& row : rows()) {
      if (row.operation == "PostObject") continue;  // signed by its policy
      http::Request original = request_of(row);
      sign_v2(original, mechanism, key, clock.now());
      const auto ask = [&](const std::string& added) {
        http::Request request = request_of(row);
        request.headers = original.headers;
        request.target = original.target + added;
        request.content_length = 0;
        request.body = http::empty_body();
        return handle(first.context, request);
      };
      if (row.method == "GET" && ask("").status == 200) ++accepted;
      for (const std::string& name : names) {
        const bool is_covered = selects_operation(name) || name == "versionId" ||
                                name == "partNumber" || name.starts_with("response-");
        if (mechanism == sigv4::Mechanism::kV2Header && !is_covered) continue;
        const std::string encoded =
            str_cat('%', to_hex(name.substr(0, 1)), std::string_view(name).substr(1));
        const char mark = original.raw_query().empty() ? '?' : '&';
        for (const std::string& added : {name, encoded}) {
          const int status = ask(str_cat(mark, added, "=v")).status;
          EXPECT_TRUE(status == 403 || status == 400)
              << row.operation << ' ' << added << ' ' << status;
        }
      }
    }
  }
  EXPECT_GT(accepted, 20u) << "the requests themselves are signed well";
  EXPECT_EQ(testing::table_digests(first.engine.pool), before);
}

/// Query parameters of all operations, each with values that are right somewhere and hostile ones.
const std::vector<std::string>& parameters_of_all() {
  static const std::vector<std::string> kAll = [] {
    std::vector<std::string> out;
    const std::string not_text = to_base64url(std::string("tarn1:\xff\0", 8));
    for (const char* name :
         {"prefix", "delimiter", "marker", "start-after", "key-marker", "upload-id-marker",
          "version-id-marker", "versionId", "uploadId", "continuation-token"}) {
      for (const char* value : {"", "topic/", "null", "%00", "%ff", "%25", "a%F0%9F"})
        out.push_back(str_cat(name, "=", value));
      out.push_back(str_cat(name, "=", not_text));
    }
    for (const char* name : {"max-keys", "max-uploads", "max-parts", "max-buckets",
                             "part-number-marker", "partNumber", "list-type"}) {
      for (const char* value :
           {"", "0", "1", "2", "-1", "1e999", "nan", "null", "99999999999999999999"})
        out.push_back(str_cat(name, "=", value));
    }
    for (const char* one :
         {"encoding-type=url", "encoding-type=x", "fetch-owner=true", "bucket-region=us-east-1",
          "response-content-type=a%0Ab", "response-expires=x", "response-cache-control=%ff",
          "response-content-disposition=attachment", "response-content-language=x",
          "response-content-encoding=x", "x-id=x", "session", "metadata"})
      out.emplace_back(one);
    return out;
  }();
  return kAll;
}

// Reads come first, so that their answers have at least one result.
TEST_F(S3RoleMatrix, NoParameterAndNoTwoAreAFault) {
  std::vector<Row> sorted = rows();
  std::stable_partition(sorted.begin(), sorted.end(),
                        [](const Row& row) { return row.method == "GET" || row.method == "HEAD"; });
  grant_and_wait({testing::allowing_everything()});
  constexpr size_t kPairStep = 13;
  size_t asked = 0;
  const auto ask = [&](Row row, const std::string& with) {
    row.target += (row.target.find('?') == std::string::npos ? "?" : "&") + with;
    const http::Response response = send(row, first);
    ++asked;
    EXPECT_TRUE(response.status < 500 || response.status == 501)
        << row.method << ' ' << row.target << ": " << response.status << ' ' << response.body;
  };
  const std::vector<std::string>& all = parameters_of_all();
  for (const Row& row : sorted) {
    if (!needs_a_policy(row)) continue;  // not served
    for (size_t i = 0; i < all.size(); ++i) {
      ask(row, all[i]);
      if (!row.operation.starts_with("List")) continue;  // only lists take more than one
      for (size_t j = i % kPairStep; j < i; j += kPairStep) ask(row, str_cat(all[i], "&", all[j]));
    }
  }
  EXPECT_GT(asked, 10'000u);
}

TEST_F(S3RoleMatrix, HostileContinuationTokensAreInvalid) {
  grant_and_wait({testing::allowing_everything()});
  const std::string not_text = to_base64url(std::string("tarn1:\xff\0", 8));
  for (const char* target : {"/?x-id=a", "/data?list-type=2"}) {
    for (const std::string& token : {std::string("a"), std::string("%00"), not_text}) {
      const Row row{"", "GET", str_cat(target, "&continuation-token=", token), {}};
      const http::Response response = send(row, first);
      EXPECT_EQ(response.status, 400) << row.target;
      EXPECT_NE(response.body.find("<Code>InvalidArgument</Code>"), std::string::npos)
          << row.target << response.body;
    }
  }
}

}  // namespace
}  // namespace tarn::s3

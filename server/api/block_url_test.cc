// Tests of the grant of a presigned URL, and that it cannot be changed.
#include "server/api/block_url.h"

#include <vector>

#include <gtest/gtest.h>

#include "core/base/encoding.h"
#include "core/base/error.h"

namespace tarn::api {
namespace {

const std::string kKey(32, 'k');
constexpr Instant kIssued = from_millis(1'800'000'000'000);
constexpr std::chrono::seconds kLifetime{900};

BlockGrant a_read() {
  return {.kind = BlockGrant::Kind::kRead,
          .address = "lake/data/0123 \xc3\xa4+%/x",
          .access_key_id = "AKIAX",
          .user = "someone",
          .repository = "lake",
          .ref = "main~1&x",
          .path = "dir/a&b=c d+e%2F\xc3\xa4",
          .entry = std::string("\0\xff\x01", 3),
          .issued = kIssued,
          .lifetime = kLifetime};
}

BlockGrant a_write() {
  BlockGrant grant = a_read();
  grant.kind = BlockGrant::Kind::kWrite;
  grant.entry.clear();
  grant.ref.clear();
  grant.branch = "main";
  grant.bytes_max = uint64_t{1} << 40;
  return grant;
}

BlockGrant a_part() {
  BlockGrant grant = a_write();
  grant.kind = BlockGrant::Kind::kWritePart;
  grant.upload_id = "u1";
  grant.part_number = 7;
  return grant;
}

http::Request a_request(std::string method, std::string target) {
  http::Request request;
  request.method = std::move(method);
  request.target = std::move(target);
  return request;
}

/// The reason of the refusal; "granted" when there is none.
std::string outcome(const std::string& method, const std::string& target, Instant now = kIssued,
                    const std::string& key = kKey) {
  try {
    open_block_request(key, a_request(method, target), now);
  } catch (const Error& error) {
    return std::string(error.reason());
  }
  return "granted";
}

bool is_refused(const std::string& target) {
  const std::string found = outcome("GET", target);
  return found == "url_invalid" || found == "invalid_argument";
}

/// The parameters with the i-th changed by `change`.
template <typename Change>
std::string with_changed(const std::string& target, size_t index, const Change& change) {
  const size_t mark = target.find('?');
  std::vector<std::string> pairs;
  for (size_t at = mark + 1; at <= target.size();) {
    const size_t end = std::min(target.find('&', at), target.size());
    pairs.push_back(target.substr(at, end - at));
    at = end + 1;
  }
  change(pairs, index);
  std::string out = target.substr(0, mark + 1);
  for (const std::string& pair : pairs) out += (out.back() == '?' ? "" : "&") + pair;
  return out;
}

TEST(BlockUrl, ReturnsTheGrantItWasMadeFor) {
  for (const BlockGrant& grant : {a_read(), a_write(), a_part()}) {
    const std::string method = grant.kind == BlockGrant::Kind::kRead ? "GET" : "PUT";
    const std::string target = block_target(kKey, grant);
    EXPECT_TRUE(is_block_request(a_request(method, target)));
    EXPECT_EQ(open_block_request(kKey, a_request(method, target), kIssued), grant) << target;
  }
}

TEST(BlockUrl, ShowsItsExpiry) {
  const std::string target = block_target(kKey, a_read());
  EXPECT_NE(target.find("&X-Amz-Date=20270115T080000Z&X-Amz-Expires=900&"), std::string::npos)
      << target;
}

// Verified by mutation: without the comparison of signatures in open_block_request (every mutation
// granted).
TEST(BlockUrl, CannotBeChanged) {
  const std::string target = block_target(kKey, a_read());
  ASSERT_EQ(outcome("GET", target), "granted");
  const std::string prefix = "/_blocks/";
  for (size_t i = prefix.size(); i < target.size(); ++i) {
    std::string changed = target;
    changed[i] = changed[i] == 'x' ? 'y' : 'x';
    ASSERT_TRUE(is_refused(changed)) << changed;
    changed = target;
    changed.erase(i, 1);
    // An '&' before the first parameter or between two separates as before.
    ASSERT_TRUE(is_refused(changed)) << changed;
  }
}

TEST(BlockUrl, NeedsEveryParameterExactlyOnce) {
  const std::string target = block_target(kKey, a_part());
  const auto count = static_cast<size_t>(std::count(target.begin(), target.end(), '&')) + 1;
  ASSERT_GT(count, 10u);
  using Pairs = std::vector<std::string>;
  for (size_t i = 0; i < count; ++i) {
    const auto left_out = with_changed(
        target, i, [](Pairs& p, size_t at) { p.erase(p.begin() + static_cast<long>(at)); });
    EXPECT_EQ(outcome("PUT", left_out), "url_invalid") << left_out;
    const auto doubled = with_changed(
        target, i, [](Pairs& p, size_t at) { p.insert(p.begin(), std::string(p[at])); });
    EXPECT_EQ(outcome("PUT", doubled), "url_invalid") << doubled;
    const auto emptied =
        with_changed(target, i, [](Pairs& p, size_t at) { p[at].erase(p[at].find('=') + 1); });
    EXPECT_EQ(outcome("PUT", emptied), "url_invalid") << emptied;
  }
  EXPECT_EQ(outcome("PUT", target + "&X-Tarn-Bytes-Max=1"), "url_invalid");
  EXPECT_EQ(outcome("PUT", target + "&response-content-type=text%2Fhtml"), "url_invalid");
  EXPECT_EQ(outcome("PUT", "/_blocks/lake/data/x"), "url_invalid");
  EXPECT_EQ(outcome("PUT", "/_blocks/"), "url_invalid");
}

TEST(BlockUrl, IsValidForOnePathOnly) {
  const std::string target = block_target(kKey, a_read());
  const std::string query = target.substr(target.find('?'));
  for (const char* path :
       {"/_blocks/lake/data/0123", "/_blocks/lake/data/0123%20%C3%A4%2B%25/x/../x",
        "/_blocks/../lake/data/0123%20%C3%A4%2B%25/x", "/_blocks//lake/data/0123%20%C3%A4%2B%25/x",
        "/_blocks/other/data/0123%20%C3%A4%2B%25/x", "/_blocks/lake/data/0123%20%C3%A4%2B%25/x/"}) {
    EXPECT_EQ(outcome("GET", path + query), "url_invalid") << path;
  }
}

TEST(BlockUrl, SurvivesWhatProxiesRewrite) {
  const BlockGrant grant = a_read();
  const std::string target = block_target(kKey, grant);
  const size_t count = static_cast<size_t>(std::count(target.begin(), target.end(), '&')) + 1;
  const auto turned = with_changed(target, 0, [](std::vector<std::string>& pairs, size_t) {
    std::reverse(pairs.begin(), pairs.end());
  });
  ASSERT_GT(count, 2u);
  EXPECT_EQ(open_block_request(kKey, a_request("GET", turned), kIssued), grant);
  std::string recoded = target;
  recoded.replace(recoded.find("X-Amz-Date"), 1, "%58");
  recoded.replace(recoded.find("lake/"), 1, "%6c");
  EXPECT_EQ(open_block_request(kKey, a_request("GET", recoded), kIssued), grant);
}

TEST(BlockUrl, IsValidForOneMethodOnly) {
  const std::string read = block_target(kKey, a_read());
  const std::string write = block_target(kKey, a_write());
  EXPECT_EQ(outcome("HEAD", read), "granted");
  for (const char* method : {"PUT", "POST", "DELETE", "OPTIONS", "get"}) {
    EXPECT_EQ(outcome(method, read), "url_method") << method;
  }
  for (const char* method : {"GET", "HEAD", "POST", "DELETE"}) {
    EXPECT_EQ(outcome(method, write), "url_method") << method;
  }
}

TEST(BlockUrl, Expires) {
  const std::string target = block_target(kKey, a_read());
  EXPECT_EQ(outcome("GET", target, kIssued + kLifetime - std::chrono::milliseconds{1}), "granted");
  EXPECT_EQ(outcome("GET", target, kIssued + kLifetime), "url_expired");
}

TEST(BlockUrl, IsValidForOneInstallationOnly) {
  EXPECT_EQ(outcome("GET", block_target(kKey, a_read()), kIssued, std::string(32, 'o')),
            "url_invalid");
}

TEST(BlockUrl, OtherPathsAreNotPresignedUrls) {
  for (const char* target :
       {"/", "/_blocks", "/_blocksx/a", "/api/v1/_blocks/a", "/lake/_blocks/a"}) {
    EXPECT_FALSE(is_block_request(a_request("GET", target))) << target;
  }
}

}  // namespace
}  // namespace tarn::api

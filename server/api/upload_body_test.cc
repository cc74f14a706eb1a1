#include "server/api/upload_body.h"

#include <vector>

#include <gtest/gtest.h>

#include "core/base/error.h"

namespace tarn::api {
namespace {

constexpr uint64_t kPlenty = 1 << 20;

http::Request a_request(std::string content_type, std::string body) {
  http::Request request;
  if (!content_type.empty()) request.headers.add("Content-Type", std::move(content_type));
  request.content_length = body.size();
  request.body = http::string_body(std::move(body));
  return request;
}

std::string read_all_of(objects::UploadBody& body) {
  std::string out;
  std::vector<char> buffer(3);
  while (const size_t count = body.read(buffer)) out.append(buffer.data(), count);
  return out;
}

TEST(OpenUpload, TakesARawBodyWithItsTypeAndLength) {
  http::Request request = a_request("text/plain; charset=utf-8", "hello");
  IncomingObject incoming = open_upload(request, kPlenty);
  EXPECT_EQ(incoming.content_type, "text/plain; charset=utf-8");
  EXPECT_EQ(incoming.size_bytes, 5u);
  EXPECT_EQ(read_all_of(*incoming.body), "hello");
  EXPECT_EQ(incoming.body->digests().etag, "5d41402abc4b2a76b9719d911017c592");
}

TEST(OpenUpload, ChunkedBodyHasNoKnownLength) {
  http::Request request = a_request("", "hello");
  request.content_length.reset();
  request.chunked = true;
  EXPECT_EQ(open_upload(request, kPlenty).size_bytes, std::nullopt);
}

TEST(OpenUpload, TakesNoBodyAsAnEmptyObject) {
  http::Request request;
  request.body = http::empty_body();
  IncomingObject incoming = open_upload(request, kPlenty);
  EXPECT_EQ(incoming.size_bytes, 0u);
  EXPECT_EQ(read_all_of(*incoming.body), "");
  EXPECT_EQ(incoming.body->digests().etag, "d41d8cd98f00b204e9800998ecf8427e");
}

TEST(OpenUpload, ReadsThePartNamedContentOfAForm) {
  http::Request request =
      a_request("multipart/form-data; boundary=B",
                "--B\r\nContent-Disposition: form-data; name=\"x\"\r\n\r\nno\r\n"
                "--B\r\nContent-Disposition: form-data; name=\"content\"; filename=\"f\"\r\n"
                "Content-Type: text/csv\r\n\r\nhello\r\n--B--\r\n");
  IncomingObject incoming = open_upload(request, kPlenty);
  EXPECT_EQ(incoming.content_type, "text/csv");
  EXPECT_EQ(incoming.size_bytes, std::nullopt);
  EXPECT_EQ(read_all_of(*incoming.body), "hello");
  EXPECT_EQ(incoming.body->digests().etag, "5d41402abc4b2a76b9719d911017c592");
}

TEST(OpenUpload, RefusesAFormWithoutThatPart) {
  http::Request request =
      a_request("multipart/form-data; boundary=B",
                "--B\r\nContent-Disposition: form-data; name=\"x\"\r\n\r\nno\r\n--B--\r\n");
  EXPECT_THROW(open_upload(request, kPlenty), Error);
}

TEST(OpenUpload, RefusesAFormThatIsCutShortAfterThatPart) {
  http::Request request =
      a_request("multipart/form-data; boundary=B",
                "--B\r\nContent-Disposition: form-data; name=\"content\"\r\n\r\nhello\r\n--B\r\n");
  IncomingObject incoming = open_upload(request, kPlenty);
  EXPECT_THROW(read_all_of(*incoming.body), Error);
}

TEST(OpenUpload, RefusesMoreThanTheLimitBeforeOrWhileReading) {
  const auto reason_of = [](http::Request& request) -> std::string_view {
    try {
      read_all_of(*open_upload(request, 4).body);
      return "";
    } catch (const Error& error) {
      return error.reason();
    }
  };
  http::Request known = a_request("", "hello");
  EXPECT_EQ(reason_of(known), "body_too_large");
  http::Request chunked = a_request("", "hello");
  chunked.content_length.reset();
  chunked.chunked = true;
  EXPECT_EQ(reason_of(chunked), "body_too_large");
  http::Request fits = a_request("", "four");
  EXPECT_EQ(reason_of(fits), "");
}

}  // namespace
}  // namespace tarn::api

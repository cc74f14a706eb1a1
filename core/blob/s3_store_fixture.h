// Fixture for tests of S3Store: a store whose server answers as the test says.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "core/base/error.h"
#include "core/blob/s3_store.h"
#include "tests/support/scripted_client.h"

namespace tarn::blob {

using Lines = std::vector<std::string>;

inline std::string error_body(const std::string& code) {
  return "<Error><Code>" + code + "</Code><Message>as the server says</Message></Error>";
}

inline http::Headers headers_of(std::vector<http::Headers::Field> fields) {
  http::Headers headers;
  for (auto& [name, value] : fields) headers.add(name, value);
  return headers;
}

struct Failure {
  std::string kind;  // code and reason; "" = nothing was thrown
  std::string message;
};

inline Failure thrown(const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& error) {
    return {std::string(name_of(error.code())) + "/" + std::string(error.reason()),
            error.message()};
  }
  return {};
}

class S3StoreTest : public ::testing::Test {
 protected:
  static S3Options options() {
    return {.endpoint = "http://store.test:9000",
            .key = {.id = "AK", .secret = "SK"},
            .bucket = "b",
            .part_size_bytes = kS3PartBytesMin,
            .parts_in_flight = 1,
            .retries_max = 2,
            .backoff_first = std::chrono::milliseconds(0),
            .backoff_longest = std::chrono::milliseconds(0)};
  }
  S3Store store(const S3Options& chosen = options()) { return S3Store(chosen, client_); }
  const http::Headers& headers_sent(size_t index) {
    seen_ = client_.seen();
    return seen_.at(index).request.headers;
  }
  std::string body_sent(size_t index) { return client_.seen().at(index).body; }
  /// Headers of an object of `bytes` by the writer that sent request `index`.
  http::Headers mark_sent(size_t index, uint64_t bytes) {
    return headers_of({{"Content-Length", std::to_string(bytes)},
                       {"x-amz-meta-tarn-writer",
                        std::string(headers_sent(index).get("x-amz-meta-tarn-writer"))}});
  }

  testing::ScriptedClient client_;
  std::vector<testing::ScriptedClient::Seen> seen_;
};

}  // namespace tarn::blob

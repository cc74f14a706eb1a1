#include "core/http/access_log.h"

#include <thread>

#include <gtest/gtest.h>

namespace tarn::http {
namespace {

using namespace std::chrono_literals;

Request a_request() {
  Request request;
  request.method = "GET";
  request.target = "/lake/main/a?X-Amz-Signature=s";
  request.id = "r1";
  request.peer = "192.0.2.1";
  request.headers.add("User-Agent", "tests/1 \n" + std::string(1000, 'a'));
  request.body = empty_body();
  return request;
}

/// The line of a request whose thread worked 1,500 ms for others before.
std::string line_of(log::Level level) {
  work_time() = {.queue = 3ms, .database = 1000ms, .store = 500ms};
  AccessRecord record{.api = "s3", .operation = "GetObject", .user = "ann", .level = level};
  work_time().database += 20ms;
  work_time().store += 7ms;
  Response response;
  response.body = "12345";
  ::testing::internal::CaptureStderr();
  record.write_log(a_request(), response);
  work_time() = {};
  return ::testing::internal::GetCapturedStderr();
}

TEST(AccessRecord, NamesClientBytesAndThePartsOfTheTime) {
  const std::string line = line_of(log::Level::kInfo);
  for (const char* part :
       {" info request ", "request_id=r1", "user=ann", "address=192.0.2.1", "path=/lake/main/a ",
        "received_bytes=0", "sent_bytes=5", "queue_ms=3.000", "database_ms=20.000",
        "store_ms=7.000", "user_agent=\"tests/1 \\u000aaaa"}) {
    EXPECT_NE(line.find(part), std::string::npos) << part << " in " << line;
  }
  EXPECT_EQ(line.find("Signature"), std::string::npos);
  EXPECT_LT(line.size(), 700u) << "the user agent is cut";
}

TEST(AccessRecord, HasTheLevelOfTheRecord) {
  EXPECT_NE(line_of(log::Level::kWarn).find(" warn request "), std::string::npos);
  EXPECT_NE(line_of(log::Level::kError).find(" error request "), std::string::npos);
}

}  // namespace
}  // namespace tarn::http

#include "server/reload.h"

#include <gtest/gtest.h>

#include "core/http/access_log.h"

namespace tarn::server {
namespace {

TEST(ChangedKeys, TellsWhatCanBeReloaded) {
  Config running;
  Config read;
  EXPECT_TRUE(changed_keys(running, read).applied.empty());
  read.log_level = "debug";
  read.log_requests = "slow";
  read.trusted_proxies = {"10.0.0.0/8"};
  read.listen = "127.0.0.1:1";
  read.store_s3_stores.push_back({.name = "b", .endpoint = "http://b"});
  const ChangedKeys changed = changed_keys(running, read);
  EXPECT_EQ(changed.applied,
            (std::vector<std::string>{"log.level", "log.requests", "http.trusted_proxies"}));
  EXPECT_EQ(changed.needs_restart, (std::vector<std::string>{"listen", "store.s3_stores"}));
}

/// The line of a request that took 200 ms, with that configuration; "" = it has none.
std::string logged_of(const std::string& requests, log::Level level = log::Level::kInfo) {
  Config config;
  config.log_requests = requests;
  config.log_slow_request = std::chrono::milliseconds{300};
  configure_log(config);
  http::AccessRecord record{.api = "s3", .operation = "GetObject", .level = level};
  record.began -= std::chrono::milliseconds{200};
  http::Request request;
  ::testing::internal::CaptureStderr();
  record.write_log(request, http::Response{});
  record.operation = "PutObject";
  record.began -= std::chrono::milliseconds{200};
  record.write_log(request, http::Response{});
  configure_log(Config{});
  return ::testing::internal::GetCapturedStderr();
}

TEST(ConfigureLog, ChoosesTheRequestsThatAreLogged) {
  const auto has = [](const std::string& text, const char* part) {
    return text.find(part) != std::string::npos;
  };
  EXPECT_TRUE(has(logged_of("all"), "GetObject") && has(logged_of("all"), "PutObject"));
  EXPECT_TRUE(!has(logged_of("slow"), "GetObject") && has(logged_of("slow"), "PutObject"));
  EXPECT_EQ(logged_of("none"), "");
  for (const log::Level level : {log::Level::kWarn, log::Level::kError}) {
    EXPECT_TRUE(has(logged_of("none", level), "GetObject"));
    EXPECT_TRUE(has(logged_of("slow", level), "GetObject"));
  }
}

}  // namespace
}  // namespace tarn::server

#include "server/reload.h"

#include <gtest/gtest.h>

namespace tarn::server {
namespace {

TEST(ChangedKeys, TellsWhatCanBeReloaded) {
  Config running;
  Config read;
  EXPECT_TRUE(changed_keys(running, read).applied.empty());
  read.log_level = "debug";
  read.trusted_proxies = {"10.0.0.0/8"};
  read.listen = "127.0.0.1:1";
  read.store_s3_stores.push_back({.name = "b", .endpoint = "http://b"});
  const ChangedKeys changed = changed_keys(running, read);
  EXPECT_EQ(changed.applied, (std::vector<std::string>{"log.level", "http.trusted_proxies"}));
  EXPECT_EQ(changed.needs_restart, (std::vector<std::string>{"listen", "store.s3_stores"}));
}

}  // namespace
}  // namespace tarn::server

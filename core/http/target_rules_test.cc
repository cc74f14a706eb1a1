#include "core/http/target_rules.h"

#include <gtest/gtest.h>

#include "core/base/error.h"

namespace tarn::http {
namespace {

bool is_public_text(const std::string& text) {
  const auto address = IpAddress::parse(text);
  EXPECT_TRUE(address) << text;
  return address && is_public(*address);
}

TEST(TargetRules, KnowsPublicAddresses) {
  for (const char* text :
       {"8.8.8.8", "1.1.1.1", "9.255.255.255", "11.0.0.0", "100.63.255.255", "100.128.0.0",
        "172.15.255.255", "172.32.0.0", "192.167.255.255", "192.169.0.0", "223.255.255.255",
        "198.17.255.255", "198.20.0.0", "2a00:1450::1", "2606:4700::1111", "::ffff:8.8.8.8",
        "2002:808:808::1", "64:ff9b::8.8.8.8"}) {
    EXPECT_TRUE(is_public_text(text)) << text;
  }
}

TEST(TargetRules, KnowsPrivateAddresses) {
  for (const char* text : {"0.0.0.0",
                           "0.1.2.3",
                           "10.0.0.1",
                           "100.64.0.1",
                           "100.127.255.255",
                           "127.0.0.1",
                           "127.255.0.1",
                           "169.254.169.254",
                           "172.16.0.1",
                           "172.31.255.255",
                           "192.0.0.8",
                           "192.0.2.1",
                           "192.88.99.1",
                           "192.168.1.1",
                           "198.18.0.1",
                           "198.19.255.255",
                           "198.51.100.1",
                           "203.0.113.1",
                           "224.0.0.1",
                           "239.1.1.1",
                           "240.0.0.1",
                           "255.255.255.255",
                           "::",
                           "::1",
                           "::7f00:1",
                           "::ffff:127.0.0.1",
                           "::ffff:169.254.169.254",
                           "fc00::1",
                           "fd00:ec2::254",
                           "fe80::1",
                           "fec0::1",
                           "ff02::1",
                           "2001::1",
                           "2001:db8::1",
                           "3fff::1",
                           "2002:7f00:1::",
                           "2002:a9fe:a9fe::1",
                           "2002:a00:1::1",
                           "64:ff9b::127.0.0.1",
                           "64:ff9b::10.0.0.1",
                           "64:ff9b:1::1",
                           "100::1",
                           "5f00::1"}) {
    EXPECT_FALSE(is_public_text(text)) << text;
  }
}

bool permits(const std::vector<std::string>& allowed, std::string_view host, uint16_t port,
             const std::string& address) {
  return TargetRules(allowed).permits(host, port, *IpAddress::parse(address));
}

TEST(TargetRules, PermitsListedTargets) {
  EXPECT_TRUE(permits({}, "x.example", 80, "8.8.8.8"));
  EXPECT_FALSE(permits({}, "x.example", 80, "10.0.0.1"));
  EXPECT_TRUE(permits({"x.example"}, "X.Example.", 80, "10.0.0.1"));
  EXPECT_FALSE(permits({"x.example"}, "sub.x.example", 80, "10.0.0.1"));
  EXPECT_FALSE(permits({"x.example"}, "xx.example", 80, "10.0.0.1"));
  EXPECT_TRUE(permits({"x.example:8080"}, "x.example", 8080, "10.0.0.1"));
  EXPECT_FALSE(permits({"x.example:8080"}, "x.example", 80, "10.0.0.1"));
  EXPECT_TRUE(permits({"a", "10.1.0.0/16"}, "x.example", 80, "10.1.2.3"));
  EXPECT_FALSE(permits({"a", "10.1.0.0/16"}, "x.example", 80, "10.2.2.3"));
  EXPECT_TRUE(permits({"10.1.0.0/15"}, "x.example", 80, "10.0.2.3"));
  EXPECT_TRUE(permits({"10.1.0.0/16"}, "[::ffff:a01:203]", 80, "::ffff:10.1.2.3"));
  EXPECT_TRUE(permits({"10.1.2.3"}, "x.example", 80, "10.1.2.3"));
  EXPECT_FALSE(permits({"10.1.2.3:81"}, "x.example", 80, "10.1.2.3"));
  EXPECT_TRUE(permits({"::1"}, "[::1]", 80, "::1"));
  EXPECT_TRUE(permits({"[::1]:80"}, "[::1]", 80, "::1"));
  EXPECT_FALSE(permits({"[::1]:81"}, "[::1]", 80, "::1"));
  EXPECT_TRUE(permits({"fd00::/8"}, "x.example", 80, "fd12::1"));
  EXPECT_FALSE(permits({"fd00::/8"}, "x.example", 80, "fe80::1"));
  EXPECT_FALSE(permits({"0.0.0.0/0"}, "x.example", 80, "::1"));
}

TEST(TargetRules, NamesAnEntryThatItCannotRead) {
  for (const char* text : {"", "a b", "http://x", "10.0.0.0/33", "10.0.0/8", "x/8", "x:", "x:99999",
                           "x:-1", "[::1", "[x]:80", ":80", "*"}) {
    try {
      const TargetRules rules({"fine.example", text});
      ADD_FAILURE() << text;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kInvalidArgument);
      EXPECT_EQ(error.message().find("\"" + std::string(text) + "\""), 0u) << error.message();
    }
  }
}

}  // namespace
}  // namespace tarn::http

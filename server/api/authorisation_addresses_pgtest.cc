// Tests of staging existing addresses: naming an address must not give access to unreadable bytes.
#include <gtest/gtest.h>

#include "server/api/authorisation_fixture.h"

namespace tarn::api {
namespace {

constexpr std::string_view kQuery = "path=dir/mine/a";

class Addresses : public Authorisation {
 protected:
  Addresses() {
    engine.branch(data, "topic", "main");
    engine.put(data, "topic", "dir/secret/a", "secret");
    secret = "local://data/" +
             relative_path(std::get<OwnAddress>(
                 objects::find_object(*engine, data, "topic", Key("dir/secret/a"))->entry.address));
    service.directory.users.create({"bob", engine.clock.now(), {}, {}});
    service.directory.policies.attach_to_user("bob", "tried");
    key_of_bob = *service.directory.credentials.create("bob", engine.clock.now());
  }

  static auth::Statement grant(std::string action, std::string_view resource) {
    return {auth::Statement::Effect::kAllow, {std::move(action)}, {arn_of(resource)}, {}};
  }
  static auth::Statement deny(std::string action, std::string_view resource) {
    return {auth::Statement::Effect::kDeny, {std::move(action)}, {arn_of(resource)}, {}};
  }

  /// The policy of a user who may read and write below one prefix only.
  static Statements own_place() {
    return {grant("fs:WriteObject", "repository/data/object/dir/mine/*"),
            grant("fs:ReadObject", "repository/data/object/dir/mine/*"),
            grant("fs:ListObjects", "repository/data")};
  }
  static Statements and_also(Statements statements, auth::Statement more) {
    statements.push_back(std::move(more));
    return statements;
  }

  std::string stage(const std::string& address, const Statements& statements) {
    const std::string body =
        R"({"physical_address":")" + address + R"(","checksum":"c","size_bytes":6})";
    return answer_of(ask({"stageObject", kQuery, body, {}}, statements));
  }
  std::string link(const std::string& address, const Statements& statements) {
    const std::string body =
        R"({"staging":{"physical_address":")" + address + R"("},"checksum":"c","size_bytes":6})";
    return answer_of(ask({"linkPhysicalAddress", kQuery, body, {}}, statements));
  }
  /// An address handed out to ann.
  std::string handed_out(std::string_view query = kQuery) {
    const http::Response answer = ask({"getPhysicalAddress", query, "", {}}, {kEverything});
    const std::string marker = "\"physical_address\":\"";
    const size_t begin = answer.body.find(marker) + marker.size();
    return answer.body.substr(begin, answer.body.find('"', begin) - begin);
  }
  static std::string answer_of(const http::Response& response) {
    const std::string reason(response.headers.get("X-Tarn-Error"));
    return std::to_string(response.status) + (reason.empty() ? "" : " " + reason);
  }

  const std::string kRefused = "401 insufficient_permissions";
  const testing::TestRepository data = engine.make_repository("data");
  std::string secret;  ///< the address of an object that a user with a place of their own lists
  auth::NewKey key_of_bob;
};

TEST_F(Addresses, StagingOneOfAnotherStoreNeedsTheRightToImportIt) {
  const std::string outside = "local:///lake/team-b/secret.csv";
  EXPECT_EQ(stage(outside, own_place()), kRefused);
  for (const char* granted : {"namespace/local:///lake/team-a/*", "namespace/local:///lake/team-b",
                              "namespace/local:///lake/team-b/secret.csv.old",
                              "namespace/local:///LAKE/*", "repository/data/*"}) {
    EXPECT_EQ(stage(outside, and_also(own_place(), grant("fs:ImportFromStorage", granted))),
              kRefused)
        << granted;
  }
  EXPECT_EQ(engine.keys(data, "topic"), "dir/secret/a");
  const auto may =
      and_also(own_place(), grant("fs:ImportFromStorage", "namespace/local:///lake/team-b/*"));
  EXPECT_EQ(stage(outside, may), "201");
  EXPECT_EQ(stage(outside, and_also(may, deny("fs:ImportFromStorage", "namespace/*secret*"))),
            kRefused);
}

TEST_F(Addresses, AddressOutsideTheGrantIsRefused) {
  engine.stores.add_s3({},
                       [](const std::string&) { return std::make_unique<blob::MemoryStore>(); });
  const Statements may =
      and_also(own_place(), grant("fs:ImportFromStorage", "namespace/*://*/team-a/*"));
  for (const char* address :
       {"s3://lake/team-a/../team-b/x", "s3://lake/team-a/./x", "s3://lake/team-a/..",
        "local:///lake/team-a/../team-b/x", "local:///lake/team-a/./x"}) {
    EXPECT_EQ(stage(address, may), "400 invalid_argument") << address;
  }
  EXPECT_EQ(stage("S3://lake/team-a/x", may), "400 invalid_argument");
  // These are names and lead nowhere else.
  for (const char* address : {"s3://lake/team-a/%2e%2e/team-b/x", "s3://lake/team-a/..x",
                              "s3://lake/team-a//x", "local:///lake/team-a/%2E%2E/x"}) {
    EXPECT_EQ(stage(address, may), "201") << address;
  }
}

TEST_F(Addresses, StagingOneOfTheRepositoryNeedsTheRightToReadAllOfIt) {
  EXPECT_EQ(stage(secret, own_place()), kRefused);
  for (const char* granted : {"repository/data/object/dir/*", "repository/data/object/dir/secret/a",
                              "repository/data/object/?", "repository/data/ref/topic/object/*",
                              "repository/other/*", "namespace/*"}) {
    EXPECT_EQ(stage(secret, and_also(own_place(), grant("fs:ReadObject", granted))), kRefused)
        << granted;
  }
  const auto may = and_also(own_place(), grant("fs:ReadObject", "repository/data/object/*"));
  for (const char* denied :
       {"repository/data/object/dir/secret/*", "repository/*/object/*/secret/*",
        "repository/data/ref/topic/object/*", "repository/data/*"}) {
    EXPECT_EQ(stage(secret, and_also(may, deny("fs:ReadObject", denied))), kRefused) << denied;
  }
  EXPECT_EQ(engine.keys(data, "topic"), "dir/secret/a");
  EXPECT_EQ(stage(secret, and_also(may, deny("fs:ReadObject", "repository/other/*"))), "201");
  EXPECT_EQ(engine.read(data, "topic", "dir/mine/a"), "secret");
}

TEST_F(Addresses, AddressOfAnotherRepositoryIsRefused) {
  const auto longer = engine.make_repository("data-2");
  engine.put(longer, "main", "a", "of another");
  const std::string there =
      "local://data-2/" +
      relative_path(std::get<OwnAddress>(
          objects::find_object(*engine, longer, "main", Key("a"))->entry.address));
  EXPECT_EQ(stage(there, {kEverything}), "400 invalid_argument");
  EXPECT_EQ(link(there, {kEverything}), "400 link_address_invalid");
  const std::string behind = secret.substr(std::string("local://data").size());
  for (const std::string& address :
       {"local://data-2/../data" + behind, "local://data//" + behind, "local://Data" + behind,
        "local://data/." + behind, "local://%64ata" + behind, "LOCAL://data" + behind,
        std::string("local://data"), std::string("local://data/")}) {
    EXPECT_EQ(stage(address, {kEverything}), "400 invalid_argument") << address;
    EXPECT_EQ(link(address, {kEverything}), "400 link_address_invalid") << address;
  }
  EXPECT_EQ(engine.keys(data, "topic"), "dir/secret/a");
}

TEST_F(Addresses, OnlyIssuedAddressesCanBeLinked) {
  for (const std::string& address :
       {secret, std::string("local:///lake/team-b/secret.csv"), std::string("local:///lake/x,y"),
        secret + ",", secret + ",forged"}) {
    EXPECT_EQ(link(address, {kEverything}), "400 link_address_invalid") << address;
  }
  const std::string handed = handed_out();
  const std::string token = handed.substr(handed.find(','));
  EXPECT_EQ(link(secret + token, {kEverything}), "400 link_address_invalid");
  EXPECT_EQ(link("local:///lake/x" + token, {kEverything}), "400 link_address_invalid");
  EXPECT_EQ(link(handed, own_place()), "400 link_address_empty");
  engine.send(handed, "123456");
  EXPECT_EQ(link(handed, own_place()), "200");
}

TEST_F(Addresses, TokenIsValidForItsUserOnly) {
  const std::string handed = handed_out();
  key = key_of_bob;
  EXPECT_EQ(link(handed, {kEverything}), "400 link_address_invalid");
}

TEST_F(Addresses, TokenIsValidForItsRepositoryBranchAndPathOnly) {
  const std::string elsewhere = handed_out("path=dir/other");
  EXPECT_EQ(link(elsewhere, {kEverything}), "400 link_address_invalid");
  const auto other = engine.make_repository("other");
  engine.branch(other, "topic", "main");
  const std::string there =
      objects::hand_out_address(*engine, other, BranchName("topic"), Key("dir/mine/a"), "ann").text;
  EXPECT_EQ(link(there, {kEverything}), "400 link_address_invalid");
  const std::string token = there.substr(there.find(','));
  EXPECT_EQ(link(secret + token, {kEverything}), "400 link_address_invalid");
}

}  // namespace
}  // namespace tarn::api

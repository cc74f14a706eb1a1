#include "server/secrets.h"

#include <cstring>
#include <fstream>
#include <map>

#include <gtest/gtest.h>

#include "core/base/error.h"
#include "tests/support/temporary_directory.h"

namespace tarn::server {
namespace {

std::string file_with(const testing::TemporaryDirectory& directory, const std::string& text) {
  const std::string path = directory.path() + "/secret";
  std::ofstream(path) << text;
  return path;
}

TEST(WithoutPasswords, HidesThemInUrlsAndConnectionStrings) {
  for (const auto& [text, shown] : std::map<std::string, std::string>{
           {"postgresql://tarn:pw@db:5432/tarn", "postgresql://tarn:***@db:5432/tarn"},
           {"postgresql://tarn:p@w/x@db/tarn", "postgresql://tarn:***@db/tarn"},
           {"postgresql://db/tarn?user=a&password=pw&x=1",
            "postgresql://db/tarn?user=a&password=***&x=1"},
           {"host=db password=pw user=a", "host=db password=*** user=a"},
           {"host=db password = 'a b\\' c' user=a", "host=db password = *** user=a"},
           {"host=db sslpassword=pw", "host=db sslpassword=***"},
           {"https://user:pw@store:9000", "https://user:***@store:9000"},
           {"postgresql://tarn@db/tarn", "postgresql://tarn@db/tarn"},
           {"http://127.0.0.1:8000", "http://127.0.0.1:8000"},
           {"", ""}}) {
    EXPECT_EQ(without_passwords(text), shown);
  }
}

TEST(HidePasswords, OverwritesThemInTheArguments) {
  char flag[] = "--database";
  char url[] = "--database=postgresql://tarn:secret@db/tarn";
  char* arguments[] = {flag, url};
  EXPECT_TRUE(hide_passwords(arguments));
  EXPECT_STREQ(flag, "--database");
  EXPECT_STREQ(url, "--database=postgresql://tarn:xxxxxx@db/tarn");
  char* plain[] = {flag};
  EXPECT_FALSE(hide_passwords(plain));
}

TEST(ReadSecretFiles, FillsTheKeys) {
  const testing::TemporaryDirectory directory;
  Config config;
  config.database_file = file_with(directory, "postgresql://tarn:pw@db/tarn\n");
  config.store_s3.secret_access_key_file = config.database_file;
  config.store_s3_stores.push_back({.name = "b", .secret_access_key_file = config.database_file});
  read_secret_files(config);
  EXPECT_EQ(config.database, "postgresql://tarn:pw@db/tarn");
  EXPECT_EQ(config.store_s3.secret_access_key, "postgresql://tarn:pw@db/tarn");
  EXPECT_EQ(config.store_s3_stores[0].secret_access_key, "postgresql://tarn:pw@db/tarn");
}

TEST(ReadSecretFiles, NamesEveryKeyThatIsWrong) {
  const testing::TemporaryDirectory directory;
  Config config;
  config.database = "here";
  config.database_file = file_with(directory, "there");
  config.store_s3.secret_access_key_file = "/no/such/file";
  try {
    read_secret_files(config);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.message(),
              "database: has a value, and database_file too: remove one\n"
              "store.s3.secret_access_key_file: the file /no/such/file cannot be read");
  }
}

TEST(ReadSecretFile, RefusesEmptyAndLongFiles) {
  const testing::TemporaryDirectory directory;
  EXPECT_THROW(read_secret_file(file_with(directory, "\n")), Error);
  const std::string longest(kSecretFileBytesMax, 'a');
  EXPECT_EQ(read_secret_file(file_with(directory, longest)), longest);
  EXPECT_THROW(read_secret_file(file_with(directory, longest + 'a')), Error);
  EXPECT_THROW(read_secret_file(directory.path()), Error) << "a directory";
}

TEST(SecretVariable, ReadsTheVariableOrTheFileItNames) {
  const testing::TemporaryDirectory directory;
  std::map<std::string, std::string> variables;
  const Environment environment = [&](const std::string& name) -> std::optional<std::string> {
    const auto at = variables.find(name);
    return at == variables.end() ? std::nullopt : std::optional(at->second);
  };
  EXPECT_EQ(secret_variable("A", environment), "");
  variables["A_FILE"] = file_with(directory, "from a file\n");
  EXPECT_EQ(secret_variable("A", environment), "from a file");
  variables["A"] = "given";
  EXPECT_EQ(secret_variable("A", environment), "given");
  variables["B_FILE"] = "/no/such";
  EXPECT_THROW(secret_variable("B", environment), Error);
}

}  // namespace
}  // namespace tarn::server

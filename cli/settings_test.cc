#include "cli/settings.h"

#include <filesystem>
#include <fstream>
#include <map>
#include <ostream>
#include <sstream>

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/exit_code.h"
#include "core/base/digest.h"
#include "core/base/encoding.h"
#include "core/base/str_cat.h"

namespace tarn::cli {

void PrintTo(const Setting& setting, std::ostream* out) {
  *out << setting.value << " from " << setting.origin;
}

namespace {

namespace fs = std::filesystem;

/// A separate home directory, and an environment that contains only it and what a test adds.
class SettingsTest : public testing::Test {
 protected:
  SettingsTest() : home_(fs::temp_directory_path() / ("tarn-settings-" + to_hex(random_bytes(8)))) {
    fs::create_directories(home_);
    variables_["HOME"] = home_.string();
  }
  ~SettingsTest() override { fs::remove_all(home_); }

  Settings load(const Flags& flags = {}, const fs::path& directory = {}, bool new_profile = false) {
    return load_settings(
        flags,
        [this](std::string_view name) -> std::optional<std::string> {
          const auto found = variables_.find(std::string(name));
          if (found == variables_.end()) return std::nullopt;
          return found->second;
        },
        directory, new_profile);
  }

  fs::path write(const fs::path& name, const std::string& text) {
    const fs::path path = home_ / name;
    fs::create_directories(path.parent_path());
    std::ofstream(path) << text;
    return path;
  }

  fs::path home_;
  std::map<std::string, std::string> variables_;
};

TEST_F(SettingsTest, HaveADefaultEndpointAndNothingElse) {
  const Settings settings = load();
  EXPECT_EQ(settings.endpoint, (Setting{"http://127.0.0.1:8000", "default"}));
  EXPECT_EQ(settings.access_key, Setting());
  EXPECT_EQ(settings.file, home_ / ".config/tarn/config.yaml");
}

TEST_F(SettingsTest, FlagsWinOverEnvironmentOverFile) {
  const fs::path file =
      write(".config/tarn/config.yaml", "endpoint: http://file\nrepo: filed\nbranch: kept\n");
  variables_["TARN_ENDPOINT"] = "http://env";
  variables_["TARN_REPO"] = "enved";
  const Settings settings = load({.endpoint = "http://flag"});
  EXPECT_EQ(settings.endpoint, (Setting{"http://flag", "--endpoint"}));
  EXPECT_EQ(settings.repository, (Setting{"enved", "TARN_REPO"}));
  EXPECT_EQ(settings.branch, (Setting{"kept", file.string()}));
}

TEST_F(SettingsTest, ReadTheVariablesOfLakectl) {
  variables_["LAKECTL_SERVER_ENDPOINT_URL"] = "http://lake:8000/api/v1";
  variables_["LAKECTL_CREDENTIALS_ACCESS_KEY_ID"] = "AKIA";
  variables_["LAKECTL_CREDENTIALS_SECRET_ACCESS_KEY"] = "secret";
  variables_["TARN_SECRET_KEY"] = "ours";
  variables_["LAKECTL_BASE_URI"] = "lakefs://lake/main/";
  const Settings settings = load();
  EXPECT_EQ(settings.endpoint, (Setting{"http://lake:8000", "LAKECTL_SERVER_ENDPOINT_URL"}));
  EXPECT_EQ(settings.access_key, (Setting{"AKIA", "LAKECTL_CREDENTIALS_ACCESS_KEY_ID"}));
  EXPECT_EQ(settings.secret_key, (Setting{"ours", "TARN_SECRET_KEY"}));
  EXPECT_EQ(settings.base_uri, (Setting{"lakefs://lake/main/", "LAKECTL_BASE_URI"}));
}

TEST_F(SettingsTest, ReadTheVariablesOfLakefsOtherClients) {
  variables_["LAKEFS_HOST"] = "lake:8000";
  variables_["LAKEFS_USERNAME"] = "AKIA";
  variables_["LAKEFS_PASSWORD"] = "secret";
  EXPECT_EQ(load().endpoint, (Setting{"http://lake:8000", "LAKEFS_HOST"}));
  EXPECT_EQ(load().access_key, (Setting{"AKIA", "LAKEFS_USERNAME"}));
  EXPECT_EQ(load().secret_key, (Setting{"secret", "LAKEFS_PASSWORD"}));
  variables_["LAKEFS_ENDPOINT"] = "http://other";
  variables_["LAKEFS_ACCESS_KEY_ID"] = "AKIB";
  variables_["LAKEFS_SECRET_ACCESS_KEY"] = "other";
  EXPECT_EQ(load().endpoint, (Setting{"http://other", "LAKEFS_ENDPOINT"}));
  EXPECT_EQ(load().access_key, (Setting{"AKIB", "LAKEFS_ACCESS_KEY_ID"}));
  EXPECT_EQ(load().secret_key, (Setting{"other", "LAKEFS_SECRET_ACCESS_KEY"}));
  variables_["LAKECTL_SERVER_ENDPOINT_URL"] = "http://lakectl";
  EXPECT_EQ(load().endpoint, (Setting{"http://lakectl", "LAKECTL_SERVER_ENDPOINT_URL"}));
}

TEST_F(SettingsTest, ReadTheFileOfLakectlWhenThereIsNoneOfOurs) {
  const std::string theirs =
      "credentials:\n  access_key_id: AKIA\n  secret_access_key: s\nserver:\n  endpoint_url: "
      "http://lake:1/api/v1/\n";
  const fs::path file = write(".lakectl.yaml", theirs);
  EXPECT_EQ(load().endpoint, (Setting{"http://lake:1", file.string()}));
  EXPECT_EQ(load().access_key, (Setting{"AKIA", file.string()}));
  write(".config/tarn/config.yaml", "branch: main\n");
  EXPECT_EQ(load().access_key, Setting());
}

TEST_F(SettingsTest, ReadTheNamedFile) {
  const fs::path named = write("named.yaml", "repo: named\n");
  write(".config/tarn/config.yaml", "repo: usual\n");
  variables_["TARN_CONFIG"] = named.string();
  EXPECT_EQ(load().repository.value, "named");
  EXPECT_EQ(load().file, named);
  EXPECT_EQ(load({.file = (home_ / "absent.yaml").string()}).repository, Setting());
}

TEST_F(SettingsTest, ListEveryFileKey) {
  write(".config/tarn/config.yaml", "token: t\nrepo: lake\n");
  const Settings settings = load();
  std::string shown;
  for (const NamedSetting& named : named_settings(settings)) {
    shown += str_cat(named.key, '=', named.secret ? "*" : named.setting.value, ' ');
  }
  EXPECT_EQ(shown,
            "endpoint=http://127.0.0.1:8000 access_key= secret_key=* token=* repo=lake branch= ");
}

TEST_F(SettingsTest, AnEmptyVariableIsNotSet) {
  write(".config/tarn/config.yaml", "repo: filed\n");
  variables_["TARN_REPO"] = "";
  EXPECT_EQ(load().repository.value, "filed");
}

TEST_F(SettingsTest, RefuseAFileThatIsNotYaml) {
  write(".config/tarn/config.yaml", "repo: [\n");
  try {
    load();
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(exit_code_of(error), ExitCode::kUsage);
  }
}

TEST_F(SettingsTest, SavingKeepsOtherKeysAndHidesTheFile) {
  const fs::path file = home_ / "new/config.yaml";
  save_settings(file, "", {{"secret_key", "a: b # c"}, {"repo", "lake"}});
  save_settings(file, "", {{"branch", "main"}});
  save_settings(file, "", {{"branch", ""}});
  variables_["TARN_CONFIG"] = file.string();
  EXPECT_EQ(load().secret_key.value, "a: b # c");
  EXPECT_EQ(load().repository.value, "lake");
  EXPECT_EQ(load().branch, Setting());
  struct stat facts {};
  ASSERT_EQ(::stat(file.c_str(), &facts), 0);
  EXPECT_EQ(facts.st_mode & 0777, 0600u);
}

TEST_F(SettingsTest, SavingRefusesAnUnknownKey) {
  EXPECT_THROW(save_settings(home_ / "c.yaml", "", {{"repo", "x"}, {"endpiont", "x"}}), Error);
  EXPECT_FALSE(fs::exists(home_ / "c.yaml"));
}

TEST_F(SettingsTest, AProfileHidesTheOtherSettingsOfTheFile) {
  const fs::path file = write(".config/tarn/config.yaml",
                              "endpoint: http://one\naccess_key: default\nsecret_key: s\n"
                              "repo: lake\nprofiles:\n  prod: {endpoint: https://two}\n");
  EXPECT_EQ(load().endpoint.value, "http://one");
  const Settings prod = load({.profile = "prod"});
  EXPECT_EQ(prod.endpoint, (Setting{"https://two", file.string() + " (profile prod)"}));
  EXPECT_EQ(prod.access_key, Setting()) << "these keys are another server's";
  EXPECT_EQ(prod.repository, Setting());
  EXPECT_EQ(prod.profile, "prod");
  variables_["TARN_PROFILE"] = "prod";
  EXPECT_EQ(load().endpoint.value, "https://two");
  EXPECT_EQ(load({.endpoint = "http://three"}).endpoint.value, "http://three");
}

TEST_F(SettingsTest, AProfileThatIsNotThereIsAnError) {
  write(".config/tarn/config.yaml", "profiles: {prod: {endpoint: https://two}}\n");
  try {
    load({.profile = "pord"});
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(exit_code_of(error), ExitCode::kUsage);
    EXPECT_NE(error.message().find("has only prod; create it with: tarn auth login --profile pord"),
              std::string::npos)
        << error.message();
  }
  EXPECT_EQ(load({.profile = "pord"}, {}, true).profile, "pord");
}

TEST_F(SettingsTest, ProfilesAreSavedAndChosen) {
  const fs::path file = home_ / ".config/tarn/config.yaml";
  save_settings(file, "", {{"endpoint", "http://one"}});
  save_settings(file, "prod", {{"endpoint", "https://two"}, {"access_key", "a"}});
  save_settings(file, "test", {{"endpoint", "https://three"}});
  EXPECT_EQ(profile_names(file), (std::vector<std::string>{"prod", "test"}));
  EXPECT_EQ(load().endpoint.value, "http://one");
  choose_profile(file, "prod");
  EXPECT_EQ(load().endpoint.value, "https://two");
  EXPECT_EQ(load({.profile = "test"}).endpoint.value, "https://three");
  EXPECT_THROW(choose_profile(file, "nope"), Error);
  choose_profile(file, "");
  EXPECT_EQ(load().endpoint.value, "http://one");
}

TEST_F(SettingsTest, ADirectoryHasARepositoryAndABranch) {
  write(".config/tarn/config.yaml", "repo: other\nbranch: main\n");
  const fs::path project = home_ / "project";
  fs::create_directories(project / "deep" / "er");
  save_directory_settings(project, "lake", "exp-1");
  const Settings below = load({}, project / "deep" / "er");
  EXPECT_EQ(below.repository, (Setting{"lake", (project / ".tarn.yaml").string()}));
  EXPECT_EQ(below.branch.value, "exp-1");
  EXPECT_EQ(load({}, home_).repository.value, "other");
  EXPECT_EQ(load({.repository = "flag"}, project).repository.value, "flag");
  variables_["TARN_BRANCH"] = "dev";
  EXPECT_EQ(load({}, project).branch.value, "dev");
  save_directory_settings(project, "", "");
  EXPECT_EQ(load({}, project).repository.value, "other");
}

// A directory may come from somebody else: a server in it would receive the user's keys.
TEST_F(SettingsTest, ADirectoryHasNoServerAndNoKeys) {
  write("project/.tarn.yaml",
        "endpoint: http://attacker\ntoken: t\naccess_key: a\nsecret_key: s\nprofile: x\nrepo: "
        "lake\n");
  const Settings settings = load({}, home_ / "project");
  EXPECT_EQ(settings.endpoint.origin, "default");
  EXPECT_EQ(settings.access_key, Setting());
  EXPECT_EQ(settings.secret_key, Setting());
  EXPECT_EQ(settings.token, Setting());
  EXPECT_EQ(settings.profile, "");
  EXPECT_EQ(settings.repository.value, "lake");
}

TEST_F(SettingsTest, CiNeverPrompts) {
  const auto environment = [this](std::string_view name) -> std::optional<std::string> {
    const auto found = variables_.find(std::string(name));
    if (found == variables_.end()) return std::nullopt;
    return found->second;
  };
  EXPECT_TRUE(may_prompt(environment, true));
  EXPECT_FALSE(may_prompt(environment, false));
  variables_["CI"] = "true";
  EXPECT_FALSE(may_prompt(environment, true));
}

}  // namespace
}  // namespace tarn::cli

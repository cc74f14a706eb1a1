#include "server/config.h"

#include <map>
#include <set>

#include <gtest/gtest.h>

#include "core/base/error.h"
#include "server/command_line.h"
#include "server/config_file.h"
#include "server/generated_docs.h"

namespace tarn::server {
namespace {

using namespace std::chrono_literals;

Environment environment_of(std::map<std::string, std::string> variables) {
  return [variables](const std::string& name) -> std::optional<std::string> {
    const auto at = variables.find(name);
    return at == variables.end() ? std::nullopt : std::optional(at->second);
  };
}

std::string failure(const std::function<void()>& doing) {
  try {
    doing();
    return "";
  } catch (const Error& error) {
    return error.message();
  }
}

std::string file_failure(const std::string& text) {
  return failure([&] {
    Config config;
    apply_config_text(config, text, "t.yaml");
  });
}

TEST(ConfigFile, SetsOnlyTheNamedKeys) {
  Config config;
  apply_config_text(config,
                    "listen: 0.0.0.0:9000\n"
                    "http:\n  workers: 8\n  head_deadline: 2s\n"
                    "cache:\n  node_bytes: 1 GiB\n"
                    "store:\n  local:\n    import_roots: [/a, /b]\n  s3:\n    path_style: false\n",
                    "t.yaml");
  EXPECT_EQ(config.listen, "0.0.0.0:9000");
  EXPECT_EQ(config.http.workers, 8u);
  EXPECT_EQ(config.http.head_deadline, 2s);
  EXPECT_EQ(config.http.idle_timeout, http::ServerLimits().idle_timeout);
  EXPECT_EQ(config.cache_node_bytes, uint64_t{1} << 30);
  EXPECT_EQ(config.store_local_import_roots, (std::vector<std::string>{"/a", "/b"}));
  EXPECT_FALSE(config.store_s3.path_style);
}

TEST(ConfigFile, ReadsFurtherStores) {
  Config config;
  apply_config_text(config,
                    "store:\n  s3_stores:\n"
                    "    - name: archive\n      buckets: [cold]\n      endpoint: https://a:9000\n  "
                    "    path_style: false\n",
                    "t.yaml");
  ASSERT_EQ(config.store_s3_stores.size(), 1u);
  EXPECT_EQ(config.store_s3_stores[0].name, "archive");
  EXPECT_EQ(config.store_s3_stores[0].buckets, std::vector<std::string>{"cold"});
  EXPECT_EQ(config.store_s3_stores[0].endpoint, "https://a:9000");
  EXPECT_FALSE(config.store_s3_stores[0].path_style);
}

TEST(ConfigFile, NamesTheLineOfWhatIsWrong) {
  EXPECT_EQ(file_failure("listen: a:1\nlog:\n  levle: info\n"),
            "t.yaml:3: unknown key \"log.levle\"");
  EXPECT_EQ(file_failure("x: 1\n"), "t.yaml:1: unknown key \"x\"");
  EXPECT_EQ(file_failure("listen: a:1\nlisten: b:1\n"), "t.yaml:2: key \"listen\" is given twice");
  EXPECT_EQ(
      file_failure("\nhttp:\n  workers: many\n"),
      "t.yaml:3: http.workers: expected a whole number, with or without KiB, MiB, GiB or TiB");
  EXPECT_EQ(file_failure("http:\n  workers: [1]\n"), "t.yaml:2: http.workers: expected one value");
  EXPECT_EQ(file_failure("http: 5\n"), "t.yaml:1: expected keys with values");
  EXPECT_EQ(file_failure("listen:\n"), "t.yaml:1: listen: has no value");
  EXPECT_EQ(file_failure("store:\n  s3_stores:\n    - nome: x\n"),
            "t.yaml:3: unknown key \"store.s3_stores.nome\"\n"
            "t.yaml:3: store.s3_stores: a store needs a name");
  EXPECT_EQ(file_failure("store:\n  s3_stores:\n    - buckets: [x]\n"),
            "t.yaml:3: store.s3_stores: a store needs a name");
  EXPECT_TRUE(file_failure("a: [1\n").starts_with("t.yaml:")) << file_failure("a: [1\n");
}

TEST(ConfigFile, ListsEveryError) {
  EXPECT_EQ(
      file_failure("listn: a:1\nhttp:\n  workers: many\n  worker: 1\nlog:\n  level: [a]\n"),
      "t.yaml:1: unknown key \"listn\"\n"
      "t.yaml:3: http.workers: expected a whole number, with or without KiB, MiB, GiB or TiB\n"
      "t.yaml:4: unknown key \"http.worker\"\n"
      "t.yaml:6: log.level: expected one value");
}

TEST(ConfigFile, MayBeEmptyOrHoldEmptySections) {
  EXPECT_EQ(file_failure(""), "");
  EXPECT_EQ(file_failure("# nothing\nhttp:\n"), "");
}

TEST(Environment, ReachesEveryKey) {
  EXPECT_EQ(environment_name("store.local.import_roots"), "TARN_STORE_LOCAL_IMPORT_ROOTS");
  std::set<std::string> names;
  for (const ConfigKey& key : config_keys()) names.insert(environment_name(key.path));
  EXPECT_EQ(names.size(), config_keys().size()) << "two keys share a variable";

  Config config;
  apply_environment(config, environment_of({{"TARN_STORE_LOCAL_IMPORT_ROOTS", "/a, /b,"},
                                            {"TARN_HTTP_IDLE_TIMEOUT", "5m"},
                                            {"TARN_STORE_S3_PATH_STYLE", "false"}}));
  EXPECT_EQ(config.store_local_import_roots, (std::vector<std::string>{"/a", "/b"}));
  EXPECT_EQ(config.http.idle_timeout, 5min);
  EXPECT_FALSE(config.store_s3.path_style);
}

TEST(Environment, NamesTheVariableThatIsWrong) {
  EXPECT_EQ(failure([] {
              Config config;
              apply_environment(config, environment_of({{"TARN_HTTP_WORKERS", "-1"}}));
            }),
            "environment variable TARN_HTTP_WORKERS: expected a whole number, with or without KiB, "
            "MiB, GiB or TiB");
}

TEST(Environment, ReportsMisspelledVariables) {
  const std::vector<std::string> names = {"TARN_STORE_LOCAL_ROOT",
                                          "TARN_STORE_LOCAL_ROT",
                                          "TARN_HTTP_WORKER",
                                          "TARN_LISTNE",
                                          "TARN_CACHE",
                                          "TARN_ENDPOINT",
                                          "PATH"};
  EXPECT_EQ(misspelt_variables(Config(), names),
            (std::vector<std::string>{"TARN_STORE_LOCAL_ROT", "TARN_HTTP_WORKER", "TARN_LISTNE"}));
}

TEST(Environment, KnowsVariablesThatAreNoKeys) {
  const std::vector<std::string> names = {"TARN_SERVICE_HOST",
                                          "TARN_SERVICE_PORT_HTTP",
                                          "TARN_PORT",
                                          "TARN_PORT_8000_TCP_ADDR",
                                          "TARN_ADMIN_SECRET_ACCESS_KEY_FILE",
                                          "TARN_OF_A_HOOK"};
  Config config;
  config.hooks_variables = "TARN_OF_A_HOOK=lake";
  EXPECT_EQ(misspelt_variables(config, names), std::vector<std::string>());
  EXPECT_EQ(misspelt_variables(Config(), names), std::vector<std::string>{"TARN_OF_A_HOOK"});
}

TEST(ReadConfig, FlagsWinOverEnvironmentOverFileOverDefault) {
  const std::string path = testing::TempDir() + "tarn_config_test.yaml";
  FILE* file = fopen(path.c_str(), "w");
  fputs("listen: file:1\ndata: file\ndatabase: file\n", file);
  fclose(file);
  CommandLine command;
  command.config_file = path;
  command.listen = "flag:1";
  const Config config = read_config(
      command, environment_of({{"TARN_LISTEN", "environment:1"}, {"TARN_DATA", "environment"}}));
  EXPECT_EQ(config.listen, "flag:1");
  EXPECT_EQ(config.data, "environment");
  EXPECT_EQ(config.database, "file");
  EXPECT_EQ(config.log_level, "info");
  remove(path.c_str());
}

TEST(ReadConfig, NamesAFileThatIsNotThere) {
  CommandLine command;
  command.config_file = "/nonexistent/tarn.yaml";
  EXPECT_EQ(failure([&] { read_config(command, environment_of({})); }),
            "reading the configuration file /nonexistent/tarn.yaml: cannot be read");
}

TEST(SetConfigValue, KnowsUnitsAndTheirLimits) {
  uint64_t size = 0;
  std::chrono::milliseconds time{};
  uint32_t small = 0;
  set_config_value(&size, "3KiB");
  EXPECT_EQ(size, 3072u);
  set_config_value(&time, "250ms");
  EXPECT_EQ(time, 250ms);
  set_config_value(&time, "1h");
  EXPECT_EQ(time, 1h);
  EXPECT_NE(failure([&] { set_config_value(&time, "5"); }), "") << "a time without a unit";
  EXPECT_NE(failure([&] { set_config_value(&time, "25h"); }), "");
  EXPECT_NE(failure([&] { set_config_value(&small, "5GiB"); }), "");
  EXPECT_NE(failure([&] { set_config_value(&size, "99999999999 TiB"); }), "");
  EXPECT_NE(failure([&] { set_config_value(&size, "3KB"); }), "");
  bool flag = false;
  EXPECT_NE(failure([&] { set_config_value(&flag, "yes"); }), "");
}

TEST(ConfigText, IsReadBackToTheSameValue) {
  Config config;
  for (const ConfigKey& key : config_keys()) {
    Config other;
    const std::string text = config_text(key.value(config));
    set_config_value(key.value(other), text);
    EXPECT_EQ(config_text(key.value(other)), text) << key.path;
  }
}

TEST(CheckConfig, AcceptsTheDefaults) {
  EXPECT_EQ(failure([] { check_config(Config()); }), "");
}

TEST(CheckConfig, NamesTheKeyThatIsWrong) {
  struct Case {
    const char* key;
    const char* value;
    const char* said;
  };
  constexpr Case kCases[] = {
      {"listen", "8000", "listen: expected HOST:PORT"},
      {"listen", "a:70000", "listen: expected a port from 0 to 65535 after the colon"},
      {"s3.listen", "x", "s3.listen: expected HOST:PORT"},
      {"s3.create_bucket", "yes", "s3.create_bucket: must be one of off, repository, rooted"},
      {"s3.bucket_namespace", "/objects", "s3.bucket_namespace: must begin with local:// or s3://"},
      {"s3.hosts", "s3.test:8000",
       "s3.hosts: \"s3.test:8000\" must be a host name in lower case, without a port"},
      {"s3.hosts", "S3.test",
       "s3.hosts: \"S3.test\" must be a host name in lower case, without a port"},
      {"s3.cors.allowed_origins", "app.test",
       "s3.cors.allowed_origins: \"app.test\" must be * or a scheme, :// and a host, maybe with a "
       "port, with one * at most"},
      {"s3.cors.allowed_methods", "GET,PATCH",
       "s3.cors.allowed_methods: \"PATCH\" must be GET, HEAD, PUT, POST or DELETE"},
      {"s3.cors.allowed_headers", "x-*-*",
       "s3.cors.allowed_headers: \"x-*-*\" must be the name of a header, with one * at most"},
      {"s3.cors.exposed_headers", "ETag\r\nSet-Cookie: a",
       "s3.cors.exposed_headers: \"ETag\r\nSet-Cookie: a\" must be the name of a header"},
      {"log.level", "loud", "log.level: must be one of debug, info, warn, error"},
      {"log.format", "xml", "log.format: must be one of text, json"},
      {"log.requests", "some", "log.requests: must be one of all, slow, none"},
      {"http.workers", "0", "http.workers: must be at least 1"},
      {"db.connections", "1", "db.connections: must be at least 2"},
      {"auth.master_key", "abc", "auth.master_key: must be 64 hex digits"},
      {"data", "", "data: must name a directory"},
      {"store.local.import_roots", "relative",
       "store.local.import_roots: \"relative\" is no absolute directory in its plain form"},
      {"store.local.import_roots", "/a/../b",
       "store.local.import_roots: \"/a/../b\" is no absolute directory in its plain form"},
      {"store.cache.bytes_max", "31MiB",
       "store.cache.bytes_max: must be at least 4 times store.cache.object_bytes_max"},
      {"store.s3.endpoint", "host:9000", "store.s3.endpoint: must begin with http:// or https://"},
      {"auth.presign", "yes", "auth.presign: must be one of on, off"},
      {"server.external_url", "lake.example.com",
       "server.external_url: must be http:// or https://, a host and maybe a port, nothing behind"},
      {"server.external_url", "https://lake.example.com/tarn",
       "server.external_url: must be http:// or https://, a host and maybe a port, nothing behind"},
  };
  for (const Case& c : kCases) {
    Config config;
    set_config_value(find_config_key(c.key)->value(config), c.value);
    EXPECT_EQ(failure([&] { check_config(config); }), c.said);
  }
}

TEST(ReadConfig, TakesAnEmptyFileAndNoDirectory) {
  CommandLine command;
  command.config_file = testing::TempDir() + "tarn_config_empty.yaml";
  fclose(fopen(command.config_file.c_str(), "w"));
  EXPECT_EQ(failure([&] { read_config(command, environment_of({})); }), "");
  remove(command.config_file.c_str());
  command.config_file = testing::TempDir();
  EXPECT_NE(failure([&] { read_config(command, environment_of({})); }).find("cannot be read"),
            std::string::npos);
}

TEST(ReadConfig, ListsTheErrorsOfAllSources) {
  const std::string path = testing::TempDir() + "tarn_config_errors.yaml";
  FILE* file = fopen(path.c_str(), "w");
  fputs("listn: a:1\nlog:\n  level: loud\ndb:\n  connections: 1\n", file);
  fclose(file);
  CommandLine command;
  command.config_file = path;
  EXPECT_EQ(failure([&] {
              read_config(command, environment_of({{"TARN_HTTP_WORKERS", "many"},
                                                   {"TARN_DATABASE_FILE", "/no/such"}}));
            }),
            path +
                ":1: unknown key \"listn\"\n"
                "environment variable TARN_HTTP_WORKERS: expected a whole number, with or without "
                "KiB, MiB, GiB or TiB\n"
                "database_file: the file /no/such cannot be read\n"
                "log.level: must be one of debug, info, warn, error\n"
                "db.connections: must be at least 2");
  remove(path.c_str());
}

TEST(CheckConfig, ImportRootsMayNotOverlapServerData) {
  Config config;
  config.data = "/d/tarn";
  config.store_local_root = "/objects";
  for (const char* root : {"/d/tarn", "/d/tarn/objects", "/d", "/", "/objects/lake"}) {
    config.store_local_import_roots = {"/elsewhere", root};
    EXPECT_NE(failure([&] { check_config(config); }).find("overlap"), std::string::npos) << root;
  }
  config.store_local_import_roots = {"/d/tarn-imports", "/object", "/e"};
  EXPECT_EQ(failure([&] { check_config(config); }), "");
}

TEST(CheckConfig, AllowsOneDefaultStoreAtMost) {
  Config config;
  config.store_s3.endpoint = "http://a";
  config.store_s3_stores.push_back({.name = "b", .buckets = {}, .endpoint = "http://b"});
  EXPECT_EQ(failure([&] { check_config(config); }),
            "store.s3_stores: \"b\" names no buckets, but another store takes the rest");
  config.store_s3_stores[0].buckets = {"b"};
  EXPECT_EQ(failure([&] { check_config(config); }), "");
  config.store_s3_stores[0].access_key_id = "half";
  EXPECT_EQ(failure([&] { check_config(config); }),
            "store.s3_stores \"b\".secret_access_key: goes with access_key_id: both or none");
  config.store_s3_stores[0].access_key_id.clear();
  config.store_s3_stores[0].presign_endpoint = "ftp://b";
  EXPECT_EQ(
      failure([&] { check_config(config); }),
      "store.s3_stores \"b\".presign_endpoint: must be http:// or https://, a host and maybe a "
      "port, nothing behind");
}

TEST(Config, DefaultPathsAreBelowTheDataDirectory) {
  Config config;
  config.data = "/d";
  EXPECT_EQ(config.local_root(), "/d/objects");
  EXPECT_EQ(config.master_key_file(), "/d/master.key");
  config.store_local_root = "/r";
  config.auth_master_key_file = "/k";
  EXPECT_EQ(config.local_root(), "/r");
  EXPECT_EQ(config.master_key_file(), "/k");
}

TEST(Config, CountsTheUnnamedStoreOnlyWithAnEndpoint) {
  Config config;
  config.store_s3_stores.push_back({.name = "b", .buckets = {"b"}, .endpoint = "http://b"});
  EXPECT_EQ(config.s3_stores().size(), 1u);
  config.store_s3.endpoint = "http://a";
  EXPECT_EQ(config.s3_stores().size(), 2u);
}

TEST(ParseListen, ReadsHostsAndPorts) {
  EXPECT_EQ(parse_listen("127.0.0.1:8000").host, "127.0.0.1");
  EXPECT_EQ(parse_listen("127.0.0.1:8000").port, 8000);
  EXPECT_EQ(parse_listen("[::1]:0").host, "::1");
  EXPECT_EQ(parse_listen(":80").host, "0.0.0.0");
}

TEST(EffectiveText, ShowsNoSecret) {
  Config config;
  config.auth_master_key = std::string(64, 'a');
  config.store_s3.secret_access_key = "hush";
  config.database = "postgresql://tarn:hush@db/tarn";
  config.store_s3_stores.push_back({.name = "b", .endpoint = "http://a:hush@b"});
  const std::string text = effective_text(config);
  EXPECT_EQ(text.find("aaaa"), std::string::npos);
  EXPECT_EQ(text.find("hush"), std::string::npos);
  EXPECT_NE(text.find("auth.master_key: (secret)"), std::string::npos);
  EXPECT_NE(text.find("listen: 127.0.0.1:8000\n"), std::string::npos);
  std::map<std::string, api::json::Setting> settings;
  for (api::json::Setting& setting : effective_settings(config)) {
    EXPECT_EQ(setting.value.find("hush"), std::string::npos) << setting.name;
    settings[setting.name] = setting;
  }
  EXPECT_TRUE(settings["auth.master_key"].is_secret);
  EXPECT_EQ(settings["auth.master_key"].value, "");
  EXPECT_FALSE(settings["auth.master_key"].is_default);
  EXPECT_TRUE(settings["listen"].is_default);
  EXPECT_FALSE(settings["database"].is_default);
}

TEST(CommandLine, ReadsItsFlags) {
  const char* argv[] = {"tarnd", "--listen",     "x:1", "--data",
                        "d",     "--ready-file", "r",   "--check-config"};
  const ParsedCommandLine parsed = parse_command_line(8, argv);
  EXPECT_EQ(parsed.exit_status, std::nullopt);
  EXPECT_EQ(parsed.command.listen, "x:1");
  EXPECT_EQ(parsed.command.data, "d");
  EXPECT_EQ(parsed.command.database, std::nullopt);
  EXPECT_EQ(parsed.command.ready_file, "r");
  EXPECT_EQ(parsed.command.mode, CommandLine::Mode::kCheckConfig);
}

TEST(CommandLine, RefusesWhatItDoesNotKnow) {
  const char* argv[] = {"tarnd", "--nope"};
  EXPECT_NE(parse_command_line(2, argv).exit_status.value_or(0), 0);
}

}  // namespace
}  // namespace tarn::server

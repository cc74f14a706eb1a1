// The committed texts that are generated from tables in the code.
#include "server/generated_docs.h"

#include <fstream>
#include <set>
#include <sstream>

#include <gtest/gtest.h>

#include "core/promotion/policy_keys.h"
#include "server/config_file.h"

namespace tarn::server {
namespace {

std::string file(const std::string& path) {
  std::ifstream in(std::string(TARN_SOURCE_DIRECTORY) + "/" + path);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

/// The page without its last section, which tests/e2e/rest/test_rest_golden.py compares.
std::string without_deviations(const std::string& page) {
  return page.substr(0, page.find("\n## Answers that differ from lakeFS\n"));
}

TEST(GeneratedDocs, AreWhatTheProgramPrints) {
  EXPECT_EQ(without_deviations(file("docs/rest-compatibility.md")), rest_table_page())
      << "run tarnd --print-rest-table";
  EXPECT_EQ(file("docs/configuration.md"), configuration_page()) << "run tarnd --print-config-docs";
  EXPECT_EQ(file("docs/policy-reference.md"), promotion::policy_reference_page())
      << "run tarnd --print-policy-docs";
  EXPECT_EQ(file("server/tarn.sample.yaml"), sample_file()) << "run tarnd --print-sample-config";
}

TEST(SampleFile, SetsNothingAsItIs) {
  Config config;
  apply_config_text(config, sample_file(), "sample");
  EXPECT_EQ(effective_text(config), effective_text(Config()));
}

/// The line without its comment sign when it gives a value ("  # workers: 64"), else as it is.
std::string uncommented(std::string line) {
  std::set<std::string_view> names;
  for (const ConfigKey& key : config_keys()) names.insert(key.path.substr(key.path.rfind('.') + 1));
  const size_t hash = line.find("# ");
  const size_t colon = line.find(": ");
  if (hash == std::string::npos || colon == std::string::npos || colon < hash) return line;
  if (names.contains(std::string_view(line).substr(hash + 2, colon - hash - 2)))
    line.erase(hash, 2);
  return line;
}

TEST(SampleFile, SetsTheDefaultsOnceTheCommentsAreTakenOff) {
  std::string text;
  std::stringstream lines(sample_file());
  for (std::string line;
       std::getline(lines, line) && line.find("Further S3") == std::string::npos;) {
    text += uncommented(line) + "\n";
  }
  Config config;
  config.listen = "changed";
  config.http.workers = 1;
  config.store_s3.path_style = false;
  apply_config_text(config, text, "sample");
  EXPECT_EQ(effective_text(config), effective_text(Config()));
}

}  // namespace
}  // namespace tarn::server

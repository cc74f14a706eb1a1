// Imports over a real database, with a memory store as the source, for tests.
#pragma once

#include <string>

#include <gtest/gtest.h>

#include "core/imports/import.h"
#include "core/imports/import_job.h"
#include "tests/support/repository_test.h"

namespace tarn::imports {

class Import : public ::testing::Test {
 protected:
  /// An import of one object, to data/o0 of main.
  std::string start_one() {
    source("set/o0", "imported");
    return start_import(*engine, repo, BranchName("main"), prefix("local:///lake/set/", "data/"));
  }
  testing::TestDatabase database;
  testing::TestEngine engine{database.url()};
  testing::TestRepository repo = engine.make_repository("lake");

  void source(const std::string& key, const std::string& bytes) {
    const auto writer = engine.store->create(key, bytes.size());
    writer->write(bytes);
    ASSERT_TRUE(writer->finish());
  }

  ImportStatus run(const ImportRequest& request) {
    const std::string id = start_import(*engine, repo, BranchName("main"), request);
    while (run_one_import(*engine, {})) {
    }
    return import_status(*engine, repo, BranchName("main"), id);
  }

  static ImportRequest prefix(const std::string& url, const std::string& destination) {
    ImportRequest request;
    request.paths = {{ImportPath::Kind::kPrefix, url, destination}};
    request.commit.committer = "tester";
    return request;
  }
};

}  // namespace tarn::imports

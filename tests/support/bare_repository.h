// A repository without branches, into which refs are restored.
#pragma once

#include <string>

#include "core/branch/repositories.h"
#include "tests/support/engine_fixture.h"

namespace tarn::testing {

inline TestRepository make_bare_repository(TestEngine& engine, const std::string& name) {
  branch::RepositoryCreation creation;
  creation.name = RepositoryName(name);
  creation.storage_namespace = "local://" + name;
  creation.bare = true;
  return {branch::create_repository(*engine, creation)};
}

}  // namespace tarn::testing

// Sample data for a new repository.
#pragma once

#include <string>

#include "core/model/repository.h"

namespace tarn::versioning {
struct Engine;
}

namespace tarn::api {

/// Uploads a readme and a small table to the default branch, commits them, and protects the branch.
void add_sample_data(versioning::Engine& engine, const Repository& repository,
                     const std::string& committer);

}  // namespace tarn::api

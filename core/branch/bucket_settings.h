// Settings of a repository as a bucket of S3.
#pragma once

#include <functional>
#include <optional>

#include "core/branch/engine.h"
#include "core/model/bucket_settings.h"
#include "core/model/repository.h"

namespace tarn::branch {

// All throw not_found "repository not found". A change holds for every request that begins after
// it, on every server.

BucketSettings get_bucket_settings(Engine& engine, const Repository& repository);

/// Changes the settings of exactly this repository, one change at a time over all servers. What
/// `change` throws ends it. Throws permission_denied in a read-only repository unless `force`.
void change_bucket_settings(Engine& engine, const Repository& repository, bool force,
                            const std::function<void(BucketSettings&)>& change);

/// The CORS rules as the document that set_cors was given; nullopt: none, or no such repository.
std::optional<std::string> find_cors(Engine& engine, const RepositoryName& repository);
/// nullopt removes the rules. Throws permission_denied in a read-only repository.
void set_cors(Engine& engine, const Repository& repository,
              const std::optional<std::string>& document);

/// The repository, when its bare name is a bucket whose keys are paths of `branch` and whose access
/// control list lets everybody read. nullopt otherwise, also when it does not exist. An id is never
/// given twice: the same answer before and after a read proves that the read was of this
/// repository.
std::optional<RepositoryId> public_repository(Engine& engine, const RepositoryName& repository,
                                              const BranchName& branch);

}  // namespace tarn::branch

#include "s3gateway/lookup.h"

#include "core/base/str_cat.h"
#include "core/versioning/repositories.h"
#include "s3gateway/errors.h"

namespace tarn::s3 {
namespace {

constexpr std::string_view kNullVersion = "null";

[[noreturn]] void refuse_no_key(const Location& location) {
  throw Refusal(failure::kNoSuchKey, "The specified key does not exist.",
                {{"Key", location.rooted ? location.path
                                         : str_cat(location.ref, location.has_path ? "/" : "",
                                                   location.path)}});
}

/// What does not parse as a ref is to S3 the first segment of a key that does not exist.
bool means_absent(const Error& error) {
  return error.reason() == "ref_not_found" || error.reason() == "invalid_argument";
}

std::optional<versioning::FoundObject> find_at(versioning::Engine& engine,
                                               const RepositoryName& repository,
                                               std::string_view ref, const Key& key) {
  try {
    return versioning::find_object(engine, repository, ref, key, kCommitDigitsMin);
  } catch (const Error& error) {
    if (!means_absent(error)) throw;
    versioning::get_repository(engine, repository);  // throws when that is what is missing
    return std::nullopt;
  }
}

versioning::FoundObject require_version(versioning::Engine& engine, const Location& location,
                                        const std::string& version_id) {
  const std::optional<CommitId> commit = parse_commit_id(version_id);
  if (!commit) {
    throw Refusal(failure::kInvalidArgument,
                  "Invalid version id specified: it must be \"null\" or the full id of a commit.",
                  {{"ArgumentName", "versionId"}, {"ArgumentValue", version_id}});
  }
  auto found = find_at(engine, location.repository, version_id, require_key(engine, location));
  if (!found) {
    throw Refusal(failure::kNoSuchVersion,
                  "The commit named by versionId does not exist or does not hold this key.",
                  {{"Key", location.path}, {"VersionId", version_id}});
  }
  found->commit = commit;
  return std::move(*found);
}

}  // namespace

std::optional<versioning::ResolvedRef> find_ref(versioning::Engine& engine,
                                                const RepositoryName& repository,
                                                std::string_view ref) {
  try {
    return versioning::resolve(engine, repository, ref, kCommitDigitsMin);
  } catch (const Error& error) {
    if (!means_absent(error)) throw;
    versioning::get_repository(engine, repository);
    return std::nullopt;
  }
}

void require_existing(versioning::Engine& engine, const BucketName& bucket) {
  versioning::get_repository(engine, bucket.repository);
  if (bucket.rooted() && !find_ref(engine, bucket.repository, bucket.ref)) {
    throw Refusal(failure::kNoSuchBucket, str_cat("Repository \"", bucket.repository.str(),
                                                  "\" has no ref \"", bucket.ref, "\"."));
  }
}

versioning::FoundObject require_object(versioning::Engine& engine, const Location& location,
                                       const std::optional<std::string>& version_id) {
  if (location.path.empty()) {
    versioning::get_repository(engine, location.repository);
    refuse_no_key(location);
  }
  if (version_id && !version_id->empty() && *version_id != kNullVersion) {
    return require_version(engine, location, *version_id);
  }
  auto found = find_at(engine, location.repository, location.ref, require_key(engine, location));
  if (!found && location.rooted) require_existing(engine, {location.repository, location.ref});
  if (!found) refuse_no_key(location);
  return std::move(*found);
}

void refuse_no_branch(versioning::Engine& engine, const Location& location) {
  if (find_ref(engine, location.repository, location.ref)) {
    throw Refusal(
        failure::kMethodNotAllowed,
        str_cat(
            "\"", location.ref, "\" in repository \"", location.repository.str(),
            "\" is a tag, an alias, a commit or an expression and read-only. Write to a branch."));
  }
  throw Refusal(failure::kNoSuchBucket,
                str_cat("Branch \"", location.ref, "\" does not exist in repository \"",
                        location.repository.str(), "\". Create it before writing to it."),
                {{"BucketName", location.repository.str()}});
}

BranchName require_branch_name(versioning::Engine& engine, const Location& location) {
  if (!is_branch_name(location.ref)) refuse_no_branch(engine, location);
  return BranchName(location.ref);
}

Key require_key(versioning::Engine& engine, const Location& location) {
  try {
    if (!location.path.empty()) return parse_key(location.path);
  } catch (const Error&) {
    versioning::get_repository(engine, location.repository);
    throw;
  }
  versioning::get_repository(engine, location.repository);
  throw Refusal(failure::kInvalidArgument, "The key must be <branch>/<path>.",
                {{"ArgumentName", "Key"}, {"ArgumentValue", location.ref}});
}

versioning::WriteTerms terms_of(const Location& location) {
  if (!location.bare) return false;
  return versioning::WriteTerms(location.rooted ? location.ref : std::string());
}

versioning::UploadTarget check_upload(versioning::Engine& engine, const Location& location,
                                      const versioning::Condition& condition) {
  const Key key = require_key(engine, location);
  return on_branch(engine, location, [&](const BranchName& branch) {
    return versioning::check_upload(engine, location.repository, branch, key, terms_of(location),
                                    condition);
  });
}

}  // namespace tarn::s3

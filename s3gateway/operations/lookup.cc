#include "s3gateway/operations/lookup.h"

#include "core/base/reasons.h"
#include "core/base/str_cat.h"
#include "core/branch/object_versions.h"
#include "core/branch/repositories.h"
#include "s3gateway/wire/errors.h"

namespace tarn::s3 {
namespace {

[[noreturn]] void refuse_no_key(const Location& location, http::Headers headers = {}) {
  throw Refusal(failure::kNoSuchKey, "The specified key does not exist.",
                {{"Key", location.rooted
                             ? location.path
                             : str_cat(location.ref, location.has_path ? "/" : "", location.path)}},
                std::move(headers));
}

http::Headers marker_headers(std::string_view version_id) {
  http::Headers headers;
  headers.add("x-amz-delete-marker", "true");
  add_version_header(headers, version_id);
  return headers;
}

/// The refusal of a key that was looked for and not found.
[[noreturn]] void refuse_absent(branch::Engine& engine, const Location& location, const Key& key) {
  const auto marker = find_marker(engine, location, key);
  refuse_no_key(location, marker ? marker_headers(to_text(*marker)) : http::Headers{});
}

/// Over S3, text that does not parse as a ref is the first segment of a key that does not exist.
bool means_absent(const Error& error) {
  return error.reason() == reason::kRefNotFound || error.reason() == "invalid_argument";
}

std::optional<objects::FoundObject> find_at(branch::Engine& engine,
                                            const RepositoryName& repository, std::string_view ref,
                                            const Key& key) {
  try {
    return objects::find_object(engine, repository, ref, key, kCommitDigitsMin);
  } catch (const Error& error) {
    if (!means_absent(error)) throw;
    branch::get_repository(engine, repository);  // throws when that is what is missing
    return std::nullopt;
  }
}

[[noreturn]] void refuse_no_version(const Location& location, std::string_view version_id) {
  throw Refusal(
      failure::kNoSuchVersion,
      "The version named by versionId does not exist, or the commit does not hold this key.",
      {{"Key", location.path}, {"VersionId", std::string(version_id)}});
}

VersionedObject require_at_commit(branch::Engine& engine, const Location& location,
                                  const CommitId& commit) {
  const std::string text = to_text(commit);
  auto found = find_at(engine, location.repository, text, require_key(engine, location));
  if (!found) refuse_no_version(location, text);
  found->commit = commit;
  return {*std::move(found), text};
}

/// `id` absent: the null version.
VersionedObject require_version(branch::Engine& engine, const Location& location,
                                const std::optional<VersionId>& id) {
  const Key key = require_key(engine, location);
  const std::string text = id ? to_text(*id) : std::string(kNullVersion);
  const Repository repository = branch::get_repository(engine, location.repository);
  if (!is_branch_name(location.ref)) refuse_no_version(location, text);
  auto found = branch::find_version(engine, location.repository, BranchName(location.ref), key, id);
  if (!found) refuse_no_version(location, text);
  if (!found->entry) {
    throw Refusal(failure::kMethodNotAllowed,
                  "The specified method is not allowed against this resource: the version is a "
                  "delete marker.",
                  {{"Key", location.path}, {"VersionId", text}}, marker_headers(text));
  }
  VersionedObject out;
  out.repository = repository;
  out.entry = *std::move(found->entry);
  out.versioning = Versioning::kEnabled;
  out.origin = {.repository = repository.id,
                .makers = {found->makers.begin(), found->makers.end()}};
  out.version_id = text;
  return out;
}

[[noreturn]] void refuse_version_id(const std::string& version_id) {
  throw Refusal(
      failure::kInvalidArgument,
      "Invalid version id specified: it must be \"null\", the id of a version or the full "
      "id of a commit.",
      {{"ArgumentName", "versionId"}, {"ArgumentValue", version_id}});
}

/// Whether the location's ref keeps versions, for objects that were not found.
Versioning versioning_at(branch::Engine& engine, const Location& location) {
  if (!is_branch_name(location.ref)) return Versioning::kOff;
  return branch::get_versioning(engine, branch::get_repository(engine, location.repository));
}

/// Maximum number of attempts to read an object together with its version, which concurrent writes
/// can change.
constexpr int kLooksMax = 10;

}  // namespace

std::optional<branch::ResolvedRef> find_ref(branch::Engine& engine, const Repository& repository,
                                            std::string_view ref) {
  try {
    return branch::resolve(engine, repository, ref, kCommitDigitsMin);
  } catch (const Error& error) {
    if (!means_absent(error)) throw;
    return std::nullopt;
  }
}

Repository require_existing(branch::Engine& engine, const BucketName& bucket) {
  Repository repository = branch::get_repository(engine, bucket.repository);
  if (bucket.rooted() && !find_ref(engine, repository, bucket.ref)) {
    throw Refusal(failure::kNoSuchBucket, str_cat("Repository \"", bucket.repository.str(),
                                                  "\" has no ref \"", bucket.ref, "\"."));
  }
  return repository;
}

VersionedObject require_object(branch::Engine& engine, const Location& location,
                               const std::optional<std::string>& version_id) {
  if (location.path.empty()) {
    branch::get_repository(engine, location.repository);
    refuse_no_key(location);
  }
  const bool null_asked = version_id == kNullVersion;
  if (version_id && !version_id->empty() && !null_asked) {
    if (const auto commit = parse_commit_id(*version_id)) {
      return require_at_commit(engine, location, *commit);
    }
    const auto id = parse_version_id(*version_id);
    if (!id) refuse_version_id(*version_id);
    return require_version(engine, location, id);
  }
  const Key key = require_key(engine, location);
  auto found = find_at(engine, location.repository, location.ref, key);
  if (null_asked &&
      (found ? found->versioning : versioning_at(engine, location)) != Versioning::kOff) {
    return require_version(engine, location, std::nullopt);
  }
  if (!found && location.rooted) require_existing(engine, {location.repository, location.ref});
  if (!found) refuse_absent(engine, location, key);
  if (found->commit) return {*found, to_text(*found->commit)};
  if (found->versioning == Versioning::kOff) return {*std::move(found), ""};
  for (int look = 0; look < kLooksMax; ++look) {
    const auto version = branch::version_shown(engine, found->branch, key, found->entry);
    if (version) return {*std::move(found), to_text(*version)};
    // Either the null version, or one that was written in the meantime.
    auto again = find_at(engine, location.repository, location.ref, key);
    if (!again) refuse_absent(engine, location, key);
    if (again->entry == found->entry) return {*std::move(found), std::string(kNullVersion)};
    found = std::move(again);
  }
  return {*std::move(found), ""};  // rather none than a wrong one
}

std::optional<VersionId> find_marker(branch::Engine& engine, const Location& location,
                                     const Key& key) {
  if (!is_branch_name(location.ref) || parse_commit_id(location.ref)) return std::nullopt;
  return branch::marker_shown(engine, location.repository, BranchName(location.ref), key);
}

std::vector<objects::UploadedPart> object_parts(branch::Engine& engine, const Entry& entry) {
  std::vector<objects::UploadedPart> out = objects::parts_of(engine, entry);
  if (!out.empty() || !entry.etag.ends_with("-1")) return out;
  objects::UploadedPart only{1, entry.size_bytes, entry.etag, entry.mtime, {}};
  for (const Checksum& checksum : entry.checksums()) {
    // A composite checksum is a digest of the part's digest, which is not stored.
    if (!checksum.composite) only.checksums.push_back(checksum);
  }
  out.push_back(std::move(only));
  return out;
}

void add_version_header(http::Headers& headers, std::string_view version_id) {
  if (!version_id.empty()) headers.add("x-amz-version-id", std::string(version_id));
}

void add_version_header(http::Headers& headers, const std::optional<VersionId>& version) {
  if (version) add_version_header(headers, to_text(*version));
}

void refuse_no_branch(branch::Engine& engine, const Location& location) {
  if (find_ref(engine, branch::get_repository(engine, location.repository), location.ref)) {
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

BranchName require_branch_name(branch::Engine& engine, const Location& location) {
  if (!is_branch_name(location.ref)) refuse_no_branch(engine, location);
  return BranchName(location.ref);
}

Key require_key(branch::Engine& engine, const Location& location) {
  try {
    if (!location.path.empty()) return parse_key(location.path);
  } catch (const Error&) {
    branch::get_repository(engine, location.repository);
    throw;
  }
  branch::get_repository(engine, location.repository);
  throw Refusal(failure::kInvalidArgument, "The key must be <branch>/<path>.",
                {{"ArgumentName", "Key"}, {"ArgumentValue", location.ref}});
}

branch::WriteTerms terms_of(const Location& location) {
  if (!location.bare) return false;
  return branch::WriteTerms(location.rooted ? location.ref : std::string());
}

objects::UploadTarget check_upload(branch::Engine& engine, const Location& location,
                                   const branch::Condition& condition) {
  const Key key = require_key(engine, location);
  return on_branch(engine, location, [&](const BranchName& branch) {
    return objects::check_upload(engine, location.repository, branch, key, terms_of(location),
                                 condition);
  });
}

}  // namespace tarn::s3

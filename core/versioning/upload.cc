#include "core/versioning/upload.h"

#include "core/base/digest.h"
#include "core/base/encoding.h"
#include "core/base/error.h"
#include "core/base/str_cat.h"
#include "core/blob/stores.h"
#include "core/meta/repositories.h"
#include "core/meta/uploads.h"
#include "core/meta/writer.h"
#include "core/versioning/object_writer.h"
#include "core/versioning/refs.h"
#include "core/versioning/repositories.h"
#include "core/versioning/stage.h"

namespace tarn::versioning {
namespace {

constexpr std::chrono::hours kHandedOutLifetime{24};

Entry make_entry(const ObjectAttributes& attributes) {
  Entry entry;
  entry.content_type = attributes.content_type;
  entry.extras = attributes.extras;
  entry.set_user_metadata(attributes.user_metadata);
  return entry;
}

StageTarget stage_target(const UploadTarget& target) {
  return {target.repository.name, target.branch.name, target.branch.id,
          target.branch.settings_version};
}

/// The part of a URL behind the repository's own namespace; nullopt when it lies elsewhere.
std::optional<std::string_view> inside_namespace(const Repository& repository,
                                                 std::string_view url) {
  if (!url.starts_with(repository.storage_namespace)) return std::nullopt;
  url.remove_prefix(repository.storage_namespace.size());
  if (!url.starts_with('/')) return std::nullopt;
  return url.substr(1);
}

std::string link_token(const Engine& engine, RepositoryId repository, std::string_view branch,
                       std::string_view key, std::string_view relative) {
  return to_base64url(
      hmac_sha256(engine.link_key, str_cat("link\n", static_cast<int32_t>(repository), "\n", branch,
                                           "\n", key, "\n", relative)));
}

[[noreturn]] void throw_link_invalid(std::string_view why) {
  throw Error(ErrorCode::kInvalidArgument, "link_address_invalid",
              str_cat("link address invalid: ", why));
}

void check_external(Engine& engine, const std::string& url) {
  engine.stores.locate(url);  // a known scheme, a permitted place
  if (url.starts_with("local://") && !url.starts_with("local:///")) {
    throw_invalid(str_cat("physical address \"", url,
                          "\": is inside the object store but not of this repository"));
  }
  if (!engine.repositories.overlapping_namespaces(url).empty()) {
    throw_invalid(
        str_cat("physical address \"", url, "\": lies in another repository's namespace"));
  }
}

}  // namespace

UploadTarget check_upload(Engine& engine, const RepositoryName& repository,
                          const BranchName& branch, const Key& key, bool force,
                          const Condition& condition) {
  const meta::BranchLookup seen = lookup_for_write(engine, repository, branch, key, force);
  UploadTarget target{engine.repositories.get(seen.repository), seen.branch, key};
  if (!condition.none()) check_condition(condition, visible_entry(engine, seen, key));
  return target;
}

Entry put_object(Engine& engine, const UploadTarget& target, UploadBody& body,
                 std::optional<uint64_t> size_hint, const ObjectAttributes& attributes,
                 const Condition& condition) {
  const meta::Writer::Operation operation(engine.writer);
  const WrittenObject written = write_object(
      engine, target.repository, [&body](std::span<char> out) { return body.read(out); },
      size_hint);
  UploadDigests digests = body.digests();
  Entry entry = make_entry(attributes);
  entry.size_bytes = written.size_bytes;
  entry.mtime = engine.clock.now();
  entry.etag = std::move(digests.etag);
  entry.address = written.address;
  if (!digests.checksums.empty()) entry.set_checksums(digests.checksums);
  stage_entry(engine, stage_target(target), target.key, entry, condition);
  return entry;
}

Entry stage_address(Engine& engine, const UploadTarget& target, const std::string& url,
                    uint64_t size_bytes, const std::string& etag, std::optional<Instant> mtime,
                    const ObjectAttributes& attributes, const Condition& condition) {
  const meta::Writer::Operation operation(engine.writer);
  Entry entry = make_entry(attributes);
  entry.size_bytes = size_bytes;
  entry.mtime = mtime.value_or(engine.clock.now());
  entry.etag = etag;
  if (etag.size() > kEtagBytesMax)
    throw_invalid("argument checksum: is longer than 255 bytes: validation error");
  if (const auto relative = inside_namespace(target.repository, url)) {
    const auto own = parse_relative_path(*relative);
    if (!own)
      throw_invalid(
          str_cat("physical address \"", url, "\": is not an object address of this repository"));
    entry.address = *own;
  } else {
    check_external(engine, url);
    entry.address = ExternalAddress{url};
  }
  stage_entry(engine, stage_target(target), target.key, entry, condition);
  return entry;
}

std::string hand_out_address(Engine& engine, const RepositoryName& repository,
                             const BranchName& branch, const Key& key) {
  const Repository repo = get_repository(engine, repository);
  const Branch target = get_branch(engine, repository, branch);
  const meta::Writer::Operation operation(engine.writer);
  const OwnAddress address = new_own_address(engine.writer.address_time());
  engine.uploads.create_link(repo.id, target, key, address, kHandedOutLifetime);
  const std::string relative = relative_path(address);
  return str_cat(repo.storage_namespace, "/", relative, ",",
                 link_token(engine, repo.id, branch.str(), key.str(), relative));
}

std::string check_handed_out_address(Engine& engine, const UploadTarget& target,
                                     const std::string& address) {
  const size_t comma = address.rfind(',');
  const std::string url = address.substr(0, comma);
  const auto relative = inside_namespace(target.repository, url);
  if (!relative) return address;
  if (comma == std::string::npos) throw_link_invalid("address is not signed");
  const std::string expected = link_token(engine, target.repository.id, target.branch.name.str(),
                                          target.key.str(), *relative);
  if (!constant_time_equal(address.substr(comma + 1), expected))
    throw_link_invalid("invalid address signature");
  const auto own = parse_relative_path(*relative);
  if (!own) throw_link_invalid("malformed address");
  if (created_at(*own) + kHandedOutLifetime < engine.clock.now()) {
    throw Error(ErrorCode::kInvalidArgument, "link_address_expired", "link address expired");
  }
  return url;
}

}  // namespace tarn::versioning

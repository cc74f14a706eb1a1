#include "core/base/str_cat.h"
#include "core/branch/quota_warning.h"
#include "core/branch/repositories.h"
#include "core/branch/stage.h"
#include "core/objects/part_digests.h"
#include "s3gateway/operations/access_control.h"
#include "s3gateway/operations/copy_source_object.h"
#include "s3gateway/operations/lookup.h"
#include "s3gateway/operations/object_headers.h"
#include "s3gateway/operations/operations.h"
#include "s3gateway/operations/precondition.h"
#include "s3gateway/wire/checksums.h"
#include "s3gateway/wire/copy_source.h"
#include "s3gateway/wire/errors.h"
#include "s3gateway/wire/object_tags.h"
#include "s3gateway/xml/documents.h"

namespace tarn::s3 {
namespace {

constexpr size_t kReadBytes = 256 * 1024;

/// Whether a directive is REPLACE rather than COPY (the default).
bool replaces(const http::Headers& headers, std::string_view header) {
  const std::string_view directive = headers.get(header);
  if (directive.empty() || directive == "COPY") return false;
  if (directive == "REPLACE") return true;
  throw Refusal(failure::kInvalidArgument,
                str_cat("The header ", header, " must be COPY or REPLACE."),
                {{"ArgumentName", std::string(header)}, {"ArgumentValue", std::string(directive)}});
}

struct Directives {
  bool metadata = false;
  bool tags = false;
  bool storage_class = false;  ///< one is given
  bool none() const { return !metadata && !tags && !storage_class; }
};

Directives directives_of(const http::Headers& headers) {
  return {replaces(headers, "x-amz-metadata-directive"),
          replaces(headers, "x-amz-tagging-directive"),
          headers.find("x-amz-storage-class") != nullptr};
}

/// The attributes that the copy does not take from its source.
objects::CopyChanges changes_for(const Directives& directives, const http::Headers& headers,
                                 const Entry& source) {
  objects::CopyChanges out;
  if (directives.none()) return out;
  objects::ObjectAttributes given = parse_object_attributes(headers);
  const Extras& tags = directives.tags ? given.extras : source.extras;
  out.extras = directives.metadata ? given.extras : source.extras;
  out.extras->set(ExtraTag::kObjectTags, tags.get(ExtraTag::kObjectTags));
  if (directives.storage_class) {
    out.extras->set(ExtraTag::kStorageClass, given.extras.get(ExtraTag::kStorageClass));
  }
  out.user_metadata = directives.metadata ? given.user_metadata : source.user_metadata();
  if (directives.metadata) out.content_type = std::move(given.content_type);
  return out;
}

/// The checksum that x-amz-checksum-algorithm requests: the source's own, else computed from its
/// bytes. nullopt if none is requested.
std::optional<Checksum> asked_checksum(Call& call, const objects::FoundObject& source) {
  const std::string_view name = call.request.headers.get("x-amz-checksum-algorithm");
  if (name.empty()) return std::nullopt;
  const std::string algorithm = require_algorithm(name);
  for (const Checksum& kept : source.entry.checksums()) {
    if (kept.algorithm == algorithm && !kept.composite) return kept;
  }
  objects::PartDigests digests(algorithm);
  const auto reader = objects::open_object(call.engine(), source.repository, source.entry,
                                           {0, source.entry.size_bytes});
  std::string piece(kReadBytes, '\0');
  while (const size_t count = reader->read(piece)) {
    digests.update(std::string_view(piece).substr(0, count));
  }
  return digests.checksum();
}

/// Reports a target that rejects writes before a missing source.
SourceObject require_source(Call& call, const Location& target,
                            const branch::Condition& condition) {
  try {
    return require_copy_source(call);
  } catch (const Error&) {
    if (!target.is_marker()) check_upload(call.engine(), target, condition);
    throw;
  }
}

bool is_onto_itself(const SourceObject& source, const Location& target) {
  const Location& from = source.location;
  return !source.version_id && from.repository == target.repository && from.ref == target.ref &&
         from.path == target.path;
}

void refuse_idle_copy(const Directives& directives) {
  if (!directives.none()) return;
  throw Refusal(
      failure::kInvalidRequest,
      "This copy request is illegal because it is trying to copy an object to itself without "
      "changing the object's metadata, storage class, website redirect location or encryption "
      "attributes.");
}

/// Changes the attributes of the current object; never undoes a concurrent write.
StagedEntry copy_onto_itself(Call& call, const SourceObject& source, const Location& at,
                             const Key& key, const Directives& directives,
                             const branch::Condition& condition) {
  const std::optional<Checksum> checksum = asked_checksum(call, source.found);
  const auto change = [&](Entry& entry) {
    check_source_conditions(call, entry);
    if (checksum && entry.address != source.found.entry.address) {
      throw Refusal(failure::kConditionalRequestConflict,
                    "The object was written while its checksum was computed. Copy it again.");
    }
    if (checksum) entry.set_checksums({*checksum});
    objects::apply(changes_for(directives, call.request.headers, entry), entry);
    entry.mtime = call.engine().clock.now();
  };
  return on_branch(call.engine(), at, [&](const BranchName& branch) {
    return branch::change_entry(call.engine(), at.repository, branch, key, terms_of(at), change,
                                condition);
  });
}

StagedEntry copy_elsewhere(Call& call, SourceObject& source, const Location& target, const Key& key,
                           const Directives& directives, const branch::Condition& condition) {
  if (const auto checksum = asked_checksum(call, source.found)) {
    source.found.entry.set_checksums({*checksum});
  }
  const objects::CopyChanges changes =
      changes_for(directives, call.request.headers, source.found.entry);
  return on_branch(call.engine(), target, [&](const BranchName& branch) {
    return objects::copy_object(call.engine(), source.found, target.repository, branch, key,
                                changes, terms_of(target), condition);
  });
}

}  // namespace

http::Response run(Call& call, const CopyObject& endpoint) {
  const http::Headers& headers = call.request.headers;
  const Location target = locate(call, endpoint.bucket, endpoint.key);
  check_object_acl(call, endpoint.bucket);
  const Directives directives = directives_of(headers);
  const branch::Condition condition = write_condition(headers);
  const auto held = objects::hold_sources(call.engine());
  SourceObject source = require_source(call, target, condition);
  if (target.is_marker() && source.found.entry.size_bytes == 0) {
    return xml_response(200,
                        to_xml(xml::CopyObjectResult{source.found.entry.etag, call.now(), {}}));
  }
  const Key key = require_key(call.engine(), target);
  const bool onto_itself = is_onto_itself(source, target);
  if (onto_itself) refuse_idle_copy(directives);
  const StagedEntry entry = onto_itself
                                ? copy_onto_itself(call, source, target, key, directives, condition)
                                : copy_elsewhere(call, source, target, key, directives, condition);
  http::Response response =
      xml_response(200, to_xml(xml::CopyObjectResult{entry.etag, entry.mtime, entry.checksums()}));
  add_version_header(response.headers, entry.version);
  if (!source.found.version_id.empty()) {
    response.headers.add("x-amz-copy-source-version-id", source.found.version_id);
  }
  if (branch::has_quotas(call.engine())) {  // the look-up costs a round trip
    add_quota_warning(call, branch::get_repository(call.engine(), target.repository).id, target.ref,
                      response.headers);
  }
  return response;
}

}  // namespace tarn::s3

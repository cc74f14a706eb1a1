#include "s3gateway/operations/deletion.h"

#include <algorithm>
#include <map>

#include "core/base/reasons.h"
#include "core/branch/hook_files.h"
#include "core/branch/object_versions.h"
#include "core/branch/repositories.h"
#include "core/objects/objects.h"
#include "s3gateway/operations/authorise.h"
#include "s3gateway/operations/lookup.h"
#include "s3gateway/operations/operations.h"
#include "s3gateway/operations/precondition.h"
#include "s3gateway/wire/checksums.h"
#include "s3gateway/wire/errors.h"
#include "s3gateway/xml/documents.h"

namespace tarn::s3 {
namespace {

using Object = xml::DeleteRequest::Object;

/// Deletes the objects of one request and keeps a result for each. Deletes keys of one branch in
/// batches, unless they have conditions or versions, or the repository keeps versions.
class Deletion {
 public:
  Deletion(Call& call, const std::string& bucket, const xml::DeleteRequest& request)
      : call_(call),
        bucket_(bucket),
        request_(request),
        failures_(request.objects.size()),
        outcomes_(request.objects.size()) {}

  xml::DeleteResult run() {
    // A caller who may delete none of the keys must not learn whether the bucket exists.
    if (std::any_of(request_.objects.begin(), request_.objects.end(),
                    [this](const Object& object) { return may_delete(object); })) {
      require_existing(call_.engine(), require_bucket(call_, bucket_));
    }
    for (size_t i = 0; i < request_.objects.size(); ++i) {
      attempt({i}, [&] { sort_in(i); });
    }
    for (const auto& batch : batches_) {
      const Members& members = batch.second;
      bool done = true;
      attempt(members, [&] { done = delete_batch(members); });
      if (done) continue;
      for (size_t i : members) {
        attempt({i}, [&] {
          outcomes_[i] = delete_at(call_.engine(), location_of(i), std::nullopt, {});
        });
      }
    }
    return result();
  }

  /// X-Tarn-Error of the first key that failed; "" if none has one.
  std::string_view reason() const {
    for (const auto& failure : failures_) {
      if (failure && failure->headers.find(kReasonHeader)) {
        return failure->headers.get(kReasonHeader);
      }
    }
    return {};
  }

 private:
  using Members = std::vector<size_t>;

  /// Runs `verb`; an error becomes the result of all `members`.
  template <typename Verb>
  void attempt(const Members& members, Verb verb) {
    try {
      verb();
    } catch (const Error& error) {
      for (size_t i : members) failures_[i] = answer_for(error);
    }
  }

  bool may_delete(const Object& object) {
    try {
      authorise_object(call_, auth::Action::kDeleteObject, bucket_, object.key);
      return true;
    } catch (const Error& error) {
      if (error.code() != ErrorCode::kPermissionDenied) throw;
      return false;
    }
  }

  void sort_in(size_t i) {
    const Object& object = request_.objects[i];
    check_key_bytes(object.key);
    authorise_object(call_, auth::Action::kDeleteObject, bucket_, object.key);
    check_deletable_version(object.version_id);
    const Location location = locate(call_, bucket_, object.key);
    branch::check_hook_file(call_.engine(), location.repository, location.path);
    http::Headers condition;
    if (object.etag) condition.add("if-match", *object.etag);
    if (object.size) condition.add(std::string(kIfMatchSize), *object.size);
    if (object.modified) condition.add(std::string(kIfMatchTime), *object.modified);
    const bool names_version = !object.version_id.value_or("").empty();
    if (!condition.all().empty() || location.path.empty() || names_version) {
      outcomes_[i] =
          delete_at(call_.engine(), location, object.version_id, deletion_condition(condition));
    } else {
      parse_key(location.path);
      batches_[location.ref].push_back(i);
    }
  }

  Location location_of(size_t i) { return locate(call_, bucket_, request_.objects[i].key); }

  /// Returns false and does nothing if the repository keeps versions: each deletion is then a
  /// version of its own.
  bool delete_batch(const Members& members) {
    std::vector<Key> keys;
    keys.reserve(members.size());
    Location location;
    for (size_t i : members) {
      location = location_of(i);
      keys.emplace_back(location.path);
    }
    return on_branch(call_.engine(), location, [&](const BranchName& branch) {
      return objects::delete_objects(call_.engine(), location.repository, branch, keys,
                                     terms_of(location));
    });
  }

  xml::DeleteResult result() {
    xml::DeleteResult out;
    for (size_t i = 0; i < failures_.size(); ++i) {
      const Object& object = request_.objects[i];
      if (failures_[i]) {
        out.failed.push_back({object.key, object.version_id,
                              std::string(failures_[i]->failure.code), failures_[i]->message});
      } else if (!request_.quiet) {
        out.deleted.push_back({object.key, object.version_id, outcomes_[i].marker,
                               outcomes_[i].marker ? outcomes_[i].version_id : std::string()});
      }
    }
    return out;
  }

  Call& call_;
  const std::string& bucket_;
  const xml::DeleteRequest& request_;
  std::vector<std::optional<ErrorAnswer>> failures_;
  std::vector<DeletionOutcome> outcomes_;
  std::map<std::string, Members> batches_;  // by ref
};

/// Requires a digest: a damaged list would delete other objects.
void require_digest(const http::Headers& headers) {
  if (headers.find("content-md5") || has_checksum_header(headers) ||
      headers.find("x-amz-trailer")) {
    return;
  }
  throw Refusal(failure::kInvalidRequest,
                "Missing required header for this request: Content-MD5 OR x-amz-checksum-*");
}

}  // namespace

http::Response run(Call& call, const DeleteObjects& endpoint) {
  require_digest(call.request.headers);
  const xml::DeleteRequest request =
      xml::parse_delete(read_document(call, xml::kDeleteDocumentBytesMax));
  Deletion deletion(call, endpoint.bucket, request);
  http::Response response = xml_response(200, to_xml(deletion.run()));
  if (const std::string_view reason = deletion.reason(); !reason.empty()) {
    response.headers.add(std::string(kReasonHeader), std::string(reason));
  }
  return response;
}

void check_deletable_version(const std::optional<std::string>& version_id) {
  if (!version_id || version_id->empty() || *version_id == "null") return;
  if (parse_version_id(*version_id)) return;
  if (parse_commit_id(*version_id)) {
    throw Refusal(
        failure::kMethodNotAllowed,
        "The version is a commit and commits are read-only: nothing in them can be deleted.");
  }
  throw Refusal(failure::kInvalidArgument, "Invalid version id specified",
                {{"ArgumentName", "versionId"}, {"ArgumentValue", *version_id}});
}

DeletionOutcome delete_at(branch::Engine& engine, const Location& location,
                          const std::optional<std::string>& version_id,
                          const branch::Condition& condition) {
  // The key names only a ref, which is not an object.
  if (!location.has_path) {
    branch::get_repository(engine, location.repository);
    return {};
  }
  return on_branch(engine, location, [&](const BranchName& branch) -> DeletionOutcome {
    if (location.path.empty()) {
      branch::get_branch(engine, branch::get_repository(engine, location.repository), branch);
      return {};
    }
    const Key key = require_key(engine, location);
    const bool names_version = version_id && !version_id->empty();
    try {
      if (!names_version) {
        const auto made = objects::delete_object(engine, location.repository, branch, key,
                                                 terms_of(location), condition);
        return made ? DeletionOutcome{true, to_text(*made)} : DeletionOutcome{};
      }
      const auto removed =
          branch::remove_version(engine, location.repository, branch, key,
                                 parse_version_id(*version_id), terms_of(location), condition);
      return {removed && !removed->entry, *version_id};
    } catch (const Error& error) {
      if (error.reason() != reason::kNoObjectToMatch) throw;
      // Source: S3 answers as if it had deleted what is not there, but a delete marker is there and
      // has no ETag.
      const bool wants_etag = condition.if_present || !condition.if_match.empty();
      if (names_version || (wants_etag && find_marker(engine, location, key))) refuse_condition();
      return {};
    }
  });
}

http::Response run(Call& call, const DeleteObject& endpoint) {
  const Location location = locate(call, endpoint.bucket, endpoint.key);
  check_deletable_version(endpoint.version_id);
  const DeletionOutcome done = delete_at(call.engine(), location, endpoint.version_id,
                                         deletion_condition(call.request.headers));
  http::Response response = no_content();
  if (done.marker) response.headers.add("x-amz-delete-marker", "true");
  if (done.version_id != "null" || done.marker) {
    add_version_header(response.headers, done.version_id);
  }
  return response;
}

}  // namespace tarn::s3

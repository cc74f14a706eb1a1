#include <algorithm>

#include "core/base/encoding.h"
#include "core/base/str_cat.h"
#include "core/branch/repositories.h"
#include "s3gateway/operations/access_control.h"
#include "s3gateway/operations/lookup.h"
#include "s3gateway/operations/object_headers.h"
#include "s3gateway/operations/operations.h"
#include "s3gateway/operations/precondition.h"
#include "s3gateway/wire/amz_headers.h"
#include "s3gateway/wire/checksums.h"
#include "s3gateway/wire/errors.h"
#include "s3gateway/wire/post_form.h"
#include "s3gateway/wire/post_policy.h"
#include "s3gateway/xml/bucket_documents.h"
#include "s3gateway/xml/documents.h"

namespace tarn::s3 {
namespace {

/// PUT of "branch/", with which clients create directories. The branch exists already, so nothing
/// is done.
http::Response put_marker(Call& call, const Location& location) {
  on_branch(call.engine(), location, [&](const BranchName& branch) {
    return branch::get_branch(call.engine(),
                              branch::get_repository(call.engine(), location.repository), branch);
  });
  PayloadBody body(call);
  std::string first(1, '\0');
  if (body.read(first) > 0) {
    throw Refusal(
        failure::kInvalidArgument,
        "The key must be <branch>/<path>: \"<branch>/\" alone can only be an empty directory "
        "marker.");
  }
  http::Response response;
  response.headers.add("ETag", quoted(kEmptyMd5));
  return response;
}

}  // namespace

http::Response run(Call& call, const PutObject& endpoint) {
  const http::Headers& headers = call.request.headers;
  const Location location = locate(call, endpoint.bucket, endpoint.key);
  check_object_acl(call, endpoint.bucket);
  if (location.is_marker()) return put_marker(call, location);
  const branch::Condition condition = write_condition(headers);
  const objects::ObjectAttributes attributes = parse_object_attributes(headers);
  PayloadBody body(call);
  check_upload_length(call, body.length());
  // All checks come before the first byte of the body is read, so that a client that waits for 100
  // Continue sends none.
  const objects::UploadTarget target = check_upload(call.engine(), location, condition);
  const StagedEntry entry =
      objects::put_object(call.engine(), target, body, body.length(), attributes, condition);
  http::Response response;
  response.headers.add("ETag", quoted(entry.etag));
  add_version_header(response.headers, entry.version);
  add_checksum_headers(response.headers, entry.checksums());
  add_expiration(call, location, target.repository.id, target.branch.settings_version, entry,
                 response.headers);
  add_quota_warning(call, target.repository.id, target.branch.name.str(), response.headers);
  return response;
}

// PostObject: a browser's upload form, verified and permitted by its policy, then stored like a
// PUT.

namespace {

/// The file of a form, whose length is not announced; enforces the permitted length while it is
/// read.
class MeasuredFile final : public http::BodySource {
 public:
  MeasuredFile(std::unique_ptr<http::BodySource> file, uint64_t bytes_min, uint64_t bytes_max)
      : file_(std::move(file)), bytes_min_(bytes_min), bytes_max_(bytes_max) {}

  size_t read(std::span<char> out) override {
    const size_t count = file_->read(out);
    bytes_ += count;
    if (bytes_ > bytes_max_) {
      throw Refusal(failure::kEntityTooLarge,
                    "Your proposed upload exceeds the maximum allowed size.",
                    {{"MaxSizeAllowed", std::to_string(bytes_max_)}});
    }
    if (count == 0 && bytes_ < bytes_min_) {
      throw Refusal(failure::kEntityTooSmall,
                    "Your proposed upload is smaller than the minimum allowed size.",
                    {{"ProposedSize", std::to_string(bytes_)},
                     {"MinSizeAllowed", std::to_string(bytes_min_)}});
    }
    return count;
  }

 private:
  const std::unique_ptr<http::BodySource> file_;
  const uint64_t bytes_min_;
  const uint64_t bytes_max_;
  uint64_t bytes_ = 0;
};

/// The response on success, as the form requests it.
struct SuccessAction {
  int status = 204;
  std::string redirect;  ///< "" = none
};

SuccessAction success_action(const http::Headers& fields, bool has_policy) {
  SuccessAction out;
  const std::string_view status = fields.get("success_action_status");
  if (status == "200" || status == "201") out.status = status == "200" ? 200 : 201;
  const std::string* redirect = fields.find("success_action_redirect");
  if (!redirect) redirect = fields.find("redirect");
  if (!redirect || redirect->empty()) return out;
  const bool is_url =
      (redirect->starts_with("http://") || redirect->starts_with("https://")) &&
      std::all_of(redirect->begin(), redirect->end(), [](char c) { return c > ' ' && c < 0x7f; });
  if (!is_url || !has_policy) {
    throw Refusal(failure::kInvalidArgument,
                  "success_action_redirect must be an http or https URL, in a form with a policy.",
                  {{"ArgumentName", "success_action_redirect"}, {"ArgumentValue", *redirect}});
  }
  out.redirect = *redirect;
  return out;
}

/// Converts form fields to the headers of a PUT.
http::Headers headers_of(const http::Headers& fields) {
  http::Headers out = fields;
  if (const std::string* acl = fields.find("acl")) out.set("x-amz-acl", *acl);
  const std::string* tagging = fields.find("tagging");
  if (!tagging) return out;
  std::string tags;
  for (const auto& [key, value] : xml::parse_tagging(*tagging)) {
    tags += str_cat(tags.empty() ? "" : "&", percent_encode(key), '=', percent_encode(value));
  }
  out.set("x-amz-tagging", std::move(tags));
  return out;
}

http::Response success(const Call& call, const PostObject& endpoint, const SuccessAction& action,
                       http::Response stored) {
  const std::string etag(stored.headers.get("ETag"));
  const std::string location = object_url(call, endpoint.bucket, endpoint.key);
  if (!action.redirect.empty()) {
    // The fragment must stay after the query.
    const size_t end = std::min(action.redirect.find('#'), action.redirect.size());
    const std::string_view page = std::string_view(action.redirect).substr(0, end);
    const char mark = page.find('?') == std::string_view::npos ? '?' : '&';
    stored.status = 303;
    stored.headers.add("Location", str_cat(page, mark, "bucket=", percent_encode(endpoint.bucket),
                                           "&key=", percent_encode(endpoint.key), "&etag=",
                                           percent_encode(etag), action.redirect.substr(end)));
    return stored;
  }
  stored.status = action.status;
  stored.headers.add("Location", location);
  if (action.status == 201) {
    stored.headers.add("Content-Type", "application/xml");
    stored.body = to_xml(xml::PostResponse{location, endpoint.bucket, endpoint.key,
                                           etag.substr(1, etag.size() - 2)});
  }
  return stored;
}

}  // namespace

http::Response run(Call& call, const PostObject& endpoint) {
  PostForm& form = *call.form;
  PostPolicy policy;
  const bool has_policy = form.fields.find("policy") != nullptr;
  if (has_policy) {
    policy = parse_post_policy(form.fields.get("policy"));
    check_post_policy(policy, form.fields, endpoint.bucket, endpoint.key, call.now());
  }
  const SuccessAction action = success_action(form.fields, has_policy);
  http::Request put;
  put.method = call.request.method;
  put.target = call.request.target;
  put.id = call.request.id;
  put.peer = call.request.peer;
  put.chunked = true;  // of no announced length
  put.headers = headers_of(form.fields);
  check_amz_headers(put.headers, PostObject::kName, /*reads=*/false);
  put.body = std::make_unique<MeasuredFile>(std::move(form.file), policy.file_bytes_min,
                                            std::min(policy.file_bytes_max, kSinglePutBytesMax));
  Call inner{call.context, put, call.caller, call.verified};
  return success(call, endpoint, action, run(inner, PutObject{endpoint.bucket, endpoint.key}));
}

}  // namespace tarn::s3

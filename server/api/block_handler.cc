#include "server/api/block_handler.h"

#include <chrono>
#include <exception>
#include <string>
#include <utility>

#include "core/auth/resource.h"
#include "core/base/acting_user.h"
#include "core/base/encoding.h"
#include "core/base/error.h"
#include "core/base/reasons.h"
#include "core/base/str_cat.h"
#include "core/branch/hooks.h"
#include "core/branch/repositories.h"
#include "core/objects/multipart.h"
#include "core/objects/upload.h"
#include "server/api/block_url.h"
#include "server/api/object_answer.h"
#include "server/api/presigner.h"
#include "server/api/response.h"
#include "server/api/upload_body.h"

namespace tarn::api {
namespace {

using Kind = BlockGrant::Kind;

constexpr size_t kMd5HexChars = 32;

[[noreturn]] void refuse_block(std::string_view reason, std::string message) {
  throw Error(ErrorCode::kPermissionDenied, reason, std::move(message));
}

/// The current state of the user for whom the URL was made.
auth::Principal holder_of(auth::Authenticator& authenticator, const BlockGrant& grant) {
  std::optional<auth::Principal> holder;
  if (grant.access_key_id.empty()) {
    holder = authenticator.find_user(grant.user);
  } else if (auto key = authenticator.find_key(grant.access_key_id)) {
    holder = std::move(key->principal);
  }
  // A user who was deleted and created again is another user. URLs have whole seconds.
  if (!holder || holder->user.name != grant.user ||
      grant.issued + std::chrono::seconds{1} <= holder->user.created) {
    refuse_block(reason::kUrlRevoked,
                 "presigned URL: the access key or user that asked for it is gone");
  }
  return *std::move(holder);
}

void check_permitted(const auth::Principal& holder, const BlockGrant& grant,
                     std::string_view client_address) {
  const auth::Action action =
      grant.kind == Kind::kRead ? auth::Action::kReadObject : auth::Action::kWriteObject;
  const std::string& ref = grant.kind == Kind::kRead ? grant.ref : grant.branch;
  const std::string object = auth::object_arn(grant.repository, ref, grant.path);
  if (holder.permissions->allows(action, object, client_address)) return;
  refuse_block(reason::kUrlNotPermitted,
               str_cat("presigned URL: user ", holder.user.name, " may not ", auth::name_of(action),
                       " on ", object, " any more"));
}

std::string md5_header(std::string_view md5_hex) {
  return to_base64(from_hex(md5_hex).value_or(""));
}

http::Response read(const Context& context, const http::Request& request, const BlockGrant& grant,
                    const Repository& repository) {
  const Entry entry = decode_entry(grant.entry);
  if (request.headers.get("If-None-Match") == quoted_etag(entry)) return empty_response(304);
  http::Response response =
      object_answer(context.engine, request, repository, grant.path, entry, context.read_check);
  // The stored ETag covers the whole body; a range has a different MD5.
  if (response.status == 200 && entry.etag.size() == kMd5HexChars) {
    response.headers.add("Content-MD5", md5_header(entry.etag));
  }
  return response;
}

/// The body of a PUT. Reading its end fails if Content-MD5 does not match, so that nothing is
/// stored.
class PutBody final : public objects::UploadBody {
 public:
  PutBody(std::unique_ptr<objects::UploadBody> body, std::string expected_md5)
      : body_(std::move(body)), expected_md5_(std::move(expected_md5)) {}

  size_t read(std::span<char> out) override {
    const size_t count = body_->read(out);
    if (count == 0 && !ended_) check();
    return count;
  }
  objects::UploadDigests digests() override { return digests_; }

 private:
  void check() {
    ended_ = true;
    digests_ = body_->digests();
    if (!expected_md5_.empty() && md5_header(digests_.etag) != expected_md5_) {
      throw Error(ErrorCode::kInvalidArgument, reason::kBadDigest,
                  "header Content-MD5: the bytes that came have another digest");
    }
  }

  const std::unique_ptr<objects::UploadBody> body_;
  const std::string expected_md5_;
  objects::UploadDigests digests_;
  bool ended_ = false;
};

/// Rejects the framed payloads of S3 clients: they would be stored with their frames.
void check_plain(const http::Headers& headers) {
  if (headers.get("x-amz-content-sha256").starts_with("STREAMING-")) {
    throw Error(ErrorCode::kUnimplemented,
                "presigned URL: send the bytes as they are, without chunk signatures");
  }
}

objects::UploadDigests write(const Context& context, const BlockGrant& grant,
                             const Repository& repository, objects::UploadBody& body,
                             std::optional<uint64_t> size) {
  if (grant.kind == Kind::kWritePart) {
    const auto upload =
        objects::get_multipart(context.engine, repository.name, parse_branch_name(grant.branch),
                               parse_key(grant.path), grant.upload_id);
    return {.etag = objects::put_part(context.engine, upload, grant.part_number, body, size).etag,
            .checksums = {}};
  }
  const std::string below = str_cat(block_address(repository.storage_namespace), "/");
  const auto own = grant.address.starts_with(below)
                       ? parse_relative_path(std::string_view(grant.address).substr(below.size()))
                       : std::nullopt;
  // The name now belongs to another repository.
  if (!own)
    refuse_block(reason::kUrlInvalid, "presigned URL: its address is not of this repository");
  return objects::fill_address(
      context.engine, repository,
      {repository.id, parse_branch_name(grant.branch), parse_key(grant.path), *own}, body, size);
}

http::Response put(const Context& context, http::Request& request, const BlockGrant& grant,
                   const auth::Principal& holder, const Repository& repository) {
  check_plain(request.headers);
  const ActingUser user(grant.user, request.peer, holder.limits);
  IncomingObject incoming = open_raw_upload(request, grant.bytes_max);
  PutBody body(std::move(incoming.body), std::string(request.headers.get("Content-MD5")));
  const objects::UploadDigests digests =
      write(context, grant, repository, body, incoming.size_bytes);
  http::Response response = empty_response(200);
  response.headers.add("ETag", str_cat('"', digests.etag, '"'));
  response.headers.add("Content-MD5", md5_header(digests.etag));
  return response;
}

}  // namespace

BlockHandler::BlockHandler(Context context)
    : context_(std::move(context)),
      reads_("readBlock"),
      writes_("writeBlock"),
      part_writes_("writePart"),
      refusals_("refusedUrl") {}

http::Response BlockHandler::answer(http::Request& request, RequestRecord& record) const {
  if (!context_.installation.presign) {
    refuse_block(reason::kUrlInvalid,
                 "presigned URL: such are not served here (auth.presign is off)");
  }
  const BlockGrant grant = open_block_request(context_.block_key, request, context_.clock.now());
  const auth::Principal holder = holder_of(context_.authenticator, grant);
  record.access.user = holder.user.name;
  check_permitted(holder, grant, request.peer);
  const Repository repository =
      branch::get_repository(context_.engine, parse_repository_name(grant.repository));
  switch (grant.kind) {
    case Kind::kRead:
      record.probe = &reads_;
      record.access.operation = "readBlock";
      return read(context_, request, grant, repository);
    case Kind::kWrite:
      record.probe = &writes_;
      record.access.operation = "writeBlock";
      return put(context_, request, grant, holder, repository);
    case Kind::kWritePart:
      record.probe = &part_writes_;
      record.access.operation = "writePart";
      return put(context_, request, grant, holder, repository);
  }
  check_failed("BlockGrant::Kind", __FILE__, __LINE__);
}

http::Response BlockHandler::handle(http::Request& request) {
  RequestRecord record{.access = {.api = "blocks", .operation = "refusedUrl"}, .probe = &refusals_};
  record.access.count_body(request);
  http::Response response;
  try {
    response = answer(request, record);
  } catch (const Error& error) {
    response = record.failed(error, request);
  } catch (const std::exception& error) {
    response = record.failed(Error(ErrorCode::kInternal, error.what()), request);
  }
  record.finish(request, response);
  return response;
}

}  // namespace tarn::api

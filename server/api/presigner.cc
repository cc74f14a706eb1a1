#include "server/api/presigner.h"

#include <algorithm>

#include "core/base/error.h"
#include "core/base/reasons.h"
#include "core/base/str_cat.h"
#include "core/base/text.h"
#include "core/objects/direct_upload.h"
#include "core/objects/objects.h"

namespace tarn::api {
namespace {

/// Presigned URLs have whole seconds.
Instant whole_seconds(Instant t) { return std::chrono::floor<std::chrono::seconds>(t); }

bool is_host(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    return is_word(c) || c == '.' || c == '-' || c == ':' || c == '[' || c == ']';
  });
}

/// The members that reading the bytes needs.
Entry readable_part(const Entry& entry) {
  Entry out;
  out.size_bytes = entry.size_bytes;
  out.mtime = entry.mtime;
  out.etag = entry.etag;
  out.address = entry.address;
  out.content_type = entry.content_type;
  if (const auto version = entry.source_version()) out.set_source_version(*version);
  return out;
}

}  // namespace

std::string base_url(const Context& context, const http::Request& request) {
  if (!context.external_url.empty()) return context.external_url;
  const std::string_view host = request.headers.get("Host");
  if (!is_host(host)) {
    throw_invalid(
        "URL of this server: the request's header Host names no host; set server.external_url");
  }
  return str_cat(request.tls ? "https://" : "http://", host);
}

std::string block_address(std::string_view url) {
  constexpr std::string_view kSchemeEnd = "://";
  url.remove_prefix(std::min(url.find(kSchemeEnd) + kSchemeEnd.size(), url.size()));
  while (url.starts_with('/')) url.remove_prefix(1);
  return std::string(url);
}

Presigner::Presigner(const Context& context, const Call& call)
    : context_(context), call_(call), issued_(whole_seconds(context.clock.now())) {
  if (!context.installation.presign) {
    throw Error(ErrorCode::kInvalidArgument, reason::kPresignUnsupported,
                "presigned URL: operation not supported by this server (auth.presign is off)");
  }
}

std::optional<Presigner> Presigner::asked_for(const Context& context, const Call& call) {
  if (!call.flag("presign")) return std::nullopt;
  return Presigner(context, call);
}

std::string Presigner::own_url(BlockGrant grant) const {
  grant.access_key_id = call_.caller.access_key_id;
  grant.user = call_.caller.user.name;
  grant.issued = issued_;
  grant.lifetime = kPresignLifetime;
  return str_cat(base_url(context_, call_.request), block_target(context_.block_key, grant));
}

std::string Presigner::read_url(const Repository& repository, std::string_view ref,
                                std::string_view path, const Entry& entry) const {
  if (auto url = objects::store_url_to_read(context_.engine, repository, entry, terms())) {
    return *std::move(url);
  }
  return own_url(
      {.kind = BlockGrant::Kind::kRead,
       .address = block_address(objects::physical_address(context_.engine, repository, entry)),
       .repository = repository.name.str(),
       .ref = std::string(ref),
       .path = std::string(path),
       .entry = encode_entry(readable_part(entry))});
}

BlockGrant Presigner::write_grant(BlockGrant::Kind kind, const Repository& repository,
                                  const OwnAddress& address) const {
  return {
      .kind = kind,
      .address = block_address(str_cat(repository.storage_namespace, "/", relative_path(address))),
      .repository = repository.name.str(),
      .branch = call_.path("branch"),
      .path = std::string(call_.parameter("path")),
      .bytes_max = context_.upload_bytes_max};
}

std::string Presigner::write_url(const objects::HandedOutAddress& address) const {
  const auto object = objects::direct_object(context_.engine, address.repository, address.own);
  if (object.access != nullptr) return object.access->url_to_write(object.key, terms());
  return own_url(write_grant(BlockGrant::Kind::kWrite, address.repository, address.own));
}

std::string Presigner::part_url(const Repository& repository, const OwnAddress& address,
                                std::string_view upload_id, uint32_t number) const {
  BlockGrant grant = write_grant(BlockGrant::Kind::kWritePart, repository, address);
  grant.upload_id = upload_id;
  grant.part_number = number;
  return own_url(std::move(grant));
}

}  // namespace tarn::api

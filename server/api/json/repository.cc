#include "server/api/json/repository.h"

#include <algorithm>
#include <array>

namespace tarn::api::json {
namespace {

constexpr std::array<std::string_view, 7> kSchemes = {
    "s3://", "gs://", "http://", "https://", "mem://", "local://", "transient://"};

}  // namespace

void write_repository(Writer& out, const Repository& repository) {
  out.begin_object();
  out.number("creation_date", to_seconds(repository.created));
  out.text("default_branch", repository.default_branch.str());
  out.text("id", repository.name.str());
  out.boolean("read_only", repository.read_only);
  out.text("storage_id", "");  // readers use it to find their storage, so it is never omitted
  out.text("storage_namespace", repository.storage_namespace);
  out.end_object();
}

std::string repository_body(const Repository& repository) {
  Writer out;
  write_repository(out, repository);
  return std::move(out).take();
}

CreateRepository parse_create_repository(const Value& body) {
  CreateRepository out;
  const std::string name = body.at("name").text();
  if (!is_repository_name(name)) {
    body.at("name").fail("must be 3 to 63 lower-case letters, digits and hyphens");
  }
  out.name = RepositoryName(name);
  out.storage_namespace = body.at("storage_namespace").text();
  const bool known = std::any_of(kSchemes.begin(), kSchemes.end(), [&](std::string_view scheme) {
    return out.storage_namespace.starts_with(scheme);
  });
  if (!known)
    body.at("storage_namespace").fail("must begin with a storage scheme, for example s3://");
  out.default_branch = body.text_or_empty("default_branch");
  out.storage_id = body.text_or_empty("storage_id");
  out.sample_data = body.flag("sample_data");
  out.read_only = body.flag("read_only");
  return out;
}

Metadata parse_set_metadata(const Value& body) { return body.at("metadata").text_map(); }

std::vector<std::string> parse_metadata_keys(const Value& body) { return body.at("keys").texts(); }

}  // namespace tarn::api::json

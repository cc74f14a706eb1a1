#include "server/api/json/commit.h"

#include "core/base/encoding.h"
#include "core/base/str_cat.h"
#include "core/model/expiry.h"
#include "core/versioning/metadata_files.h"
#include "server/api/json/values.h"

namespace tarn::api::json {
namespace {

/// Version of the encoding of commits; clients accept 0 and 1.
constexpr int64_t kCommitVersion = 1;

int32_t parent_number_of(const Value& value) {
  return static_cast<int32_t>(value.integer(INT32_MIN, INT32_MAX));
}

CommitId commit_id_of(const Value& value) {
  const std::optional<CommitId> id = parse_commit_id(value.text());
  if (!id) value.fail("must be 64 lower-case hex digits");
  return *id;
}

versioning::CommitExpectation expectation_of(const Value& body) {
  const std::optional<Value> given = body.find("expect");
  if (!given) return {};
  versioning::CommitExpectation out;
  if (const auto head = given->find("head")) out.head = commit_id_of(*head);
  if (const auto objects = given->find("objects")) {
    out.objects = parse_expected_objects(*objects, kItemsMax);
  }
  out.only = given->flag("only");
  return out;
}

Overrides overrides_of(const Value& body) {
  const std::optional<Value> given = body.find("commit_overrides");
  if (!given) return {};
  const auto metadata = given->find("metadata");
  return {.message = given->find_text("message"),
          .metadata = metadata ? std::optional(commit_metadata(*given)) : std::nullopt};
}

}  // namespace

Metadata commit_metadata(const Value& body) {
  Metadata metadata = body.map_or_empty("metadata");
  for (const auto& [key, value] : metadata) {
    if (key.starts_with(".tarn.") || key.starts_with(".lakefs.")) {
      body.at("metadata")
          .fail(str_cat("key \"", key,
                        "\": only the server writes keys that begin with .tarn. or .lakefs."));
    }
  }
  return metadata;
}

std::string metarange_id(const TreeRoot& root) {
  return root.empty() ? "" : versioning::metadata_id(root.hash);
}

std::optional<Hash128> parse_metarange_id(std::string_view text) {
  if (text.empty()) return Hash128{};
  const std::optional<std::string> bytes = from_hex(text);
  if (!bytes || bytes->size() != 2 * sizeof(Hash128)) return std::nullopt;
  const Hash128 hash = hash128_from_bytes(bytes->substr(0, sizeof(Hash128)));
  if (text != metarange_id({1, hash})) return std::nullopt;
  return hash;
}

void write_commit(Writer& out, const Commit& commit) {
  out.begin_object();
  out.text("committer", commit.committer);
  out.number("creation_date", to_seconds(commit.created));
  if (is_expired(commit.root)) out.boolean("expired", true);
  out.number("generation", commit.generation);
  out.text("id", to_text(commit.id));
  out.text("message", commit.message);
  out.text("meta_range_id", metarange_id(commit.root));
  out.text_map("metadata", commit.metadata);
  out.key("parents");
  out.begin_array();
  for (const CommitId& parent : commit.parents) out.text(to_text(parent));
  out.end_array();
  out.number("version", kCommitVersion);
  out.end_object();
}

std::string commit_body(const Commit& commit) {
  Writer out;
  write_commit(out, commit);
  return std::move(out).take();
}

CreateCommit parse_create_commit(const Value& body) {
  CreateCommit out{.message = body.at("message").text(),
                   .metadata = commit_metadata(body),
                   .date = std::nullopt,
                   .parents = std::nullopt,
                   .allow_empty = body.flag("allow_empty"),
                   .force = body.flag("force"),
                   .expected = expectation_of(body)};
  if (const std::optional<Value> date = body.find_number("date")) out.date = instant_of(*date);
  if (const std::optional<Value> parents = body.find("parents")) out.parents = parents->texts();
  return out;
}

Revert parse_revert(const Value& body) {
  return {.ref = body.at("ref").text(),
          .parent_number = parent_number_of(body.at("parent_number")),
          .overrides = overrides_of(body),
          .force = body.flag("force"),
          .allow_empty = body.flag("allow_empty")};
}

CherryPick parse_cherry_pick(const Value& body) {
  CherryPick out{.ref = body.at("ref").text(),
                 .parent_number = std::nullopt,
                 .overrides = overrides_of(body),
                 .force = body.flag("force")};
  if (const std::optional<Value> number = body.find_number("parent_number")) {
    out.parent_number = parent_number_of(*number);
  }
  return out;
}

CommitRecord parse_commit_record(const Value& body) {
  body.at("version").integer(0, 1);
  CommitRecord out;
  out.force = body.flag("force");
  out.commit.id = commit_id_of(body.at("commit_id"));
  out.commit.committer = body.at("committer").text();
  out.commit.message = body.at("message").text();
  const std::optional<Hash128> tree = parse_metarange_id(body.at("metarange_id").text());
  if (!tree) body.at("metarange_id").fail("is no metarange id");
  out.commit.root.hash = *tree;
  out.commit.created = instant_of(body.at("creation_date"));
  for (const Value& parent : body.at("parents").items())
    out.commit.parents.push_back(commit_id_of(parent));
  out.commit.metadata = body.map_or_empty("metadata");
  out.commit.generation = body.at("generation").integer();
  return out;
}

}  // namespace tarn::api::json

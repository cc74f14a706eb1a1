#include "server/api/json/ref.h"

#include "core/base/encoding.h"

namespace tarn::api::json {
namespace {

void write_ref(Writer& out, std::string_view id, const CommitId& commit,
               std::optional<Instant> expires = std::nullopt) {
  out.begin_object();
  out.text("commit_id", to_text(commit));
  if (expires) out.text("expires", to_rfc3339(*expires));
  out.text("id", id);
  out.end_object();
}

}  // namespace

void write_branch(Writer& out, const Branch& branch) {
  write_ref(out, branch.name.str(), branch.head, branch.expires);
}
void write_tag(Writer& out, const Tag& tag) { write_ref(out, tag.name.str(), tag.commit); }

std::string branch_body(const Branch& branch) {
  Writer out;
  write_branch(out, branch);
  return std::move(out).take();
}

std::string tag_body(const Tag& tag) {
  Writer out;
  write_tag(out, tag);
  return std::move(out).take();
}

CreateBranch parse_create_branch(const Value& body) {
  CreateBranch out{.name = body.at("name").text(),
                   .source = body.at("source").text(),
                   .force = body.flag("force"),
                   .hidden = body.flag("hidden"),
                   .expires = std::nullopt};
  if (const auto expires = body.find("expires")) out.expires = parse_deadline(*expires);
  return out;
}

std::optional<Deadline> parse_branch_expiry(const Value& body) {
  const Value expires = body.at("expires");
  if (expires.text() == "never") return std::nullopt;
  return parse_deadline(expires);
}

RenameBranch parse_rename_branch(const Value& body) { return {.name = body.at("name").text()}; }

Rebase parse_rebase(const Value& body) {
  return {.onto = body.at("onto").text(),
          .strategy = body.text_or_empty("strategy"),
          .force = body.flag("force")};
}

std::string rebase_body(const versioning::Rebase& done) {
  Writer out;
  out.begin_object();
  out.text("before", to_text(done.before));
  out.text("id", to_text(done.head));
  out.key("commits");
  out.begin_array();
  for (const versioning::RebasedCommit& commit : done.commits) {
    out.begin_object();
    out.text("from", to_text(commit.from));
    out.text("to", to_text(commit.to));
    out.end_object();
  }
  out.end_array();
  out.key("left_out");
  out.begin_array();
  for (const CommitId& commit : done.left_out) out.text(to_text(commit));
  out.end_array();
  out.end_object();
  return std::move(out).take();
}

CreateTag parse_create_tag(const Value& body) {
  return {.id = body.at("id").text(), .ref = body.at("ref").text(), .force = body.flag("force")};
}

ResetBranch parse_reset_branch(const Value& body) {
  ResetBranch out;
  const std::string type = body.at("type").text();
  if (type == "object") {
    out.kind = ResetBranch::Kind::kObject;
  } else if (type == "common_prefix") {
    out.kind = ResetBranch::Kind::kPrefix;
  } else if (type != "reset") {
    body.at("type").fail("must be object, common_prefix or reset");
  }
  out.path = body.text_or_empty("path");
  out.force = body.flag("force");
  return out;
}

namespace {

void write_members(Writer& out, const Alias& alias) {
  out.text("commit_id", to_text(alias.commit));
  out.text("id", alias.name.str());
  if (!alias.policy.empty()) out.text("policy", alias.policy);
  out.number("version", static_cast<int64_t>(alias.version));
}

}  // namespace

void write_alias(Writer& out, const Alias& alias) {
  out.begin_object();
  write_members(out, alias);
  out.end_object();
}

std::string alias_body(const Alias& alias) {
  Writer out;
  write_alias(out, alias);
  return std::move(out).take();
}

std::string set_alias_body(const Alias& alias, bool changed) {
  Writer out;
  out.begin_object();
  out.boolean("changed", changed);
  write_members(out, alias);
  out.end_object();
  return std::move(out).take();
}

void write_alias_change(Writer& out, const AliasChange& change) {
  out.begin_object();
  out.text("actor", change.actor);
  out.text("creation_date", to_rfc3339(change.at));
  if (change.evidence) out.text("evidence", to_hex(*change.evidence));
  if (change.from) out.text("from_commit_id", to_text(*change.from));
  if (change.promotion) out.text("promotion_id", *change.promotion);
  out.text("reason", change.reason);
  if (change.to) out.text("to_commit_id", to_text(*change.to));
  out.number("version", static_cast<int64_t>(change.version));
  out.end_object();
}

SetAlias parse_set_alias(const Value& body) {
  SetAlias out{.to = body.at("to").text(), .expected = {}, .reason = body.text_or_empty("reason")};
  const auto expect = body.find("expect");
  if (!expect) return out;
  out.expected.any = false;
  const std::string text = expect->text();
  if (text.empty()) return out;
  out.expected.commit = parse_commit_id(text);
  if (!out.expected.commit) {
    expect->fail("must be a commit id of 64 hex digits, or empty for no such alias");
  }
  return out;
}

}  // namespace tarn::api::json

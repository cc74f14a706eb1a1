#include "cli/commands/commit_record.h"

#include <nlohmann/json.hpp>

#include "cli/exit_code.h"
#include "core/base/str_cat.h"

namespace tarn::cli {

void print_commit(Output& out, std::string_view kind, const Json& commit) {
  Json fields = commit;
  fields["changed"] = true;
  std::vector<std::pair<std::string, std::string>> lines{
      {"commit", commit.value("id", "")},
      {"message", commit.value("message", "")},
      {"committer", commit.value("committer", "")},
      {"date", time_in_words(commit.value("creation_date", int64_t{0}))},
  };
  if (commit.value("expired", false)) lines.emplace_back("data", "expired");
  const Json parents = commit.value("parents", Json::array());
  for (const Json& parent : parents) lines.emplace_back("parent", parent.get<std::string>());
  const Json metadata = commit.value("metadata", Json::object());
  for (const auto& [key, value] : metadata.items()) {
    lines.emplace_back("meta", str_cat(key, '=', value.get<std::string>()));
  }
  out.object(kind, fields, lines);
}

Cells commit_cells(const Output& out, const Json& commit) {
  if (commit.is_null()) return {"", "", "", ""};
  const bool people = out.format() == Format::kTable;
  const std::string id = commit.value("id", "");
  std::string message = commit.value("message", "");
  if (people && commit.value("expired", false)) message = str_cat("(expired) ", message);
  return {short_id(out, id), time_in_words(commit.value("creation_date", int64_t{0})),
          commit.value("committer", ""), people ? message.substr(0, message.find('\n')) : message};
}

void print_no_changes(Output& out, std::string_view kind, std::string_view why) {
  out.remark(why);
  if (is_document(out.format())) {
    out.object(kind, {{"changed", false}}, {});
  }
}

Json get_commit(Client& client, std::string_view repository, std::string_view ref) {
  return client.call({.path = api_path({"repositories", repository, "commits", ref})});
}

std::string get_commit_id(Client& client, std::string_view repository, std::string_view ref) {
  return get_commit(client, repository, ref).at("id").get<std::string>();
}

std::string get_full_commit_id(Client& client, std::string_view repository, std::string_view id) {
  std::string found = get_commit_id(client, repository, id);
  if (found.starts_with(id)) return found;
  throw usage_error(str_cat("commit ", id,
                            ": is no id of a commit; a branch, tag or alias may have moved since, "
                            "so name the commit by its id"));
}

void need_same_repository(const Uri& a, const Uri& b) {
  if (a.repository == b.repository) return;
  throw usage_error(str_cat("using ", to_string(a), " with ", to_string(b),
                            ": they are in different repositories"));
}

}  // namespace tarn::cli

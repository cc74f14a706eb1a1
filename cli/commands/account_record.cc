#include "cli/commands/account_record.h"

#include <nlohmann/json.hpp>

#include "cli/json_text.h"
#include "cli/session.h"
#include "core/base/str_cat.h"
#include "core/base/text.h"

namespace tarn::cli {
namespace {

/// "allow fs:ReadObject, fs:ListObjects on *"
std::string in_words(const Json& statement) {
  std::string out = str_cat(statement.value("effect", ""), ' ',
                            joined(statement.value("action", std::vector<std::string>{}), ", "),
                            " on ", statement.value("resource", ""));
  if (statement.contains("condition")) out += str_cat(" if ", json_text(statement["condition"]));
  return out;
}

std::string created(const Json& record) {
  return time_in_words(record.value("creation_date", int64_t{0}));
}

}  // namespace

std::string current_user(Client& client) {
  return client.call({.path = "/user"}).at("user").at("id").get<std::string>();
}

void print_account(Output& out, std::string_view kind, Json record) {
  std::string label(kind);
  label.front() = static_cast<char>(std::tolower(label.front()));
  std::vector<std::pair<std::string, std::string>> lines{{label, record.value("id", "")},
                                                         {"created", created(record)}};
  for (const char* field : {"email", "description"}) {
    if (const std::string text = record.value(field, ""); !text.empty()) {
      lines.emplace_back(field, text);
    }
  }
  const Json statements = record.value("statement", Json::array());
  for (const Json& statement : statements) lines.emplace_back("statement", in_words(statement));
  out.object(kind, std::move(record), lines);
}

void create_account(Session& session, const Creation& creation, const Json& body) {
  const Answer answer = session.client.ask(post_request(creation.path, body));
  if (answer.ok()) {
    Json made = json_of(answer);
    made["changed"] = true;
    return print_account(session.out, creation.kind, std::move(made));
  }
  const Error error = error_from(answer);
  if (error.code() != ErrorCode::kAlreadyExists || !creation.if_not_exists) throw error;
  Json found = session.client.call({.path = creation.path + api_path({creation.name})});
  found["changed"] = false;
  print_account(session.out, creation.kind, std::move(found));
}

void delete_account(Session& session, const std::string& path, const std::string& what, bool yes) {
  session.confirm(str_cat("Delete ", what, "?"), yes);
  session.client.call(delete_request(path));
  session.out.remark(str_cat("deleted ", what));
}

void attach(Session& session, std::string_view kind, const std::string& path, const Pairs& fields) {
  const Answer answer = session.client.ask(put_request(path));
  if (!answer.ok() && error_from(answer).code() != ErrorCode::kAlreadyExists) {
    throw error_from(answer);
  }
  Json printed{{"changed", answer.ok()}};
  for (const auto& [name, value] : fields) printed[name] = value;
  session.out.object(kind, std::move(printed), fields);
}

void print_accounts(Session& session, const Request& request, std::string_view column,
                    std::string_view field) {
  std::string kind = str_cat(column, "List");
  kind.front() = static_cast<char>(std::toupper(kind.front()));
  print_list(session, request, std::move(kind), {std::string(column), "created"},
             [&](const Json& item) -> Cells {
               return {item.value(field, ""), created(item)};
             });
}

void print_policies(Session& session, const Request& request) {
  print_list(session, request, "PolicyList", {"policy", "created", "statements"},
             [](const Json& item) -> Cells {
               return {item.value("id", ""), created(item),
                       std::to_string(item.value("statement", Json::array()).size())};
             });
}

}  // namespace tarn::cli

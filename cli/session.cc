#include "cli/session.h"

#include <iostream>

#include <nlohmann/json.hpp>
#include <termios.h>
#include <unistd.h>

#include "cli/exit_code.h"
#include "core/base/str_cat.h"

namespace tarn::cli {
namespace {

/// Turns off the terminal's echo during its lifetime.
class SilentTerminal {
 public:
  SilentTerminal() {
    known_ = ::tcgetattr(STDIN_FILENO, &before_) == 0;
    termios silent = before_;
    silent.c_lflag &= ~static_cast<tcflag_t>(ECHO);
    if (known_) ::tcsetattr(STDIN_FILENO, TCSAFLUSH, &silent);
  }
  ~SilentTerminal() {
    if (known_) ::tcsetattr(STDIN_FILENO, TCSAFLUSH, &before_);
  }
  SilentTerminal(const SilentTerminal&) = delete;
  SilentTerminal& operator=(const SilentTerminal&) = delete;

 private:
  termios before_{};
  bool known_ = false;
};

}  // namespace

Uri Session::with_default_branch(Uri uri) {
  if (!uri.ref.empty()) return uri;
  const Json repository = client.call({.path = api_path({"repositories", uri.repository})});
  uri.ref = repository.at("default_branch").get<std::string>();
  out.remark(str_cat(to_string(uri), ", the default branch:"));
  return uri;
}

std::string Session::take_repository(std::vector<std::string>& candidates) const {
  std::string repository;
  for (std::string& candidate : candidates) {
    const Uri uri = ref(candidate);
    if (!repository.empty() && repository != uri.repository) {
      throw usage_error("candidates: must be of one repository");
    }
    repository = uri.repository;
    candidate = uri.ref;
  }
  return repository;
}

void Session::confirm(std::string_view question, bool yes) {
  if (yes) return;
  if (!terminal.may_prompt) throw usage_error(str_cat(question, " Nobody to ask here: add --yes"));
  const std::string answer = ask(str_cat(question, " [y/N] "));
  if (answer == "y" || answer == "Y" || answer == "yes") return;
  throw Error(ErrorCode::kInvalidArgument, kReasonInterrupted,
              "not confirmed; nothing was changed");
}

std::string Session::ask(std::string_view question) {
  std::cerr << question << std::flush;
  std::string answer;
  if (!std::getline(std::cin, answer))
    throw Error(ErrorCode::kInvalidArgument, kReasonInterrupted, "no answer; nothing was changed");
  return answer;
}

std::string Session::ask_secretly(std::string_view question) {
  const SilentTerminal silence;
  std::string answer = ask(question);
  std::cerr << std::endl;
  return answer;
}

Json metadata_from(const std::vector<std::string>& words) {
  Json map = Json::object();
  for (const std::string& word : words) {
    const size_t equals = word.find('=');
    if (equals == std::string::npos || equals == 0) {
      throw usage_error(str_cat("reading metadata \"", word, "\": expected key=value"));
    }
    map[word.substr(0, equals)] = word.substr(equals + 1);
  }
  return map;
}

void print_list(Session& session, const Request& request, std::string kind, Cells columns,
                const std::function<Cells(const Json&)>& cells) {
  ListWriter rows = session.out.list(std::move(kind), std::move(columns));
  session.client.each(request, [&](const Json& item) {
    rows.add(item, cells(item));
    return true;
  });
  rows.finish();
}

}  // namespace tarn::cli

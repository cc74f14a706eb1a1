#include "cli/session.h"

#include <algorithm>
#include <iostream>

#include <nlohmann/json.hpp>
#include <termios.h>
#include <unistd.h>

#include "cli/exit_code.h"
#include "core/base/error.h"
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

namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr milliseconds kPause{500};
/// Short, so that a request that hangs because the server's machine is gone barely exceeds the
/// timeout.
constexpr seconds kConnectMax{5};
constexpr seconds kAnswerMax{20};

}  // namespace

PatientClient::PatientClient(Session& session, std::optional<milliseconds> timeout)
    : session_(session),
      client_(session.settings, {.attempts = 1, .connect = kConnectMax, .answer = kAnswerMax}) {
  if (timeout) deadline_ = SteadyClock::now() + *timeout;
}

bool PatientClient::time_is_up() const { return deadline_ && SteadyClock::now() >= *deadline_; }

milliseconds PatientClient::left(milliseconds most) const {
  if (!deadline_) return most;
  return std::clamp(std::chrono::ceil<milliseconds>(*deadline_ - SteadyClock::now()),
                    milliseconds{0}, most);
}

Json PatientClient::call(const Request& request) {
  std::optional<SteadyClock::time_point> away_since;
  for (;;) {
    try {
      return client_.call(request);
    } catch (const Error& error) {
      if (error.code() != ErrorCode::kUnavailable) throw;
      if (!away_since) {
        away_since = SteadyClock::now();
        session_.out.remark(str_cat(error.message(), "; waiting for the server"));
      }
      const bool too_long = !deadline_ && SteadyClock::now() - *away_since >= kServerAwayMax;
      if (too_long || time_is_up() || watch_.sleep(left(kPause))) throw;
    }
  }
}

}  // namespace tarn::cli

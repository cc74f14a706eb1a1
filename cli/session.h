// The context of every command: the server, the output, and the terminal, if there is one.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "cli/client.h"
#include "cli/output.h"
#include "cli/settings.h"
#include "cli/signals.h"
#include "cli/uri.h"

namespace tarn::cli {

struct Terminal {
  bool may_prompt = false;      ///< a person reads and types
  bool shows_progress = false;  ///< stderr is a terminal
};

/// Created once in main; one thread at a time.
struct Session {
  const Settings& settings;
  Client& client;
  Output& out;
  Terminal terminal;

  Defaults defaults() const {
    return {settings.repository.value, settings.branch.value, settings.base_uri.value};
  }
  Uri repository(std::string_view text) const { return repository_uri(text, defaults()); }
  Uri ref(std::string_view text) const { return ref_uri(text, defaults()); }
  Uri object(std::string_view text) const { return object_uri(text, defaults()); }
  Uri prefix(std::string_view text) const { return prefix_uri(text, defaults()); }
  /// The same as ref and prefix; without a ref the repository's default branch, which a remark
  /// names. For commands that change no branch.
  Uri ref_or_default(std::string_view text) {
    return with_default_branch(optional_ref_uri(text, defaults()));
  }
  Uri prefix_or_default(std::string_view text) {
    return with_default_branch(optional_prefix_uri(text, defaults()));
  }
  Uri with_default_branch(Uri uri);
  /// Removes the common repository from the URIs of candidates and returns it. Throws a usage error
  /// if there are several.
  std::string take_repository(std::vector<std::string>& candidates) const;

  /// Returns if `yes` is set or the user agrees. Throws a usage error that names --yes if there is
  /// no terminal, and interrupted if the user declines.
  void confirm(std::string_view question, bool yes);
  /// Reads one line from the user; ask_secretly does not show it. Only if terminal.may_prompt.
  /// Throws interrupted at the end of input.
  std::string ask(std::string_view question);
  std::string ask_secretly(std::string_view question);
};

/// Parses "key=value" words. Throws a usage error for a word without '='.
Json metadata_from(const std::vector<std::string>& words);

/// Prints all pages of the list that `request` asks for; `cells` gives one item's column values.
void print_list(Session& session, const Request& request, std::string kind, Cells columns,
                const std::function<Cells(const Json&)>& cells);

// A client that waits for a server that is unavailable for a while: restarting, failing over, or
// behind a proxy that reports so.

/// How long it waits for a server that does not answer, if the caller set no timeout.
constexpr std::chrono::minutes kServerAwayMax{10};

/// Records ^C and SIGTERM during its lifetime; one at a time. One thread at a time.
class PatientClient {
 public:
  /// Waits until `timeout` has passed; without one, as long as the server answers.
  PatientClient(Session& session, std::optional<std::chrono::milliseconds> timeout);

  /// The answer to a request that can be repeated. Throws unavailable once time_is_up() or
  /// interrupted(), or after kServerAwayMax without an answer; other errors of the server at once.
  Json call(const Request& request);

  bool interrupted() const { return watch_.interrupted(); }
  bool time_is_up() const;
  /// The time until time_is_up(), at most `most`.
  std::chrono::milliseconds left(std::chrono::milliseconds most) const;

 private:
  using SteadyClock = std::chrono::steady_clock;

  Session& session_;
  Client client_;
  const InterruptWatch watch_;
  std::optional<SteadyClock::time_point> deadline_;
};

}  // namespace tarn::cli

// The checks of `tarn doctor`: what keeps this user from working with a server, and how to mend it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "cli/answer.h"
#include "cli/client.h"
#include "cli/exit_code.h"
#include "cli/session.h"
#include "cli/settings.h"
#include "cli/uri.h"

namespace tarn::cli {

enum class FindingState : uint8_t { kFine, kBad, kUnknown };

/// The result of a check, with advice.
struct Finding {
  FindingState state = FindingState::kFine;
  std::string found;
  std::string advice{};
  ExitCode code = ExitCode::kOk;
  std::string fixed{};  ///< what --fix did
};

/// The finding of a check that failed with this error.
Finding failed_check(const Error& error, std::string advice);

struct ExaminationOptions {
  std::string repository;  ///< "" = the default one, or the first one listed
  bool write = false;      ///< also store, read and delete an object on a temporary branch
  bool fix = false;        ///< repair what can be repaired safely
  bool server = false;     ///< also what a server for a team needs
  std::string metrics;     ///< URL of the metrics; "" = /metrics at the endpoint
};

/// The checks, in the order in which they are called; each may use results of earlier ones. They
/// throw what the client throws. One thread at a time.
class Examination {
 public:
  /// Both must outlive it.
  Examination(const Session& session, const ExaminationOptions& options);

  Finding server();
  Finding clock();
  Finding credentials();
  Finding version();
  Finding permissions();
  Finding store_reads();
  Finding store_writes();
  Finding settings_file();
  Finding server_state();
  Finding disk();
  Finding master_key();
  Finding hooks();
  Finding webhooks();
  Finding policies();
  Finding leftovers();
  // Checks of a server for a team.
  Finding https();
  Finding proxy();
  Finding operators_pages();
  Finding administrators();
  Finding servers();
  Finding backups();

 private:
  bool is_local() const;
  std::string setting(std::string_view name);
  std::string metrics();
  Answer ask_page(std::string_view path);
  std::vector<std::string> notes_that_begin(std::string_view word) const;
  std::vector<std::string> dead_deliveries(const std::string& webhook);
  std::string problem_of_policy(const Json& policy);

  std::string endpoint_advice(std::string_view what) const;
  void find_repository();
  Finding tried_read(const Uri& object);

  const Session& session_;
  const Settings& settings_;
  const ExaminationOptions& options_;
  Client client_;
  Answer health_;
  std::string repository_;
  std::string branch_;
  std::string state_;  ///< of the server, in its own words
};

}  // namespace tarn::cli

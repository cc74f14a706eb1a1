// New access keys: made by the server at once, or by their users with a link.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "cli/arguments.h"
#include "cli/client.h"
#include "cli/json_text.h"

namespace tarn::cli {

/// The API paths of a user, of the user's keys and of the link that is open for the user.
std::string user_path(std::string_view user);
std::string keys_path(std::string_view user);
std::string invitations_path(std::string_view user);

inline constexpr const char* kSendOnceHelp =
    "print a link with which the user makes the key, once, instead of the key";

/// Options of a key with an end, with less than its user may, or both.
struct KeyLimits {
  std::string life;              ///< "12h"; "" = no end
  std::vector<std::string> can;  ///< "ACTION@RESOURCE"; empty: all that the user may

  void declare(Command& command);
  bool any() const { return !life.empty() || !can.empty(); }
};

/// Output of a new key, or of the link that stands for it.
struct KeyOrLink {
  Json members = Json::object();
  Pairs lines{};
  std::string remark{};
};

/// Makes a key. Throws what the server answers, and a usage error for limits that make no sense.
KeyOrLink make_key(Client& client, std::string_view user, const KeyLimits& limits = {});
/// Makes a link with which the user makes a key, once.
KeyOrLink make_link(Client& client, std::string_view user);

}  // namespace tarn::cli

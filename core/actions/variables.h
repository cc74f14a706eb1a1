// `{{ ENV.NAME }}` in the texts of hooks: variables of the server's environment.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tarn::actions {

/// The value of a variable of the environment.
using Environment = std::function<std::optional<std::string>(const std::string& name)>;

/// Substitutes values and remembers them, so that output can be masked. One thread at a time.
class Variables {
 public:
  explicit Variables(const Environment& environment) : environment_(environment) {}

  /// Throws invalid_argument naming a variable that is not set.
  std::string resolve(std::string_view text);
  /// The same in every text of a JSON value.
  std::string resolve_json(const std::string& json);
  /// `text` with every value that was put in replaced by stars, as it is, in base64 and
  /// percent-encoded.
  std::string masked(std::string text) const;

 private:
  const Environment& environment_;
  std::vector<std::string> shown_as_;  ///< of the values, the longest first
};

}  // namespace tarn::actions

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
  std::string masked(std::string_view text) const;

 private:
  friend class Masking;
  const Environment& environment_;
  std::vector<std::string> shown_as_;  ///< of the values
};

/// Masks a text that comes in pieces, including values that are split over pieces: an end that may
/// be the beginning of a value is held back. `variables` outlives it. One thread at a time.
class Masking {
 public:
  explicit Masking(const Variables& variables) : variables_(variables) {}

  /// The part of the text that can be shown now.
  std::string add(std::string_view piece);
  /// The part that was held back, at the end of the text.
  std::string rest();

 private:
  std::string take(size_t end);

  const Variables& variables_;
  std::string held_;
  size_t masked_ = 0;  ///< bytes of held_ that belong to a value whose stars were returned
};

}  // namespace tarn::actions

// An answer of tarnd, and the error it stands for.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/error.h"

namespace tarn::cli {

using Pairs = std::vector<std::pair<std::string, std::string>>;

struct Answer {
  int status = 0;
  Pairs headers;
  std::string body;
  std::string subject{};  ///< what the request was about: "branch tarn://lake/main"; "" = unknown

  bool ok() const { return status >= 200 && status < 300; }
  /// Whether the same request may succeed a little later.
  bool is_busy() const;
  /// "" = absent; names compare without case.
  std::string header(std::string_view name) const;
  /// The server's word for what went wrong ("no_changes"), "" where it gives none.
  std::string reason() const { return header("X-Tarn-Error"); }
  /// The message of an error body, else the status in words.
  std::string message() const;
};

/// The failure that an answer means; `answer` must not be ok().
Error error_from(const Answer& answer);

/// Whether the answer says that there was nothing to commit, merge or revert.
bool says_no_changes(const Answer& answer);

}  // namespace tarn::cli

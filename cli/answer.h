// An answer of tarnd, and the error it stands for.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "core/base/error.h"

namespace tarn::cli {

using Pairs = std::vector<std::pair<std::string, std::string>>;

struct Answer {
  int status = 0;
  Pairs headers;
  std::string body;
  std::string subject{};  ///< what the request was about: "branch tarn://lake/main"; "" = unknown

  bool ok() const { return status >= 200 && status < 300; }
  /// Whether the same request may succeed a little later. Another server's 429 is; Tarn's own is
  /// about a limit.
  bool is_busy() const;
  /// Whether the request may have been carried out although the answer is an error.
  bool may_have_been_done() const;
  /// "" = absent; names compare without case.
  std::string header(std::string_view name) const;
  /// The server's word for what went wrong ("no_changes"), "" where it gives none. Of a store,
  /// which answers to presigned URLs, only those that Tarn has a word for.
  std::string reason() const;
  /// The message of an error body, of JSON or a store's XML, else the status in words.
  std::string message() const;
};

/// The failure that an answer means; `answer` must not be ok().
Error error_from(const Answer& answer);

/// The body; null when it is empty. Throws error_from when the answer is not ok(), and internal
/// when the body is not JSON.
nlohmann::json json_of(const Answer& answer);

/// Whether the answer says that there was nothing to commit, merge or revert.
bool says_no_changes(const Answer& answer);

}  // namespace tarn::cli

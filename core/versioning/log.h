// The history of a ref.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/branch/engine.h"
#include "core/model/page.h"
#include "core/model/repository.h"

namespace tarn::versioning {

struct LogOptions {
  std::string after{};         ///< a ref; continue after this commit. "" = from the start
  uint32_t limit = 100;        ///< 1..1000
  bool stop_at_limit = false;  ///< never report more (lakeFS's `limit`)
  bool first_parent = false;
  std::optional<Instant> since{};       ///< older commits are left out and not walked past
  std::string stop_at{};                ///< a ref; its commit is the last returned. "" = none
  std::vector<std::string> objects{};   ///< only commits that changed one of these keys ...
  std::vector<std::string> prefixes{};  ///< ... or any key below one of these
  std::string without{};                ///< a ref; commits of its history are left out. "" = none
  std::optional<Instant> until{};       ///< newer commits are left out
  std::string committer{};              ///< "" = any
  std::string message{};                ///< a part of the message
  /// All of these; without a value, the key alone.
  std::vector<std::pair<std::string, std::optional<std::string>>> metadata{};
};

/// Newest first by creation time, ties by id descending. With `objects` or `prefixes` only commits
/// with exactly one parent match. Throws gone (reason "expired") if the next commit to examine or
/// its parent has expired, so that it is unknown whether it matches: the pages before it are
/// complete.
Page<Commit> log_commits(branch::Engine& engine, const Repository& repository, std::string_view ref,
                         const LogOptions& options);

}  // namespace tarn::versioning

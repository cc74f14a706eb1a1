// Aliases: names of commits that move, and their history.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/base/named.h"
#include "core/base/time.h"
#include "core/model/commit.h"

namespace tarn {

/// Without the '@' that marks an alias in refs.
using AliasName = Named<struct AliasNameTag>;

/// [A-Za-z0-9_][A-Za-z0-9_.-]*, at most 255 bytes.
bool is_alias_name(std::string_view text);
/// Throws invalid_argument with the rule in its message.
AliasName parse_alias_name(std::string_view text);

constexpr size_t kAliasReasonBytesMax = 4096;

struct Alias {
  AliasName name;
  CommitId commit;
  uint64_t version = 0;  ///< of the newest change; the first is 1, and removal is one too
  std::string policy{};  ///< the gate policy that names it; "" = none
};

/// One row of an alias's history: version n begins where n-1 ended.
struct AliasChange {
  uint64_t version = 0;
  std::optional<CommitId> from{};  ///< nullopt if it did not exist
  std::optional<CommitId> to{};    ///< nullopt: it was removed
  std::string actor;               ///< name of the user
  std::string reason{};
  std::optional<std::string> promotion{};  ///< id of the promotion that did it
  std::optional<std::string> evidence{};   ///< SHA-256 of the promotion's evidence, 32 bytes
  Instant at{};
};

/// The expected position of an alias, as a condition of a change.
struct AliasExpectation {
  bool any = true;                   ///< anywhere
  std::optional<CommitId> commit{};  ///< else here; nullopt = it must not exist
};

}  // namespace tarn

// Verbs on aliases.
#pragma once

#include <string>
#include <string_view>

#include "core/branch/engine.h"
#include "core/model/alias.h"
#include "core/model/names.h"
#include "core/model/page.h"
#include "core/model/repository.h"

namespace tarn::branch {

// All throw not_found ("repository not found"; reason "alias_not_found").

Alias get_alias(Engine& engine, const Repository& repository, const AliasName& name);
/// By name.
Page<Alias> list_aliases(Engine& engine, const Repository& repository, std::string_view prefix,
                         std::string_view after, uint32_t limit);
/// The newest first; that of an alias that was removed too. `after`: a version, "" = from the
/// newest. Throws also invalid_argument (`after` is no version).
Page<AliasChange> list_alias_changes(Engine& engine, const Repository& repository,
                                     const AliasName& name, std::string_view after, uint32_t limit);

struct AliasRequest {
  AliasName name;
  AliasExpectation expected{};
  std::string reason{};
  std::string actor;  ///< name of the user
};
struct AliasOutcome {
  Alias alias;
  bool changed = false;  ///< false: it was there already; the history is unchanged
};
// Both throw: conflict (reason "destination_moved": it is at another commit than expected),
// permission_denied (read-only repository; reason "protected_alias": a gate policy names it),
// invalid_argument (a reason longer than kAliasReasonBytesMax).

/// Makes or moves it. `to`: any ref expression that means a commit. Throws also not_found (`to`).
AliasOutcome set_alias(Engine& engine, const Repository& repository, const AliasRequest& request,
                       std::string_view to);
/// Removes an alias; its history stays.
void remove_alias(Engine& engine, const Repository& repository, const AliasRequest& request);

}  // namespace tarn::branch

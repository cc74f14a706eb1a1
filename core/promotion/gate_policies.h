// Verbs on the gate policies of a repository.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/branch/engine.h"
#include "core/model/page.h"
#include "core/model/repository.h"
#include "core/promotion/gate_policy_store.h"
#include "core/promotion/policy.h"

namespace tarn::promotion {

// All throw not_found (repository); those that change something permission_denied (read-only
// repository). A change holds for every request that begins after it, on every server.

struct GatePolicySetting {
  std::string document;  ///< YAML or JSON
  std::string author;    ///< name of the user
  /// The expected current version, 0 = none; absent = any.
  std::optional<int64_t> expected{};
};
struct GatePolicySet {
  GatePolicyVersion version;
  bool changed = true;    ///< else it held with this document, users and groups already
  bool proposed = false;  ///< nothing changed: the draft waits until another user asks for the same
  std::vector<std::string> warnings{};  ///< as warnings_of
};
/// Creates the next version of the policy. Its refs and users are resolved now, once and for all: a
/// user who is deleted and created again is another one. Throws:
/// invalid_argument (reason "policy_invalid": as parse_gate_policy, or the document has another
/// name), not_found (reason "branch_not_found": the destination; a ref in the document), conflict
/// (reason "ref_ambiguous": a ref in the document, as check_unambiguous), conflict
/// (reasons "destination_has_policy", "alias_has_policy": another policy has it),
/// precondition_failed (reason "policy_moved").
GatePolicySet set_gate_policy(branch::Engine& engine, const Repository& repository,
                              std::string_view name, const GatePolicySetting& setting);

/// The document as the version that set_gate_policy() would create, numbered 0; nothing is stored.
/// Throws invalid_argument and not_found as that does.
GatePolicyVersion draft_gate_policy(branch::Engine& engine, const Repository& repository,
                                    std::string_view name, const GatePolicySetting& setting);

/// Removes a policy; its versions stay. false: the removal waits until another user asks for the
/// same. Throws: not_found (reason "policy_not_found"), precondition_failed (reason
/// "policy_moved").
bool remove_gate_policy(branch::Engine& engine, const Repository& repository, std::string_view name,
                        std::string_view author, std::optional<int64_t> expected = {});

/// Without `version` the one that holds. Throws not_found (reason "policy_not_found").
GatePolicyVersion get_gate_policy(branch::Engine& engine, const Repository& repository,
                                  std::string_view name, std::optional<int64_t> version = {});

/// The change of the policy that waits for a second user, if there is one.
std::optional<GatePolicyProposal> find_gate_policy_proposal(branch::Engine& engine,
                                                            const Repository& repository,
                                                            std::string_view name);

/// The policies in force, by name.
Page<GatePolicyVersion> list_gate_policies(branch::Engine& engine, const Repository& repository,
                                           std::string_view prefix, std::string_view after,
                                           uint32_t limit);

/// All versions, removals too, the newest first. `after` "" or a version. Throws not_found (reason
/// "policy_not_found"), invalid_argument (`after`).
Page<GatePolicyVersion> list_gate_policy_versions(branch::Engine& engine,
                                                  const Repository& repository,
                                                  std::string_view name, std::string_view after,
                                                  uint32_t limit);

/// The document of a version, read; a version that removed the policy throws not_found (reason
/// "policy_not_found").
GatePolicy policy_of(const GatePolicyVersion& version);

}  // namespace tarn::promotion

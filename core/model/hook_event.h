// The events at which action files run hooks.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

namespace tarn {

enum class HookEvent : uint8_t {
  kPrepareCommit,
  kPreCommit,
  kPostCommit,
  kPreMerge,
  kPostMerge,
  kPreCreateTag,
  kPostCreateTag,
  kPreDeleteTag,
  kPostDeleteTag,
  kPreCreateBranch,
  kPostCreateBranch,
  kPreDeleteBranch,
  kPostDeleteBranch,
  kPreRevert,
  kPostRevert,
  kPreCherryPick,
  kPostCherryPick,
};
constexpr size_t kHookEventCount = static_cast<size_t>(HookEvent::kPostCherryPick) + 1;

/// "pre-commit" and the like.
std::string_view name_of(HookEvent event);
std::optional<HookEvent> parse_hook_event(std::string_view name);
/// Whether it is after the change, which hooks can then no longer refuse.
bool is_after(HookEvent event);
/// Whether it is about a tag, so that no branch can be requested.
bool is_about_tag(HookEvent event);
/// Whether it is about a merge, so that two trees hold action files.
bool is_about_merge(HookEvent event);

/// Where a tree keeps its action files: directly below.
constexpr std::string_view kActionFilesPrefix = "_lakefs_actions/";
/// Whether the key is directly below kActionFilesPrefix and ends with .yaml or .yml. Hooks ignore
/// other files there.
bool is_action_file(std::string_view key);

}  // namespace tarn

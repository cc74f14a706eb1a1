#include "core/model/hook_event.h"

#include "core/base/enum_names.h"

namespace tarn {
namespace {

// In the order of the enumeration.
constexpr std::array<std::string_view, kHookEventCount> kNames = {
    "prepare-commit",     "pre-commit",        "post-commit",        "pre-merge",
    "post-merge",         "pre-create-tag",    "post-create-tag",    "pre-delete-tag",
    "post-delete-tag",    "pre-create-branch", "post-create-branch", "pre-delete-branch",
    "post-delete-branch", "pre-revert",        "post-revert",        "pre-cherry-pick",
    "post-cherry-pick",
};
static_assert(!kNames.back().empty());

}  // namespace

std::string_view name_of(HookEvent event) { return kNames[static_cast<size_t>(event)]; }

std::optional<HookEvent> parse_hook_event(std::string_view name) {
  return find_name<HookEvent>(kNames, name);
}

bool is_after(HookEvent event) { return name_of(event).starts_with("post-"); }

bool is_about_tag(HookEvent event) { return name_of(event).ends_with("-tag"); }

bool is_about_merge(HookEvent event) {
  return event == HookEvent::kPreMerge || event == HookEvent::kPostMerge;
}

bool is_action_file(std::string_view key) {
  return key.starts_with(kActionFilesPrefix) &&
         key.find('/', kActionFilesPrefix.size()) == std::string_view::npos &&
         (key.ends_with(".yaml") || key.ends_with(".yml"));
}

}  // namespace tarn

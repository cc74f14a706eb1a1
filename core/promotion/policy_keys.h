// The keys of a gate policy: the table that the reader obeys and docs/policy-reference.md shows.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tarn::promotion {

struct PolicyKey {
  std::string_view path;  ///< "metrics[].name": a member of each item of the list "metrics"
  std::string_view type;
  std::string_view preset;  ///< the value if it is absent; "" = none, or it must be given
  std::string_view meaning;
  std::string_view example;  ///< its value in YAML; "" of maps, whose members have examples
};

/// In the order in which messages and the page list them.
std::span<const PolicyKey> policy_keys();
/// The names of the members of a map: "" for the document, "objects", "metrics[]".
std::vector<std::string_view> policy_keys_below(std::string_view map);

/// docs/policy-reference.md.
std::string policy_reference_page();

}  // namespace tarn::promotion

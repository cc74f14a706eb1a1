// Settings of garbage collection, the same for every repository of a server.
#pragma once

#include <chrono>
#include <cstdint>
#include <string_view>

namespace tarn::gc {

struct CollectionOptions {
  /// Between collections of a repository; 0 = on request only.
  std::chrono::seconds interval{std::chrono::hours{24}};
  /// Between the collection that finds an object unreferenced and the one that may remove it.
  std::chrono::seconds grace{std::chrono::hours{24}};
  /// How long a commit stays that no root leads to, unless the repository has rules.
  std::chrono::seconds unreachable_kept{std::chrono::hours{24 * 14}};
  std::chrono::seconds deleted_kept{std::chrono::hours{24 * 7}};  ///< of a deleted repository
  uint32_t share_max = 10;          ///< percent of the objects that one collection may remove
  uint32_t deletes_per_second = 0;  ///< 0 = as fast as the store
  uint32_t busy_percent = 100;      ///< of its time that a collection works; it pauses the rest
  /// Age of leftovers of writers that died; longer than any upload may take.
  std::chrono::seconds unfinished_kept{std::chrono::hours{24 * 8}};
  std::string_view
      ignored_root{};  ///< of tests: the line of the table of roots that they take away
};

}  // namespace tarn::gc

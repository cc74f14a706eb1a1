// The refs whose trees show a damaged node or object.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/tree/node.h"
#include "core/verify/collected.h"
#include "core/verify/verify_store.h"

namespace tarn::verify {

/// Refs that are searched for a finding, and findings whose refs are searched.
constexpr size_t kRefsSearchedMax = 1000;
constexpr size_t kFindingsSearchedMax = 100;

/// Reads nodes from the table, and keeps some. One thread at a time.
class ShownBy {
 public:
  explicit ShownBy(VerifyStore& store) : store_(store) {}

  /// Whether the path of the finding leads through its node, or to an entry with its address.
  bool shows(const TreeRoot& root, const CollectedFinding& found);

 private:
  /// nullptr: missing or unreadable.
  std::shared_ptr<const tree::Node> load(Nid nid);

  VerifyStore& store_;
  std::map<Nid, std::shared_ptr<const tree::Node>> nodes_;
};

}  // namespace tarn::verify

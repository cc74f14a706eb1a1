#include "core/versioning/merge_terms.h"

#include "core/branch/protection.h"

namespace tarn::versioning {

void MergeRules::check_source(const meta::BranchLease& destination, const Commit& source) {
  destination_.settings_version = destination.settings_version;
  source_ = source.id;
  branch::check_approvals(engine_, repository_.id, destination_, source_);
}

std::optional<branch::MergeBaseTree> MergeRules::base(meta::NodeWriter& nodes, const Commit& source,
                                                      const Commit& head) {
  return branch::merge_base_tree(engine_, repository_, nodes, source, head);
}

std::function<void(db::Connection&, const Commit&)> MergeRules::publishing() {
  if (branch::approvals_wanted(engine_, repository_.id, destination_) == 0) return {};
  return [this](db::Connection& connection, const Commit&) {
    branch::hold_approvals(connection, engine_, repository_.id, destination_, source_);
  };
}

}  // namespace tarn::versioning

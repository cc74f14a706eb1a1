#include "core/tree/diff.h"

#include <utility>

#include "core/tree/lockstep.h"

namespace tarn::tree {

struct Diff::State {
  Lockstep changes;
};

Diff::Diff(NodeSource& source, const TreeRoot& left, const TreeRoot& right)
    : state_(new State{Lockstep(source, left, right)}) {}
Diff::~Diff() = default;

void Diff::seek(std::string_view key) { state_->changes.seek(key); }

std::optional<Difference> Diff::next() {
  std::optional<Change> change = state_->changes.next();
  if (!change) return std::nullopt;
  return Difference{std::move(change->key), std::move(change->base), std::move(change->entry)};
}

}  // namespace tarn::tree

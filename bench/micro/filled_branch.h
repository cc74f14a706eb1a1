// A branch whose tree is built from a source of entries, as an import builds it.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <utility>

#include "core/branch/publish.h"
#include "core/branch/refs.h"
#include "core/tree/edit.h"
#include "tests/support/engine_fixture.h"

namespace tarn::bench {

/// Commits what `objects_of(tick)` returns, a tree::ChangeSource, to the branch. It calls `tick`
/// now and then, which keeps the branch's lease.
template <typename ObjectsOf>
void fill_branch(testing::TestEngine& engine, const Repository& repository, const std::string& name,
                 const ObjectsOf& objects_of) {
  const BranchName branch(name);
  branch::build_and_publish(
      *engine, repository, branch::get_branch(*engine, repository, branch), /*rotate=*/true, {},
      [&](branch::BranchHold& hold, meta::NodeWriter& writer) {
        auto objects = objects_of([&] {
          hold.keep_alive();
          engine.parts().heartbeat();
        });
        const auto edited = tree::edit_tree((*engine).nodes, writer, {repository.salt},
                                            hold.lease().root, {}, objects);
        branch::BuiltCommit built;
        built.root = edited.root;
        built.parents = {hold.lease().head};
        built.drained = hold.lease().sealed;
        built.committer = "bench";
        built.message = "fill";
        return std::optional(std::move(built));
      });
}

}  // namespace tarn::bench

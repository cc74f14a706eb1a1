#include <map>
#include <set>
#include <string>

#include <gtest/gtest.h>

#include "core/base/str_cat.h"
#include "core/gc/collection_fixture.h"

namespace tarn::gc {
namespace {

class CollectionPlans : public CollectionTest {};

TEST_F(CollectionPlans, APlanNamesWhatCollectionsRemove) {
  engine.put(repo, "main", "a", "first");
  engine.put(repo, "main", "a", "second");
  put_in_parts(repo, "parts");
  engine.remove(repo, "main", "parts");
  engine.branch(repo, "exp", "main");
  engine.put(repo, "exp", "b", "of a branch");
  engine.commit(repo, "exp");
  branch::delete_branch(*engine, repo, BranchName("exp"), false);
  settle();
  std::set<OwnAddress> planned;
  const CollectionPlan plan = plan_collection(
      *engine, repo, options, [&](const PlannedObject& object) { planned.insert(object.address); });
  EXPECT_EQ(planned.size(), 4u);
  EXPECT_EQ(plan.counts.removed_commits, 1);
  const auto groups = [](const std::map<GarbageOrigin, GarbageSize>& sizes) {
    std::string out;
    for (const auto& [origin, size] : sizes) {
      out += str_cat(name_of(origin.reason), "/", origin.branch, "=", size.objects, " ");
    }
    return out;
  };
  EXPECT_EQ(groups(plan.groups.sizes()), "uncommitted/=1 commit/exp=1 part/=2 ");
  EXPECT_EQ(plan.ages.at(0).size.objects, 4);
  std::set<OwnAddress> before, after;
  list_stored_objects(engine.stores, repo,
                      [&](const auto& object) { before.insert(object.address); });
  collect_all(repo);
  std::string removed;
  for (const CollectionRun& run : list_collections(*engine, repo, 10)) {
    removed += groups(run.removed);
  }
  EXPECT_EQ(removed, "part/=2 uncommitted/=1 commit/exp=1 ");
  EXPECT_EQ(count("SELECT count(*) FROM gc_branches"), 0);
  list_stored_objects(engine.stores, repo,
                      [&](const auto& object) { after.insert(object.address); });
  for (const OwnAddress& address : after) before.erase(address);
  EXPECT_EQ(before, planned);
}

}  // namespace
}  // namespace tarn::gc

#include "tests/integration/pairs/verbs.h"

#include <iterator>

namespace tarn::pairs {

const std::vector<Verb>& all_verbs() {
  static const std::vector<Verb> kVerbs = [] {
    std::vector<Verb> all;
    for (const auto of_file : {object_verbs, upload_verbs, commit_verbs, merge_verbs, tree_verbs,
                               ref_verbs, promotion_verbs}) {
      std::vector<Verb> verbs = of_file();
      all.insert(all.end(), std::make_move_iterator(verbs.begin()),
                 std::make_move_iterator(verbs.end()));
    }
    return all;
  }();
  return kVerbs;
}

}  // namespace tarn::pairs

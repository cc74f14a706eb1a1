// Names of metrics and parameters that a repository has, against which those of options are
// checked.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "cli/session.h"

namespace tarn::cli {

/// Refuses names of metrics and parameters that exist nowhere: a mistyped one gives an empty table.
class KnownColumns {
 public:
  /// `names` are "metrics.loss" and "params.lr". Asks nothing if there are none.
  KnownColumns(Session& session, const Uri& repository, std::vector<std::string> names);
  /// A name that is shown, and so known.
  void add(std::string name) {
    if (!names_.empty()) known_.push_back(std::move(name));
  }
  /// Throws not_found for the first name that is not known, with the nearest that is.
  void check() const;

 private:
  [[noreturn]] void refuse(const std::string& name) const;

  std::vector<std::string> names_;
  std::vector<std::string> known_;
};

}  // namespace tarn::cli

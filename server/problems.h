// Problems found while reading a configuration, so that all are reported at once.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "core/base/error.h"

namespace tarn::server {

/// One thread.
class Problems {
 public:
  void add(std::string problem) { all_.push_back(std::move(problem)); }
  /// Runs `read` and keeps the message of the Error that it throws.
  template <typename Read>
  void collect(Read&& read) {
    try {
      read();
    } catch (const Error& error) {
      add(error.message());
    }
  }
  /// Throws invalid_argument with a line for each problem, if there are any.
  void throw_if_any() const {
    if (all_.empty()) return;
    std::string lines;
    for (const std::string& problem : all_) lines += (lines.empty() ? "" : "\n") + problem;
    throw_invalid(std::move(lines));
  }

 private:
  std::vector<std::string> all_;
};

}  // namespace tarn::server

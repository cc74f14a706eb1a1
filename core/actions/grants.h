// Variables and repositories that the server's configuration grants to the hooks of a repository.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>

namespace tarn::actions {

/// Names, each with repositories. Immutable; safe from any thread.
class Grants {
 public:
  /// Nothing is given to any.
  Grants() = default;
  /// "NAME=repository,repository; NAME=*", where * means every repository; "" is nothing. Throws
  /// invalid_argument naming the piece that is wrong.
  explicit Grants(std::string_view text);

  bool gives(std::string_view name, std::string_view repository) const;

 private:
  std::map<std::string, std::set<std::string, std::less<>>, std::less<>> given_;
};

}  // namespace tarn::actions

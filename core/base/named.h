// Strong string types: two names of different kinds cannot be swapped in a call.
#pragma once

#include <compare>
#include <functional>
#include <string>
#include <utility>

namespace tarn {

/// A validated string of one kind. The constructor trusts its caller; text from users goes through
/// the kind's parse function (core/model/names.h). Immutable value.
template <typename Tag>
class Named {
 public:
  Named() = default;
  explicit Named(std::string value) : value_(std::move(value)) {}

  const std::string& str() const { return value_; }
  bool empty() const { return value_.empty(); }
  auto operator<=>(const Named&) const = default;

 private:
  std::string value_;
};

}  // namespace tarn

template <typename Tag>
struct std::hash<tarn::Named<Tag>> {
  size_t operator()(const tarn::Named<Tag>& name) const noexcept {
    return std::hash<std::string>{}(name.str());
  }
};

// The lookup of a route by its path: a tree of segments, built once.
#pragma once

#include <array>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "server/api/route.h"

namespace tarn::api {

/// Immutable after construction.
class Router {
 public:
  /// The routes outlive the router. Two routes of the same method and shape are a programming
  /// error.
  explicit Router(std::span<const Route> routes);
  ~Router();

  struct Match {
    const Route* route = nullptr;  ///< nullptr = no such endpoint
    PathValues values;
  };
  /// `path` is raw, below kBasePath. Each segment is decoded once, after splitting. A literal
  /// segment wins over a parameter; "{name}:verb" matches a value followed by ":verb", and a
  /// percent-encoded colon belongs to the value. Throws invalid_argument for a parameter that is
  /// empty, badly encoded, not UTF-8, or contains NUL.
  Match find(Method method, std::string_view path) const;

 private:
  struct Node;
  std::unique_ptr<Node> root_;
};

}  // namespace tarn::api

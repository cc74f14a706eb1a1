// Exceptions that end a collection early, besides Error.
#pragma once

#include <string>

namespace tarn::versioning {

/// Its server stops; the next collection starts over.
struct Stopped {};

/// A user has cancelled it.
struct Cancelled {};

/// It may not remove the objects that it found.
struct Refused {
  std::string message;
};

}  // namespace tarn::versioning

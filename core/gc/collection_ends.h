// Exceptions that end a collection early, besides Error.
#pragma once

#include <string>

namespace tarn::gc {

/// The server stops; the next collection starts over.
struct Stopped {};

/// A user has cancelled the collection.
struct Cancelled {};

/// The collection may not remove the objects that it found.
struct CollectionRefused {
  std::string message;
};

}  // namespace tarn::gc

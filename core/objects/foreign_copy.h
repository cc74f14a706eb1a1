// Copies between repositories.
#pragma once

#include <optional>

#include "core/branch/engine.h"
#include "core/model/repository.h"

namespace tarn::objects {

/// The address under which `target` may hold an object of `source`: a foreign address for own bytes
/// (the pair of repositories is recorded first, so that collection in `source` asks `target` too),
/// the same for external bytes, a list of its own for bytes in parts. No byte moves.
Address address_for_foreign_copy(branch::Engine& engine, const Repository& source,
                                 const Repository& target, const Entry& entry);

/// Own bytes of some repository, as `reader` may point at them.
struct SharedBytes {
  OwnAddress own;
  std::optional<RepositoryId> owner;  ///< absent: the reader itself
};
/// The same as address_for_foreign_copy, for the whole of an object in one piece; nullopt for one
/// in parts and for external bytes. `source` may be the reader.
std::optional<SharedBytes> share_bytes(branch::Engine& engine, const Repository& source,
                                       const Repository& reader, const Entry& entry);

}  // namespace tarn::objects

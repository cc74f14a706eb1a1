// Copies between repositories.
#pragma once

#include "core/model/repository.h"
#include "core/versioning/engine.h"

namespace tarn::versioning {

/// The address under which `target` may hold an object of `source`: a foreign address for own bytes
/// (the pair of repositories is recorded first, so that collection in `source` asks `target` too),
/// the same for external bytes. Bytes in parts are written anew: a part list belongs to one
/// repository.
Address address_for_foreign_copy(Engine& engine, const Repository& source, const Repository& target,
                                 const Entry& entry);

}  // namespace tarn::versioning

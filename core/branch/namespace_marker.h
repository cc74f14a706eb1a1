// The marker of a storage namespace: the object `_tarn/repository` names the repository whose
// objects are below. Databases know nothing of one another, so only the store can tell whose they
// are.
#pragma once

#include <string>

#include "core/blob/stores.h"
#include "core/model/repository.h"

namespace tarn::versioning {

/// The second line of a repository's marker: 32 hexadecimal digits that no other repository has, in
/// no other database either.
std::string marker_digits(const Repository& repository);

/// Creates the marker: a line with the repository's name, for people, and one with the digits.
/// false: the namespace has a marker, perhaps another repository's. Throws as stores do.
bool mark_namespace(blob::Stores& stores, const Repository& repository);

/// Whether the marker in the namespace has the digits of the repository. Throws as stores do.
bool owns_namespace(blob::Stores& stores, const Repository& repository);

}  // namespace tarn::versioning

// The marker of a storage namespace: the object `_tarn/repository` names the repository whose
// objects are below, and the database that made it. Databases know nothing of one another, so only
// the store can tell whose they are.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include "core/blob/stores.h"
#include "core/model/repository.h"

namespace tarn::branch {

struct NamespaceMarker {
  bool ours = false;  ///< it has the digits of the repository
  std::string owner;  ///< identity of the database that made it; "" = unknown
};

/// The second line of a repository's marker: 32 hexadecimal digits that no other repository has, in
/// no other database either.
std::string marker_digits(const Repository& repository);

/// Creates the marker: a line with the repository's name, for people, one with the digits and one
/// with the owner. false: the namespace has a marker, perhaps another repository's. Throws as
/// stores do.
bool mark_namespace(blob::Stores& stores, const Repository& repository, std::string_view owner);

/// Takes the namespace over from a creation by the same database that left its marker and no
/// repository. The caller holds the lock of namespaces and has seen that no repository of the
/// database has this one. false: the marker may be somebody's, for it is younger than
/// kMarkerAbandonedAfter, names another database, or something else is in the namespace.
bool replace_abandoned_marker(blob::Stores& stores, const Repository& repository,
                              std::string_view owner, Instant now);
constexpr std::chrono::seconds kMarkerAbandonedAfter{60};

/// Removes the marker of a repository that was not created after all, if it is this one's.
void unmark_namespace(blob::Stores& stores, const Repository& repository);

/// nullopt = the namespace has none. Throws as stores do.
std::optional<NamespaceMarker> read_marker(blob::Stores& stores, const Repository& repository);

/// Whether the marker in the namespace has the digits of the repository. Throws as stores do.
bool owns_namespace(blob::Stores& stores, const Repository& repository);

/// A namespace with a marker that lies around the namespace, or within the folders that Tarn uses
/// in it; "" = none is found. Of what lies within, the first kNestedKeysLookedAt keys are looked
/// at.
std::string nested_namespace(blob::Stores& stores, const Repository& repository);

constexpr uint32_t kNestedKeysLookedAt = 1000;

}  // namespace tarn::branch

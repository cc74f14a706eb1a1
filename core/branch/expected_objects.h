// Objects as a client expects them in a tree, by path and SHA-256.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "core/model/commit.h"
#include "core/tree/node.h"

namespace tarn::branch {

/// Raw SHA-256 by path.
using ExpectedObjects = std::map<std::string, std::string>;

/// Compares with the digests that the server computed itself. Throws conflict: reason
/// "not_what_was_expected" (an object differs or is absent; the message has its path, the expected
/// and the found digest), "digest_unknown" (no SHA-256 of the whole object was computed: imports,
/// presigned uploads, and uploads in several parts).
void check_objects(tree::NodeSource& nodes, const TreeRoot& root, const ExpectedObjects& expected);

/// Throws conflict (reason "not_what_was_expected") naming the first path in which the trees differ
/// and which is not expected.
void check_changes(tree::NodeSource& nodes, const TreeRoot& before, const TreeRoot& after,
                   const ExpectedObjects& expected);

}  // namespace tarn::branch

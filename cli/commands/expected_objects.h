// Options that name objects by path and SHA-256.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "cli/client.h"
#include "cli/session.h"

namespace tarn::cli {

/// [{"path", "sha256"}] of words PATH=SHA256, PATH=FILE and PREFIX/=DIRECTORY, which stands for the
/// files that `fs upload -r DIRECTORY PREFIX/` sends; "/" is the root. Reads the files. Throws a
/// usage error that names `option`; not_found (a file).
Json expected_objects(Session& session, std::string_view option,
                      const std::vector<std::string>& words);

}  // namespace tarn::cli

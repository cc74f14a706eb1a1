// The metrics that one commit's metadata and files hold.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/branch/engine.h"
#include "core/metrics/measurements.h"
#include "core/model/repository.h"

namespace tarn::runs {

/// Raised when readers change, so that commits and files are read again when they are requested.
constexpr std::string_view kReadersVersion = "5";
/// The same as kReadersVersion, of read_metadata alone: files are not read again for it.
constexpr std::string_view kMetadataVersion = "m1";

/// Keys for which is_measured is true. If none of them names a parameter, the other keys are
/// parameters, except those that begin with a punctuation mark, which belong to programs. The other
/// keys of a cherry-pick are of another tree and are left out. At most kRunParamsMax of them count,
/// with values of at most kParamValueBytesMax.
void read_metadata(const Commit& commit, Measurements& into);
/// Keys that are the names themselves. One that is absent is no warning. Those of a cherry-pick are
/// of another tree and are left out.
void read_bare_metadata(const Commit& commit, const std::vector<std::string>& names,
                        Measurements& into);
/// Files that match one of `globs` and none of `known`, of the commit's tree. What each says is
/// kept in the database, so that a file that many commits hold is read once. What cannot be read is
/// a warning; throws only unavailable.
void read_metric_files(branch::Engine& engine, const Repository& repository, const Commit& commit,
                       const std::vector<std::string>& globs, const std::vector<std::string>& known,
                       Measurements& into);

}  // namespace tarn::runs

// Selection of the newest of several Spark part-file sets in one directory.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/base/time.h"

namespace tarn {

struct DatedPath {
  std::string path;
  Instant written{};
};

/// The parts that older jobs left in a directory. Spark names the parts of one job
/// part-<number>-<uuid of the job>...; where one directory has parts of several, the job with the
/// newest part counts, of equally new ones the one with the greater uuid. The marker _SUCCESS says
/// nothing: it is empty, so that a merge of two jobs may keep either one's.
std::vector<std::string> older_parts(const std::vector<DatedPath>& paths);

}  // namespace tarn

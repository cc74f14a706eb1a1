// An answer that streams objects as one archive.
#pragma once

#include <string>
#include <vector>

#include "core/model/entry.h"
#include "core/model/repository.h"
#include "server/api/call.h"

namespace tarn::api {

struct ArchivedFile {
  std::string name;
  Entry entry;
};
/// A tar of the objects. Throws invalid_argument (reason "unsafe_name") before the first byte.
http::Response answer_tar(const Context& context, const Repository& repository,
                          std::vector<ArchivedFile> files);

}  // namespace tarn::api

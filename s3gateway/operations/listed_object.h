// An object as the three listings show it.
#pragma once

#include <string>

#include "core/model/entry.h"
#include "s3gateway/xml/list_objects.h"

namespace tarn::s3 {

xml::ListedObject listed_object(std::string key, const Entry& entry);

}  // namespace tarn::s3

// The Owner element that several documents share.
#pragma once

#include <string>
#include <string_view>

#include "s3gateway/xml/writer.h"

namespace tarn::s3::xml {

struct Owner {
  std::string id;
  std::string display_name;
};

inline void write_owner(Writer& out, std::string_view element, const Owner& owner) {
  out.open(element);
  out.element("ID", owner.id);
  out.element("DisplayName", owner.display_name);
  out.close(element);
}

}  // namespace tarn::s3::xml

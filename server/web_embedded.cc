// The bundle of the web interface as bytes of the program. TARN_WEB_BUNDLE is the path of the file.
#include <cstddef>
#include <string_view>

#include "server/web_bundle.h"

// An array of a few million numbers would take the compiler minutes.
asm(R"(
  .section .rodata
  .balign 16
  .global tarn_web_bundle_begin
  .global tarn_web_bundle_end
tarn_web_bundle_begin:
  .incbin ")" TARN_WEB_BUNDLE R"("
tarn_web_bundle_end:
  .byte 0
  .previous
)");

extern "C" const char tarn_web_bundle_begin[];
extern "C" const char tarn_web_bundle_end[];

namespace tarn::server {

const WebBundle& embedded_web_bundle() {
  static const WebBundle kBundle = WebBundle::parse(
      {tarn_web_bundle_begin, static_cast<size_t>(tarn_web_bundle_end - tarn_web_bundle_begin)});
  return kBundle;
}

}  // namespace tarn::server

#include "core/tree/body.h"

#include <cstdint>
#include <memory>

#include <zstd.h>

#include "core/base/error.h"
#include "core/tree/column.h"

namespace tarn::tree {
namespace {

constexpr char kRaw = 0;
constexpr char kZstd = 1;
constexpr int kZstdLevel = 1;
constexpr size_t kGainDivisor = 10;  // compressed only if it saves a tenth

struct FreeCompressor {
  void operator()(ZSTD_CCtx* context) const { ZSTD_freeCCtx(context); }
};
struct FreeDecompressor {
  void operator()(ZSTD_DCtx* context) const { ZSTD_freeDCtx(context); }
};

/// Frames carry a checksum, so that a flipped bit is noticed wherever it is.
std::unique_ptr<ZSTD_CCtx, FreeCompressor> compressor() {
  std::unique_ptr<ZSTD_CCtx, FreeCompressor> context(ZSTD_createCCtx());
  ZSTD_CCtx_setParameter(context.get(), ZSTD_c_compressionLevel, kZstdLevel);
  ZSTD_CCtx_setParameter(context.get(), ZSTD_c_checksumFlag, 1);
  return context;
}

}  // namespace

std::string pack_body(std::string_view encoding) {
  thread_local const std::unique_ptr<ZSTD_CCtx, FreeCompressor> context = compressor();
  std::string out(ZSTD_compressBound(encoding.size()) + 1, '\0');
  const size_t size = ZSTD_compress2(context.get(), out.data() + 1, out.size() - 1, encoding.data(),
                                     encoding.size());
  if (ZSTD_isError(size) == 0 && size + encoding.size() / kGainDivisor <= encoding.size()) {
    out[0] = kZstd;
    out.resize(size + 1);
    out.shrink_to_fit();
    return out;
  }
  out.assign(1, kRaw);
  out.append(encoding);
  return out;
}

std::string unpack_body(std::string_view body) {
  if (body.empty()) NodeReader::fail("its body is empty");
  const char form = body[0];
  body.remove_prefix(1);
  if (form == kRaw) {
    if (body.size() > kNodeBytesMax) NodeReader::fail("it is too long");
    return std::string(body);
  }
  if (form != kZstd) NodeReader::fail("its body has an unknown form");
  const unsigned long long size = ZSTD_getFrameContentSize(body.data(), body.size());
  // Both error values of the call exceed every limit.
  if (size > kNodeBytesMax) NodeReader::fail("its length is missing or too long");
  thread_local const std::unique_ptr<ZSTD_DCtx, FreeDecompressor> context(ZSTD_createDCtx());
  std::string out(static_cast<size_t>(size), '\0');
  const size_t got =
      ZSTD_decompressDCtx(context.get(), out.data(), out.size(), body.data(), body.size());
  if (ZSTD_isError(got) != 0 || got != out.size()) NodeReader::fail("it does not decompress");
  return out;
}

}  // namespace tarn::tree

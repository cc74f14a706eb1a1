// Runs one fuzz target over its saved corpus, so that fixed bugs do not return.
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include <gtest/gtest.h>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace {

TEST(Fuzz, CorpusPasses) {
  size_t inputs = 0;
  for (const auto& entry : std::filesystem::directory_iterator(TARN_FUZZ_CORPUS)) {
    SCOPED_TRACE(entry.path().string());
    std::ifstream file(entry.path(), std::ios::binary);
    const std::string input(std::istreambuf_iterator<char>(file), {});
    ASSERT_EQ(LLVMFuzzerTestOneInput(reinterpret_cast<const uint8_t*>(input.data()), input.size()),
              0);
    ++inputs;
  }
  EXPECT_GT(inputs, 0u);
}

}  // namespace

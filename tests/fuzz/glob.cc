// Patterns and texts: the first line is the pattern, the rest the text.
#include "core/base/glob.h"

#include <string>
#include <string_view>

#include "core/base/error.h"
#include "tests/fuzz/require.h"

namespace {

/// The pattern that matches only `text`.
std::string escaped(std::string_view text) {
  std::string out;
  for (char c : text) {
    if (std::string_view("?*[]{},!\\-").find(c) != std::string_view::npos) out.push_back('\\');
    out.push_back(c);
  }
  return out;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const size_t line = input.find('\n');
  const std::string_view pattern = input.substr(0, line);
  const std::string_view text =
      line == std::string_view::npos ? std::string_view() : input.substr(line + 1);

  const bool legal = tarn::Glob::problem(pattern).empty();
  try {
    const tarn::Glob glob(pattern);
    require(legal, "a pattern with a problem is refused");
    require(glob.pattern() == pattern, "a pattern is kept as given");
    require(glob.matches(text) == tarn::Glob(pattern).matches(text), "a match has one outcome");
  } catch (const tarn::Error& error) {
    require(!legal, "a pattern without a problem is taken");
    require(error.code() == tarn::ErrorCode::kInvalidArgument, "a bad pattern is the caller's");
  }

  if (!text.empty()) require(tarn::Glob("**").matches(text), "** matches everything");
  const std::string literal = escaped(text);
  if (!literal.empty() && tarn::Glob::problem(literal).empty()) {
    require(tarn::Glob(literal).matches(text), "an escaped text matches itself");
    require(!tarn::Glob(literal).matches(std::string(text) + "x"), "and nothing longer");
    if (literal.size() + 2 <= tarn::kGlobBytesMax) {
      require(tarn::Glob("**" + literal).matches("a/b" + std::string(text)), "** matches slashes");
    }
  }
  return 0;
}

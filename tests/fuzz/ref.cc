// Ref expressions.
#include <string>
#include <string_view>

#include "core/base/error.h"
#include "core/model/ref_expression.h"
#include "tests/fuzz/require.h"

namespace {

using tarn::RefExpression;
using tarn::RefModifier;

std::string written(const RefExpression& ref) {
  std::string out = ref.base;
  for (const RefModifier& modifier : ref.modifiers) {
    out += modifier.kind == RefModifier::Kind::kAncestor ? '~' : '^';
    out += std::to_string(modifier.number);
  }
  if (ref.view == RefExpression::View::kCommitted) out += '@';
  if (ref.view == RefExpression::View::kStaged) out += '$';
  return out;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  try {
    const RefExpression ref = tarn::parse_ref(input);
    require(!ref.base.empty(), "a ref has a base");
    // A leading '@' marks an alias.
    require(ref.base.find_first_of("~^@$ \t\n", 1) == std::string::npos, "a base has no operators");
    require(ref.view == RefExpression::View::kPlain || ref.modifiers.empty(),
            "a view comes without modifiers");
    require(tarn::parse_ref(written(ref)) == ref, "a ref that is written again means the same");
  } catch (const tarn::Error& error) {
    require(error.code() == tarn::ErrorCode::kInvalidArgument, "a bad ref is the caller's");
  }
  return 0;
}

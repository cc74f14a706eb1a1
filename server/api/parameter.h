// Rules for the query parameters and conditional headers of a route, checked before anything else.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string_view>

#include "core/http/message.h"

namespace tarn::api {

struct Parameter {
  enum class Kind {
    kAmount,      ///< -1..1000; absent, 0 and -1 mean kAmountDefault
    kBoolean,     ///< the spellings of parse_boolean; absent or empty = false
    kRequired,    ///< must be present and not empty
    kMoment,      ///< RFC 3339 and similar forms
    kInstant,     ///< the same, or seconds since 1970
    kSize,        ///< a number of bytes
    kGlob,        ///< a pattern over paths
    kExpression,  ///< a search expression
    kSort,        ///< a sort order of a search
    kDiffType,    ///< two_dot or three_dot
    kState,       ///< open, closed or all
    kPartCount,   ///< 0..10000; absent or empty = 0
    kArchive,     ///< tar or zip
    kWait,        ///< "30" or "30s": seconds, at most kWaitMax
    kRange,       ///< the header Range: byte ranges by grammar
  };
  std::string_view name;
  Kind kind = Kind::kAmount;
};

constexpr uint32_t kAmountDefault = 100;

constexpr std::chrono::seconds kWaitMax{60};

/// The parameters of one route; a fixed array so that the table of routes is a constant.
struct Parameters {
  std::array<Parameter, 12> list{};
  size_t count = 0;
};

/// Throws invalid_argument 'parameter "amount" in query has an error: ...' for the first parameter
/// that breaks its rule, and for any value that is not UTF-8 or holds a NUL.
void check_parameters(const Parameters& parameters, const http::Request& request,
                      const http::Query& query);

/// "1", "t", "true" ... in the spellings of Go and Python; nullopt otherwise.
std::optional<bool> parse_boolean(std::string_view text);
/// The same as Kind::kAmount; nullopt if out of range or no number.
std::optional<uint32_t> parse_amount(std::string_view text);
/// The same as Kind::kPartCount; nullopt if out of range or no number.
std::optional<uint32_t> parse_part_count(std::string_view text);
/// The same as Kind::kSize; nullopt if empty or no such number.
std::optional<uint64_t> parse_size(std::string_view text);
/// The same as Kind::kWait; nullopt if empty or no such number.
std::optional<std::chrono::seconds> parse_wait(std::string_view text);

}  // namespace tarn::api

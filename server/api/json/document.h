// A strict reader of JSON request bodies. Every error names the JSON pointer of the offending
// value.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tarn::api::json {

// Limits of JSON request bodies, each with its reason.

/// Fits a thousand paths of 1024 bytes, escaped.
constexpr size_t kBodyBytesMax = 5 * 1024 * 1024;
/// Limit for operations that need no account: login, first administrator.
constexpr size_t kOpenBodyBytesMax = 64 * 1024;
/// The deepest body of the API has four levels. Checked before parsing, because parsing and
/// destroying a document recurse once per level.
constexpr size_t kDepthMax = 64;
/// All values of a body, nested ones included: one takes up to a hundred bytes of memory.
constexpr size_t kValuesMax = 100'000;
/// Limit of one string: messages and metadata come back in listings of up to a thousand items.
constexpr size_t kTextBytesMax = 256 * 1024;
/// All names and texts of one map, for the same reason.
constexpr size_t kMapBytesMax = 256 * 1024;
/// Elements of one array; the longest array of real clients has a thousand paths.
constexpr size_t kItemsMax = 10'000;

/// Maximum number of paths in one archive.
constexpr size_t kArchivePathsMax = 100'000;
/// Fits the longest list of archive paths at 160 bytes each on average.
constexpr size_t kArchiveBodyBytesMax = 16 * 1024 * 1024;
constexpr size_t kArchiveValuesMax = kArchivePathsMax + 16;

/// A value inside a Document, with its JSON pointer; valid as long as the document. Every reader
/// throws invalid_argument "request body: <pointer>: expected ..." for another type.
class Value {
 public:
  /// Text without NUL (the database holds none), of at most kTextBytesMax.
  std::string text() const;
  bool boolean() const;
  /// An integer in range; 1.0 is rejected.
  int64_t integer() const;
  int64_t integer(int64_t least, int64_t most) const;
  /// Any number; a string that looks like one is rejected.
  double number() const;
  /// An object whose values are strings, at most kMapBytesMax in all.
  std::map<std::string, std::string> text_map() const;
  /// Arrays have at most kItemsMax elements.
  std::vector<std::string> texts(size_t items_max = kItemsMax) const;
  std::vector<Value> items() const;
  bool is_array() const;
  /// A string, or a number or boolean as JSON writes it.
  std::string scalar_text() const;
  /// The members of an object, by name.
  std::vector<std::pair<std::string, Value>> members() const;

  /// A required member. Throws if it is absent or null, or if this is no object.
  Value at(std::string_view name) const;
  /// nullopt if absent or null.
  std::optional<Value> find(std::string_view name) const;
  /// A member that is a number: nullopt if absent. Its readers refuse null, which clients write for
  /// NaN and infinity.
  std::optional<Value> find_number(std::string_view name) const;

  // Optional members, with a default for absent ones.
  std::string text_or_empty(std::string_view name) const;
  std::optional<std::string> find_text(std::string_view name) const;
  bool flag(std::string_view name) const;  ///< absent = false
  std::map<std::string, std::string> map_or_empty(std::string_view name) const;
  std::optional<std::map<std::string, std::string>> find_map(std::string_view name) const;

  /// Throws invalid_argument with the pointer and `why`.
  [[noreturn]] void fail(std::string_view why) const;

 private:
  friend class Document;
  Value(const void* node, std::string pointer) : node_(node), pointer_(std::move(pointer)) {}
  const void* node_;
  std::string pointer_;
};

/// A parsed body. Immutable.
class Document {
 public:
  /// Throws invalid_argument: not JSON (with the byte offset), nested deeper than kDepthMax, not
  /// UTF-8, more than `values_max` values.
  static Document parse(std::string_view body, size_t values_max = kValuesMax);
  ~Document();
  Document(Document&&) noexcept;
  Document& operator=(Document&&) noexcept;

  Value root() const;

 private:
  struct State;
  explicit Document(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

/// The greatest nesting of arrays and objects in `body`, ignoring brackets in strings; linear, no
/// recursion. Stops counting past `limit`.
size_t nesting_depth(std::string_view body, size_t limit);

}  // namespace tarn::api::json

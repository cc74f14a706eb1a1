// A table of sorted keys and values in RocksDB's file format, written as a stream.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>

namespace tarn::sstable {

/// The property "type" of a table.
constexpr std::string_view kRangesType = "ranges";          ///< a range: keys are paths
constexpr std::string_view kMetarangesType = "metaranges";  ///< a metarange: keys end ranges

/// Block-based table of format version 2 with CRC-32C checksums and Snappy. In addition to
/// RocksDB's own properties it has those that lakeFS writes: type, min_key, max_key, count and
/// estimated_size_bytes. Memory is bounded: a block, the index (a short key for each 4 KiB) and
/// RocksDB's write buffer of 1 MiB. One thread at a time.
class TableWriter {
 public:
  /// Receives the table's bytes in order. Its exceptions propagate through add() and finish().
  using Sink = std::function<void(std::string_view)>;

  /// Throws internal when RocksDB fails.
  TableWriter(std::string_view type, Sink sink);
  ~TableWriter();
  TableWriter(const TableWriter&) = delete;
  TableWriter& operator=(const TableWriter&) = delete;

  /// Keys ascend strictly, by bytes; else throws internal.
  void add(std::string_view key, std::string_view value);
  /// The last call. Throws internal for a table without entries, which the format cannot represent.
  void finish();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace tarn::sstable

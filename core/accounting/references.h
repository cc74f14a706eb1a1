// The bytes that entries refer to, with part lists resolved to their parts.
#pragma once

#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "core/accounting/usage_store.h"
#include "core/meta/part_lists.h"
#include "core/model/entry.h"
#include "core/tree/entry_fields.h"
#include "core/tree/nid_set.h"

namespace tarn::accounting {

/// Receives bytes. `marked` is passed through from the entry.
class BytesSink {
 public:
  virtual ~BytesSink() = default;
  /// Bytes in the namespace of a repository.
  virtual void stored(RepositoryId owner, const OwnAddress& address, uint64_t size_bytes,
                      bool marked) = 0;
  /// Bytes at the URL `head` + `tail`.
  virtual void imported(std::string_view head, std::string_view tail, uint64_t size_bytes,
                        bool marked) = 0;
};

/// Resolves entries of one repository. Part lists are read many at a time, each once with and once
/// without a mark. One thread at a time.
class References {
 public:
  /// All outlive it.
  References(UsageStore& store, RepositoryId repository, BytesSink& sink)
      : store_(store), repository_(repository), sink_(sink) {}

  void add(const tree::EntryFields& entry, bool marked);
  void add(const Entry& entry, bool marked);
  /// A part list in its byte form, or one part of an upload.
  void add_parts(std::string_view bytes, bool marked);
  /// Passes on what was held back. Call it after the last add().
  void flush();

 private:
  void add(const Address& address, uint64_t size_bytes, bool marked);
  void flush(bool marked);

  struct Lists {
    tree::NidSet seen;
    std::vector<int64_t> waiting;
  };

  UsageStore& store_;
  const RepositoryId repository_;
  BytesSink& sink_;
  Lists plain_;
  Lists marked_;
};

}  // namespace tarn::accounting

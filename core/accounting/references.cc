#include "core/accounting/references.h"

#include <variant>

namespace tarn::accounting {
namespace {

constexpr size_t kListsPerRead = 64;  // of up to 10,000 parts

}  // namespace

void References::add(const tree::EntryFields& entry, bool marked) {
  if (entry.external) {
    sink_.imported(entry.address_head, entry.address_tail, entry.size_bytes, marked);
  } else {
    add(decode_address(entry.address_tail), entry.size_bytes, marked);
  }
}

void References::add(const Entry& entry, bool marked) {
  add(entry.address, entry.size_bytes, marked);
}

void References::add(const Address& address, uint64_t size_bytes, bool marked) {
  if (const auto* own = std::get_if<OwnAddress>(&address)) {
    sink_.stored(repository_, *own, size_bytes, marked);
  } else if (const auto* foreign = std::get_if<ForeignAddress>(&address)) {
    sink_.stored(foreign->repository, foreign->own, size_bytes, marked);
  } else if (const auto* external = std::get_if<ExternalAddress>(&address)) {
    sink_.imported({}, external->url, size_bytes, marked);
  } else {
    Lists& lists = marked ? marked_ : plain_;
    const int64_t id = std::get<PartListAddress>(address).id;
    if (lists.seen.insert(id)) lists.waiting.push_back(id);
    if (lists.waiting.size() == kListsPerRead) flush(marked);
  }
}

void References::add_parts(std::string_view bytes, bool marked) {
  for (const meta::StoredPart& part : meta::decode_parts(bytes)) {
    sink_.stored(part.owner.value_or(repository_), part.address, part.size_bytes, marked);
  }
}

void References::flush() {
  flush(false);
  flush(true);
}

void References::flush(bool marked) {
  Lists& lists = marked ? marked_ : plain_;
  if (lists.waiting.empty()) return;
  store_.part_lists(lists.waiting, [&](std::string_view bytes) { add_parts(bytes, marked); });
  lists.waiting.clear();
}

}  // namespace tarn::accounting

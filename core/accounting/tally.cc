#include "core/accounting/tally.h"

#include <cstring>

#include "core/base/digest.h"

namespace tarn::accounting {
namespace {

Amount amount_of(const auto& totals) { return {totals.objects, totals.bytes}; }

}  // namespace

void Tally::stored(RepositoryId owner, const OwnAddress& address, uint64_t size_bytes,
                   bool marked) {
  if (owner == repository_) return own_.add(address.id, size_bytes, marked);
  std::array<uint8_t, 17> key{};
  std::memcpy(key.data(), &owner, sizeof(owner));
  std::memcpy(key.data() + sizeof(owner), address.id.data(), address.id.size());
  foreign_.add(key, size_bytes, marked);
}

void Tally::imported(std::string_view head, std::string_view tail, uint64_t size_bytes,
                     bool marked) {
  Digest digest(DigestAlgorithm::kSha256);
  digest.update(head);
  digest.update(tail);
  std::array<uint8_t, 16> key{};
  std::memcpy(key.data(), digest.finish().data(), key.size());
  imported_.add(key, size_bytes, marked);
}

void Tally::seal() {
  own_.seal();
  foreign_.seal();
  imported_.seal();
}

Amount Tally::own() const { return amount_of(own_.all()); }
Amount Tally::marked() const { return amount_of(own_.marked()); }
Amount Tally::foreign() const { return amount_of(foreign_.all()); }
Amount Tally::imported() const { return amount_of(imported_.all()); }

Amount Tally::unmarked() const {
  const Amount all = own();
  const Amount kept = marked();
  return {all.objects - kept.objects, all.bytes - kept.bytes};
}

}  // namespace tarn::accounting

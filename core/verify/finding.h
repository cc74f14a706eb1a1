// Findings of a verification: damage of a repository's structure or objects, and the report that
// lists it.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tarn::verify {

/// The number of findings that a report lists; the counts by kind have no limit.
constexpr size_t kFindingsListedMax = 1000;
/// The number of refs that one finding names.
constexpr size_t kFindingRefsMax = 20;

/// The order is the order of reports; names are part of the REST format (docs/verify.md).
enum class FindingKind : uint8_t {
  kNodeMissing,        ///< a tree refers to a node that is not in the database
  kNodeUnreadable,     ///< its body does not decode
  kNodeHash,           ///< its content has another hash than its row states
  kNodeReference,      ///< it differs from what its parent (or its commit) records
  kNodeBounds,         ///< its keys are outside the range that its parent gives it
  kNodeOwner,          ///< its row belongs to another repository
  kCommitUnreadable,   ///< the columns of a commit do not decode
  kCommitId,           ///< the content of a commit has another id
  kCommitParent,       ///< a parent is missing
  kCommitGeneration,   ///< not one more than the greatest of the parents
  kRefCommit,          ///< a branch or tag refers to a commit that is missing
  kBranchRoot,         ///< a branch shows another tree than its head
  kStagedUnreadable,   ///< a staged row does not decode
  kPartsMissing,       ///< an entry refers to a part list that is missing
  kPartsUnreadable,    ///< a part list does not decode
  kPartsSize,          ///< the sizes of the parts do not add up to the entry's size
  kObjectMissing,      ///< the store has no object at an address
  kObjectSize,         ///< the object has another size than its entry
  kObjectContent,      ///< the bytes have another digest than the entry records
  kObjectUnreadable,   ///< the store does not let the server read it
  kSourceMissing,      ///< an imported object is gone from its source
  kSourceChanged,      ///< an imported or linked object changed
  kVersionUnreadable,  ///< a kept version does not decode
  kRangeSummary,       ///< a summary of a range differs from the range, or has none
  kSstable,            ///< a row of an SSTable has no node, or no file
};
constexpr size_t kFindingKinds = static_cast<size_t>(FindingKind::kSstable) + 1;

/// "node_missing".
std::string_view name_of(FindingKind kind);

enum class Severity : uint8_t {
  kWarning,  ///< every object can be read as it was written
  kError,    ///< an object is lost or different, or history is not what was committed
};
Severity severity_of(FindingKind kind);

struct Finding {
  FindingKind kind{};
  std::string path;      ///< of the object; of a node the greatest key below it; "" = none
  std::string after;     ///< of a node: its keys are greater; "" = no bound
  std::string commit{};  ///< a commit whose tree contains it, hex; "" = it is staged, or is a ref
  /// Branches and tags that show it now, at most kFindingRefsMax.
  std::vector<std::string> refs{};
  std::string address{};  ///< "node 7", "part list 3" or the URL of the object; "" = none
  std::string expected{};
  std::string found{};

  bool operator==(const Finding&) const = default;
};

/// Counts of the examined things, and the findings.
struct VerifyReport {
  uint64_t commits = 0;
  uint64_t refs = 0;
  uint64_t nodes = 0;       ///< distinct
  uint64_t entries = 0;     ///< in distinct ranges
  uint64_t staged = 0;      ///< staged rows
  uint64_t versions = 0;    ///< kept versions
  uint64_t part_lists = 0;  ///< distinct
  uint64_t objects = 0;     ///< distinct objects that the trees refer to; of a sample: estimated
  uint64_t objects_checked = 0;   ///< the part of them that the store was asked for
  uint64_t bytes_read = 0;        ///< of objects
  uint64_t objects_compared = 0;  ///< the part whose bytes were compared with a digest
  std::array<uint64_t, kFindingKinds> totals{};
  std::vector<Finding> findings;  ///< at most kFindingsListedMax
  /// The repairs of a finding: from `found` to `expected`, planned or made (core/verify/repair.h).
  std::vector<Finding> repairs{};

  uint64_t errors() const;
  uint64_t warnings() const;
  bool operator==(const VerifyReport&) const = default;
};

std::string encode_report(const VerifyReport& report);
/// "" is an empty report. Throws: data_loss.
VerifyReport decode_report(std::string_view bytes);

}  // namespace tarn::verify

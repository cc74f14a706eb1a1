#include "core/verify/finding.h"

#include "core/base/wire.h"

namespace tarn::verify {
namespace {

// In the order of the enumeration.
constexpr std::array<std::string_view, kFindingKinds> kNames = {"node_missing",
                                                                "node_unreadable",
                                                                "node_hash",
                                                                "node_reference",
                                                                "node_bounds",
                                                                "node_owner",
                                                                "commit_unreadable",
                                                                "commit_id",
                                                                "commit_parent",
                                                                "commit_generation",
                                                                "ref_commit",
                                                                "branch_root",
                                                                "staged_unreadable",
                                                                "parts_missing",
                                                                "parts_unreadable",
                                                                "parts_size",
                                                                "object_missing",
                                                                "object_size",
                                                                "object_content",
                                                                "object_unreadable",
                                                                "source_missing",
                                                                "source_changed",
                                                                "version_unreadable",
                                                                "range_summary",
                                                                "sstable"};
static_assert(!kNames.back().empty());

constexpr uint8_t kReportFormat = 2;

void put_finding(std::string& out, const Finding& finding) {
  out.push_back(static_cast<char>(finding.kind));
  for (const std::string* text : {&finding.path, &finding.after, &finding.commit, &finding.address,
                                  &finding.expected, &finding.found}) {
    put_bytes(out, *text);
  }
  put_varint(out, finding.refs.size());
  for (const std::string& ref : finding.refs) put_bytes(out, ref);
}

Finding read_finding(WireReader& in) {
  Finding finding;
  const uint8_t kind = in.u8();
  if (kind >= kFindingKinds) in.fail("has an unknown kind");
  finding.kind = static_cast<FindingKind>(kind);
  for (std::string* text : {&finding.path, &finding.after, &finding.commit, &finding.address,
                            &finding.expected, &finding.found}) {
    *text = in.bytes();
  }
  const uint64_t refs = in.varint();
  for (uint64_t i = 0; i < refs; ++i) finding.refs.emplace_back(in.bytes());
  return finding;
}

uint64_t count_of(const VerifyReport& report, Severity severity) {
  uint64_t sum = 0;
  for (size_t kind = 0; kind < kFindingKinds; ++kind) {
    if (severity_of(static_cast<FindingKind>(kind)) == severity) sum += report.totals[kind];
  }
  return sum;
}

}  // namespace

std::string_view name_of(FindingKind kind) { return kNames[static_cast<size_t>(kind)]; }

Severity severity_of(FindingKind kind) {
  switch (kind) {
    case FindingKind::kCommitGeneration:
    case FindingKind::kNodeOwner:
    case FindingKind::kRangeSummary:
    case FindingKind::kSstable:
      return Severity::kWarning;
    default:
      return Severity::kError;
  }
}

uint64_t VerifyReport::errors() const { return count_of(*this, Severity::kError); }
uint64_t VerifyReport::warnings() const { return count_of(*this, Severity::kWarning); }

std::string encode_report(const VerifyReport& report) {
  std::string out(1, static_cast<char>(kReportFormat));
  for (const uint64_t count :
       {report.commits, report.refs, report.nodes, report.entries, report.staged, report.part_lists,
        report.objects, report.objects_checked, report.bytes_read, report.objects_compared}) {
    put_varint(out, count);
  }
  put_varint(out, report.versions);
  for (const uint64_t total : report.totals) put_varint(out, total);
  put_varint(out, report.findings.size());
  for (const Finding& finding : report.findings) put_finding(out, finding);
  put_varint(out, report.repairs.size());
  for (const Finding& repair : report.repairs) put_finding(out, repair);
  return out;
}

VerifyReport decode_report(std::string_view bytes) {
  VerifyReport report;
  if (bytes.empty()) return report;
  WireReader in(bytes, "verification report");
  if (in.u8() != kReportFormat) in.fail("has an unknown format");
  for (uint64_t* count : {&report.commits, &report.refs, &report.nodes, &report.entries,
                          &report.staged, &report.part_lists, &report.objects,
                          &report.objects_checked, &report.bytes_read, &report.objects_compared}) {
    *count = in.varint();
  }
  report.versions = in.varint();
  for (uint64_t& total : report.totals) total = in.varint();
  const uint64_t findings = in.varint();
  for (uint64_t i = 0; i < findings; ++i) report.findings.push_back(read_finding(in));
  const uint64_t repairs = in.varint();
  for (uint64_t i = 0; i < repairs; ++i) report.repairs.push_back(read_finding(in));
  in.expect_end();
  return report;
}

}  // namespace tarn::verify

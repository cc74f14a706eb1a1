// The report of a promotion: one page that says why this candidate won, for who asks a year later.
//
// A report is made of the server's answer about the promotion alone, and contains that answer byte
// for byte. verify_report() reads it back, compares the SHA-256 of the evidence, of the policy and
// of the review with the digests that the answer names, and renders the page again: a page in which
// a word was changed is another one. A report proves that its parts belong together; that they are
// what the server has, `tarn promote evidence --verify` shows.
#pragma once

#include <string>
#include <string_view>

namespace tarn::cli {

/// Each takes the server's answer about a promotion with evidence.
std::string report_in_markdown(const std::string& body);
/// A page that needs nothing else to be read; contains `body`.
std::string report_in_html(const std::string& body);
/// {"apiVersion", "kind": "PromotionReport", "body": the answer as text}
std::string report_in_json(const std::string& body);

/// Returns the comparisons that were made, one line each. Throws invalid_argument for a text that
/// is no report in HTML or JSON, data_loss if its parts do not belong together.
std::string verify_report(std::string_view text);

}  // namespace tarn::cli

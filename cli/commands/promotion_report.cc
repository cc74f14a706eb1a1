#include "cli/commands/promotion_report.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "cli/commands/promotion_record.h"
#include "cli/json_text.h"
#include "cli/output.h"
#include "core/base/digest.h"
#include "core/base/encoding.h"
#include "core/base/error.h"
#include "core/base/number.h"
#include "core/base/str_cat.h"

namespace tarn::cli {
namespace {

using Json = nlohmann::json;

/// Digits of a commit id in a table; the section of digests has whole ones.
constexpr size_t kIdShown = 12;
constexpr std::string_view kBodyBegin = R"(<script type="application/json" id="tarn-report">)";
constexpr std::string_view kBodyEnd = "</script>";

using Row = std::vector<std::string>;

/// One heading with a table below it; without columns the rows are labels and values.
struct Section {
  std::string title;
  Row columns{};
  std::vector<Row> rows{};
  std::string text{};  ///< shown as it is, in a fixed pitch
};

std::string short_id(const Json& object, const char* member) {
  const auto found = object.find(member);
  if (found == object.end() || !found->is_string()) return "none";
  return found->get<std::string>().substr(0, kIdShown);
}

std::string text(const Json& object, const char* member) {
  const auto found = object.find(member);
  if (found == object.end() || found->is_null()) return "";
  return found->is_string() ? found->get<std::string>() : json_text(*found);
}

Json list(const Json& object, const char* member) { return object.value(member, Json::array()); }

const Json* find_metric(const Json& metrics, const std::string& name) {
  for (const Json& metric : metrics) {
    if (metric_name(metric) == name) return &metric;
  }
  return nullptr;
}

std::string shown_value(const Json* metric) {
  if (metric == nullptr) return "-";
  const Json capped = metric->value("capped", Json::object());
  return str_cat(number_text(metric->value("value", Json())), spread_text(*metric),
                 capped.empty() ? ""
                                : str_cat(" (capped by the policy, it was ",
                                          number_text(capped.value("was", Json())), ": ",
                                          text(capped, "reason"), ")"));
}

/// "+0.01"; "" unless both are numbers.
std::string change(const Json* now, const Json* before) {
  if (now == nullptr || before == nullptr) return "";
  const Json a = now->value("value", Json()), b = before->value("value", Json());
  if (!a.is_number() || !b.is_number()) return "";
  const double delta = a.get<double>() - b.get<double>();
  return str_cat(delta < 0 ? "" : "+", difference_to_text(delta));
}

const Json* winner_in(const Json& evidence) {
  const std::string ref = text(evidence, "winner");
  const auto candidates = evidence.find("candidates");
  if (ref.empty() || candidates == evidence.end()) return nullptr;
  for (const Json& candidate : *candidates) {
    if (text(candidate, "ref") == ref) return &candidate;
  }
  return nullptr;
}

/// Evidence of a policy names what the candidates were compared with as champion, that of a
/// promotion without one as baseline.
Json compared_with(const Json& evidence) {
  const Json champion = evidence.value("champion", Json::object());
  return champion.contains("metrics") ? champion : evidence.value("baseline", champion);
}

Section summary(const Json& promotion, const Json& evidence) {
  Section out{.title = "Decision"};
  const auto add = [&](const char* label, const std::string& value) {
    if (!value.empty()) out.rows.push_back({label, value});
  };
  add("promotion", text(promotion, "id"));
  add("state", text(promotion, "state"));
  add("why", text(promotion, "message"));
  add("winner", text(promotion.value("winner", Json::object()), "ref"));
  add("destination", text(promotion, "destination"));
  add("alias", text(promotion, "alias"));
  add("method", text(promotion, "method"));
  add("policy",
      evidence.value("policy", Json::object()).value("one_off", false)
          ? std::string("none: the rules were in the request")
          : str_cat(text(promotion, "policy"), " version ", text(promotion, "policy_version")));
  add("begun by", str_cat(text(promotion, "actor"), ", ", text(promotion, "created_at")));
  add("ended", promotion_has_ended(promotion) ? text(promotion, "updated_at") : "");
  add("judged", text(evidence, "at"));
  return out;
}

Section values(const Json& evidence, const Json& winner) {
  const Json before = list(compared_with(evidence), "metrics");
  Section out{.title = "Values that decided",
              .columns = {"metric", "winner", "champion", "change", "origin", "recorded by"}};
  for (const Json& metric : list(winner, "metrics")) {
    const Json* const old = find_metric(before, metric_name(metric));
    out.rows.push_back({metric_name(metric), shown_value(&metric), shown_value(old),
                        change(&metric, old), text(metric, "origin"), text(metric, "reporter")});
  }
  for (const Json& metric : list(winner, "unmeasured")) {
    out.rows.push_back(
        {metric_name(metric),
         str_cat(shown_value(&metric), " (does not count: ", text(metric, "why"), ")"), "", "",
         text(metric, "origin"), ""});
  }
  return out;
}

/// The statistics of the winner's improvement over the champion.
Section statistics(const Json& evidence, const Json& winner) {
  Section out{.title = "Improvement over the champion",
              .columns = {"metric", "better by", "at least", "p", "corrected for", "test"}};
  for (const Json& one : list(winner, "comparisons")) {
    out.rows.push_back(
        {metric_name(one), number_text(one.value("improvement", Json())),
         number_text(one.value("lower_bound", Json())),
         number_text(one.value("adjusted_p", Json())),
         str_cat(text(one, "comparisons"), " candidates, ", text(one, "tries"), " earlier tries"),
         text(one, "test")});
  }
  const Json decided = evidence.value("decided_by", Json::object());
  if (!decided.empty()) {
    out.rows.push_back(
        {"first place", "", "", "", "", str_cat("decided by ", text(decided, "by"))});
  }
  return out;
}

/// On which data the values of evaluations were measured, and the keys of the measurements.
Section evaluations(const Json& evidence, const Json& winner) {
  Section out{.title = "Evaluations",
              .columns = {"evaluation", "data", "programs", "key", "examples"}};
  for (const Json& one : list(evidence.value("policy", Json::object()), "evaluations")) {
    const std::string origin = str_cat("evaluation:", text(one, "name"));
    Json measured = Json::object();
    for (const Json& metric : list(winner, "metrics")) {
      const Json found = metric.value("evaluation", Json::object());
      // A slice has fewer examples than the whole.
      if (text(metric, "origin") == origin &&
          found.value("examples", 0) > measured.value("examples", 0)) {
        measured = found;
      }
    }
    const std::string predict = text(one, "predict");
    out.rows.push_back({text(one, "name"),
                        str_cat("tarn://", text(one, "repository"), "/", text(one, "commit"), "/",
                                text(one, "folder")),
                        str_cat(predict, predict.empty() ? "" : ", ", text(one, "score")),
                        text(measured, "key"), text(measured, "examples")});
  }
  return out;
}

Section rules(const Json& winner) {
  Section out{.title = "Rules", .columns = {"rule", "outcome", "reason"}};
  for (const Json& rule : list(winner, "rules")) {
    out.rows.push_back({text(rule, "rule"), text(rule, "outcome"), text(rule, "reason")});
  }
  return out;
}

Section candidates(const Json& evidence) {
  Section out{.title = "Candidates",
              .columns = {"candidate", "commit", "rank", "verdict", "values", "refused by"}};
  for (const Json& candidate : list(evidence, "candidates")) {
    std::string found;
    for (const Json& metric : list(candidate, "metrics")) {
      found += str_cat(found.empty() ? "" : ", ", metric_name(metric), "=", shown_value(&metric));
    }
    const int rank = candidate.value("rank", 0);
    out.rows.push_back({text(candidate, "ref"), short_id(candidate, "commit"),
                        rank == 0 ? "-" : std::to_string(rank), text(candidate, "verdict"), found,
                        refusals_in_words(candidate)});
  }
  for (const Json& one : list(evidence, "left_out")) {
    out.rows.push_back({str_cat(text(one, "branches"), " more branches of ", text(one, "creator")),
                        "", "-", "not judged", "", ""});
  }
  return out;
}

Section objects(const Json& winner) {
  Section out{.title = "Objects", .columns = {"path", "size", "checksum"}};
  for (const Json& object : list(winner, "objects")) {
    out.rows.push_back({text(object, "path"),
                        size_in_words(object.value("size_bytes", uint64_t{0})),
                        text(object, "checksum")});
  }
  for (const Json& path : list(winner, "removes")) {
    out.rows.push_back({path.get<std::string>(), "removed", ""});
  }
  return out;
}

Section people(const Json& promotion, const Json& winner) {
  Section out{.title = "People", .columns = {"did", "user", "when", "said"}};
  for (const Json& author : list(winner, "authors")) {
    out.rows.push_back({"made", author.get<std::string>(), "", ""});
  }
  for (const Json& check : list(winner, "checks")) {
    out.rows.push_back({str_cat("reported ", text(check, "name"), ": ", text(check, "status")),
                        text(check, "reporter"), "", text(check, "supersedes")});
  }
  for (const Json& approval : list(promotion, "approvals")) {
    out.rows.push_back({approval.value("counts", false) ? "approved" : "approved, does not count",
                        text(approval, "user"), text(approval, "at"), text(approval, "reason")});
  }
  return out;
}

Section tries(const Json& evidence, const Json& promotion) {
  Section out{.title = "Tried and changed before", .columns = {"what", "outcome", "when"}};
  for (const Json& candidate : list(evidence, "candidates")) {
    for (const Json& one : list(candidate, "tries")) {
      out.rows.push_back({str_cat(text(one, "ref"), " at ", short_id(one, "commit"),
                                  " by promotion ", text(one, "promotion")),
                          str_cat(text(one, "state"), " ", text(one, "code")), text(one, "at")});
    }
  }
  std::sort(out.rows.begin(), out.rows.end());
  out.rows.erase(std::unique(out.rows.begin(), out.rows.end()), out.rows.end());
  for (const std::string& one : changes_in_words(promotion)) out.rows.push_back({one, "", ""});
  return out;
}

Section steps(const Json& promotion) {
  Section out{.title = "Steps", .columns = {"when", "state", "user", "message"}};
  for (const Json& step : list(promotion, "steps")) {
    out.rows.push_back(
        {text(step, "at"), text(step, "state"), text(step, "actor"), text(step, "message")});
  }
  return out;
}

Section digests(const Json& promotion, const Json& evidence, const Json& winner) {
  Section out{.title = "Digests and commits"};
  const auto add = [&](const char* label, const std::string& value) {
    if (!value.empty()) out.rows.push_back({label, value});
  };
  add("winner's commit", text(winner, "commit"));
  add("commit of the champion before", text(evidence.value("champion", Json::object()), "commit"));
  add("head of the destination before",
      text(evidence.value("destination", Json::object()), "commit"));
  add("commit of the result", text(promotion, "result"));
  add("SHA-256 of the evidence", text(promotion, "evidence_digest"));
  add("the same in the history of the alias", text(promotion, "logged_digest"));
  add("SHA-256 of the policy", text(evidence.value("policy", Json::object()), "digest"));
  add("SHA-256 of the review", text(promotion, "review_digest"));
  return out;
}

std::vector<Section> sections_of(const std::string& body) {
  const Json promotion = parse_json(body);
  const Json evidence = promotion.value("evidence", Json::object());
  const Json* const found = winner_in(evidence);
  const Json winner = found == nullptr ? Json::object() : *found;
  std::vector<Section> out = {summary(promotion, evidence)};
  for (Section section :
       {values(evidence, winner), statistics(evidence, winner), evaluations(evidence, winner),
        rules(winner), candidates(evidence), objects(winner), people(promotion, winner),
        tries(evidence, promotion), steps(promotion)}) {
    if (!section.rows.empty()) out.push_back(std::move(section));
  }
  out.push_back(
      {.title = "Policy", .text = text(evidence.value("policy", Json::object()), "text")});
  out.push_back(digests(promotion, evidence, winner));
  return out;
}

std::string title_of(const std::string& body) {
  const Json promotion = parse_json(body);
  return str_cat("Promotion ", text(promotion, "id"), " to ", text(promotion, "destination"), ": ",
                 text(promotion, "state"));
}

/// HTML in which hidden characters other than line ends are shown.
std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : printable_lines(text)) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

/// A fence longer than any run of backticks in the text.
std::string fence_for(std::string_view text) {
  size_t longest = 2, run = 0;
  for (const char c : text) {
    run = c == '`' ? run + 1 : 0;
    longest = std::max(longest, run);
  }
  return std::string(longest + 1, '`');
}

/// JSON that ends no script element.
std::string inside_script(std::string json) {
  for (size_t at = json.find('<'); at != std::string::npos; at = json.find('<', at)) {
    json.replace(at, 1, "\\u003c");
  }
  return json;
}

constexpr std::string_view kStyle =
    "body{font:15px/1.5 system-ui,sans-serif;max-width:70em;margin:2em auto;padding:0 1em;"
    "color:#1c2024}h1{font-size:1.5em}h2{font-size:1.1em;margin-top:1.8em}"
    "table{border-collapse:collapse;width:100%}td,th{border-bottom:1px solid #d9dde1;"
    "padding:.3em .8em .3em 0;text-align:left;vertical-align:top;overflow-wrap:break-word;"
    "white-space:pre-line}th{color:#5b6670;font-weight:600;white-space:nowrap}pre{background:#"
    "f4f6f8;padding:1em;"
    "overflow:auto}@media(prefers-color-scheme:dark){body{background:#14181c;color:#e3e7ea}"
    "td,th{border-color:#333b43}pre{background:#1c2127}th{color:#9aa5ae}}";

void render(const Section& section, std::string& out) {
  out += str_cat("<h2>", escaped(section.title), "</h2>\n");
  if (!section.text.empty()) {
    out += str_cat("<pre>", escaped(section.text), "</pre>\n");
    return;
  }
  out += "<table>\n";
  if (!section.columns.empty()) {
    out += "<tr>";
    for (const std::string& column : section.columns) {
      out += str_cat("<th scope=\"col\">", escaped(column), "</th>");
    }
    out += "</tr>\n";
  }
  for (const Row& row : section.rows) {
    out += "<tr>";
    for (size_t i = 0; i < row.size(); ++i) {
      const bool label = section.columns.empty() && i == 0;
      out += str_cat(label ? "<th scope=\"row\">" : "<td>", escaped(row[i]),
                     label ? "</th>" : "</td>");
    }
    out += "</tr>\n";
  }
  out += "</table>\n";
}

/// The server's answer in a report; nullopt: it is none.
std::optional<std::string> body_in(std::string_view text, bool* is_html) {
  const size_t begin = text.find(kBodyBegin);
  *is_html = begin != std::string_view::npos;
  if (*is_html) {
    text.remove_prefix(begin + kBodyBegin.size());
    text = text.substr(0, text.find(kBodyEnd));
  }
  const Json report = parse_json(text);
  if (!report.is_object() || report.value("kind", "") != "PromotionReport") return std::nullopt;
  const auto body = report.find("body");
  if (body == report.end() || !body->is_string()) return std::nullopt;
  return body->get<std::string>();
}

/// Compares a digest with what the report says it is of.
class Comparison {
 public:
  void compare(std::string_view what, std::string_view computed, std::string_view said) {
    if (computed != said) {
      throw Error(ErrorCode::kDataLoss,
                  str_cat("verifying a report: ", what, " has SHA-256 ", computed,
                          ", and the report says ", said.empty() ? "nothing" : said));
    }
    lines_ += str_cat("SHA-256 ", computed, " of ", what, "\n");
  }
  /// Compares what the answer says beside the evidence with what the evidence says.
  static void agree(std::string_view what, const std::string& beside, const std::string& inside) {
    if (beside == inside) return;
    throw Error(ErrorCode::kDataLoss, str_cat("verifying a report: ", what, " is \"", beside,
                                              "\", and the evidence says \"", inside, "\""));
  }
  std::string lines() const { return lines_; }

 private:
  std::string lines_;
};

/// The evidence of a promotion that was made has what the answer says beside it.
void check_members(const Json& promotion, const Json& evidence) {
  if (text(promotion, "state") != "promoted" || promotion.contains("undoes")) return;
  const Json* const found = winner_in(evidence);
  const Json winner = found == nullptr ? Json::object() : *found;
  const Json named = promotion.value("winner", Json::object());
  Comparison::agree("the winner", text(named, "ref"), text(winner, "ref"));
  Comparison::agree("the winner's commit", text(named, "commit"), text(winner, "commit"));
  Comparison::agree("the result", text(promotion, "result"), text(evidence, "result"));
  Comparison::agree("the destination", text(promotion, "destination"),
                    text(evidence.value("destination", Json::object()), "branch"));
  Comparison::agree("the user who began it", text(promotion, "actor"), text(evidence, "actor"));
  for (const Json& approval : list(promotion, "approvals")) {
    if (!approval.value("counts", false)) continue;
    const Json known = list(winner, "approvals");
    const auto same = std::find_if(known.begin(), known.end(), [&](const Json& one) {
      return text(one, "user") == text(approval, "user") && text(one, "at") == text(approval, "at");
    });
    const Json inside = same == known.end() ? Json::object() : *same;
    Comparison::agree("an approver", text(approval, "user"), text(inside, "user"));
    Comparison::agree("the reason of an approval", text(approval, "reason"),
                      text(inside, "reason"));
  }
}

}  // namespace

std::string report_in_markdown(const std::string& body) {
  std::string out = str_cat("# ", title_of(body), "\n");
  for (const Section& section : sections_of(body)) {
    out += str_cat("\n## ", section.title, "\n\n");
    if (!section.text.empty()) {
      const std::string fence = fence_for(section.text);
      out += str_cat(fence, "yaml\n", section.text, section.text.ends_with('\n') ? "" : "\n", fence,
                     "\n");
      continue;
    }
    const Row columns = section.columns.empty() ? Row{"", ""} : section.columns;
    std::string line = "|";
    for (const std::string& column : columns) {
      out += str_cat("| ", column, " ");
      line += "---|";
    }
    out += str_cat("|\n", line, "\n");
    for (const Row& row : section.rows) {
      for (const std::string& value : row) out += str_cat("| ", cell(value), " ");
      out += "|\n";
    }
  }
  return out;
}

std::string report_in_json(const std::string& body) {
  return json_text(Json{{"apiVersion", "tarn/v1"}, {"kind", "PromotionReport"}, {"body", body}});
}

std::string report_in_html(const std::string& body) {
  const std::string title = escaped(title_of(body));
  std::string out =
      str_cat("<!DOCTYPE html>\n<html lang=\"en\">\n<head><meta charset=\"utf-8\">",
              "<meta name=\"viewport\" content=\"width=device-width\">\n<title>", title,
              "</title>\n<style>", kStyle, "</style></head>\n<body>\n<h1>", title, "</h1>\n");
  for (const Section& section : sections_of(body)) render(section, out);
  out += str_cat("<p>", "Check this file: <code>tarn promote report --verify FILE</code></p>\n",
                 kBodyBegin, inside_script(report_in_json(body)), kBodyEnd, "\n</body>\n</html>\n");
  return out;
}

std::string verify_report(std::string_view text) {
  bool is_html = false;
  const auto body = body_in(text, &is_html);
  if (!body) throw_invalid("verifying a report: the file is no report in HTML or JSON");
  const Json promotion = parse_json(*body);
  const std::string evidence = stored_text(*body, "evidence");
  if (!promotion.is_object() || evidence.empty()) {
    throw_invalid("verifying a report: it has no evidence");
  }
  Comparison out;
  out.compare("the evidence", to_hex(sha256(evidence)), promotion.value("evidence_digest", ""));
  const std::string logged = promotion.value("logged_digest", "");
  if (!logged.empty()) {
    out.compare("the evidence in the history of the alias", to_hex(sha256(evidence)), logged);
  }
  const Json policy = parse_json(evidence).value("policy", Json::object());
  out.compare("the policy", to_hex(sha256(policy.value("text", ""))), policy.value("digest", ""));
  const std::string review = stored_text(*body, "review");
  const std::string digest = review.empty() ? "" : to_hex(sha256(review));
  if (!review.empty() || promotion.contains("review_digest")) {
    out.compare("the review", digest, promotion.value("review_digest", ""));
  }
  check_members(promotion, parse_json(evidence));
  for (const Json& approval : list(promotion, "approvals")) {
    if (!approval.value("counts", false)) continue;
    out.compare(str_cat("the review that ", approval.value("user", ""), " approved"), digest,
                approval.value("review_digest", ""));
  }
  const bool is_same = is_html ? report_in_html(*body) == text
                               : parse_json(report_in_json(*body)) == parse_json(text);
  if (!is_same) {
    throw Error(ErrorCode::kDataLoss,
                "verifying a report: the page differs from the one that its data gives; it was "
                "changed, or another version of tarn made it");
  }
  return out.lines();
}

}  // namespace tarn::cli

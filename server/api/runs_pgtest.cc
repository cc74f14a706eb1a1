// Runs and metrics over REST.
#include <gtest/gtest.h>

#include "core/metrics/run_query.h"
#include "server/api/api_fixture.h"

namespace tarn::api {
namespace {

bool holds(const http::Response& response, std::string_view text) {
  return response.body.find(text) != std::string::npos;
}

class RunsApi : public ApiTest {
 protected:
  std::string head() {
    const http::Response branch = get(here + "/branches/main");
    return branch.body.substr(branch.body.find("\"commit_id\":\"") + 13, 64);
  }
  /// The body of a run of main's head; `members` begin with a comma, or are "".
  std::string of_main(const std::string& members) {
    return R"({"commit":")" + head() + R"(","branch":"main")" + members + "}";
  }
};

TEST_F(RunsApi, RecordsARunOnceForItsKey) {
  const std::string runs = here + "/experiments/dogs/runs";
  const std::string body = of_main(
      R"(,"metrics":{"accuracy":1.5,"loss":"NaN"},"params":{"epochs":50},"idempotency_key":"k")");
  const http::Response made = post(runs, body);
  EXPECT_EQ(made.status, 201) << made.body;
  EXPECT_TRUE(
      holds(made, R"("metrics":[{"name":"accuracy","value":1.5},{"name":"loss","value":"NaN"}])"))
      << made.body;
  const http::Response again = post(runs, body);
  EXPECT_EQ(again.status, 200);
  EXPECT_EQ(again.body, made.body);
  const http::Response other = post(runs, of_main(R"(,"idempotency_key":"k")"));
  EXPECT_EQ(other.status, 409);
  EXPECT_EQ(other.headers.get("X-Tarn-Error"), "idempotency_key_reused");
  const std::string id = made.body.substr(made.body.find("\"id\":\"") + 6, 20);
  EXPECT_EQ(get(here + "/runs/" + id).body, made.body);
  EXPECT_EQ(get(here + "/runs/zz").status, 400);
  EXPECT_EQ(get(here + "/runs/00000000000000000000").headers.get("X-Tarn-Error"), "run_not_found");
  EXPECT_EQ(post(here + "/experiments/a b/runs", body).status, 400);
  EXPECT_EQ(post(runs, R"({"commit":")" + std::string(64, 'a') + "\"}").status, 404);
}

TEST_F(RunsApi, ListsRunsByEveryCondition) {
  const std::string runs = here + "/experiments/dogs/runs";
  for (const char* accuracy : {"0.5", "0.9", "0.7"}) {
    post(runs,
         of_main(R"(,"params":{"lr":"0.1"},"metrics":{"accuracy":)" + std::string(accuracy) + "}"));
  }
  const http::Response best = get(here +
                                  "/runs?where=metrics.accuracy%3E0.6&where=params.lr%3D0.1&order=-"
                                  "metrics.accuracy&experiment=dogs&amount=1");
  EXPECT_EQ(best.status, 200) << best.body;
  EXPECT_TRUE(holds(best, R"("has_more":true)"));
  EXPECT_TRUE(holds(best, R"("value":0.9)"));
  const std::string next = best.body.substr(best.body.find("\"next_offset\":\"") + 15, 20);
  EXPECT_TRUE(
      holds(get(here + "/runs?where=metrics.accuracy%3E0.6&order=-metrics.accuracy&after=" + next),
            R"("value":0.7)"));
  for (const char* wrong : {"where=accuracy", "where=metrics.accuracy%3Ehigh", "order=best",
                            "after=zz", "branch=a%5B"}) {
    EXPECT_EQ(get(here + "/runs?" + wrong).status, 400) << wrong;
  }
}

TEST_F(RunsApi, LabelsRunsAndFindsThem) {
  const std::string runs = here + "/experiments/dogs/runs";
  const http::Response made = post(runs, of_main(R"(,"name":"one","tags":["b","a","b"])"));
  EXPECT_EQ(made.status, 201) << made.body;
  EXPECT_TRUE(holds(made, R"("tags":["a","b"])")) << made.body;
  const std::string id = made.body.substr(made.body.find("\"id\":\"") + 6, 20);
  const http::Response changed = send({.method = "PATCH",
                                       .path = here + "/runs/" + id,
                                       .body = R"({"notes":"<b>why</b>","tags":["c"]})"});
  EXPECT_EQ(changed.status, 200) << changed.body;
  EXPECT_TRUE(holds(changed, R"("name":"one","notes":"<b>why</b>")")) << changed.body;
  EXPECT_TRUE(holds(get(here + "/runs?name=ON&tag=c"), id));
  EXPECT_FALSE(holds(get(here + "/runs?tag=c&tag=a"), id));
  EXPECT_EQ(get(here + "/runs?id=" + id + "&tag=c").status, 400);
  EXPECT_EQ(
      send({.method = "PATCH", .path = here + "/runs/" + id, .body = R"({"tags":"c"})"}).status,
      400);
}

TEST_F(RunsApi, ListsRunsWithTheChosenColumnsAlone) {
  upload("metrics/eval.json", R"({"loss":0.25,"f1":0.5})");
  EXPECT_EQ(post(here + "/branches/main/commits",
                 R"({"message":"m","metadata":{"param.seed":"7","param.host":"h"}})")
                .status,
            201);
  post(here + "/experiments/dogs/runs",
       of_main(R"(,"params":{"lr":"0.1","epochs":"3"},"metrics":{"accuracy":0.9,"recall":0.8})"));
  const http::Response chosen =
      get(here +
          "/runs?column=metrics.accuracy&column=metrics.loss&column=params.lr&column=params.seed");
  EXPECT_EQ(chosen.status, 200) << chosen.body;
  for (const char* shown :
       {R"("name":"accuracy")", R"("name":"loss")", R"("lr":"0.1")", R"("seed":"7")"}) {
    EXPECT_TRUE(holds(chosen, shown)) << shown << chosen.body;
  }
  for (const char* left_out : {R"("recall")", R"("f1")", R"("epochs")", R"("host")"}) {
    EXPECT_FALSE(holds(chosen, left_out)) << left_out << chosen.body;
  }
  const http::Response bare = get(here + "/runs?column=none&where=metrics.loss%3C1");
  EXPECT_TRUE(holds(bare, R"("commit_metrics":[],"commit_params":{}})")) << bare.body;
  EXPECT_TRUE(holds(bare, R"("metrics":[])")) << bare.body;
  EXPECT_EQ(get(here + "/runs?column=loss").status, 400);
  EXPECT_EQ(get(here + "/runs?column=none&column=metrics.loss").status, 400);
}

TEST_F(RunsApi, ListsNamesOfRunsAndTheirCommits) {
  const std::string runs = here + "/experiments/dogs/runs";
  EXPECT_TRUE(holds(get(here + "/run_columns"), R"({"columns":[]})"));
  post(runs, of_main(R"(,"params":{"early":"1"},"metrics":{"Zeta":1})"));
  EXPECT_EQ(
      post(here + "/branches/main/commits",
           R"({"message":"m","allow_empty":true,"metadata":{"param.seed":"7","metric.f1":"0.5"}})")
          .status,
      201);
  for (int i = 0; i < 25; ++i) {
    post(
        runs,
        of_main(
            R"(,"params":{"lr":"0.1"},"metrics":[{"name":"loss","value":1},{"name":"loss","value":2,"split":"val"}])"));
  }
  get(here + "/runs");  // which reads what the commit says
  const http::Response found = get(here + "/run_columns");
  EXPECT_TRUE(holds(
      found,
      R"({"columns":["metrics.Zeta","metrics.f1","metrics.loss","metrics.loss@val","params.early","params.lr","params.seed"]})"))
      << found.body;
  EXPECT_EQ(get("/repositories/absent/run_columns").status, 404);
}

TEST_F(RunsApi, ListsRunsByMetricsOfTheirCommits) {
  const std::string runs = here + "/experiments/dogs/runs";
  post(runs, of_main(R"(,"metrics":{"accuracy":0.9})"));
  upload("metrics/eval.json", R"({"accuracy":0.95,"loss":"NaN"})");
  EXPECT_EQ(post(here + "/branches/main/commits",
                 R"({"message":"m","metadata":{"param.lr":"0.1","metric.f1":"0.5"}})")
                .status,
            201);
  const http::Response made = post(runs, of_main(""));
  EXPECT_EQ(made.status, 201);
  EXPECT_FALSE(holds(made, "commit_metrics"));
  const std::string id = made.body.substr(made.body.find("\"id\":\"") + 6, 20);
  const http::Response found = get(
      here +
      "/runs?where=metrics.accuracy%3E0.92&where=params.lr%3D0.1&order=-metrics.accuracy&amount=1");
  EXPECT_EQ(found.status, 200) << found.body;
  EXPECT_TRUE(holds(found, "\"id\":\"" + id)) << found.body;
  EXPECT_TRUE(holds(
      found,
      R"("commit_metrics":[{"name":"accuracy","origin":"file:metrics/eval.json","source":"metrics/eval.json","value":0.95},)"
      R"({"name":"f1","origin":"commit-metadata","source":"metric.f1","value":0.5},)"
      R"({"name":"loss","origin":"file:metrics/eval.json","source":"metrics/eval.json","value":"NaN"}])"))
      << found.body;
  EXPECT_TRUE(holds(found, R"("commit_params":{"lr":"0.1"}})")) << found.body;
  EXPECT_TRUE(holds(found, R"("warnings":[])")) << found.body;
  EXPECT_TRUE(holds(found, R"("has_more":false)")) << found.body;
}

TEST_F(RunsApi, ListsTheNamedRunsWithWhatTheirCommitsSay) {
  const std::string runs = here + "/experiments/dogs/runs";
  const auto record = [&](const std::string& members) {
    const http::Response made = post(runs, of_main("," + members));
    EXPECT_EQ(made.status, 201) << made.body;
    return made.body.substr(made.body.find("\"id\":\"") + 6, 20);
  };
  upload("metrics/eval.json", R"({"accuracy":0.95})");
  EXPECT_EQ(
      post(here + "/branches/main/commits", R"({"message":"m","metadata":{"source":"camera"}})")
          .status,
      201);
  const std::string one = record(R"("params":{"lr":"0.1"})");
  record(R"("params":{"lr":"0.2"})");
  const std::string three = record(R"("params":{"source":"own"})");
  const http::Response named = get(here + "/runs?id=" + three + "&id=" + one + "&id=" + three);
  EXPECT_EQ(named.status, 200) << named.body;
  EXPECT_TRUE(holds(named, R"("results":2)")) << named.body;
  EXPECT_LT(named.body.find(three), named.body.find(one)) << "in the order of the ids";
  EXPECT_TRUE(holds(named, R"("name":"accuracy","origin":"file:metrics/eval.json")")) << named.body;
  EXPECT_TRUE(holds(named, R"("commit_params":{"source":"camera"})")) << named.body;
  EXPECT_TRUE(holds(named, R"("commit_params":{})")) << "the run's own go before: " << named.body;
  EXPECT_FALSE(holds(named, R"("0.2")")) << named.body;
  EXPECT_TRUE(holds(named, R"("warnings":[])")) << named.body;
  EXPECT_TRUE(holds(get(here + "/runs?column=params.lr&id=" + one),
                    R"("commit_metrics":[],"commit_params":{}})"));
  EXPECT_TRUE(holds(get(here + "/runs?id=00000000000000000000&id=" + one),
                    R"("warnings":["run 00000000000000000000: not found"])"));
  for (const char* other : {"experiment=dogs", "order=created", "where=metrics.a%3E0", "after=x"}) {
    EXPECT_EQ(get(here + "/runs?id=" + one + "&" + other).status, 400) << other;
  }
  EXPECT_EQ(get(here + "/runs?id=zz").status, 400);
  std::string many = here + "/runs?amount=1";
  for (size_t i = 0; i <= kNamedRunsMax; ++i) many += "&id=" + one;
  EXPECT_TRUE(holds(get(many), "at most 200"));
}

TEST_F(RunsApi, ListsTheCurvesOfSeveralRuns) {
  const std::string runs = here + "/experiments/dogs/runs";
  const auto record = [&] {
    const http::Response made = post(runs, of_main(""));
    return made.body.substr(made.body.find("\"id\":\"") + 6, 20);
  };
  const auto commit = [&] {
    EXPECT_EQ(post(here + "/branches/main/commits", R"({"message":"m"})").status, 201);
  };
  const std::string without = record();
  upload("metrics/loss.csv", "step,loss\n10,0.5\n20,NaN\n");
  commit();
  const std::string one = record();
  upload("metrics/loss.csv", "step,loss\n10,0.75\n");
  upload("metrics/more.csv", "step,loss\n1,4\n2,5\n3,6\n");
  commit();
  const std::string two = record();
  const std::string series = here + "/series?metric=loss&run=" + two + "&run=" + without +
                             "&run=00000000000000000000&run=" + one;
  const http::Response curves = get(series);
  EXPECT_EQ(curves.status, 200) << curves.body;
  EXPECT_TRUE(holds(
      curves,
      R"("has_more":false,"next_offset":"","points":[{"index":0,"step":10,"value":0.5},{"index":1,"step":20,"value":"NaN"}],"run":")" +
          one))
      << curves.body;
  EXPECT_TRUE(holds(curves, R"("step":3,"value":6}],"run":")" + two)) << curves.body;
  EXPECT_LT(curves.body.find(two), curves.body.find(one)) << "in the order of the ids";
  EXPECT_FALSE(holds(curves, without)) << curves.body;
  EXPECT_TRUE(holds(get(series + "&amount=2"), R"("has_more":true,"next_offset":"2")"));
  EXPECT_TRUE(holds(get(here + "/series?metric=none&run=" + one), R"({"results":[]})"));
  EXPECT_EQ(get(here + "/series?run=" + one).status, 400) << "no metric";
  EXPECT_EQ(get(here + "/series?metric=loss&run=zz").status, 400);
  std::string many = here + "/series?metric=loss";
  for (size_t i = 0; i <= kNamedCurvesMax; ++i) many += "&run=" + one;
  EXPECT_TRUE(holds(get(many), "at most 50"));
}

TEST_F(RunsApi, RecordsARunOfACommitWithItsBranch) {
  const std::string commit = head();
  const std::string runs = here + "/experiments/dogs/runs";
  EXPECT_TRUE(holds(post(runs, R"({"commit":")" + commit + "\"}"), R"("branch":"main")"));
  EXPECT_TRUE(holds(post(runs, R"({"commit":")" + commit + R"(","branch":"exp-1"})"),
                    R"("branch":"exp-1")"));
  EXPECT_EQ(post(runs, R"({"ref":"main"})").headers.get("X-Tarn-Error"), "commit_id_needed");
  EXPECT_EQ(post(runs, R"({"commit":")" + commit + R"(","branch":"a b"})").status, 400);
}

TEST_F(RunsApi, ShowsTheMetricsOfACommit) {
  upload("metrics/loss.csv", "step,loss\n10,0.5\n20,0.25\n");
  upload("metrics/bad.json", "{");
  upload("reports/r.json", R"({"f1":0.75})");
  EXPECT_EQ(post(here + "/branches/main/commits",
                 R"({"message":"m","metadata":{"metric.accuracy":"1.5","loss":"3"}})")
                .status,
            201);
  const std::string commit = here + "/commits/main";
  const http::Response facts = get(commit + "/metrics");
  EXPECT_EQ(facts.status, 200) << facts.body;
  EXPECT_TRUE(holds(
      facts,
      R"({"name":"accuracy","origin":"commit-metadata","source":"metric.accuracy","value":1.5})"))
      << facts.body;
  EXPECT_TRUE(holds(
      facts,
      R"("warnings":["metrics/bad.json: line 1: ends in the middle: the file counts for nothing"])"))
      << facts.body;
  EXPECT_TRUE(holds(get(commit + "/metrics?bare=loss&name=loss"), R"("source":"loss","value":3)"));
  EXPECT_TRUE(
      holds(get(commit + "/series?metric=loss"),
            R"("results":[{"index":0,"step":10,"value":0.5},{"index":1,"step":20,"value":0.25}])"));
  const http::Response page = get(commit + "/series?metric=loss&amount=1");
  EXPECT_TRUE(holds(page, R"("next_offset":"1")")) << page.body;
  EXPECT_TRUE(holds(get(commit + "/series?metric=loss&after=1"), R"("results":[{"index":1,)"));
  EXPECT_EQ(get(commit + "/series?metric=none").status, 404);
  EXPECT_EQ(get(commit + "/series").status, 400);
  EXPECT_EQ(get(commit + "/series?metric=loss&after=-1").status, 400);
  EXPECT_EQ(get(here + "/commits/nowhere/metrics").status, 404);

  const std::string setting = here + "/settings/metric_files";
  EXPECT_EQ(get(setting).body, "{\"globs\":[\"metrics/**\",\"metrics.*\",\"mlruns/**\"]}\n");
  EXPECT_EQ(send({.method = "PUT", .path = setting, .body = R"({"globs":["a["]})"}).status, 400);
  EXPECT_EQ(send({.method = "PUT", .path = setting, .body = R"({"globs":["reports/*"]})"}).status,
            204);
  EXPECT_TRUE(holds(get(commit + "/metrics"), R"("origin":"file:reports/r.json")"));
}

}  // namespace
}  // namespace tarn::api

// Limits of hooks: they get no variables of others, no other repositories, and no scripts that
// anybody may write.
#include <gtest/gtest.h>

#include "core/actions/hooks_fixture.h"
#include "core/versioning/merge.h"

namespace tarn::actions {
namespace {

using testing::Hooks;
using testing::message_of;

constexpr const char* kNotGiven = "is not given to repository";
constexpr const char* kOfAnotherRef = "is given to action files of the branch that changes";

class Confinement : public Hooks {
 protected:
  std::string with_token(const std::string& event, const std::string& path) {
    return "name: " + path + "\non: {" + event + ": }\nhooks:\n  - id: tell\n    type: webhook\n" +
           "    properties:\n      url: \"" + receiver.url("/" + path) +
           "\"\n      headers: {X-Token: '{{ ENV.LAKEFSACTION_TOKEN }}'}\n";
  }
  /// The hooks of `body` run by a runner that gives what `variables` and `repositories` say.
  template <typename Body>
  void given(std::string_view variables, std::string_view repositories, Body&& body) {
    RunnerOptions options = runner_options;
    options.variables = Grants(variables);
    options.repositories = Grants(repositories);
    Runner other{*engine, outbound, options};
    (*engine).hooks = &other;
    body(other);
    (*engine).hooks = &runner;
  }
  std::string merging(const std::string& source, const std::string& destination) {
    return message_of(
        [&] { versioning::merge_into(*engine, repo, source, BranchName(destination), {}); });
  }
  static bool says(const std::string& message, const std::string& part) {
    return message.find(part) != std::string::npos;
  }
};

TEST_F(Confinement, VariablesAreLimitedToConfiguredRepositories) {
  put_action("main", "a.yaml", with_token("pre-commit", "told"));
  const auto commit = [&](Runner&) {
    const std::string message = message_of([&] { engine.commit(repo, "main"); });
    EXPECT_TRUE(says(message, kNotGiven) && says(message, "hooks.variables")) << message;
    EXPECT_FALSE(says(message, "very-secret"));
  };
  given("", "", commit);
  given("LAKEFSACTION_TOKEN=another; LAKEFSACTION_OTHER=*", "", commit);
  EXPECT_EQ(receiver.paths(), "");
  given("LAKEFSACTION_TOKEN=" + repo.str(), "", [&](Runner&) { engine.commit(repo, "main"); });
  ASSERT_EQ(receiver.paths(), "/told");
  EXPECT_EQ(receiver.taken()[0].headers.get("X-Token"), "very-secret");
}

TEST_F(Confinement, VariablesAreNotGivenToFilesOfAMergesSource) {
  put_action("main", "keep.yaml", with_token("pre-merge", "destination"));
  engine.commit(repo, "main");
  engine.branch(repo, "dev", "main");
  engine.put(repo, "dev", "data", "1");
  engine.commit(repo, "dev");
  EXPECT_EQ(merging("dev", "main"), "done");
  EXPECT_EQ(receiver.paths(), "/destination");
  put_action("dev", "more.yaml", with_token("pre-merge", "source"));
  engine.commit(repo, "dev");
  receiver.forget();
  const std::string message = merging("dev", "main");
  EXPECT_TRUE(says(message, kOfAnotherRef)) << message;
  EXPECT_EQ(receiver.paths(), "/destination");
}

TEST_F(Confinement, VariablesAreGivenToFilesThatTheDefaultBranchHas) {
  engine.branch(repo, "dev", "main");
  put_action("main", "a.yaml", with_token("pre-merge", "told"));
  put_action("main", "b.yaml", with_token("pre-create-tag", "tagged"));
  engine.commit(repo, "main");
  EXPECT_EQ(merging("main", "dev"), "done") << "the source is the default branch";
  EXPECT_EQ(receiver.paths(), "/told");
  engine.put(repo, "dev", "data", "1");
  engine.commit(repo, "dev");
  const auto tag = [&](const std::string& name, const std::string& ref) {
    return message_of([&] { branch::create_tag(*engine, repo, TagName(name), ref, false); });
  };
  EXPECT_EQ(tag("v1", "dev"), "done") << "its files are the same";
  put_action("main", "b.yaml", with_token("pre-create-tag", "tagged-elsewhere"));
  engine.commit(repo, "main");
  const std::string message = tag("v2", "dev");
  EXPECT_TRUE(says(message, kOfAnotherRef)) << message << ": the file is an old one";
  EXPECT_EQ(tag("v3", "main"), "done");
  EXPECT_EQ(receiver.paths(), "/told /tagged /tagged-elsewhere");
}

TEST_F(Confinement, VariablesAreNotGivenToFilesOfAnotherRefThatIsRunByHand) {
  engine.branch(repo, "dev", "main");
  put_action("dev", "a.yaml", with_token("pre-commit", "dev"));
  put_action("main", "a.yaml", with_token("pre-commit", "main"));
  const auto run = [&](const std::string& ref) {
    return events::run_hooks(*engine, repo, {.ref = ref, .event = HookEvent::kPreCommit}).state;
  };
  EXPECT_EQ(run("dev"), HookRunState::kFailed);
  EXPECT_EQ(run("main"), HookRunState::kCompleted);
  EXPECT_EQ(receiver.paths(), "/main");
}

TEST_F(Confinement, ScriptsReachOwnAndConfiguredRepositories) {
  put_action("main", "a.yaml",
             action("reach", "pre-commit: ",
                    lua("one", "local l = require('lakefs') l.get_object(args.to, 'main', 'k')") +
                        "      args: {to: vault}\n"));
  std::vector<std::string> asked;
  const auto serve = [&](Runner& by) {
    by.serve_calls([&](const ApiCall& call) {
      asked.push_back(call.target);
      return ApiAnswer{.status = 200, .json = false, .body = "x"};
    });
  };
  const auto refused = [&](Runner& by) {
    serve(by);
    const std::string message = message_of([&] { engine.commit(repo, "main"); });
    by.serve_calls({});
    EXPECT_TRUE(says(message, "hooks.repositories")) << message;
  };
  given("", "", refused);
  given("", "another=vault; " + repo.str() + "=vaults", refused);
  EXPECT_TRUE(asked.empty());
  given("", repo.str() + "=vault", [&](Runner& by) {
    serve(by);
    engine.commit(repo, "main");
    by.serve_calls({});
  });
  EXPECT_EQ(asked.size(), 1u);
}

}  // namespace
}  // namespace tarn::actions

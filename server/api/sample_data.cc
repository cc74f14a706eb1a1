#include "server/api/sample_data.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <span>
#include <string_view>

#include "core/base/digest.h"
#include "core/base/encoding.h"
#include "core/branch/settings.h"
#include "core/objects/upload.h"
#include "core/versioning/commit.h"

namespace tarn::api {
namespace {

struct Sample {
  std::string_view path;
  std::string_view content_type;
  std::string_view bytes;
};

constexpr std::array kSamples = {
    Sample{"README.md", "text/markdown",
           "# Sample repository\n\nTry it: make a branch, change data/flowers.csv there, look at "
           "the diff,\n"
           "commit, and merge the branch back.\n"},
    Sample{"data/flowers.csv", "text/csv",
           "petal_length,petal_width,species\n1.4,0.2,setosa\n4.7,1.4,versicolor\n6.0,2.5,"
           "virginica\n"},
};

class SampleBody final : public versioning::UploadBody {
 public:
  explicit SampleBody(std::string_view bytes) : left_(bytes), etag_(to_hex(md5(bytes))) {}
  size_t read(std::span<char> out) override {
    const size_t count = std::min(out.size(), left_.size());
    std::memcpy(out.data(), left_.data(), count);
    left_.remove_prefix(count);
    return count;
  }
  versioning::UploadDigests digests() override { return {.etag = etag_, .checksums = {}}; }

 private:
  std::string_view left_;
  std::string etag_;
};

}  // namespace

void add_sample_data(versioning::Engine& engine, const Repository& repository,
                     const std::string& committer) {
  // Writes to read-only repositories too: nobody could add the samples later.
  constexpr bool kForce = true;
  for (const Sample& sample : kSamples) {
    const versioning::UploadTarget target =
        versioning::check_upload(engine, repository.name, repository.default_branch,
                                 Key(std::string(sample.path)), kForce, {});
    SampleBody body(sample.bytes);
    versioning::put_object(
        engine, target, body, sample.bytes.size(),
        {.content_type = std::string(sample.content_type), .user_metadata = {}, .extras = {}}, {});
  }
  versioning::commit_branch(engine, repository, repository.default_branch,
                            {.committer = committer,
                             .message = "Add sample data",
                             .metadata = {},
                             .date = std::nullopt,
                             .force = kForce});
  versioning::set_branch_rules(engine, repository,
                               {{.pattern = Glob(repository.default_branch.str())}},
                               {.if_match = std::nullopt, .force = kForce});
}

}  // namespace tarn::api

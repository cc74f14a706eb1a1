#include "cli/evaluation/measurement.h"

#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>

#include "core/base/error.h"
#include "core/base/str_cat.h"

namespace tarn::cli {
namespace {

namespace fs = std::filesystem;

constexpr const char* kInputs = "/evaluation/inputs";
constexpr const char* kData = "/evaluation/data";
constexpr const char* kCandidate = "/evaluation/candidate";
constexpr const char* kPredictions = "/evaluation/predictions";

std::string below(const char* folder, const fs::path& name) {
  return str_cat(folder, '/', name.string());
}

/// The program that loads the candidate: it sees neither labels nor `score`.
SandboxedProgram predict_program(const Measurement& measurement, const fs::path& work) {
  const std::string program = below("/evaluation/program", measurement.predict.filename());
  return {.mounts = {{measurement.inputs, kInputs},
                     {measurement.candidate, kCandidate},
                     {measurement.predict, program}},
          .program = program,
          .environment = {{"TARN_INPUTS", kInputs}, {"TARN_CANDIDATE", kCandidate}},
          .output = below(kSandboxOutput, "predictions"),
          .result = work / "predictions"};
}

SandboxedProgram score_program(const Measurement& measurement, const fs::path& work) {
  SandboxedProgram program{.mounts = {{measurement.data, kData}},
                           .program = below(kData, measurement.score),
                           .environment = {{"TARN_DATA", kData}},
                           .output = below(kSandboxOutput, "result.jsonl"),
                           .result = work / "result.jsonl"};
  if (measurement.predict.empty()) {
    program.mounts.emplace_back(measurement.candidate, kCandidate);
    program.environment.emplace_back("TARN_CANDIDATE", kCandidate);
  } else {
    program.mounts.emplace_back(work / "predictions", kPredictions);
    program.environment.emplace_back("TARN_PREDICTIONS", kPredictions);
  }
  return program;
}

}  // namespace

ScratchFolder::ScratchFolder(fs::path parent) {
  if (parent.empty()) parent = fs::temp_directory_path();
  std::string name = (parent / "tarn-evaluation-XXXXXX").string();
  if (::mkdtemp(name.data()) == nullptr) {
    throw Error(ErrorCode::kNotFound, str_cat("making a folder in ", parent.string(), ": ",
                                              std::strerror(errno), "; --work names another"));
  }
  path_ = name;
}

ScratchFolder::~ScratchFolder() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

MeasurementEnd measure(const SandboxSettings& settings, const Measurement& measurement,
                       SandboxLimits limits, const fs::path& work,
                       const std::function<bool()>& stop) {
  const auto began = std::chrono::steady_clock::now();
  if (!measurement.predict.empty()) {
    const ProgramEnd end =
        run_in_sandbox(settings, predict_program(measurement, work), limits, stop);
    if (!end.failure.empty()) return {"predict", end, {}};
    limits.timeout -= std::chrono::duration_cast<std::chrono::milliseconds>(
        std::chrono::steady_clock::now() - began);
  }
  const SandboxedProgram score = score_program(measurement, work);
  return {"score", run_in_sandbox(settings, score, limits, stop), score.result};
}

}  // namespace tarn::cli

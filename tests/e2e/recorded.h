// Recorded programs: a folder with model.pt2, case.json and the inputs and eager outputs of one or more calls.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "edgelift/edgelift.h"

namespace edgelift::testing {

struct Outcome {
  enum class Kind : uint8_t { Ok, Refused, Wrong } kind = Kind::Ok;
  std::string sentence;  // Refused: the error; Wrong: what differs
  double relative = 0;   // largest error over all f32 outputs, relative to the output's range
  int delegates = 0, portable = 0;
};

// Every folder below root that holds a case.json, sorted.
std::vector<std::filesystem::path> recorded_cases(const std::filesystem::path& root);

// Lowers with the recipe, runs every recorded call in one session, compares. The tolerance is the case's own (rtol,
// atol) or `tolerance`, relative to the range of the output; integers, bools and NaN are exact.
Outcome run_recorded(const std::filesystem::path& folder, LowerOptions options, double tolerance);

}  // namespace edgelift::testing

// Parameters, buffers and constants as strided views into the mapped archive (pt2-format 1.4, 1.5).
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "archive/pt2.h"
#include "base/tensor_data.h"
#include "import/exported.h"
#include "ir/arg.h"

namespace edgelift::importer {

// The archive's numbering of element types, layouts and memory formats; an Error names the number.
Result<DType> dtype_of(int64_t number);
Result<ir::MemoryFormat> memory_format_of(int64_t number);
constexpr int64_t kStridedLayout = 7;

struct Payload {
  TensorData data;
  std::string_view entry;  // full name of the zip entry that holds it
  std::string identity;    // equal for aliases: same entry and same view of it
};

class Payloads {
 public:
  // Reads both tables of the program.
  static Result<Payloads> read(std::shared_ptr<const archive::Pt2> archive, std::string_view model);

  // The tensor of a parameter, buffer or constant; Errors name the FQN.
  Result<Payload> find(const RawInputSpec& spec) const;
  size_t rows() const { return weights_.rows.size() + constants_.rows.size(); }
  const PayloadTable& weights() const { return weights_; }
  const PayloadTable& constants() const { return constants_; }

 private:
  std::shared_ptr<const archive::Pt2> archive_;
  PayloadTable weights_, constants_;
};

}  // namespace edgelift::importer

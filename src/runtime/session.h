// A .pte file loaded into the ExecuTorch runtime: inputs in, outputs out. No ExecuTorch header leaks from here.
//
// The runtime has one thread pool for the process and delegates keep a pointer to it, so the number of threads can only
// be changed while no session exists.
#pragma once

#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/dtype.h"
#include "base/result.h"
#include "base/tensor_data.h"

namespace edgelift::runtime {

// What a method takes and gives, in flattening order; monostate is None.
using Argument = std::variant<std::monostate, TensorData, int64_t, double, bool, std::string>;

enum class Load : uint8_t {
  Mmap,    // the runtime's memory-mapping loader
  File,    // the runtime's file loader: segments are read into memory
  Memory,  // the bytes as they are
};

struct SessionOptions {
  Load load = Load::Mmap;
  bool weight_cache = false;  // the XNNPACK backend's own
  bool verify = true;         // off only for files that this process has just written
  bool profile = false;       // record an event for each operator, see Method::events
};

// Sets the number of threads of the runtime's pool; 0 leaves the runtime's own choice (all cores). An error while a
// session exists.
Status set_threads(int threads);
// True once the runtime's thread pool may have threads: a fork of this process could not use the runtime any more.
bool threads_started();

struct InputSpec {
  enum class Kind : uint8_t { Tensor, Int, Double, Bool, String, None } kind = Kind::Tensor;
  DType dtype = DType::F32;
  std::vector<int64_t> sizes;  // upper bounds where dynamic
  std::vector<uint8_t> dim_order;
  bool dynamic = false;
  Argument literal;         // the only value that a number, flag or string input may have
  std::string str() const;  // float32 [1,3,224,224], int 3
};

// One timed event of an execution (SessionOptions::profile).
struct Event {
  std::string name;              // the runtime's name of it: an operator, a delegate call, a delegate's own operator
  int32_t instruction = -1;      // of the method's chain, or -1
  uint32_t delegate_handle = 0;  // inside a delegate: the debug handle of its node, with delegate = true
  bool delegate = false;
  double ms = 0;
};

class Method {
 public:
  virtual ~Method() = default;
  virtual const std::vector<InputSpec>& inputs() const = 0;
  virtual size_t output_count() const = 0;
  // Checks kinds, dtypes and shapes before the runtime sees them; errors name the input and both types. A uint16
  // tensor is taken for a bfloat16 input. Lays the elements out as the program's dim order asks.
  virtual Status set_inputs(std::span<const Argument> inputs) = 0;
  // Hands the inputs to the runtime and runs the method; set_inputs once is enough for many calls.
  virtual Status execute() = 0;
  // Copies; tensors in logical dimension order (strided where the program's order is another).
  virtual Result<std::vector<Argument>> outputs() = 0;
  virtual Result<std::vector<Event>> take_events() = 0;

  Result<std::vector<Argument>> run(std::span<const Argument> arguments) {
    EL_TRY_OK(set_inputs(arguments));
    EL_TRY_OK(execute());
    return outputs();
  }
};

class Session {
 public:
  static Result<std::unique_ptr<Session>> open(const std::filesystem::path& path, const SessionOptions& options = {});
  // Bytes must be aligned to 16 and outlive the session (owner).
  static Result<std::unique_ptr<Session>> open(std::span<const std::byte> bytes, std::shared_ptr<const void> owner,
                                               const SessionOptions& options = {});
  virtual ~Session() = default;
  virtual std::vector<std::string> methods() const = 0;
  // Loads the method at first use. State (mutable buffers) lives as long as the session.
  virtual Result<Method*> method(std::string_view name = "forward") = 0;
};

}  // namespace edgelift::runtime

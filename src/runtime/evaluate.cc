#include "runtime/evaluate.h"

#include "emit/emit.h"
#include "runtime/session.h"

namespace edgelift::runtime {

Result<std::vector<TensorData>> evaluate(const ir::Program& program) {
  if (program.methods.size() != 1 || !program.forward().inputs().empty())
    return internal_error("only a program of one method without inputs can be evaluated");
  EL_TRY(const emit::Emitted emitted, emit::emit(program, {}, {}));
  EL_TRY(std::vector<std::byte> bytes, pte::write_to_memory(emitted.program));
  const auto file = std::make_shared<const std::vector<std::byte>>(std::move(bytes));
  SessionOptions options;
  options.verify = false;
  EL_TRY(const std::unique_ptr<Session> session, Session::open(*file, file, options));
  EL_TRY(Method* const method, session->method(program.forward().name()));
  EL_TRY(const std::vector<Argument> outputs, method->run({}));
  std::vector<TensorData> results;
  for (const Argument& output : outputs) {
    const auto* tensor = std::get_if<TensorData>(&output);
    if (tensor == nullptr) return internal_error("an output of an evaluated program is not a tensor");
    results.push_back(tensor->contiguous());
  }
  return results;
}

}  // namespace edgelift::runtime

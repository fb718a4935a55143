// Records the runtime's profiling events. Internal to src/runtime.
#pragma once

#include <string>
#include <vector>

#include <executorch/runtime/core/event_tracer.h>

#include "runtime/session.h"

namespace edgelift::runtime {

class Tracer final : public executorch::runtime::EventTracer {
 public:
  Tracer();
  std::vector<Event> take() { return std::exchange(events_, {}); }

  void create_event_block(const char*) override {}
  executorch::runtime::EventTracerEntry start_profiling(const char* name, executorch::runtime::ChainID chain,
                                                        executorch::runtime::DebugHandle handle) override;
  void end_profiling(executorch::runtime::EventTracerEntry entry) override;
  executorch::runtime::EventTracerEntry start_profiling_delegate(const char* name,
                                                                 executorch::runtime::DelegateDebugIntId id) override;
  void end_profiling_delegate(executorch::runtime::EventTracerEntry entry, const void*, size_t) override;
  void log_profiling_delegate(const char* name, executorch::runtime::DelegateDebugIntId id, et_timestamp_t start,
                              et_timestamp_t end, const void*, size_t) override;
  void track_allocation(executorch::runtime::AllocatorID, size_t) override {}
  executorch::runtime::AllocatorID track_allocator(const char*) override { return 0; }
  executorch::runtime::Result<bool> log_evalue(const executorch::runtime::EValue&,
                                               executorch::runtime::LoggedEValueType) override {
    return true;
  }
  executorch::runtime::Result<bool> log_intermediate_output_delegate(const char*,
                                                                     executorch::runtime::DelegateDebugIntId,
                                                                     const executorch::aten::Tensor&) override {
    return true;
  }
  executorch::runtime::Result<bool> log_intermediate_output_delegate(
      const char*, executorch::runtime::DelegateDebugIntId,
      const executorch::runtime::ArrayRef<executorch::aten::Tensor>) override {
    return true;
  }
  executorch::runtime::Result<bool> log_intermediate_output_delegate(const char*,
                                                                     executorch::runtime::DelegateDebugIntId,
                                                                     const int&) override {
    return true;
  }
  executorch::runtime::Result<bool> log_intermediate_output_delegate(const char*,
                                                                     executorch::runtime::DelegateDebugIntId,
                                                                     const bool&) override {
    return true;
  }
  executorch::runtime::Result<bool> log_intermediate_output_delegate(const char*,
                                                                     executorch::runtime::DelegateDebugIntId,
                                                                     const double&) override {
    return true;
  }
  void set_delegation_intermediate_output_filter(executorch::runtime::EventTracerFilterBase*) override {}

 private:
  void finish(size_t index, et_timestamp_t start);
  std::vector<Event> events_;
};

}  // namespace edgelift::runtime

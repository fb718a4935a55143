#include "runtime/tracer.h"

#include <executorch/runtime/platform/clock.h>
#include <executorch/runtime/platform/platform.h>

namespace edgelift::runtime {

namespace et = executorch::runtime;

namespace {
double milliseconds(et_timestamp_t ticks) { return static_cast<double>(et::ticks_to_ns(ticks)) / 1e6; }
}  // namespace

Tracer::Tracer() { set_event_tracer_profiling_level(et::EventTracerProfilingLevel::kProfileAllEvents); }

et::EventTracerEntry Tracer::start_profiling(const char* name, et::ChainID chain, et::DebugHandle handle) {
  et::EventTracerEntry entry{};
  Event event;
  event.name = name == nullptr ? "" : name;
  // Zero is both the first instruction and "unset"; the chain tells them apart.
  if (chain == et::kUnsetChainId && handle == et::kUnsetDebugHandle) {
    chain = current_chain_id();
    handle = current_debug_handle();
  }
  if (chain != et::kUnsetChainId) event.instruction = static_cast<int32_t>(handle);
  entry.event_id = static_cast<int64_t>(events_.size());
  events_.push_back(std::move(event));
  entry.start_time = et::pal_current_ticks();
  return entry;
}

void Tracer::finish(size_t index, et_timestamp_t start) {
  const et_timestamp_t end = et::pal_current_ticks();
  if (index < events_.size()) events_[index].ms = milliseconds(end - start);
}

void Tracer::end_profiling(et::EventTracerEntry entry) {
  finish(static_cast<size_t>(entry.event_id), entry.start_time);
}

et::EventTracerEntry Tracer::start_profiling_delegate(const char* name, et::DelegateDebugIntId id) {
  et::EventTracerEntry entry = start_profiling(name, et::kUnsetChainId, et::kUnsetDebugHandle);
  events_.back().delegate = true;
  if (id != et::kUnsetDelegateDebugIntId) events_.back().delegate_handle = static_cast<uint32_t>(id);
  return entry;
}

void Tracer::end_profiling_delegate(et::EventTracerEntry entry, const void*, size_t) { end_profiling(entry); }

void Tracer::log_profiling_delegate(const char* name, et::DelegateDebugIntId id, et_timestamp_t start,
                                    et_timestamp_t end, const void*, size_t) {
  Event event;
  event.name = name == nullptr ? "" : name;
  if (current_chain_id() != et::kUnsetChainId) event.instruction = static_cast<int32_t>(current_debug_handle());
  event.delegate = true;
  if (id != et::kUnsetDelegateDebugIntId) event.delegate_handle = static_cast<uint32_t>(id);
  event.ms = milliseconds(end - start);
  events_.push_back(std::move(event));
}

}  // namespace edgelift::runtime

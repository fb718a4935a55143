#include "runtime/session.h"

#include <algorithm>
#include <map>
#include <optional>

#include <executorch/extension/data_loader/buffer_data_loader.h>
#include <executorch/extension/data_loader/file_data_loader.h>
#include <executorch/extension/data_loader/mmap_data_loader.h>
#include <executorch/runtime/backend/interface.h>
#include <executorch/runtime/backend/options.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/file.h"
#include "pte/program.h"
#include "runtime/method.h"
#include "runtime/platform.h"

namespace edgelift::runtime {
namespace {

namespace et = executorch::runtime;
namespace extension = executorch::extension;

Error in_file(const std::filesystem::path& path, const Error& error) {
  return {error.kind, path.string() + ": " + error.message};
}

class LoadedSession final : public Session {
 public:
  explicit LoadedSession(const SessionOptions& options) : options_(options) { session_opened(); }
  ~LoadedSession() override {
    methods_.clear();
    program_.reset();
    session_closed();
  }

  Status load_file(const std::filesystem::path& path) {
    const LogCapture log;
    if (options_.load == Load::File) {
      auto loader = extension::FileDataLoader::from(path.c_str());
      if (!loader.ok()) return runtime_error("opening", loader.error(), log);
      loader_ = std::make_unique<extension::FileDataLoader>(std::move(*loader));
    } else {
      auto loader = extension::MmapDataLoader::from(path.c_str(), extension::MmapDataLoader::MlockConfig::NoMlock);
      if (!loader.ok()) return runtime_error("opening", loader.error(), log);
      loader_ = std::make_unique<extension::MmapDataLoader>(std::move(*loader));
    }
    return load_program();
  }

  Status load_bytes(std::span<const std::byte> bytes, std::shared_ptr<const void> owner) {
    owner_ = std::move(owner);
    loader_ = std::make_unique<extension::BufferDataLoader>(bytes.data(), bytes.size());
    return load_program();
  }

  std::vector<std::string> methods() const override {
    std::vector<std::string> names;
    for (size_t i = 0; i < program_->num_methods(); ++i)
      if (const auto name = program_->get_method_name(i); name.ok()) names.emplace_back(*name);
    return names;
  }

  Result<Method*> method(std::string_view name) override {
    const auto known = methods_.find(name);
    if (known != methods_.end()) return known->second.get();
    const std::vector<std::string> names = methods();
    if (std::find(names.begin(), names.end(), name) == names.end())
      return input_error(fmt::format("the program has no method '{}'; it has: {}", name, fmt::join(names, ", ")));
    EL_TRY_OK(set_backend_options());
    EL_TRY(std::unique_ptr<Method> method, load_method(*program_, std::string(name), options_));
    return methods_.emplace(name, std::move(method)).first->second.get();
  }

 private:
  Status load_program() {
    return guarded("loading", [&]() -> Status {
      const LogCapture log;
      const auto strictness =
          options_.verify ? et::Program::Verification::InternalConsistency : et::Program::Verification::Minimal;
      auto program = et::Program::load(loader_.get(), strictness);
      if (!program.ok()) return runtime_error("loading", program.error(), log);
      program_.emplace(std::move(*program));
      return Ok{};
    });
  }

  // The options are the process's and a delegate reads them when it is created, so they are set for each method anew.
  // Read back, for a backend takes options that it does not know without a word.
  Status set_backend_options() const {
    const LogCapture log;
    et::BackendOptions<1> options;
    et::Error error = options.set_option("weight_cache_enabled", options_.weight_cache);
    if (error == et::Error::Ok) error = et::set_option("XnnpackBackend", options.view());
    if (error != et::Error::Ok) return runtime_error("setting the options of the XNNPACK backend", error, log);
    et::BackendOptions<1> set;
    error = set.set_option("weight_cache_enabled", !options_.weight_cache);
    if (error == et::Error::Ok) error = et::get_option("XnnpackBackend", set.view());
    if (error != et::Error::Ok) return runtime_error("reading the options of the XNNPACK backend", error, log);
    const bool* const enabled = std::get_if<bool>(&set.view()[0].value);
    if (enabled == nullptr || *enabled != options_.weight_cache)
      return input_error(
          fmt::format("this build of the runtime cannot switch the weight cache of XNNPACK {}: the option is not taken",
                      options_.weight_cache ? "on" : "off"));
    return Ok{};
  }

  SessionOptions options_;
  std::shared_ptr<const void> owner_;
  std::unique_ptr<et::DataLoader> loader_;
  std::optional<et::Program> program_;
  std::map<std::string, std::unique_ptr<Method>, std::less<>> methods_;
};

}  // namespace

Result<std::unique_ptr<Session>> Session::open(const std::filesystem::path& path, const SessionOptions& options) {
  prepare_platform();
  if (options.verify || options.load == Load::Memory) {
    EL_TRY(std::shared_ptr<const MappedFile> file, MappedFile::open(path));
    if (options.verify)
      if (const Status status = pte::verify(file->bytes()); !status) return in_file(path, status.error());
    if (options.load == Load::Memory) {
      auto opened = open(file->bytes(), file, options);
      if (!opened) return in_file(path, opened.error());
      return opened;
    }
  }
  auto session = std::make_unique<LoadedSession>(options);
  if (const Status status = session->load_file(path); !status) return in_file(path, status.error());
  return std::unique_ptr<Session>(std::move(session));
}

Result<std::unique_ptr<Session>> Session::open(std::span<const std::byte> bytes, std::shared_ptr<const void> owner,
                                               const SessionOptions& options) {
  prepare_platform();
  if (options.verify) EL_TRY_OK(pte::verify(bytes));
  auto session = std::make_unique<LoadedSession>(options);
  EL_TRY_OK(session->load_bytes(bytes, std::move(owner)));
  return std::unique_ptr<Session>(std::move(session));
}

}  // namespace edgelift::runtime

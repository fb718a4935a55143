#include "import/import.h"

#include <fmt/format.h>

#include "import/importer.h"

namespace edgelift::importer {

Result<ir::Program> Importer::run(const std::string& method) {
  program_.stage = ir::Stage::Aten;
  program_.source = archive_->source();
  program_.archive = archive_;
  if (Status ranges = symbols_.set_ranges(exported_.ranges); !ranges) return fail(ranges.error().message);
  EL_TRY_OK(check_operators());
  program_.methods.push_back(std::make_unique<ir::Graph>(method));
  graph_ = program_.methods.back().get();
  Scope scope;
  scope.raw = &exported_.graph;
  scope.names.reserve(exported_.graph.tensors.size() + exported_.graph.sym_ints.size());
  EL_TRY_OK(inputs(scope));
  EL_TRY_OK(build(exported_.graph, scope));
  EL_TRY_OK(outputs(scope));
  EL_TRY_OK(check_overlaps());
  return std::move(program_);
}

namespace {

Result<ir::Program> import_archive(std::shared_ptr<const archive::Pt2> archive, const ir::OpTable& ops,
                                   const ImportOptions& options) {
  EL_TRY(const std::string_view model, archive->choose_model(options.model));
  EL_TRY(ExportedProgram exported, read_exported(*archive, model));
  EL_TRY(Payloads payloads, Payloads::read(archive, model));
  return Importer(std::move(archive), std::move(exported), std::move(payloads), ops).run(options.method);
}

}  // namespace

Result<ir::Program> import_pt2(const std::filesystem::path& path, const ir::OpTable& ops,
                               const ImportOptions& options) {
  EL_TRY(auto archive, archive::Pt2::open(path));
  return import_archive(std::move(archive), ops, options);
}

Result<ir::Program> import_bytes(std::span<const std::byte> bytes, std::string source,
                                 std::shared_ptr<const void> owner, const ir::OpTable& ops,
                                 const ImportOptions& options) {
  EL_TRY(auto archive, archive::Pt2::from_bytes(bytes, std::move(source), std::move(owner)));
  return import_archive(std::move(archive), ops, options);
}

}  // namespace edgelift::importer

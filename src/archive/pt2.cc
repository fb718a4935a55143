#include "archive/pt2.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/file.h"

namespace edgelift::archive {
namespace {

constexpr std::string_view kResave = "load it in Python and save it again with torch.export.save of torch 2.9 or later";
constexpr std::string_view kExport = "export the model with torch.export.export and save it with torch.export.save";

std::string_view as_text(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// What a file that is no zip is, by its first bytes; empty if unknown.
std::string_view foreign_form(std::string_view head) {
  const auto at = [&](size_t offset, std::string_view magic) {
    return head.size() >= offset + magic.size() && head.substr(offset, magic.size()) == magic;
  };
  if (at(4, "ET12") || at(4, "eh00")) return "an ExecuTorch program (.pte), which is already lowered";
  if (at(4, "TFL3")) return "a TensorFlow Lite model";
  if (at(0, "GGUF")) return "a GGUF file";
  if (at(0, "\x80\x02")) return "a pickle, as torch.save wrote it before version 1.6";
  if (at(0, "\x89HDF")) return "an HDF5 file";
  if (at(0,
         "\x7f"
         "ELF"))
    return "a compiled library";
  if (at(0, "\x93NUMPY")) return "a NumPy array";
  if (at(8, "{\"")) return "a safetensors file (weights without a program)";
  if (at(0, "version https://git-lfs")) return "a Git LFS pointer, not the file itself";
  const size_t first = std::min(head.find_first_not_of(" \t\r\n"), head.size());
  if (head.substr(first).starts_with("<")) return "an HTML or XML page";
  if (head.substr(first).starts_with("{")) return "a JSON text";
  return {};
}

}  // namespace

Result<std::shared_ptr<const Pt2>> Pt2::open(const std::filesystem::path& path) {
  EL_TRY(const std::shared_ptr<const MappedFile> file, MappedFile::open(path));
  return from_bytes(file->bytes(), path.string(), file);
}

Result<std::shared_ptr<const Pt2>> Pt2::from_bytes(std::span<const std::byte> bytes, std::string source,
                                                   std::shared_ptr<const void> owner) {
  const std::string_view head = as_text(bytes.first(std::min<size_t>(bytes.size(), 64)));
  if (bytes.empty()) return input_error(fmt::format("{}: the file is empty; {}", source, kExport));
  if (!head.starts_with("PK")) {
    const std::string_view form = foreign_form(head);
    return input_error(fmt::format(
        "{}: not a .pt2 archive: expected a zip file, found {}; {}", source,
        form.empty() ? "bytes of another kind (" + show(head.substr(0, 8)) + ")" : std::string(form), kExport));
  }
  auto pt2 = std::make_shared<Pt2>();
  EL_TRY(pt2->zip_, Zip::open(bytes, std::move(source)));
  pt2->file_size_ = bytes.size();
  pt2->owner_ = std::move(owner);
  EL_TRY_OK(pt2->recognise());
  return std::shared_ptr<const Pt2>(std::move(pt2));
}

Status Pt2::recognise() {
  const auto fail = [&](std::string what) { return input_error(fmt::format("{}: {}", source(), what)); };

  // Without a root folder: torch.export.save up to about 2.7, in two spellings. Its .json files may be pickles.
  for (const std::string_view name : {"serialized_exported_program.json", "serialized_state_dict.pt",
                                      "serialized_state_dict.json", "serialized_constants.json"}) {
    if (zip_.find(name) != nullptr) {
      return fail(fmt::format("the old export format of torch 2.7 and before (entry {}), whose weights are pickled; {}",
                              show(name), kResave));
    }
  }
  for (const ZipEntry& entry : zip_.entries()) {
    const size_t slash = entry.name.find('/');
    if (slash == entry.name.npos) {
      return fail(fmt::format("not a .pt2 archive: zip entry {} stands outside of a root folder; {}", show(entry.name),
                              kExport));
    }
    const std::string_view folder = entry.name.substr(0, slash);
    if (root_.empty()) root_ = folder;
    if (folder != root_) {
      return fail(fmt::format("not a .pt2 archive: it has several root folders, {} and {}, where one is expected; {}",
                              show(root_), show(folder), kExport));
    }
  }
  if (root_.empty()) return fail(fmt::format("not a .pt2 archive: the zip holds no files; {}", kExport));

  bool code = false, compiled = false;
  for (const ZipEntry& entry : zip_.entries()) {
    const std::string_view name = relative(entry);
    if (name.starts_with("code/")) code = true;
    if (name.starts_with("data/aotinductor/")) compiled = true;
    if (name.starts_with("models/") && name.ends_with(".json")) {
      const std::string_view model = name.substr(7, name.size() - 7 - 5);
      if (!model.empty()) models_.push_back(model);
    }
  }
  const ZipEntry* format = find("archive_format");
  if (format == nullptr) {
    if (code || find("constants.pkl") != nullptr) {
      return fail(fmt::format("a TorchScript file (torch.jit.save), not an exported program; {}", kExport));
    }
    if (find("data.pkl") != nullptr) {
      return fail(fmt::format("a torch.save pickle (weights or a checkpoint), not an exported program; {}", kExport));
    }
    return fail(fmt::format("not a .pt2 archive: entry {}/archive_format is missing; {}", root_, kExport));
  }
  EL_TRY(const auto format_bytes, data(*format));
  if (as_text(format_bytes) != "pt2") {
    return fail(fmt::format("entry {}/archive_format holds {}, expected \"pt2\"; {}", root_,
                            show(as_text(format_bytes)), kExport));
  }
  EL_TRY(const std::string_view version, text("archive_version"));
  if (version != "0") {
    return fail(fmt::format("entry {}/archive_version holds {}, and this reader knows version \"0\"; {}", root_,
                            show(version), "save it with torch 2.13 or 2.14, or use a newer edgelift"));
  }
  if (const ZipEntry* order = find("byteorder")) {
    EL_TRY(const auto order_bytes, data(*order));
    if (as_text(order_bytes) != "little") {
      return fail(
          fmt::format("entry {}/byteorder holds {}, expected \"little\"; save the model on a little-endian machine",
                      root_, show(as_text(order_bytes))));
    }
  }
  if (models_.empty()) {
    if (compiled) {
      return fail(fmt::format("an AOTInductor package (compiled code without an exported program); {}", kExport));
    }
    return fail(
        "archive has no models/*.json: the save was interrupted, or it is not an exported program; save it again "
        "with torch.export.save");
  }
  return Ok{};
}

Result<std::string_view> Pt2::choose_model(std::optional<std::string_view> name) const {
  const std::string_view wanted = name ? *name : models_.size() == 1 ? models_.front() : std::string_view("model");
  if (const auto found = std::find(models_.begin(), models_.end(), wanted); found != models_.end()) {
    if (find(fmt::format("data/weights/{}_weights_config.json", wanted)) == nullptr &&
        find(fmt::format("data/weights/{}.pt", wanted)) != nullptr) {
      return input_error(
          fmt::format("{}: a .pt2 archive with pickled weights, as torch 2.8 wrote it (entry data/weights/{}.pt, "
                      "no {}_weights_config.json); {}",
                      source(), wanted, wanted, kResave));
    }
    return *found;
  }
  std::string all;
  for (const std::string_view model : models_) all += (all.empty() ? "" : ", ") + show(model);
  if (!name) {
    return usage_error(fmt::format("{}: the archive holds several programs ({}); name the one to read", source(), all));
  }
  return usage_error(fmt::format("{}: the archive has no program {}; it holds {}", source(), show(wanted), all));
}

const ZipEntry* Pt2::find(std::string_view name) const { return zip_.find(fmt::format("{}/{}", root_, name)); }

Result<std::string_view> Pt2::text(std::string_view name) const {
  const ZipEntry* entry = find(name);
  if (entry == nullptr) {
    return input_error(fmt::format("{}: entry {} is missing; save the model again with torch.export.save", source(),
                                   show(fmt::format("{}/{}", root_, name))));
  }
  EL_TRY(const auto bytes, data(*entry));
  return as_text(bytes);
}

}  // namespace edgelift::archive

// A .pt2 archive as torch.export.save writes it: recognised, checked, its parts found by name. Older and foreign forms
// are refused by name. JSON inside is not looked at here.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "archive/zip.h"
#include "base/result.h"

namespace edgelift::archive {

class Pt2 {
 public:
  // Maps the file. A file that another process shortens while it is mapped raises SIGBUS on access.
  static Result<std::shared_ptr<const Pt2>> open(const std::filesystem::path& path);
  // `owner` keeps the bytes alive.
  static Result<std::shared_ptr<const Pt2>> from_bytes(std::span<const std::byte> bytes, std::string source,
                                                       std::shared_ptr<const void> owner);

  // File name for messages.
  const std::string& source() const { return zip_.source(); }
  // The folder that holds everything, without the slash.
  std::string_view root() const { return root_; }
  uint64_t file_size() const { return file_size_; }
  const std::vector<ZipEntry>& entries() const { return zip_.entries(); }
  // Names of the programs (models/NAME.json), in the archive's order; at least one.
  const std::vector<std::string_view>& models() const { return models_; }
  // The program to read: the named one; without a name the one called "model", or the only one.
  Result<std::string_view> choose_model(std::optional<std::string_view> name) const;

  // `name` is relative to the root folder. Both views stay valid as long as the Pt2; Zip::kTailBytes readable bytes
  // follow every entry.
  const ZipEntry* find(std::string_view name) const;
  Result<std::span<const std::byte>> data(const ZipEntry& entry) const { return zip_.data(entry); }
  // An entry that must be there.
  Result<std::string_view> text(std::string_view name) const;
  // The name without the root folder.
  std::string_view relative(const ZipEntry& entry) const { return entry.name.substr(root_.size() + 1); }

 private:
  Status recognise();

  Zip zip_;
  std::string root_;
  uint64_t file_size_ = 0;
  std::vector<std::string_view> models_;
  std::shared_ptr<const void> owner_;
};

}  // namespace edgelift::archive

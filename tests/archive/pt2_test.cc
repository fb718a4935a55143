// Recognition of the archive, and of what is not one (pt2-format 1.1, 6.2).
#include "archive/pt2.h"

#include <gtest/gtest.h>

#include "edit_zip.h"
#include "testing.h"

namespace edgelift::archive {
namespace {

using edgelift::testing::OwnedBytes;
using edgelift::testing::read_zip;
using edgelift::testing::write_zip;
using edgelift::testing::ZipItem;

std::vector<ZipItem> base() { return read_zip(testing::source_dir() / "tests/data/import/base.pt2"); }

Result<std::shared_ptr<const Pt2>> open(const std::string& bytes) {
  const OwnedBytes owned(bytes);
  return Pt2::from_bytes(owned.bytes(), "f.pt2", owned.text);
}

void expect_refused(const std::string& bytes, std::initializer_list<std::string_view> parts) {
  const auto pt2 = open(bytes);
  ASSERT_FALSE(pt2.ok()) << "accepted, expected a message with: " << *parts.begin();
  EXPECT_EQ(pt2.error().kind, ErrorKind::Input);
  for (const std::string_view part : parts) {
    EXPECT_NE(pt2.error().message.find(part), std::string::npos)
        << "message: " << pt2.error().message << "\nwithout: " << part;
  }
}

ZipItem* item(std::vector<ZipItem>& items, std::string_view suffix) {
  for (ZipItem& i : items)
    if (i.name.ends_with(suffix)) return &i;
  return nullptr;
}
void drop(std::vector<ZipItem>& items, std::string_view suffix) {
  std::erase_if(items, [&](const ZipItem& i) { return i.name.ends_with(suffix); });
}

TEST(Pt2, WhatTorchWrites) {
  const auto pt2 = Pt2::open(testing::source_dir() / "tests/data/import/base.pt2");
  ASSERT_TRUE(pt2.ok()) << pt2.error().message;
  EXPECT_EQ((*pt2)->root(), "base");
  EXPECT_TRUE((*pt2)->source().ends_with("/tests/data/import/base.pt2")) << (*pt2)->source();
  ASSERT_EQ((*pt2)->models().size(), 1u);
  EXPECT_EQ(*(*pt2)->choose_model(std::nullopt), "model");
  EXPECT_EQ((*pt2)->text("byteorder").ok() ? *(*pt2)->text("byteorder") : "", "little");
  EXPECT_FALSE((*pt2)->text("nothing").ok());
}

TEST(Pt2, RenamedFileKeepsItsRoot) {
  const auto pt2 = open(write_zip(base()));
  ASSERT_TRUE(pt2.ok()) << pt2.error().message;
  EXPECT_EQ((*pt2)->root(), "base");
}

TEST(Pt2, WhatAReaderDoesNotNeed) {
  auto items = base();
  drop(items, "/byteorder");
  drop(items, "/.data/version");
  drop(items, "/.data/serialization_id");
  drop(items, "/sample_inputs/model.pt");
  items.push_back({.name = "base/extra/note.txt", .data = "hello", .method = 8});
  EXPECT_TRUE(open(write_zip(items)).ok());
}

TEST(Pt2, PackageOfSeveralPrograms) {
  const auto pt2 = Pt2::open(testing::source_dir() / "tests/data/import/package.pt2");
  ASSERT_TRUE(pt2.ok()) << pt2.error().message;
  ASSERT_EQ((*pt2)->models().size(), 2u);
  EXPECT_EQ(*(*pt2)->choose_model("two"), "two");
  const auto none = (*pt2)->choose_model(std::nullopt);
  ASSERT_FALSE(none.ok());
  EXPECT_EQ(none.error().kind, ErrorKind::Usage);
  EXPECT_NE(none.error().message.find("\"one\", \"two\""), std::string::npos);
  EXPECT_NE((*pt2)->choose_model("three").error().message.find("no program \"three\""), std::string::npos);
}

TEST(Pt2Refuses, FilesThatAreNoZip) {
  expect_refused("", {"empty"});
  expect_refused(std::string("\x1c\0\0\0ET12", 8) + std::string(100, '\0'), {"ExecuTorch program (.pte)"});
  expect_refused("<!DOCTYPE html><html>not found</html>", {"HTML"});
  expect_refused(std::string("\x08\x07\x12\x07pytorch", 11), {"expected a zip file", "torch.export.save"});
  expect_refused(std::string("\x80\x02\x8a\nl\xfc", 6), {"pickle"});
  expect_refused(std::string("\x20\0\0\0TFL3", 8), {"TensorFlow Lite"});
  expect_refused("version https://git-lfs.github.com/spec/v1\n", {"Git LFS pointer"});
  expect_refused(std::string("\x40\0\0\0\0\0\0\0{\"__metadata__\"", 22), {"safetensors"});
  expect_refused(write_zip(base()).substr(0, 3000), {"not a complete zip"});
}

TEST(Pt2Refuses, MissingFile) {
  const auto pt2 = Pt2::open("/nonexistent/model.pt2");
  ASSERT_FALSE(pt2.ok());
  EXPECT_NE(pt2.error().message.find("/nonexistent/model.pt2"), std::string::npos);
}

TEST(Pt2Refuses, ExportFormatBefore28) {
  for (const char* name : {"serialized_state_dict.pt", "serialized_state_dict.json"}) {
    expect_refused(write_zip({{.name = "version", .data = "8.5"},
                              {.name = "serialized_exported_program.json", .data = "{}"},
                              {.name = name}}),
                   {"torch 2.7 and before", "pickled"});
  }
}

TEST(Pt2Refuses, PickledWeightsOf28) {
  auto items = base();
  drop(items, "model_weights_config.json");
  drop(items, "model_constants_config.json");
  items.push_back({.name = "base/data/weights/model.pt", .data = "PK\3\4"});
  const auto pt2 = open(write_zip(items));
  ASSERT_TRUE(pt2.ok()) << pt2.error().message;
  const auto model = (*pt2)->choose_model(std::nullopt);
  ASSERT_FALSE(model.ok());
  EXPECT_NE(model.error().message.find("pickled weights"), std::string::npos) << model.error().message;
}

TEST(Pt2Refuses, OtherZipsOfTorch) {
  expect_refused(write_zip({{.name = "m/data.pkl", .data = "x"}, {.name = "m/version", .data = "3"}}),
                 {"torch.save pickle"});
  expect_refused(write_zip({{.name = "m/data.pkl"}, {.name = "m/constants.pkl"}, {.name = "m/code/__torch__.py"}}),
                 {"TorchScript"});
  expect_refused(write_zip({{.name = "m/archive_format", .data = "pt2"},
                            {.name = "m/archive_version", .data = "0"},
                            {.name = "m/data/aotinductor/model/a.so"}}),
                 {"AOTInductor"});
}

TEST(Pt2Refuses, InterruptedSave) {
  auto items = base();
  drop(items, "models/model.json");
  expect_refused(write_zip(items), {"no models/*.json", "interrupted"});
}

TEST(Pt2Refuses, RootFolders) {
  auto items = base();
  items.push_back({.name = "other/x"});
  expect_refused(write_zip(items), {"several root folders", "\"base\"", "\"other\""});
  items = base();
  items.push_back({.name = "x"});
  expect_refused(write_zip(items), {"outside of a root folder"});
}

TEST(Pt2Refuses, FormatVersionAndByteOrder) {
  auto items = base();
  item(items, "/archive_format")->data = "pt3";
  expect_refused(write_zip(items), {"archive_format", "\"pt3\"", "\"pt2\""});
  drop(items, "/archive_format");
  expect_refused(write_zip(items), {"archive_format is missing"});
  items = base();
  item(items, "/archive_version")->data = "1";
  expect_refused(write_zip(items), {"archive_version", "\"1\"", "newer edgelift"});
  drop(items, "/archive_version");
  expect_refused(write_zip(items), {"base/archive_version", "missing"});
  items = base();
  item(items, "/byteorder")->data = "big";
  expect_refused(write_zip(items), {"byteorder", "\"big\"", "little-endian"});
}

TEST(Pt2Refuses, CompressedProgram) {
  auto items = base();
  item(items, "models/model.json")->method = 8;
  const auto pt2 = open(write_zip(items));
  ASSERT_TRUE(pt2.ok()) << pt2.error().message;
  const auto text = (*pt2)->text("models/model.json");
  ASSERT_FALSE(text.ok());
  EXPECT_NE(text.error().message.find("compressed"), std::string::npos);
}

}  // namespace
}  // namespace edgelift::archive

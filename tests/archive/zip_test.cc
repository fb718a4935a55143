#include "archive/zip.h"

#include <gtest/gtest.h>

#include <fstream>

#include "edit_zip.h"
#include "testing.h"

namespace edgelift::archive {
namespace {

using edgelift::testing::OwnedBytes;
using edgelift::testing::write_zip;
using edgelift::testing::ZipItem;
using edgelift::testing::ZipStyle;
using edgelift::testing::ZipWriter;

std::string_view text(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

std::vector<ZipItem> three() {
  return {{.name = "r/a", .data = "alpha"}, {.name = "r/empty"}, {.name = "r/b", .data = std::string(1000, 'b')}};
}

// The message of the error that opening must give; empty if it does not fail.
std::string error_of(const std::string& bytes) {
  const OwnedBytes owned(bytes);
  const auto zip = Zip::open(owned.bytes(), "f.pt2");
  return zip.ok() ? std::string() : zip.error().message;
}

void expect_error(const std::string& bytes, std::string_view part) {
  const std::string message = error_of(bytes);
  EXPECT_NE(message.find(part), std::string::npos) << "message: " << message;
  EXPECT_TRUE(message.starts_with("f.pt2: ")) << message;
}

TEST(Zip, EntriesAreViewsInOrder) {
  const OwnedBytes owned(write_zip(three()));
  const auto zip = Zip::open(owned.bytes(), "f.pt2");
  ASSERT_TRUE(zip.ok()) << zip.error().message;
  ASSERT_EQ(zip->entries().size(), 3u);
  EXPECT_EQ(zip->entries()[0].name, "r/a");
  EXPECT_EQ(zip->entries()[2].name, "r/b");
  const auto data = zip->data(*zip->find("r/a"));
  ASSERT_TRUE(data.ok());
  EXPECT_EQ(text(*data), "alpha");
  EXPECT_EQ(zip->data(*zip->find("r/empty"))->size(), 0u);
  EXPECT_EQ(zip->data(*zip->find("r/b"))->size(), 1000u);
  EXPECT_EQ(zip->find("r/c"), nullptr);
  // A view, not a copy.
  EXPECT_GE(data->data(), owned.bytes().data());
  EXPECT_LT(data->data(), owned.bytes().data() + owned.bytes().size());
  EXPECT_EQ(zip->entries()[0].offset % 64, 0u);
}

TEST(Zip, PlainZipWithoutPaddingOrZip64Record) {
  const OwnedBytes owned(write_zip(three(), {.alignment = 0, .zip64_end = false}));
  const auto zip = Zip::open(owned.bytes(), "f.pt2");
  ASSERT_TRUE(zip.ok()) << zip.error().message;
  EXPECT_EQ(text(*zip->data(*zip->find("r/a"))), "alpha");
}

TEST(Zip, FoldersOfGeneralToolsAreLeftOut) {
  auto items = three();
  items.insert(items.begin(), {.name = "r/"});
  const OwnedBytes owned(write_zip(items));
  const auto zip = Zip::open(owned.bytes(), "f.pt2");
  ASSERT_TRUE(zip.ok()) << zip.error().message;
  EXPECT_EQ(zip->entries().size(), 3u);
}

// An entry of more than 4 GiB has its sizes in the zip64 field, the entries behind it their offsets.
TEST(Zip, BeyondFourGiB) {
  const auto path = testing::scratch_dir() / "big.zip";
  const uint64_t big = (uint64_t{1} << 32) + 4096;
  {
    std::ofstream file(path, std::ios::binary);
    ZipWriter(file).write({{.name = "r/big", .data = "start", .hole = big - 5}, {.name = "r/small", .data = "behind"}});
    if (!file.good()) GTEST_SKIP() << "no room for a sparse file of 4 GiB";
  }
  const auto file = MappedFile::open(path);
  ASSERT_TRUE(file.ok()) << file.error().message;
  const auto zip = Zip::open((*file)->bytes(), "big.zip");
  ASSERT_TRUE(zip.ok()) << zip.error().message;
  ASSERT_NE(zip->find("r/big"), nullptr);
  EXPECT_EQ(zip->find("r/big")->size, big);
  EXPECT_EQ(text(zip->data(*zip->find("r/big"))->first(5)), "start");
  EXPECT_GT(zip->find("r/small")->offset, big);
  EXPECT_EQ(text(*zip->data(*zip->find("r/small"))), "behind");
  std::filesystem::remove(path);
}

TEST(ZipFaults, EveryTruncationIsAnError) {
  const std::string whole = write_zip(three());
  for (size_t size = 0; size < whole.size(); ++size) {
    EXPECT_NE(error_of(whole.substr(0, size)), "") << "cut to " << size << " of " << whole.size();
  }
}

// Any single damaged byte gives an error or a directory whose entries still lie inside the file. Run under ASan, this
// is the property that matters.
TEST(ZipFaults, EveryDamagedByteIsSafe) {
  const std::string whole = write_zip(three());
  for (size_t at = 0; at < whole.size(); ++at) {
    for (const int flip : {0x01, 0x80, 0xff}) {
      std::string damaged = whole;
      damaged[at] = static_cast<char>(damaged[at] ^ flip);
      const OwnedBytes owned(damaged);
      const auto zip = Zip::open(owned.bytes(), "f.pt2");
      if (!zip.ok()) continue;
      uint64_t sum = 0;
      for (const ZipEntry& entry : zip->entries()) {
        ASSERT_LE(entry.offset + entry.size, whole.size());
        if (const auto data = zip->data(entry); data.ok())
          for (const std::byte b : *data) sum += static_cast<uint64_t>(b);
      }
      EXPECT_LT(sum, uint64_t{1} << 40);
    }
  }
}

TEST(ZipFaults, Junk) {
  expect_error("", "not a complete zip archive");
  expect_error(std::string(5000, 'x'), "not a complete zip archive");
  expect_error(write_zip(three()).substr(0, 700), "cut off or damaged");
  expect_error("PK\5\6", "not a complete zip archive");
}

TEST(ZipFaults, NoEntries) { expect_error(write_zip({}), "no entries"); }

TEST(ZipFaults, DataBeforeTheArchive) {
  expect_error(std::string(100, '\0') + write_zip(three()), "other data stands before");
}

TEST(ZipFaults, ArchiveComment) {
  std::string commented = write_zip(three());
  commented[commented.size() - 2] = 5;
  EXPECT_EQ(error_of(commented + "hello"), "");
  expect_error(commented + "hell", "end-of-central-directory");
  expect_error(write_zip(three()) + std::string(70000, 'x'), "end-of-central-directory");
}

TEST(ZipFaults, EntryOutsideOfTheFile) {
  auto items = three();
  items[0].central_offset = 1u << 20;
  expect_error(write_zip(items), "local header");
  items = three();
  items[2].central_size = 1u << 20;
  expect_error(write_zip(items), "runs into the central directory");
  items[2].central_size = ~uint64_t{0};
  expect_error(write_zip(items), "r/b");
}

TEST(ZipFaults, OverlappingEntries) {
  auto items = three();
  items[1].name = "r/a2";
  items[0].central_size = 200;  // into the next one's header
  expect_error(write_zip(items), "overlap");
}

TEST(ZipFaults, TwoRecordsForOneEntry) {
  auto items = three();
  items[2].name = items[0].name;
  items[2].data = items[0].data;
  expect_error(write_zip(items), "occurs twice");
}

TEST(ZipFaults, LocalNameDiffers) {
  auto items = three();
  items[0].local_name = "r/x";
  expect_error(write_zip(items), "is called \"r/x\" in its local header");
}

TEST(ZipFaults, LocalExtraPushesDataOut) {
  auto items = three();
  items[2].local_extra_size = 0xfff0;
  expect_error(write_zip(items), "r/b");
}

TEST(ZipFaults, Names) {
  const auto named = [](std::string name) {
    auto items = three();
    items[0].name = std::move(name);
    return write_zip(items);
  };
  expect_error(named("r/../etc/passwd"), "holds '..'");
  expect_error(named("/etc/passwd"), "absolute path");
  expect_error(named("r\\a"), "backslash");
  expect_error(named(std::string("r/a\0b", 5)), "NUL");
  EXPECT_EQ(error_of(named("r/..a")), "");
  EXPECT_EQ(error_of(named("r/\xc3\xbc")), "");
}

TEST(ZipFaults, CompressedAndEncryptedAreRefusedWhenRead) {
  auto items = three();
  items[0].method = 8;
  items[2].flags |= 1;
  const OwnedBytes owned(write_zip(items));
  const auto zip = Zip::open(owned.bytes(), "f.pt2");
  ASSERT_TRUE(zip.ok()) << zip.error().message;
  const auto compressed = zip->data(*zip->find("r/a"));
  ASSERT_FALSE(compressed.ok());
  EXPECT_NE(compressed.error().message.find("compressed (zip method 8)"), std::string::npos);
  EXPECT_NE(compressed.error().message.find("torch.export.save"), std::string::npos);
  const auto encrypted = zip->data(*zip->find("r/b"));
  ASSERT_FALSE(encrypted.ok());
  EXPECT_NE(encrypted.error().message.find("encrypted"), std::string::npos);
}

TEST(Show, MakesTextSafe) {
  EXPECT_EQ(show("a\"b\\c"), "\"a\\\"b\\\\c\"");
  EXPECT_EQ(show("\x1b[2J\xc3"), "\"\\x1b[2J\\xc3\"");
  EXPECT_LT(show(std::string(5000, 'a')).size(), 300u);
}

}  // namespace
}  // namespace edgelift::archive

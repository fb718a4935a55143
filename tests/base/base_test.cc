#include <algorithm>
#include <cmath>
#include <cstring>
#include <fstream>
#include <limits>

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <csignal>

#include <gtest/gtest.h>

#include "base/file.h"
#include "base/hash.h"
#include "base/numbers.h"
#include "base/symint.h"
#include "base/tensor_data.h"
#include "testing.h"

namespace edgelift {
namespace {

TEST(DTypePromotion, FollowsPyTorch) {
  EXPECT_EQ(promote(DType::U8, DType::I8), DType::I16);
  EXPECT_EQ(promote(DType::Bool, DType::U8), DType::U8);
  EXPECT_EQ(promote(DType::I64, DType::F16), DType::F16);
  EXPECT_EQ(promote(DType::F16, DType::BF16), DType::F32);
  EXPECT_EQ(promote(DType::BF16, DType::F64), DType::F64);
  EXPECT_EQ(promote(DType::F64, DType::C64), DType::C128);
}

TEST(Halves, RoundTripEveryValue) {
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    const auto h = static_cast<uint16_t>(bits);
    const float f = f16_to_f32(h), b = bf16_to_f32(h);
    if (std::isnan(f)) {
      EXPECT_TRUE(std::isnan(f16_to_f32(f32_to_f16(f))));
    } else {
      EXPECT_EQ(f32_to_f16(f), h);
    }
    if (!std::isnan(b)) {
      EXPECT_EQ(f32_to_bf16(b), h);
    }
  }
}

TEST(Halves, RoundToNearestEven) {
  EXPECT_EQ(f32_to_f16(65519.0f), 0x7BFF);
  EXPECT_EQ(f32_to_f16(65520.0f), 0x7C00);
  EXPECT_EQ(f32_to_f16(1.0f + 0x1p-11f), 0x3C00);  // a tie goes to even
  EXPECT_EQ(f32_to_f16(1.0f + 3 * 0x1p-11f), 0x3C02);
  EXPECT_EQ(f32_to_f16(0x1p-25f), 0x0000);
  EXPECT_EQ(f32_to_f16(0x1.000002p-25f), 0x0001);
}

TEST(FloatText, IsShortestAndNeverAnInteger) {
  EXPECT_EQ(float_text(0.1), "0.1");
  EXPECT_EQ(float_text(2.0), "2.0");
  EXPECT_EQ(float_text(static_cast<double>(0.1f), DType::F32), "0.1");
  EXPECT_EQ(float_text(1e30), "1e+30");
  EXPECT_EQ(float_text(-0.0), "-0.0");
  EXPECT_EQ(float_text(static_cast<double>(f16_to_f32(0x2E66)), DType::F16), "0.1");
  EXPECT_EQ(float_text(-std::numeric_limits<double>::infinity()), "-inf");
}

TEST(TensorData, ViewsGatherInRowMajorOrder) {
  const TensorData t = TensorData::of<int32_t>(DType::I32, {2, 3}, {0, 1, 2, 3, 4, 5});
  const TensorData p = t.permuted(std::vector<int64_t>{1, 0});
  EXPECT_FALSE(p.is_contiguous());
  EXPECT_EQ(p.to_doubles(), (std::vector<double>{0, 3, 1, 4, 2, 5}));
  EXPECT_EQ(p.narrowed(0, 1, 2).to_doubles(), (std::vector<double>{1, 4, 2, 5}));
  EXPECT_EQ(t.narrowed(0, 1, 1).expanded(std::vector<int64_t>{2, 3}).to_doubles(),
            (std::vector<double>{3, 4, 5, 3, 4, 5}));
  EXPECT_EQ(p.element_as_int(3), 4);
}

TEST(TensorData, ReshapeSharesBytesWhereStridesAllow) {
  const TensorData t = TensorData::of<float>(DType::F32, {4, 6}, std::vector<float>(24, 1.f));
  EXPECT_EQ(t.reshaped({2, 2, 6}).storage().data(), t.storage().data());
  const TensorData p = t.permuted(std::vector<int64_t>{1, 0});
  const TensorData split = p.reshaped({2, 3, 4});
  EXPECT_EQ(split.storage().data(), t.storage().data());
  EXPECT_EQ(split.strides(), (std::vector<int64_t>{3, 1, 6}));
  EXPECT_NE(p.reshaped({24}).storage().data(), t.storage().data());
}

TEST(TensorData, StreamsLargeGathersInChunks) {
  std::vector<float> values(512 * 700);
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i);
  const TensorData t = TensorData::of(DType::F32, {512, 700}, values).permuted(std::vector<int64_t>{1, 0});
  size_t chunks = 0, bytes = 0;
  ASSERT_TRUE(t.stream([&](std::span<const std::byte> chunk) -> Status {
                 ++chunks;
                 bytes += chunk.size();
                 return Ok{};
               }).ok());
  EXPECT_GT(chunks, 1u);
  EXPECT_EQ(bytes, values.size() * 4);
  EXPECT_EQ(t.to_floats()[1], 700.f);
}

TEST(TensorData, StreamStopsAtTheSinksError) {
  const TensorData t = TensorData::of<float>(DType::F32, {2}, {1.f, 2.f});
  EXPECT_FALSE(t.stream([](std::span<const std::byte>) -> Status { return input_error("full"); }).ok());
}

TEST(TensorData, ContentKeyIsOfTheContent) {
  const TensorData a = TensorData::of<float>(DType::F32, {2, 2}, {1, 2, 3, 4});
  const TensorData b = TensorData::of<float>(DType::F32, {2, 2}, {1, 3, 2, 4}).permuted(std::vector<int64_t>{1, 0});
  EXPECT_EQ(content_key(a), content_key(b));
  EXPECT_TRUE(a.same_bits(b));
  EXPECT_NE(content_key(a), content_key(a.reshaped({4})));
}

TEST(AtomicFile, LeavesNothingWithoutCommit) {
  const auto dir = testing::scratch_dir();
  {
    auto file = AtomicFile::create(dir / "x");
    ASSERT_TRUE(file.ok());
    ASSERT_TRUE((*file)->write(std::as_bytes(std::span("abc", 3))).ok());
  }
  EXPECT_TRUE(std::filesystem::is_empty(dir));
  {
    auto file = AtomicFile::create(dir / "x");
    ASSERT_TRUE((*file)->write(std::as_bytes(std::span("abc", 3))).ok());
    ASSERT_TRUE((*file)->pad_to(8).ok());
    ASSERT_TRUE((*file)->commit().ok());
  }
  EXPECT_EQ(*read_file(dir / "x"), std::string("abc\0\0\0\0\0", 8));
}

TEST(AtomicFile, LeavesNothingWhenTheProcessIsKilled) {
  const auto dir = testing::scratch_dir();
  const int probe = ::open(dir.c_str(), O_TMPFILE | O_WRONLY, 0600);
  if (probe < 0) GTEST_SKIP() << "this file system has no nameless files";
  ::close(probe);
  ASSERT_TRUE(write_file(dir / "old", "old").ok());
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    auto file = AtomicFile::create(dir / "old");
    if (file.ok() && (*file)->write(std::as_bytes(std::span("abc", 3))).ok() && (*file)->flush().ok()) raise(SIGKILL);
    _exit(1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFSIGNALED(status));
  size_t files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(dir)) files += entry.path() == dir / "old" ? 1 : 100;
  EXPECT_EQ(files, 1u);
  EXPECT_EQ(*read_file(dir / "old"), "old");
}

TEST(AtomicFile, GivesTheFileThePermissionsOfTheProcess) {
  const auto dir = testing::scratch_dir();
  const mode_t before = umask(027);
  const bool written = write_file(dir / "x", "text").ok();
  umask(before);
  ASSERT_TRUE(written);
  struct stat info {};
  ASSERT_EQ(stat((dir / "x").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777u, 0640u);
}

// Every permutation of a tensor with odd sizes, in elements of every width, against plain indexing.
TEST(TensorData, PermutationsGatherEveryElement) {
  const std::vector<int64_t> sizes = {5, 67, 131};
  for (const DType dtype : {DType::U8, DType::F16, DType::F32, DType::I64, DType::C64}) {
    const size_t element = byte_size(dtype);
    std::vector<std::byte> bytes(static_cast<size_t>(5 * 67 * 131) * element);
    for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>(i * 2654435761u >> 11);
    const TensorData data = TensorData::own(dtype, sizes, bytes);
    std::vector<int64_t> dims = {0, 1, 2};
    do {
      const TensorData made = data.permuted(dims).contiguous();
      const std::byte* out = made.bytes().data();
      int64_t at[3] = {};
      bool same = true;
      for (at[0] = 0; at[0] < sizes[static_cast<size_t>(dims[0])]; ++at[0])
        for (at[1] = 0; at[1] < sizes[static_cast<size_t>(dims[1])]; ++at[1])
          for (at[2] = 0; at[2] < sizes[static_cast<size_t>(dims[2])]; ++at[2]) {
            int64_t from[3] = {};
            for (size_t d = 0; d < 3; ++d) from[dims[d]] = at[d];
            const auto place = static_cast<size_t>((from[0] * 67 + from[1]) * 131 + from[2]) * element;
            same = same && std::memcmp(out, bytes.data() + place, element) == 0;
            out += element;
          }
      EXPECT_TRUE(same) << long_name(dtype) << " " << dims[0] << dims[1] << dims[2];
    } while (std::next_permutation(dims.begin(), dims.end()));
  }
}

// Large spans of a mapped file go from file to file; what arrives is the same, at any offset and between other bytes.
TEST(AtomicFile, CopiesSpansOfAMappedFile) {
  namespace fs = std::filesystem;
  const auto dir = fs::temp_directory_path() / ("edgelift_copy_" + std::to_string(getpid()));
  fs::create_directories(dir);
  std::string content(size_t{9} << 20, '\0');
  for (size_t i = 0; i < content.size(); ++i) content[i] = static_cast<char>(i * 2654435761u >> 13);
  ASSERT_TRUE(write_file(dir / "from", content).ok());
  auto map = MappedFile::open(dir / "from");
  ASSERT_TRUE(map.ok());
  const std::span<const std::byte> bytes = (*map)->bytes();
  const auto place = MappedFile::place_of(bytes.subspan(77, 100));
  ASSERT_TRUE(place.has_value());
  EXPECT_EQ(place->offset, 77u);
  EXPECT_FALSE(MappedFile::place_of(std::as_bytes(std::span(content))).has_value());
  auto file = AtomicFile::create(dir / "to");
  ASSERT_TRUE(file.ok());
  ASSERT_TRUE((*file)->write(bytes.first(3)).ok());
  ASSERT_TRUE((*file)->write(bytes.subspan(1001, size_t{5} << 20)).ok());
  ASSERT_TRUE((*file)->pad_to((size_t{5} << 20) + 10).ok());
  ASSERT_TRUE((*file)->write(bytes).ok());
  ASSERT_TRUE((*file)->commit().ok());
  const std::string expected =
      content.substr(0, 3) + content.substr(1001, size_t{5} << 20) + std::string(7, '\0') + content;
  EXPECT_TRUE(*read_file(dir / "to") == expected);
  fs::remove_all(dir);
}

TEST(AtomicFile, NamesPathAndReason) {
  const auto file = AtomicFile::create("/nonexistent-dir/x");
  ASSERT_FALSE(file.ok());
  EXPECT_NE(file.error().message.find("/nonexistent-dir/x: cannot create: No such file"), std::string::npos);
  EXPECT_EQ(file.error().kind, ErrorKind::Input);
}

TEST(AtomicFile, ReplacesFilesOnly) {
  const auto dir = testing::scratch_dir();
  std::filesystem::create_symlink(dir / "real", dir / "link");
  ASSERT_TRUE(write_file(dir / "real", "old").ok());
  ASSERT_TRUE(write_file(dir / "link", "new").ok());
  EXPECT_TRUE(std::filesystem::is_symlink(dir / "link"));
  EXPECT_EQ(*read_file(dir / "real"), "new");
  ASSERT_EQ(mkfifo((dir / "pipe").c_str(), 0600), 0);
  const Status pipe = write_file(dir / "pipe", "text");
  ASSERT_FALSE(pipe.ok());
  EXPECT_NE(pipe.error().message.find("is a device or pipe"), std::string::npos);
  EXPECT_FALSE(write_file("", "text").ok());
}

SymInt symbol(const char* name, int64_t lo, int64_t hi) {
  auto s = std::make_shared<Symbol>();
  s->name = name;
  s->lo = lo;
  s->hi = hi;
  return SymInt::symbol(s);
}

TEST(SymInt, EqualWhateverTheSpelling) {
  const SymInt s = symbol("s", 1, 8), t = symbol("t", 2, 16);
  EXPECT_EQ((s + t) * SymInt(2), t * SymInt(2) + s + s);
  EXPECT_EQ(s - s, SymInt(0));
  EXPECT_EQ(SymInt::floordiv(s * SymInt(6), SymInt(3)), s + s);
  EXPECT_EQ(SymInt::floordiv(s * t * SymInt(2), t), SymInt(2) * s);
  EXPECT_EQ(SymInt::floordiv(s * SymInt(2) + SymInt(1), SymInt(2)), s);
  EXPECT_EQ(SymInt::mod(s * SymInt(4), SymInt(2)), SymInt(0));
  EXPECT_EQ(SymInt::floordiv(SymInt::floordiv(s, SymInt(2)), SymInt(3)), SymInt::floordiv(s, SymInt(6)));
  EXPECT_FALSE(s == t);
}

TEST(SymInt, BoundsFollowTheRanges) {
  const SymInt s = symbol("s", 1, 8), u = symbol("u", 0, kUnbounded);
  EXPECT_EQ((s * SymInt(3) - SymInt(2)).upper(), 22);
  EXPECT_EQ((s * SymInt(3) - SymInt(2)).lower(), 1);
  EXPECT_EQ((u + SymInt(1)).upper(), kUnbounded);
  EXPECT_EQ(SymInt::floordiv(s, SymInt(3)).upper(), 2);
  EXPECT_EQ(SymInt::max(s, SymInt(9)), SymInt(9));
  EXPECT_TRUE(known_le(s, SymInt(8)));
  EXPECT_FALSE(known_le(s, SymInt(7)));
}

TEST(SymInt, EvaluatesAndPrints) {
  const SymInt s = symbol("s", 1, 80), t = symbol("t", 1, 80);
  const SymInt e = SymInt(2) * s * t - SymInt::floordiv(s, SymInt(3)) + SymInt(5);
  EXPECT_EQ(e.str(), "-floordiv(s, 3)+2*s*t+5");
  const auto value =
      e.evaluate([](const Symbol& symbol) -> std::optional<int64_t> { return symbol.name == "s" ? 10 : 3; });
  EXPECT_EQ(value, 62);
  EXPECT_FALSE(e.evaluate([](const Symbol&) { return std::optional<int64_t>(); }).has_value());
}

TEST(SymInt, AUseOfASymbolAsANumberIsABug) { EXPECT_THROW((void)symbol("s", 1, 8).value(), Bug); }

}  // namespace
}  // namespace edgelift

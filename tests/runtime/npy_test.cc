#include "runtime/npy.h"

#include <cstring>

#include <gtest/gtest.h>

#include "base/file.h"
#include "testing.h"

namespace edgelift::runtime {
namespace {

std::shared_ptr<std::string> file_of(std::string_view descr, std::string_view rest, const std::string& data,
                                     int major = 1) {
  std::string header = "{'descr': '" + std::string(descr) + "', " + std::string(rest) + "}\n";
  std::string file = "\x93NUMPY";
  file += static_cast<char>(major);
  file += '\0';
  file += static_cast<char>(header.size() & 0xFF);
  file += static_cast<char>(header.size() >> 8);
  if (major > 1) file += std::string(2, '\0');
  return std::make_shared<std::string>(file + header + data);
}
Result<TensorData> parse(const std::shared_ptr<std::string>& file) {
  return parse_npy({reinterpret_cast<const std::byte*>(file->data()), file->size()}, file);
}
template <class T>
std::string raw(const std::vector<T>& values) {
  return std::string(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T));
}

TEST(Npy, EveryElementTypeComesBack) {
  for (const DType dtype : {DType::Bool, DType::U8, DType::I8, DType::I16, DType::I32, DType::I64, DType::U16,
                            DType::U32, DType::U64, DType::F16, DType::F32, DType::F64}) {
    const TensorData data = TensorData::of<double>(DType::F64, {2, 1, 2}, {0, 1, 1, 0}).converted(dtype);
    const auto file = std::make_shared<std::string>(npy_bytes(data));
    EXPECT_EQ(file->size() % 64, (4 * byte_size(dtype)) % 64);  // the data begin at a multiple of 64
    const auto again = parse(file);
    ASSERT_TRUE(again.ok()) << long_name(dtype) << ": " << again.error().message;
    EXPECT_TRUE(again->same_bits(data)) << long_name(dtype);
  }
}

TEST(Npy, Bfloat16TravelsAsItsBits) {
  const TensorData data = TensorData::of<float>(DType::F32, {2}, {1.5f, -2.f}).converted(DType::BF16);
  const auto again = parse(std::make_shared<std::string>(npy_bytes(data)));
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(again->dtype(), DType::U16);
  EXPECT_EQ(std::memcmp(again->bytes().data(), data.bytes().data(), 4), 0);
  // As the ml_dtypes package writes it.
  const auto tagged = parse(file_of("<V2", "'fortran_order': False, 'shape': (2,), ", raw<uint16_t>({0x3FC0, 0xC000})));
  ASSERT_TRUE(tagged.ok()) << tagged.error().message;
  EXPECT_EQ(tagged->dtype(), DType::BF16);
  EXPECT_EQ(tagged->to_floats(), (std::vector<float>{1.5f, -2.f}));
}

TEST(Npy, ShapesOfEveryRank) {
  for (const std::vector<int64_t>& sizes : {std::vector<int64_t>{}, {3}, {0}, {2, 0, 3}, {1, 1, 1, 1, 1}}) {
    int64_t count = 1;
    for (const int64_t size : sizes) count *= size;
    const TensorData data = TensorData::of(DType::F32, sizes, std::vector<float>(static_cast<size_t>(count), 3.f));
    const auto again = parse(std::make_shared<std::string>(npy_bytes(data)));
    ASSERT_TRUE(again.ok()) << again.error().message;
    EXPECT_EQ(again->sizes(), sizes);
  }
}

TEST(Npy, StridedTensorsAreWrittenInLogicalOrder) {
  const std::vector<int64_t> swap = {1, 0};
  const TensorData data = TensorData::of<float>(DType::F32, {2, 3}, {0, 1, 2, 3, 4, 5}).permuted(swap);
  const auto again = parse(std::make_shared<std::string>(npy_bytes(data)));
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(again->to_floats(), (std::vector<float>{0, 3, 1, 4, 2, 5}));
}

TEST(Npy, FortranOrderIsReadAsStrides) {
  const auto data = parse(file_of("<f4", "'fortran_order': True, 'shape': (2, 3), ", raw<float>({0, 3, 1, 4, 2, 5})));
  ASSERT_TRUE(data.ok()) << data.error().message;
  EXPECT_EQ(data->to_floats(), (std::vector<float>{0, 1, 2, 3, 4, 5}));
}

TEST(Npy, LongHeadersAndUnalignedData) {
  const auto v2 = parse(file_of("<f4", "'fortran_order': False, 'shape': (1, 2), ", raw<float>({8, 9}), 2));
  ASSERT_TRUE(v2.ok()) << v2.error().message;
  EXPECT_EQ(v2->to_floats(), (std::vector<float>{8, 9}));
}

TEST(Npy, BadFilesSayWhatIsWrong) {
  const auto expect = [](const std::shared_ptr<std::string>& file, const char* message) {
    const auto data = parse(file);
    ASSERT_FALSE(data.ok());
    EXPECT_NE(data.error().message.find(message), std::string::npos) << data.error().message;
  };
  const char* rest = "'fortran_order': False, 'shape': (2,), ";
  expect(std::make_shared<std::string>("hello there"), "magic");
  expect(file_of(">f4", rest, raw<float>({1, 2})), "big-endian");
  expect(file_of("<U5", rest, std::string(40, 'x')), "'<U5'");
  expect(file_of("|O", rest, "xxxx"), "'|O'");
  expect(file_of("<f4", rest, raw<float>({1})), "needs 8 bytes, the file has 4");
  expect(file_of("<f4", "'fortran_order': False, 'shape': (4294967296, 4294967296, 16), ", ""), "2^63");
  expect(file_of("<f4", "'fortran_order': False, ", ""), "not one that numpy.save writes");
  expect(file_of("<f4", "'shape': (2,), 'fortran_order': maybe, ", ""), "not one that numpy.save writes");
  auto cut = file_of("<f4", rest, "");
  cut->resize(20);
  expect(cut, "ends inside its header");
  auto version = file_of("<f4", rest, raw<float>({1, 2}));
  (*version)[6] = 9;
  expect(version, "version 9");
}

TEST(Npy, RawFilesMustFitExactly) {
  const std::filesystem::path path = testing::scratch_dir() / "x.raw";
  ASSERT_TRUE(write_file(path, raw<float>({1, 2, 3})).ok());
  const auto data = read_raw(path, DType::F32, {3, 1});
  ASSERT_TRUE(data.ok());
  EXPECT_EQ(data->to_floats(), (std::vector<float>{1, 2, 3}));
  const auto wrong = read_raw(path, DType::F32, {2, 2});
  ASSERT_FALSE(wrong.ok());
  EXPECT_NE(wrong.error().message.find("12 bytes, but float32 of shape [2,2] has 16"), std::string::npos)
      << wrong.error().message;
}

}  // namespace
}  // namespace edgelift::runtime

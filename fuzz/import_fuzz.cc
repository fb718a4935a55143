// A .pt2 file of any bytes: import gives a program that verifies, or an error that blames the input. Anything else (a
// crash, an exception, an error that blames edgelift) is a finding.
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <exception>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "../tests/archive/edit_zip.h"
#include "import/import.h"
#include "ir/verifier.h"
#include "ops/record.h"

namespace {

using namespace edgelift;
using edgelift::testing::OwnedBytes;
using edgelift::testing::ZipItem;

struct Random {
  uint64_t state;
  size_t below(size_t bound) {
    uint64_t z = (state += 0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return bound == 0 ? 0 : static_cast<size_t>((z ^ (z >> 31)) % bound);
  }
};

struct Token {
  size_t first, size;
};

bool is_number(char c) { return (c >= '0' && c <= '9') || c == '-' || c == '+' || c == '.' || c == 'e' || c == 'E'; }

// Strings (with their quotes) and numbers of a JSON text, from some place on.
std::vector<Token> tokens(const std::string& text, bool strings, size_t from, size_t most) {
  std::vector<Token> out;
  for (size_t i = from; i < text.size() && out.size() < most;) {
    if (text[i] == '"') {
      size_t end = i + 1;
      while (end < text.size() && text[end] != '"') end += text[end] == '\\' ? 2 : 1;
      end = std::min(end + 1, text.size());
      if (strings) out.push_back({i, end - i});
      i = end;
    } else if (text[i] == '-' || (text[i] >= '0' && text[i] <= '9')) {
      size_t end = i + 1;
      while (end < text.size() && is_number(text[end])) ++end;
      if (!strings) out.push_back({i, end - i});
      i = end;
    } else {
      ++i;
    }
  }
  return out;
}

// The end of the balanced value that begins at `first` with { or [.
size_t balanced(const std::string& text, size_t first) {
  int depth = 0;
  bool string = false;
  for (size_t i = first; i < text.size(); ++i) {
    if (string) {
      if (text[i] == '\\')
        ++i;
      else if (text[i] == '"')
        string = false;
    } else if (text[i] == '"') {
      string = true;
    } else if (text[i] == '{' || text[i] == '[') {
      ++depth;
    } else if (text[i] == '}' || text[i] == ']') {
      if (--depth == 0) return i + 1;
    }
  }
  return text.size();
}

void mutate_json(std::string& text, Random& random) {
  static const char* const kNumbers[] = {"0",
                                         "1",
                                         "-1",
                                         "2",
                                         "3",
                                         "7",
                                         "64",
                                         "65",
                                         "1000000",
                                         "2147483648",
                                         "9223372036854775807",
                                         "-9223372036854775808",
                                         "9223372036854775808",
                                         "1e308",
                                         "0.5",
                                         "1e999"};
  static const char* const kTags[] = {"as_none",
                                      "as_tensor",
                                      "as_tensors",
                                      "as_int",
                                      "as_ints",
                                      "as_float",
                                      "as_floats",
                                      "as_string",
                                      "as_sym_int",
                                      "as_sym_ints",
                                      "as_scalar_type",
                                      "as_memory_format",
                                      "as_layout",
                                      "as_device",
                                      "as_bool",
                                      "as_bools",
                                      "as_sym_bool",
                                      "as_graph",
                                      "as_optional_tensors",
                                      "as_sym_float",
                                      "as_expr",
                                      "as_complex",
                                      "as_name"};
  if (text.empty()) return;
  const size_t from = random.below(text.size());
  const auto replace = [&](const Token& token, const std::string& by) { text.replace(token.first, token.size, by); };
  switch (random.below(8)) {
    case 0:
    case 1:
      if (const auto found = tokens(text, false, from, 16); !found.empty()) {
        replace(found[random.below(found.size())], kNumbers[random.below(std::size(kNumbers))]);
      }
      break;
    case 2: {  // one name for another
      const auto some = tokens(text, true, from, 64), others = tokens(text, true, random.below(text.size()), 64);
      if (!some.empty() && !others.empty()) {
        const Token other = others[random.below(others.size())];
        replace(some[random.below(some.size())], text.substr(other.first, other.size));
      }
      break;
    }
    case 3: {  // one kind of argument for another
      const size_t at = text.find("\"as_", from);
      if (at != text.npos) replace({at + 1, text.find('"', at + 1) - at - 1}, kTags[random.below(std::size(kTags))]);
      break;
    }
    case 4: {  // one operator for another
      const size_t at = text.find("torch.ops.", from);
      if (at == text.npos) break;
      const auto records = ops::all_records();
      const ops::OpRecord& op = *records[random.below(records.size())];
      replace({at, text.find('"', at) - at}, "torch.ops." + op.ns + "." + op.base + "." + op.overload);
      break;
    }
    case 5:
    case 6: {  // a value away, or twice
      const size_t at = text.find_first_of("{[", from);
      if (at == text.npos) break;
      const size_t end = balanced(text, at);
      const std::string value = text.substr(at, end - at);
      if (random.below(2) == 0)
        text.replace(at, end - at, random.below(2) == 0 ? "null" : value.front() == '{' ? "{}" : "[]");
      else if (value.size() < 20000)
        text.insert(end, ", " + value);
      break;
    }
    default:
      text[from] = static_cast<char>(random.below(256));
      break;
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const OwnedBytes owned(std::string(reinterpret_cast<const char*>(data), size));
  importer::ImportOptions options;
  try {
    auto program = importer::import_bytes(owned.bytes(), "fuzz.pt2", owned.text, ops::table());
    if (!program.ok()) {
      const std::string& message = program.error().message;
      if (program.error().kind != ErrorKind::Internal) return 0;
      const size_t rule = message.find("the shape rule failed");
      if (rule == message.npos) {
        std::fprintf(stderr, "%s\n", message.c_str());
        std::abort();
      }
      // A rule of src/ops that does not stand these arguments: told once for each place, and the search goes on.
      static std::set<std::string> told;
      if (told.insert(message.substr(rule)).second) std::fprintf(stderr, "note: %s\n", message.c_str());
      return 0;
    }
    const Status verified = ir::verify(*program, ops::table());
    if (!verified.ok()) {
      std::fprintf(stderr, "imported, but: %s\n", verified.error().message.c_str());
      std::abort();
    }
    for (const auto& constant : program->constants) {
      if (!constant->data.empty() && constant->data.nbytes() < (1u << 20)) (void)constant->data.contiguous();
    }
    program->forward().each([](const ir::Node& node) {
      (void)ir::source_line(node.origin);
      (void)ir::module_path(node.origin);
    });
  } catch (const std::exception& e) {
    std::fprintf(stderr, "exception: %s\n", e.what());
    std::abort();
  }
  return 0;
}

// Changes the JSON inside of the archive and writes a sound zip around it: bytes at random hardly get that far.
extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t most, unsigned int seed) {
  const OwnedBytes owned(std::string(reinterpret_cast<const char*>(data), size));
  auto zip = archive::Zip::open(owned.bytes(), "fuzz.pt2");
  if (!zip.ok()) return size;
  Random random{seed};
  std::vector<ZipItem> items;
  std::vector<size_t> texts;
  for (const archive::ZipEntry& entry : zip->entries()) {
    const auto bytes = zip->data(entry);
    if (!bytes.ok()) return size;
    if (entry.name.ends_with(".json")) texts.push_back(items.size());
    if (entry.name.ends_with("models/model.json")) texts.insert(texts.end(), 6, items.size());  // most of the time
    ZipItem& item = items.emplace_back();
    item.name = entry.name;
    item.data.assign(reinterpret_cast<const char*>(bytes->data()), bytes->size());
  }
  if (texts.empty()) return size;
  mutate_json(items[texts[random.below(texts.size())]].data, random);
  const std::string out = testing::write_zip(items);
  if (out.size() > most) return size;
  std::memcpy(data, out.data(), out.size());
  return out.size();
}

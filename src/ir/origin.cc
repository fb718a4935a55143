// Source lines and module paths, decoded from the archive's raw JSON text only when somebody asks.
#include <algorithm>
#include <optional>
#include <string>
#include <string_view>

#include "ir/graph.h"

namespace edgelift::ir {
namespace {

void append_utf8(std::string& out, uint32_t code) {
  if (code < 0x80) {
    out += static_cast<char>(code);
  } else if (code < 0x800) {
    out += static_cast<char>(0xc0 | code >> 6);
    out += static_cast<char>(0x80 | (code & 0x3f));
  } else if (code < 0x10000) {
    out += static_cast<char>(0xe0 | code >> 12);
    out += static_cast<char>(0x80 | (code >> 6 & 0x3f));
    out += static_cast<char>(0x80 | (code & 0x3f));
  } else {
    out += static_cast<char>(0xf0 | code >> 18);
    out += static_cast<char>(0x80 | (code >> 12 & 0x3f));
    out += static_cast<char>(0x80 | (code >> 6 & 0x3f));
    out += static_cast<char>(0x80 | (code & 0x3f));
  }
}

std::optional<uint32_t> hex4(std::string_view text) {
  if (text.size() < 4) return std::nullopt;
  uint32_t value = 0;
  for (const char c : text.substr(0, 4)) {
    value <<= 4;
    if (c >= '0' && c <= '9')
      value |= static_cast<uint32_t>(c - '0');
    else if (c >= 'a' && c <= 'f')
      value |= static_cast<uint32_t>(c - 'a' + 10);
    else if (c >= 'A' && c <= 'F')
      value |= static_cast<uint32_t>(c - 'A' + 10);
    else
      return std::nullopt;
  }
  return value;
}

// The text of a JSON string's body. It was skipped on import, so its escapes were never checked: what is wrong in them
// becomes U+FFFD.
std::string decode(std::string_view raw) {
  std::string out;
  out.reserve(raw.size());
  for (size_t i = 0; i < raw.size(); ++i) {
    if (raw[i] != '\\' || i + 1 == raw.size()) {
      out += raw[i];
      continue;
    }
    switch (raw[++i]) {
      case 'n':
        out += '\n';
        break;
      case 't':
        out += '\t';
        break;
      case 'r':
        out += '\r';
        break;
      case 'b':
        out += '\b';
        break;
      case 'f':
        out += '\f';
        break;
      case 'u': {
        const auto high = hex4(raw.substr(i + 1));
        if (!high) {
          append_utf8(out, 0xfffd);
          break;
        }
        i += 4;
        uint32_t code = *high;
        if (code >= 0xd800 && code < 0xe000) {
          const auto low = raw.substr(i + 1).starts_with("\\u") ? hex4(raw.substr(i + 3)) : std::nullopt;
          if (code < 0xdc00 && low && *low >= 0xdc00 && *low < 0xe000) {
            code = 0x10000 + ((code - 0xd800) << 10) + (*low - 0xdc00);
            i += 6;
          } else {
            code = 0xfffd;
          }
        }
        append_utf8(out, code);
        break;
      }
      default:
        out += raw[i];
        break;
    }
  }
  return out;
}

struct Frame {
  std::string_view file;
  std::string_view line;
};

// Lines of the form:   File "/path/of/model.py", line 12, in forward
std::optional<Frame> frame_of(std::string_view text) {
  const size_t first = text.find_first_not_of(' ');
  if (first == text.npos || !text.substr(first).starts_with("File \"")) return std::nullopt;
  text.remove_prefix(first + 6);
  const size_t quote = text.find("\", line ");
  if (quote == text.npos) return std::nullopt;
  const std::string_view rest = text.substr(quote + 8);
  const size_t digits = std::min(rest.find_first_not_of("0123456789"), rest.size());
  if (digits == 0) return std::nullopt;
  return Frame{text.substr(0, quote), rest.substr(0, digits)};
}

// PyTorch's own code.
bool is_torch(std::string_view file) {
  return file.find("/torch/") != file.npos || file.find("\\torch\\") != file.npos || file.starts_with("torch/") ||
         file.starts_with("<");
}
std::string shortened(std::string_view file) {
  size_t cut = file.find_last_of("/\\");
  if (cut != file.npos && cut > 0) {
    const size_t second = file.find_last_of("/\\", cut - 1);
    file.remove_prefix(second == file.npos ? 0 : second + 1);
  }
  std::string out;
  for (const char c : file) out += static_cast<unsigned char>(c) < 0x20 ? '?' : c;
  return out;
}

}  // namespace

std::string source_line(const Origin& origin) {
  if (origin == nullptr || origin->stack_trace.empty()) return {};
  const std::string trace = decode(origin->stack_trace);
  // Frames go from the outermost to the innermost. The last one outside of PyTorch is the line that a person can
  // change, in the model's own file or in a library of models.
  std::optional<Frame> best, any;
  for (size_t first = 0; first < trace.size();) {
    const size_t end = std::min(trace.find('\n', first), trace.size());
    if (const auto frame = frame_of(std::string_view(trace).substr(first, end - first))) {
      any = frame;
      if (!is_torch(frame->file)) best = frame;
    }
    first = end + 1;
  }
  if (!best) best = any;
  return best ? shortened(best->file) + ":" + std::string(best->line) : std::string();
}

std::string module_path(const Origin& origin) {
  if (origin == nullptr || origin->module_stack.empty()) return {};
  // key,path,type;key,path,type… from the outermost module to the innermost.
  const std::string stack = decode(origin->module_stack);
  const std::string_view text = stack;
  const size_t semicolon = text.rfind(';');
  const std::string_view last = semicolon == text.npos ? text : text.substr(semicolon + 1);
  const size_t comma = last.find(',');
  if (comma == last.npos) return {};
  const size_t second = std::min(last.find(',', comma + 1), last.size());
  return std::string(last.substr(comma + 1, second - comma - 1));
}

std::string place(const Origin& origin) {
  if (std::string line = source_line(origin); !line.empty()) return line;
  if (const std::string module = module_path(origin); !module.empty()) return "module " + module;
  return origin == nullptr || origin->node_name.empty() ? std::string() : "node " + origin->node_name;
}

}  // namespace edgelift::ir

// Imports files of tests/data/import after a change to one of their parts.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <nlohmann/json.hpp>
#include <string>

#include "../archive/edit_zip.h"
#include "import/import.h"
#include "ops/record.h"
#include "testing.h"

namespace edgelift::testing {

using Json = nlohmann::ordered_json;

inline std::filesystem::path import_data(const std::string& name) {
  return source_dir() / "tests/data/import" / (name + ".pt2");
}

class Pt2Editor {
 public:
  explicit Pt2Editor(const std::string& name) : items_(read_zip(import_data(name))) {}

  std::vector<ZipItem>& items() { return items_; }
  ZipItem& item(std::string_view suffix) {
    for (ZipItem& item : items_)
      if (item.name.ends_with(suffix)) return item;
    throw std::runtime_error("no entry " + std::string(suffix));
  }
  void drop(std::string_view suffix) {
    std::erase_if(items_, [&](const ZipItem& item) { return item.name.ends_with(suffix); });
  }
  // Text of an entry, parsed, changed, printed.
  Pt2Editor& json(std::string_view suffix, const std::function<void(Json&)>& change) {
    ZipItem& target = item(suffix);
    Json value = Json::parse(target.data);
    change(value);
    target.data = value.dump();
    return *this;
  }
  Pt2Editor& model(const std::function<void(Json&)>& change) { return json("models/model.json", change); }
  Pt2Editor& graph(const std::function<void(Json&)>& change) {
    return model([&](Json& m) { change(m["graph_module"]["graph"]); });
  }
  Pt2Editor& signature(const std::function<void(Json&)>& change) {
    return model([&](Json& m) { change(m["graph_module"]["signature"]); });
  }
  Pt2Editor& node(std::string_view name, const std::function<void(Json&)>& change) {
    return graph([&](Json& g) {
      for (Json& node : g["nodes"])
        if (node["name"] == name) return change(node);
      throw std::runtime_error("no node " + std::string(name));
    });
  }
  Pt2Editor& weights(const std::function<void(Json&)>& change) {
    return json("model_weights_config.json", [&](Json& c) { change(c["config"]); });
  }
  Pt2Editor& constants(const std::function<void(Json&)>& change) {
    return json("model_constants_config.json", [&](Json& c) { change(c["config"]); });
  }
  // In the text itself: first occurrence of `from`.
  Pt2Editor& replace(std::string_view suffix, std::string_view from, std::string_view to) {
    std::string& data = item(suffix).data;
    const size_t at = data.find(from);
    if (at == data.npos) throw std::runtime_error("no text " + std::string(from));
    data.replace(at, from.size(), to);
    return *this;
  }

  std::string bytes(ZipStyle style = {}) const { return write_zip(items_, style); }
  Result<ir::Program> import(ZipStyle style = {}) const {
    const OwnedBytes owned(bytes(style));
    return importer::import_bytes(owned.bytes(), "f.pt2", owned.text, ops::table());
  }

 private:
  std::vector<ZipItem> items_;
};

inline Result<ir::Program> import_recorded(const std::string& name) {
  return importer::import_pt2(import_data(name), ops::table());
}

// The import fails because of the input, and the message holds every part.
inline void expect_refused(const Result<ir::Program>& program, std::initializer_list<std::string_view> parts) {
  ASSERT_FALSE(program.ok()) << "imported, expected a message with: " << *parts.begin();
  EXPECT_EQ(program.error().kind, ErrorKind::Input) << program.error().message;
  for (const std::string_view part : parts) {
    EXPECT_NE(program.error().message.find(part), std::string::npos)
        << "message: " << program.error().message << "\nwithout: " << part;
  }
}
inline void expect_refused(const Pt2Editor& editor, std::initializer_list<std::string_view> parts) {
  expect_refused(editor.import(), parts);
}

}  // namespace edgelift::testing

// Shape rules on input that does not fit: an error with a sentence, never a wrong type or a crash.
#include <gtest/gtest.h>

#include <random>

#include "base/check.h"
#include "ir/text.h"
#include "ops/record.h"

namespace edgelift::ops {
namespace {

struct Broken {
  const char* inputs;
  const char* node;
  const char* sentence;
};

TEST(ShapeRules, SayWhatDoesNotFit) {
  const Broken cases[] = {
      {"%x: f32[2,3], %z: f32[2,4]", "%y = add.Tensor %x, %z : f32[2,3]", "do not broadcast"},
      {"%x: f32[2,3], %z: f32[3,3]", "%y = cat [%x,%z], dim=1 : f32[2,6]", "do not fit along dim 1"},
      {"%x: f32[2,3], %z: f32[2]", "%y = stack [%x,%z] : f32[2,2,3]", "cannot be stacked"},
      {"%x: f32[2,3]", "%y = select.int %x, dim=0, index=2 : f32[3]", "out of range"},
      {"%x: f32[2,3]", "%y = slice.Tensor %x, dim=2 : f32[2,3]", "out of range"},
      {"%x: f32[2,3]", "%y = slice.Tensor %x, dim=1, step=0 : f32[2,3]", "not a positive number"},
      {"%x: f32[]", "%y = slice.Tensor %x : f32[]", "rank 0"},
      {"%x: f32[2,3]", "%y = view %x, size=[4,2] : f32[4,2]", "element count"},
      {"%x: f32[2,3]", "%y = view %x, size=[-1,-1] : f32[2,3]", "more than one size"},
      {"%x: f32[2,3]", "%y = permute %x, dims=[0,0] : f32[2,2]", "twice"},
      {"%x: f32[2,3]", "%y = expand %x, size=[2,4] : f32[2,4]", "does not expand"},
      {"%x: f32[5]", "%a, %b = split_with_sizes %x, split_sizes=[2,2] : (f32[2], f32[2])", "4 elements together"},
      {"%x: f32[2,3]", "%y = mean.dim %x, dim=[0,0] : f32[3]", "twice"},
      {"%x: i64[2,3]", "%y = mean.dim %x, dim=[0] : i64[3]", "not defined"},
      {"%x: f32[2,3]", "%v, %i = topk %x, k=4 : (f32[2,4], i64[2,4])", "k is 4"},
      {"%x: f32[2,3], %i: i64[2,2]", "%y = index_select %x, dim=0, index=%i : f32[2,3]", "more than one dim"},
      {"%x: f32[2,3], %i: i64[2]", "%y = index.Tensor %x, [%i,%i,%i] : f32[2]", "3 dims are indexed"},
      {"%w: f32[4], %i: i64[2]", "%y = embedding %w, %i : f32[2,4]", "two dims"},
      {"%x: f32[2,3]", "%y = constant_pad_nd %x, pad=[1] : f32[2,4]", "paddings"},
      {"%x: f32[2,3]", "%y = constant_pad_nd %x, pad=[-2,-2] : f32[2,-1]", "than it has"},
      {"%x: f32[2,3]", "%y = repeat %x, repeats=[2] : f32[4,3]", "fewer repeats"},
      {"%x: f32[2,3]", "%y = roll %x, shifts=[1,2], dims=[0] : f32[2,3]", "2 shifts"},
      {"%x: f32[2,3]", "%y = unfold %x, dimension=1, size=4, step=1 : f32[2,0,4]", "does not fit"},
      {"%x: f32[2,3]", "%y = diagonal %x, dim1=1 : f32[2]", "two different dims"},
      {"%x: f32[2,3]", "%y = clamp %x : f32[2,3]", "neither min nor max"},
      {"%x: f32[2,3]", "%y = _to_copy %x, memory_format=channels_last : f32[2,3]", "four dims"},
      {"%x: f32[2,3]", "%y = item %x : float", "a number is taken"},
      {"%x: f32[3,4]", "%y = add_.Tensor %x, %x : f32[3,5]", ""},
  };
  for (const Broken& broken : cases) {
    const std::string text = std::string("program {\n  fn forward(") + broken.inputs + ") -> f32[1] {\n    " +
                             broken.node + "\n    return %y\n  }\n}\n";
    const auto program = ir::parse(text, table());
    ASSERT_FALSE(program.ok()) << text;
    EXPECT_NE(program.error().message.find(broken.sentence), std::string::npos) << text << program.error().message;
  }
}

// Arguments of the right kinds with any values, as a hostile archive can hold them.
class Arguments {
 public:
  explicit Arguments(ir::Graph& graph) : random_(7) {
    for (const DType dtype : {DType::F32, DType::I64, DType::Bool, DType::C64})
      for (const auto& sizes : {ir::Shape{}, ir::Shape{SymInt(0)}, ir::Shape{SymInt(4)},
                                ir::Shape{SymInt(2), SymInt(3)}, ir::Shape{SymInt(1), SymInt(2), SymInt(3), SymInt(4)}})
        values_.push_back(graph.add_input("v", ir::Type::tensor(dtype, sizes)));
  }

  ir::Arg make(const ir::ArgSpec& spec) {
    using ir::ArgKind;
    const bool use_default = !spec.required && pick(3) == 0;
    if (use_default) return spec.default_value;
    switch (spec.kind) {
      case ArgKind::OptTensor:
        if (pick(3) == 0) return {};
        [[fallthrough]];
      case ArgKind::Tensor:
        return value();
      case ArgKind::TensorList:
        return list(false);
      case ArgKind::OptTensorList:
        return list(true);
      case ArgKind::OptInt:
        if (pick(3) == 0) return {};
        [[fallthrough]];
      case ArgKind::Int:
        return integer();
      case ArgKind::OptIntList:
        if (pick(3) == 0) return {};
        [[fallthrough]];
      case ArgKind::IntList: {
        ir::IntList items;
        const int count = spec.list_length > 0 ? spec.list_length : pick(5);
        for (int i = 0; i < count; ++i) items.push_back(integer());
        return items;
      }
      case ArgKind::OptFloat:
        if (pick(3) == 0) return {};
        [[fallthrough]];
      case ArgKind::Float:
        return 0.5 * pick(7) - 1.0;
      case ArgKind::OptFloatList:
        if (pick(3) == 0) return {};
        [[fallthrough]];
      case ArgKind::FloatList:
        return std::vector<double>(static_cast<size_t>(pick(4)), 2.0);
      case ArgKind::OptBool:
        if (pick(3) == 0) return {};
        [[fallthrough]];
      case ArgKind::Bool:
        return pick(2) == 0;
      case ArgKind::BoolList:
        return std::vector<bool>(3, true);
      case ArgKind::OptScalar:
        if (pick(3) == 0) return {};
        [[fallthrough]];
      case ArgKind::Scalar:
        return pick(2) == 0 ? ir::Arg(0.5 * pick(7)) : ir::Arg(integer());
      case ArgKind::OptString:
        if (pick(3) == 0) return {};
        [[fallthrough]];
      case ArgKind::String:
        return std::string(kTexts[static_cast<size_t>(pick(4))]);
      case ArgKind::OptScalarType:
        if (pick(3) == 0) return {};
        [[fallthrough]];
      case ArgKind::ScalarType:
        return pick(2) == 0 ? DType::F32 : DType::I8;
      case ArgKind::OptMemoryFormat:
        if (pick(3) == 0) return {};
        [[fallthrough]];
      case ArgKind::MemoryFormat:
        return pick(2) == 0 ? ir::MemoryFormat::Contiguous : ir::MemoryFormat::ChannelsLast;
      case ArgKind::Ignored:
        return {};
    }
    return {};
  }

 private:
  static constexpr const char* kTexts[] = {"", "constant", "floor", "xy"};
  int pick(int count) { return static_cast<int>(random_() % static_cast<unsigned>(count)); }
  SymInt integer() {
    constexpr int64_t kEdges[] = {-9223372036854775807, -100, -2, -1, 0, 1, 2, 3, 7, 9223372036854775807};
    return kEdges[pick(10)];
  }
  ir::Value* value() { return values_[static_cast<size_t>(pick(static_cast<int>(values_.size())))]; }
  ir::ValueList list(bool with_none) {
    ir::ValueList items;
    for (int i = pick(4); i > 0; --i) items.push_back(with_none && pick(3) == 0 ? nullptr : value());
    return items;
  }

  std::mt19937 random_;
  std::vector<ir::Value*> values_;
};

TEST(ShapeRules, AnyArgumentsGiveTypesOrAnError) {
  ir::Graph graph("any");
  Arguments arguments(graph);
  for (const OpRecord* op : all_records()) {
    for (int round = 0; round < 200; ++round) {
      std::vector<ir::Arg> args;
      for (const ir::ArgSpec& spec : op->schema.args) args.push_back(arguments.make(spec));
      try {
        (void)table().infer(*op, args);
      } catch (const std::exception& error) {
        // Sizes that overflow end the program with a message of their own.
        const std::string_view what = error.what();
        if (what.find("overflows 64 bits") != std::string_view::npos) continue;
        ADD_FAILURE() << op->full_name() << ": " << what;
        break;
      }
    }
  }
}

}  // namespace
}  // namespace edgelift::ops

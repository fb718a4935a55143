// group_norm and instance_norm in the delegate's operators: rows of C/G * HW elements, normalised as lift_layer_norm.cc
// does its rows, with the same bound; where only the run knows how many pixels there are, planes first.
#include "passes/lift.h"
#include "passes/passes.h"

namespace edgelift::passes {
namespace {

// The mean over the spatial dims and the channels of a group, as [N, C, 1, ..]: of each plane first, whose size only
// the run knows, then over the group.
Value* group_mean(Lift& lift, Value* x, int64_t groups) {
  const ir::Shape sizes = x->type.sizes;
  const SymInt batch = sizes[0];
  const int64_t channels = sizes[1].value();
  Value* plane = nullptr;
  if (sizes.size() == 4) {
    plane = lift.make("mean.dim", {x, ir::IntList{SymInt(2), SymInt(3)}, true});
  } else if (sizes.size() == 3) {
    plane = lift.mean_last(x);
  } else {
    lift.fail("its spatial size is not a number");
    return x;
  }
  if (groups == channels || lift.failed()) return plane;
  const ir::Shape apart = plane->type.sizes;
  Value* mean = lift.mean_last(lift.view(plane, {batch, SymInt(groups), SymInt(channels / groups)}));
  const std::vector<int64_t> ones{1, 1, channels / groups};
  Value* wide = lift.mul(mean, shared_constant(lift.rewriter(),
                                               "ones_" + std::string(short_name(x->type.dtype)) + "_1_1_" +
                                                   std::to_string(channels / groups),
                                               scalar_data(x->type.dtype, 1.0).expanded(ones).contiguous()));
  return lift.view(wide, apart);
}

Value* normalise_planes(Lift& lift, Value* x, int64_t groups, double eps) {
  Value* centred = lift.sub(x, group_mean(lift, x, groups));
  Value* variance = lift.add(group_mean(lift, lift.square(centred), groups), eps);
  return lift.mul(centred, lift.make("rsqrt", {variance}));
}

bool lift_node(ir::Node& node, ir::Rewriter& rewriter, PassContext& context) {
  const bool native = node.is("native_group_norm");
  const bool group = native || node.is("group_norm");
  const bool instance = node.is("instance_norm");
  if (!group && !instance) return false;
  if (delegated(node)) return false;
  const ops::Call call(node);
  Value* input = call.tensor("input");
  const ir::Type& type = input->type;
  if (type.rank() < 2) return false;
  if (instance && !call.flag("use_input_stats")) {
    context.declined(node, "it uses running statistics");
    return false;
  }
  const SymInt batch = type.sizes[0], channels = type.sizes[1];
  if (!channels.is_const()) return false;
  const int64_t groups = instance ? channels.value() : call.integer(native ? "group" : "num_groups");
  if (groups <= 0 || channels.value() % groups != 0) return false;
  Lift lift(rewriter, node);
  const SymInt width = product(std::span(type.sizes).subspan(1));
  Value* y = nullptr;
  if (width.is_const()) {
    Value* rows = lift.view(input, {batch, SymInt(groups), SymInt(width.value() / groups)});
    y = lift.view(lift.normalise_last(rows, call.number("eps")), type.sizes);
  } else {
    y = normalise_planes(lift, input, groups, call.number("eps"));
  }
  ir::Shape along(static_cast<size_t>(type.rank() - 1), SymInt(1));
  along[0] = channels;
  if (Value* weight = call.opt_tensor("weight")) y = lift.mul(y, lift.view(weight, along));
  if (Value* bias = call.opt_tensor("bias")) y = lift.add(y, lift.view(bias, along));
  return commit(lift, node, std::vector<Value*>{y}, context);
}

}  // namespace

Result<bool> lift_group_norm(ir::Program& program, PassContext& context) {
  return rewrite_nodes(program, context, lift_node);
}

}  // namespace edgelift::passes

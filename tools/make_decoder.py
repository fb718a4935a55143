"""Writes a synthetic Llama-style decoder as a .pt2 without torch: to time the lowering of large models.

Usage: make_decoder.py OUT.pt2 [--layers 18] [--hidden 2048] [--ffn 5632] [--heads 16] [--vocab 32000] [--sequence 16]
The defaults have 1.05e9 parameters (4.2 GB). The weights are pseudo-random and all different.
--nodes N writes a program of about N operators instead, of the shape --shape: to see that time grows linearly with them.
"""
import argparse
import array
import json
import random
import zipfile

FLOAT = 7  # the archive's number of float32; int64 is 5


class Program:
    LIST = "list of values: "

    def __init__(self):
        self.nodes, self.values, self.inputs, self.specs, self.weights = [], {}, [], [], {}
        self.count = 0

    def meta(self, sizes, dtype=FLOAT):
        strides, step = [], 1
        for size in reversed(sizes):
            strides.insert(0, {"as_int": step})
            step *= size
        return {"dtype": dtype, "sizes": [{"as_int": s} for s in sizes], "requires_grad": False, "device": {"type": "cpu", "index": None},
                "strides": strides, "storage_offset": {"as_int": 0}, "layout": 7}

    def weight(self, name, sizes):
        value = "p_" + name.replace(".", "_")
        self.values[value] = self.meta(sizes)
        self.inputs.append({"as_tensor": {"name": value}})
        self.specs.append({"parameter": {"arg": {"name": value}, "parameter_name": name}})
        self.weights[name] = sizes
        return value

    def input(self, name, sizes, dtype):
        self.values[name] = self.meta(sizes, dtype)
        self.inputs.append({"as_tensor": {"name": name}})
        self.specs.append({"user_input": {"arg": {"as_tensor": {"name": name}}}})
        return name

    def op(self, target, sizes, *args):
        self.count += 1
        name = f"v{self.count}"
        inputs = []
        for key, value in args:
            if isinstance(value, str) and value.startswith(self.LIST):
                arg = {"as_tensors": [{"name": name} for name in value[len(self.LIST):].split(",")]}
            elif isinstance(value, str):
                arg = {"as_tensor": {"name": value}}
            elif isinstance(value, bool):
                arg = {"as_bool": value}
            elif isinstance(value, int):
                arg = {"as_int": value}
            elif isinstance(value, float):
                arg = {"as_float": value}
            elif isinstance(value, list):
                arg = {"as_ints": value}
            else:
                arg = {"as_none": True}
            inputs.append({"name": key, "arg": arg, "kind": 1})
        self.nodes.append({"target": f"torch.ops.aten.{target}", "inputs": inputs, "outputs": [{"as_tensor": {"name": name}}], "metadata": {},
                           "is_hop_single_tensor_return": None, "name": name})
        self.values[name] = self.meta(sizes)
        return name

    def json(self, outputs):
        graph = {"inputs": self.inputs, "outputs": [{"as_tensor": {"name": output}} for output in outputs], "nodes": self.nodes, "tensor_values": self.values,
                 "sym_int_values": {}, "sym_bool_values": {}, "is_single_tensor_return": False, "custom_obj_values": {}, "sym_float_values": {}}
        signature = {"input_specs": self.specs, "output_specs": [{"user_output": {"arg": {"as_tensor": {"name": output}}}} for output in outputs]}
        return {"graph_module": {"graph": graph, "signature": signature, "module_call_graph": [], "metadata": {}, "treespec_namedtuple_fields": {}},
                "opset_version": {"aten": 10}, "range_constraints": {}, "schema_version": {"major": 8, "minor": 20}, "verifiers": ["TRAINING"],
                "torch_version": "2.13.0", "guards_code": []}


def norm(p, x, sizes, name):
    w = p.weight(name, [sizes[-1]])
    square = p.op("pow.Tensor_Scalar", sizes, ("self", x), ("exponent", 2))
    mean = p.op("mean.dim", sizes[:-1] + [1], ("self", square), ("dim", [-1]), ("keepdim", True))
    scale = p.op("rsqrt.default", sizes[:-1] + [1], ("self", p.op("add.Tensor", sizes[:-1] + [1], ("self", mean), ("other", 1e-5))))
    return p.op("mul.Tensor", sizes, ("self", p.op("mul.Tensor", sizes, ("self", x), ("other", scale))), ("other", w))


def linear(p, x, sizes, out, name):
    return p.op("linear.default", sizes[:-1] + [out], ("input", x), ("weight", p.weight(name, [out, sizes[-1]])))


def decoder(p, a):
    s, d = a.sequence, a.hidden
    sizes, heads = [1, s, d], [1, a.heads, s, d // a.heads]
    embedding = p.weight("embed.weight", [a.vocab, d])
    x = None
    for layer in range(a.layers):
        prefix = f"layers.{layer}."
        if x is None:
            x = p.op("embedding.default", sizes, ("weight", embedding), ("indices", "tokens"))
        h = norm(p, x, sizes, prefix + "norm1.weight")
        parts = []
        for part in "qkv":
            y = p.op("view.default", [1, s, a.heads, d // a.heads], ("self", linear(p, h, sizes, d, prefix + part + ".weight")), ("size", [1, s, a.heads, d // a.heads]))
            parts.append(p.op("transpose.int", heads, ("self", y), ("dim0", 1), ("dim1", 2)))
        y = p.op("scaled_dot_product_attention.default", heads, ("query", parts[0]), ("key", parts[1]), ("value", parts[2]), ("attn_mask", None), ("dropout_p", 0.0), ("is_causal", True))
        y = p.op("transpose.int", [1, s, a.heads, d // a.heads], ("self", y), ("dim0", 1), ("dim1", 2))
        y = p.op("reshape.default", sizes, ("self", y), ("shape", sizes))
        x = p.op("add.Tensor", sizes, ("self", x), ("other", linear(p, y, sizes, d, prefix + "o.weight")))
        h = norm(p, x, sizes, prefix + "norm2.weight")
        wide = [1, s, a.ffn]
        gate = p.op("silu.default", wide, ("self", linear(p, h, sizes, a.ffn, prefix + "gate.weight")))
        y = p.op("mul.Tensor", wide, ("self", gate), ("other", linear(p, h, sizes, a.ffn, prefix + "up.weight")))
        x = p.op("add.Tensor", sizes, ("self", x), ("other", linear(p, y, wide, d, prefix + "down.weight")))
    return [linear(p, norm(p, x, sizes, "norm.weight"), sizes, a.vocab, "head.weight")]


# Shapes of programs of n operators, to see that time grows linearly with n. Each takes the program and n, and returns the outputs.
X = [4, 8]


def binary(p, kind, a, b, sizes=None):
    return p.op(f"{kind}.Tensor", sizes or X, ("self", a), ("other", b))


def dense(p, x, i, act=None):
    y = p.op("linear.default", X, ("input", x), ("weight", p.weight(f"w{i}", [8, 8])), ("bias", p.weight(f"b{i}", [8])))
    return p.op(f"{act}.default", X, ("self", y)) if act else y


def shape_chain(p, n):
    x = before = "x"
    for i in range(n):
        x, before = (binary(p, ("add", "mul")[i % 2], x, before) if i % 3 else p.op("tanh.default", X, ("self", x))), x
    return [x]


def shape_hub(p, n):  # one value and one number that every operator reads
    x = hub = p.op("tanh.default", X, ("self", "x"))
    for i in range(n):
        x = binary(p, "add", x, hub) if i % 2 else p.op("mul.Tensor", X, ("self", x), ("other", 0.3))
    return [x]


def shape_weights(p, n):
    x = "x"
    for i in range(n // 2):
        x = dense(p, x, i, "relu")
    return [x]


def shape_residual(p, n):  # blocks of norm, linear, gelu, linear, add
    x = "x"
    for i in range(n // 5):
        h = p.op("layer_norm.default", X, ("input", x), ("normalized_shape", [8]), ("weight", p.weight(f"g{i}", [8])), ("bias", p.weight(f"s{i}", [8])))
        x = binary(p, "add", x, dense(p, dense(p, h, f"{i}a", "gelu"), f"{i}b"))
    return [x]


def shape_branches(p, n):
    x = p.op("tanh.default", X, ("self", "x"))
    parts = [dense(p, x, i, "relu") for i in range(n // 3)]
    total = parts[0]
    for part in parts[1:]:
        total = binary(p, "add", total, part)
    return [total]


def shape_concat(p, n):  # one operator with n operands, which the delegate takes five at a time
    parts = [p.op("mul.Tensor", X, ("self", "x"), ("other", float(i))) for i in range(n)]
    y = Program.LIST + ",".join(parts)
    return [p.op("cat.default", [4 * n, 8], ("tensors", y), ("dim", 0))]


def shape_islands(p, n):  # operators of the delegate and of the runtime in turn: n/2 delegates
    x = "x"
    for i in range(n // 2):
        x = p.op("cumsum.default", X, ("self", p.op("tanh.default", X, ("self", x))), ("dim", 1))
    return [x]


def shape_views(p, n):  # views and permutations that cancel, with work between now and then
    x = "x"
    for i in range(n // 4):
        x = p.op("view.default", [2, 2, 8], ("self", x), ("size", [2, 2, 8]))
        x = p.op("permute.default", [2, 2, 8], ("self", x), ("dims", [1, 0, 2]))
        if i % 2:
            x = p.op("tanh.default", [2, 2, 8], ("self", x))
        else:
            x = p.op("permute.default", [2, 2, 8], ("self", x), ("dims", [1, 0, 2]))
        x = p.op("reshape.default", X, ("self", x), ("shape", X))
    return [x]


def shape_convs(p, n):  # convolutions, activations and softmax over channels: two layouts
    sizes = [1, 8, 4, 4]
    x = p.op("reshape.default", [1, 8, 2, 2], ("self", "x"), ("shape", [1, 8, 2, 2]))
    x = p.op("constant_pad_nd.default", sizes, ("self", x), ("pad", [1, 1, 1, 1]), ("value", 0.0))
    for i in range(n // 4):
        y = p.op("conv2d.default", sizes, ("input", x), ("weight", p.weight(f"w{i}", [8, 8, 3, 3])), ("bias", p.weight(f"b{i}", [8])), ("stride", [1, 1]), ("padding", [1, 1]))
        y = binary(p, "add", p.op("relu.default", sizes, ("self", y)), x, sizes)
        x = p.op("softmax.int", sizes, ("self", y), ("dim", 1)) if i % 7 == 0 else p.op("tanh.default", sizes, ("self", y))
    return [x]


def shape_outputs(p, n):
    x, outputs = "x", []
    for i in range(n // 2):
        x = p.op("tanh.default", X, ("self", x))
        outputs.append(binary(p, "add", x, "x"))
    return outputs


def shape_constants(p, n):  # a chain that depends on a weight alone: computed while compiling
    x = p.weight("w", X)
    for i in range(n):
        x = p.op("tanh.default", X, ("self", x)) if i % 2 else binary(p, "add", x, "p_w")
    return [binary(p, "add", "x", x)]


def shape_scalars(p, n):  # a different number in each operator
    x = "x"
    for i in range(n):
        x = p.op("mul.Tensor", X, ("self", x), ("other", 1.0 + (i + 1) / 2**20)) if i % 2 else p.op("add.Tensor", X, ("self", x), ("other", 1.0 + (i + 1) / 2**21))
    return [x]


def shape_dead(p, n):  # operators that nothing uses
    x = "x"
    for i in range(n // 2):
        x = p.op("tanh.default", X, ("self", x))
        binary(p, "mul", x, "x")
    return [x]


def shape_equal(p, n):  # the same operators over and over
    x = "x"
    for i in range(n // 3):
        x = binary(p, "add", p.op("tanh.default", X, ("self", x)), p.op("tanh.default", X, ("self", x)))
    return [x]


SHAPES = {name[6:]: function for name, function in globals().items() if name.startswith("shape_")}


def write(path, program, outputs, weights):
    block = array.array("f")
    generator = random.Random(1)
    block.extend(generator.uniform(-0.02, 0.02) for _ in range(1 << 18))
    root = path.rsplit("/", 1)[-1].rsplit(".", 1)[0]
    config = {}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED, allowZip64=True) as archive:
        def entry(name, size):
            info = zipfile.ZipInfo(f"{root}/{name}")
            info.file_size = size
            start = archive.start_dir + 30 + len(info.filename) + (20 if size >= (1 << 31) - 1 else 0)
            pad = -(start + 4) % 64
            info.extra = b"FB" + pad.to_bytes(2, "little") + b"Z" * pad
            return info

        for i, (name, sizes) in enumerate(weights.items()):
            count = 1
            for size in sizes:
                count *= size
            with archive.open(entry(f"data/weights/weight_{i}", count * 4), "w") as out:
                block[0] = i + 1.0
                left = count
                while left > 0:
                    part = block if left >= len(block) else block[:left]
                    out.write(memoryview(part).cast("B"))
                    left -= len(part)
            config[name] = {"path_name": f"weight_{i}", "is_param": True, "use_pickle": False, "tensor_meta": Program().meta(sizes)}
        for name, text in (("data/weights/model_weights_config.json", json.dumps({"config": config})), ("data/constants/model_constants_config.json", '{"config": {}}'),
                           ("models/model.json", json.dumps(program.json(outputs))), ("archive_format", "pt2"), ("archive_version", "0"), ("byteorder", "little")):
            archive.writestr(entry(name, len(text)), text)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", nargs="?")
    parser.add_argument("--list", action="store_true", help="print the shapes")
    for name, value in (("layers", 18), ("hidden", 2048), ("ffn", 5632), ("heads", 16), ("vocab", 32000), ("sequence", 16), ("nodes", 0)):
        parser.add_argument(f"--{name}", type=int, default=value)
    parser.add_argument("--shape", choices=sorted(SHAPES), default="chain")
    a = parser.parse_args()
    if a.list:
        print("\n".join(SHAPES))
        return
    if a.out is None:
        parser.error("the name of the output file is missing")
    p = Program()
    if a.nodes:
        outputs = SHAPES[a.shape](p, a.nodes)
        p.input("x", X, FLOAT)
    else:
        outputs = decoder(p, a)
        p.input("tokens", [1, a.sequence], 5)
    write(a.out, p, outputs, p.weights)


if __name__ == "__main__":
    main()

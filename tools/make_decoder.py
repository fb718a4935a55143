"""Writes a synthetic Llama-style decoder as a .pt2 without torch: to time the lowering of large models.

Usage: make_decoder.py OUT.pt2 [--layers 18] [--hidden 2048] [--ffn 5632] [--heads 16] [--vocab 32000] [--sequence 16]
The defaults have 1.05e9 parameters (4.2 GB). The weights are pseudo-random and all different.
--chain N writes N element-wise nodes instead: to see that time grows linearly with nodes.
"""
import argparse
import array
import json
import random
import zipfile

FLOAT = 7  # the archive's number of float32; int64 is 5


class Program:
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
            if isinstance(value, str) and value.startswith("="):
                arg = {"as_string": value[1:]}
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

    def json(self, output):
        graph = {"inputs": self.inputs, "outputs": [{"as_tensor": {"name": output}}], "nodes": self.nodes, "tensor_values": self.values,
                 "sym_int_values": {}, "sym_bool_values": {}, "is_single_tensor_return": False, "custom_obj_values": {}, "sym_float_values": {}}
        signature = {"input_specs": self.specs, "output_specs": [{"user_output": {"arg": {"as_tensor": {"name": output}}}}]}
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
    return linear(p, norm(p, x, sizes, "norm.weight"), sizes, a.vocab, "head.weight")


def chain(p, n):
    x, before = "x", "x"
    for i in range(n):
        if i % 3:
            x, before = p.op(("add.Tensor", "mul.Tensor")[i % 2], [4, 8], ("self", x), ("other", before)), x
        else:
            x, before = p.op("tanh.default", [4, 8], ("self", x)), x
    return x


def write(path, program, output, weights):
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
                           ("models/model.json", json.dumps(program.json(output))), ("archive_format", "pt2"), ("archive_version", "0"), ("byteorder", "little")):
            archive.writestr(entry(name, len(text)), text)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out")
    for name, value in (("layers", 18), ("hidden", 2048), ("ffn", 5632), ("heads", 16), ("vocab", 32000), ("sequence", 16), ("chain", 0)):
        parser.add_argument(f"--{name}", type=int, default=value)
    a = parser.parse_args()
    p = Program()
    if a.chain:
        output = chain(p, a.chain)
        p.input("x", [4, 8], FLOAT)
    else:
        output = decoder(p, a)
        p.input("tokens", [1, a.sequence], 5)
    write(a.out, p, output, p.weights)


if __name__ == "__main__":
    main()

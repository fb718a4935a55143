"""How much arithmetic a model is: the multiply-adds of its matrix products and convolutions as exported, whatever an engine
makes of them. With them bench/run states what share of the machine's peak an engine reaches; a form that needs fewer
multiplications than the model as written can so reach a higher share.
"""
import json
import math
import zipfile


def multiply_adds(pt2):
    """Of one run, for programs of static sizes; None where a size is symbolic or an operator's work is not known."""
    with zipfile.ZipFile(pt2) as archive:
        name = next(n for n in archive.namelist() if "/models/" in n and n.endswith(".json"))
        graph = json.loads(archive.read(name))["graph_module"]["graph"]
    sizes = {n: [d.get("as_int") for d in t["sizes"]] for n, t in graph["tensor_values"].items()}

    def tensor(argument):
        return sizes[argument["as_tensor"]["name"]] if "as_tensor" in argument else None

    total = 0
    for node in graph["nodes"]:
        parts = node["target"].split(".")
        operator = parts[-2] if len(parts) > 1 else node["target"]
        ins = [tensor(i["arg"]) for i in node["inputs"]]
        if operator not in WORK:
            continue
        out = tensor(node["outputs"][0])
        used = [s for s in [out, *ins] if s is not None]
        if any(d is None for s in used for d in s):
            return None
        total += WORK[operator](ins, out)
    return total


def _product(sizes):
    return math.prod(sizes)


def _attention(ins, out):
    query, key, value = ins[:3]
    return _product(query[:-1]) * key[-2] * (query[-1] + value[-1])


def _convolution(ins, out):
    return _product(out) * _product(ins[1][1:])


WORK = {
    "linear": lambda ins, out: _product(out) * ins[1][-1],
    "matmul": lambda ins, out: _product(out) * ins[0][-1],
    "mm": lambda ins, out: _product(out) * ins[0][-1],
    "bmm": lambda ins, out: _product(out) * ins[0][-1],
    "addmm": lambda ins, out: _product(out) * ins[1][-1],
    "baddbmm": lambda ins, out: _product(out) * ins[1][-1],
    "conv1d": _convolution,
    "conv2d": _convolution,
    "conv3d": _convolution,
    "scaled_dot_product_attention": _attention,
}

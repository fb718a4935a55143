"""What tools/record_ops.py and tools/record_models.py share: export a module, run it eagerly, write one case folder.

A case folder holds
    model.pt2    the exported program, as torch.export.save writes it
    in*.npy      the inputs in flattening order (args, then kwargs), logical dimension order
    out*.npy     eager outputs in flattening order
    sN_in*.npy, sN_out*.npy   further calls on the same loaded program (state is kept, sizes may differ)
    case.json    name, in, out, kind, ops, optional rtol/atol, dynamic, steps

bfloat16 is stored as uint16 bits. A Python number, None or string among the inputs or outputs has an entry
{"scalar": "int", "value": 3} without a file.

Stack traces keep the file, line and source text of the model's own code, with paths relative to the package; the frames
of torch.nn containers are dropped. Nothing of the machine that recorded the case remains in the file.
"""
import copy
import json
import os
import re
import shutil

import numpy as np
import torch
import torch.utils._pytree as pytree

FRAME = re.compile(r'  ?File "([^"]*)", line (\d+), in (\S+)\n((?:    .*\n?)*)')
LEAKS = (b"/tmp/", b"/root", b"/work/", b"/home/", b"site-packages")


def neutral_path(path):
    """The path as a reader elsewhere can understand it: from the package's folder, or from tools/."""
    for mark in ("site-packages/", "dist-packages/"):
        if mark in path:
            return path.split(mark, 1)[1]
    if "/tools/" in path:
        return "tools/" + path.rsplit("/tools/", 1)[1]
    return os.path.basename(path)


def neutral_trace(trace, keep=3):
    frames = []
    for path, line, func, code in FRAME.findall(trace + "\n"):
        frames.append((neutral_path(path), line, func, code.rstrip("\n")))
    own = [f for f in frames if not f[0].startswith("torch/")] or frames
    text = []
    for path, line, func, code in own[-keep:]:
        text.append(f'  File "{path}", line {line}, in {func}\n{code}')
    return "\n".join(text).strip()


def clean_metadata(program, keep=True):
    """Rewrites every node's stack trace and keeps only the innermost entry of the module stack; drops all but the names of
    the nodes where the record is not to `keep` where they came from."""
    for module in program.graph_module.modules():
        if not isinstance(module, torch.fx.GraphModule):
            continue
        for node in module.graph.nodes:
            if not keep:
                for key in ("stack_trace", "nn_module_stack", "torch_fn", "from_node", "custom", "source_fn_stack"):
                    node.meta.pop(key, None)
                continue
            if node.meta.get("stack_trace"):
                node.meta["stack_trace"] = neutral_trace(node.meta["stack_trace"])
            stack = node.meta.get("nn_module_stack")
            if stack:
                last = list(stack.items())[-1:]
                node.meta["nn_module_stack"] = dict(last)


def program_ops(program):
    """Names of the operator overloads in the program, submodules included."""
    names = set()
    for module in program.graph_module.modules():
        if not isinstance(module, torch.fx.GraphModule):
            continue
        for node in module.graph.nodes:
            if node.op != "call_function":
                continue
            target = node.target
            if isinstance(target, torch._ops.OpOverload):
                names.add(str(target))
            elif isinstance(target, torch._ops.HigherOrderOperator):
                names.add("higher_order." + target.name())
            elif target.__name__ != "getitem":
                names.add("sym." + target.__name__)
    return sorted(names)


def to_numpy(tensor):
    tensor = tensor.detach().contiguous()
    if tensor.dtype == torch.bfloat16:
        return tensor.view(torch.int16).numpy().view(np.uint16)
    return tensor.numpy()


def entry(folder, stem, leaf):
    if isinstance(leaf, torch.Tensor):
        np.save(os.path.join(folder, stem + ".npy"), to_numpy(leaf))
        info = {
            "file": stem + ".npy",
            "dtype": str(leaf.dtype).replace("torch.", ""),
            "shape": list(leaf.shape),
        }
        try:
            info["dim_order"] = list(leaf.dim_order())
        except Exception:
            pass
        return info
    if leaf is None:
        return {"scalar": "none"}
    return {"scalar": type(leaf).__name__, "value": leaf}


def leaves(value):
    return pytree.tree_leaves(value, is_leaf=lambda x: x is None)


def close(a, b, rtol, atol):
    if not isinstance(a, torch.Tensor):
        return a == b or (a != a and b != b)
    if a.shape != b.shape or a.dtype != b.dtype:
        return False
    if a.is_floating_point() or a.is_complex():
        return torch.allclose(a, b, rtol=rtol, atol=atol, equal_nan=True)
    return torch.equal(a, b)


def record(
    folder,
    name,
    model,
    args,
    kwargs=None,
    *,
    kind,
    form="train",
    example=None,
    dynamic_shapes=None,
    dynamic=None,
    steps=(),
    rtol=None,
    atol=None,
    strict=False,
    extra=None,
    recheck=True,
    slim=False,
):
    """Writes one case. `example` are the arguments of the export when they differ from the recorded ones; `steps` are the
    argument tuples of further calls; `form` is train, functional (run_decompositions({})) or core (run_decompositions());
    `slim` leaves out what no reader needs: the pickle of example inputs and where the nodes came from."""
    kwargs = kwargs or {}
    model.eval()
    with torch.no_grad():
        source = copy.deepcopy(model)
        program = torch.export.export(
            source,
            tuple(example if example is not None else copy.deepcopy(args)),
            copy.deepcopy(kwargs),
            dynamic_shapes=dynamic_shapes,
            strict=strict,
        )
        if form == "functional":
            program = program.run_decompositions({})
        elif form == "core":
            program = program.run_decompositions()
        calls = [tuple(args), *[tuple(s) for s in steps]]
        eager = copy.deepcopy(model)
        results = []
        for call in calls:
            results.append(copy.deepcopy(eager(*copy.deepcopy(call), **copy.deepcopy(kwargs))))
    clean_metadata(program, keep=not slim)
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    path = os.path.join(folder, "model.pt2")
    if slim:
        program._example_inputs = None
    torch.export.save(program, path)
    with open(path, "rb") as f:
        data = f.read()
    for leak in LEAKS:
        if leak in data:
            at = data.index(leak)
            raise RuntimeError(f"{name}: machine path in the file: {data[max(0, at - 60):at + 80]!r}")

    case = {"name": name, "exported_with": "torch " + torch.__version__.split("+")[0], "kind": kind}
    if form != "train":
        case["form"] = form
    for number, (call, result) in enumerate(zip(calls, results)):
        prefix = f"s{number}_" if number else ""
        ins = [entry(folder, f"{prefix}in{i}", x) for i, x in enumerate(leaves((call, kwargs)))]
        outs = [entry(folder, f"{prefix}out{i}", x) for i, x in enumerate(leaves(result))]
        if number == 0:
            case["in"], case["out"] = ins, outs
        else:
            case.setdefault("steps", []).append({"in": ins, "out": outs})
    if dynamic:
        case["dynamic"] = dynamic
    case["ops"] = program_ops(program)
    if rtol is not None:
        case["rtol"] = rtol
    if atol is not None:
        case["atol"] = atol
    case.update(extra or {})
    with open(os.path.join(folder, "case.json"), "w") as f:
        text = json.dumps(case, indent=1)
        f.write(re.sub(r"\[[\s\d,.]*\]", lambda m: re.sub(r"\s+", " ", m[0]).replace("[ ", "[").replace(" ]", "]"), text) + "\n")

    if recheck:
        module = torch.export.load(path).module()
        with torch.no_grad():
            for call, result in zip(calls, results):
                got = module(*copy.deepcopy(call), **copy.deepcopy(kwargs))
                for a, b in zip(leaves(got), leaves(result), strict=True):
                    if not close(a, b, rtol or 1e-4, atol or 1e-5):
                        raise RuntimeError(f"{name}: the exported program disagrees with eager")
    return case, results


def randomise(module, seed=0):
    """Gives every constant-valued parameter and every running statistic values that show when they are dropped."""
    generator = torch.Generator().manual_seed(seed)

    def uniform(shape, low, high):
        return torch.rand(shape, generator=generator) * (high - low) + low

    with torch.no_grad():
        for name, p in module.named_parameters():
            if type(p.data) is torch.Tensor and p.numel() > 1 and (p == p.flatten()[0]).all():
                if p.flatten()[0] == 0:
                    p.copy_(uniform(p.shape, -0.2, 0.2))
                else:
                    p.copy_(uniform(p.shape, 0.5, 1.5))
        for name, b in module.named_buffers():
            if name.endswith("running_mean"):
                b.copy_(uniform(b.shape, -0.3, 0.3))
            elif name.endswith("running_var"):
                b.copy_(uniform(b.shape, 0.5, 1.5))
    return module

"""Writes docs/models.md: delegates, portable operators, error and lowering time of models, ours against ExecuTorch's flow.

Usage: models_table.py EDGELIFT OUT.md DIR...   each DIR holds a folder a model with model.pt2, case.json, in*.npy, out*.npy.
ExecuTorch's figures are those of its Python flow (version 1.5.1, torch 2.13.0), measured once and listed below; where a
model has none, edgelift's recipe `upstream`, which reproduces that flow operator for operator, stands in and is marked.
"""
import json
import pathlib
import subprocess
import sys

# model: delegates, portable operators, lowering seconds.
EXECUTORCH = {
    "deit_tiny": (62, 207, 39), "mobilenet_v3_small": (1, 18, 22), "resnet10_narrow": (1, 0, 9), "mobilebert_2": (6, 57, 17),
    "llama_tiny": (19, 111, 19), "mobilenet_v2_full": (1, 0, 21), "mobilenet_v3_large": (1, 16, 26), "resnet18": (1, 0, 12),
    "efficientnet_b0": (1, 0, 84), "squeezenet1_1": (1, 0, 35), "shufflenet_v2_x1_0": (15, 14, 116), "densenet121": (5, 4, 116),
    "convnext_tiny": (25, 24, 65), "swin_t": (87, 439, 81), "regnet_y_400mf": (1, 0, 81), "whisper_tiny_enc": (17, 59, 21),
    "bert_tiny": (10, 50, 14),
}


def run(command):
    done = subprocess.run(command, capture_output=True, text=True)
    return json.loads(done.stdout) if done.stdout.startswith("{") else {"error": done.stderr.strip()}


def row(edgelift, folder):
    model = str(folder / "model.pt2")
    lowered = {}
    for recipe in ("upstream", "xnnpack"):
        best = None
        for _ in range(3):
            pathlib.Path("/tmp/models_table.pte").unlink(missing_ok=True)
            j = run([edgelift, "lower", model, "-o", "/tmp/models_table.pte", "--recipe", recipe, "--json"])
            if "error" in j:
                return None, j["error"]
            if best is None or j["seconds"]["total"] < best["seconds"]["total"]:
                best = j
        lowered[recipe] = best
    meta = json.loads((folder / "case.json").read_text())
    command = [edgelift, "check", model, "--json"]
    for entry in meta["in"]:
        if "file" in entry:
            command += ["-i", str(folder / entry["file"])]
    for entry in meta["out"]:
        if "file" in entry:
            command += ["--expect", str(folder / entry["file"])]
    checked = run(command)
    errors = [c["relative"] for c in checked.get("comparisons", []) if "recorded" in c["what"]]
    ours, upstream = lowered["xnnpack"], lowered["upstream"]
    name = folder.name
    key = {"mobilebert": "mobilebert_2", "mobilenet_v2": "mobilenet_v2_full"}.get(name, name) if "tests" not in folder.parts else None
    reference = EXECUTORCH.get(key)
    portable = lambda j: sum(j["portable"].values())
    if reference:
        theirs = f"{reference[0]} / {reference[1]}"
        seconds = f"{reference[2]}"
    else:
        theirs = f"{upstream['delegates']} / {portable(upstream)} ¹"
        seconds = ""
    limit = reference or (upstream["delegates"], portable(upstream))
    more = ours["delegates"] > limit[0] or portable(ours) > limit[1]
    return f"| {name} | {theirs} | {ours['delegates']} / {portable(ours)} | {max(errors, default=0):.1e} | {seconds} | {ours['seconds']['total'] * 1e3:.0f} |", more


def main():
    edgelift, out = sys.argv[1], pathlib.Path(sys.argv[2])
    lines = [
        "# Models",
        "",
        "Delegates / portable operators, the largest error against PyTorch's recorded output relative to its range, and the time of",
        "lowering to a written file, the least of three (release build). Written by `tools/models_table.py`.",
        "",
        "¹ by edgelift's recipe `upstream`, which gives ExecuTorch's own counts on every model where both were measured.",
    ]
    bad = 0
    for directory in sys.argv[3:]:
        path = pathlib.Path(directory).resolve()
        title = "Narrow models of tests/models"
        if "tests" not in path.parts:
            title = "Further full-size models" if "## Full-size models" in lines else "Full-size models"
        lines += ["", f"## {title}", "", "| model | ExecuTorch | edgelift | max error | ExecuTorch s | edgelift ms |", "| --- | --- | --- | --- | --- | --- |"]
        for folder in sorted(p.parent for p in path.glob("*/model.pt2")):
            text, more = row(edgelift, folder)
            if text is None:
                print(f"{folder.name}: {more}", file=sys.stderr)
                bad += 1
                continue
            if more:
                print(f"{folder.name}: more delegates or portable operators than ExecuTorch: {text}", file=sys.stderr)
                bad += 1
            lines.append(text)
    out.write_text("\n".join(lines) + "\n")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())

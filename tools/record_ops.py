#!/usr/bin/env python3
"""Records small programs, one operator or two each, with PyTorch's own outputs, into tests/ops/FAMILY/NAME.

    python tools/record_ops.py [--out tests/ops] [--only REGEX] [--list] [--missing] [--prune] [--wide]

Needs torch 2.13.0 (quantised cases also torchao and executorch, for the quantiser). Never part of CI: the recorded
folders are in the repository. The form of a folder is described in record_common.py, the cases in record_ops_*.py. A case
that cannot be exported is named on standard output and in the last line, and the exit code is 1.

--only takes a regular expression on FAMILY/NAME; --missing records only the folders that do not exist yet.
A case of several forms gives one folder each: NAME (training), NAME_functional (run_decompositions({})), NAME_core
(run_decompositions()); a form with the same operators as an earlier one of the case is left out. --prune removes folders
that no case describes.
"""
import argparse
import collections
import importlib
import json
import os
import pathlib
import re
import shutil
import sys
import warnings

import torch

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import record_common as rc  # noqa: E402
import record_ops_table as table  # noqa: E402
from record_ops_wide import is_wide  # noqa: E402

for _module in sorted(pathlib.Path(__file__).parent.glob("record_ops_*.py")):
    if _module.stem not in ("record_ops_table", "record_ops_wide"):
        importlib.import_module(_module.stem)


def folders(case):
    for letter in case.forms:
        form = table.FORMS[letter]
        suffix = "" if letter == case.forms[0] and letter == "t" else "_" + form
        yield form, case.name + suffix


def record_one(case, form, name, out):
    """Builds the case anew (its seed makes the numbers the same in every form) and writes its folder."""
    module = rc.randomise(case.module())
    args, kwargs = table.build(case.args), table.build(case.kwargs)
    example = table.build(case.example) if case.example is not None else None
    steps = [table.build(s) for s in case.steps]
    options = dict(case.options)
    if case.dynamic:
        options["dynamic_shapes"], options["dynamic"] = case.dynamic
    kind = case.family + (": " + case.note if case.note else "")
    folder = os.path.join(out, case.family, name)
    record = rc.record(folder, name, module, args, kwargs, kind=kind, form=form, slim=True, example=example, steps=steps, **options)
    size = sum(os.path.getsize(os.path.join(folder, f)) for f in os.listdir(folder))
    return record[0], size


def summary(out):
    """Counts what is on disk, whoever recorded it."""
    ops, total, size, by_family = set(), 0, 0, collections.Counter()
    for path in sorted(pathlib.Path(out).glob("*/*/case.json")):
        ops.update(json.loads(path.read_text())["ops"])
        size += sum(f.stat().st_size for f in path.parent.iterdir())
        total += 1
        by_family[path.parent.parent.name] += 1
    print(", ".join(f"{k} {v}" for k, v in by_family.items()))
    aten = sum(o.split(".")[0] not in ("sym", "higher_order") for o in ops)
    print(f"{total} cases, {aten} operator overloads, {len(ops) - aten} others, {size / 1e6:.2f} MB")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    root = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    parser.add_argument("--out", default=os.path.join(root, "tests", "ops"))
    parser.add_argument("--only", default="", help="regular expression on FAMILY/NAME")
    parser.add_argument("--missing", action="store_true", help="leave existing folders alone")
    parser.add_argument("--wide", action="store_true", help="also the cases of record_ops_wide.py, which are not in the repository")
    parser.add_argument("--prune", action="store_true", help="after a full run, remove folders without a case")
    parser.add_argument("--list", action="store_true")
    options = parser.parse_args()
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    failed, seen, wanted = [], {}, set()
    for case in table.CASES.values():
        for form, name in folders(case):
            full = f"{case.family}/{name}"
            if not re.search(options.only, full) or (is_wide(case.family, case.name, name) and not options.wide):
                continue
            if options.list:
                print(full)
                continue
            wanted.add(full)
            if options.missing and os.path.exists(os.path.join(options.out, full, "case.json")):
                continue
            try:
                recorded, size = record_one(case, form, name, options.out)
                key = (case.family, case.name, tuple(recorded["ops"]))
                if seen.setdefault(key, full) != full:
                    shutil.rmtree(os.path.join(options.out, full))
                    print(f"{full}: the operators of {seen[key]}", flush=True)
                    continue
                print(f"{full}: {size} bytes, {' '.join(recorded['ops'])}", flush=True)
            except Exception as error:  # a case that does not export is named, here and in the end
                failed.append(full)
                shutil.rmtree(os.path.join(options.out, full), ignore_errors=True)
                print(f"{full}: SKIPPED {type(error).__name__}: {str(error)[:300]}", flush=True)
    if options.prune and not options.only and not options.list:
        for path in sorted(pathlib.Path(options.out).glob("*/*/")):
            if f"{path.parent.name}/{path.name}" not in wanted:
                shutil.rmtree(path)
    if not options.list:
        summary(options.out)
    if failed:
        sys.exit("skipped: " + ", ".join(failed))


if __name__ == "__main__":
    main()

"""Asks that the work of a lowering grows linearly with the operators of the program, for every shape of tools/make_decoder.py.

Usage: linear.py EDGELIFT MAKE_DECODER [SHAPE…]
Work is counted in instructions, by valgrind, so that neither the machine nor its load matters. Between two sizes it grows by
a n + b n^2 at most; three sizes, each twice the one before, tell b from the rest: with b = 0 the second step is twice the first.
"""
import concurrent.futures
import os
import re
import subprocess
import sys
import tempfile

# Beyond where the memory plan leaves off comparing every pair of blocks, and below where a delegate's operands are too many
# for one: at such steps the work jumps once, which a ratio of differences takes for growth.
SIZES = (800, 1600, 3200)
# Hash tables and sorting cost a little more than linear; a loop over all nodes for each node, of three instructions, costs more.
MOST = 2.2


def instructions(edgelift, model, out):
    run = subprocess.run(["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", edgelift, "lower", model, "-o", out, "--quiet"],
                         capture_output=True, text=True)
    found = re.search(r"Collected : (\d+)", run.stderr)
    if run.returncode != 0 or found is None:
        raise RuntimeError(f"{model}: valgrind or edgelift failed:\n{run.stderr[-2000:]}")
    return int(found.group(1))


def main():
    edgelift, generator = sys.argv[1:3]
    shapes = sys.argv[3:] or subprocess.run([sys.executable, generator, "--list"], check=True, capture_output=True, text=True).stdout.split()
    with tempfile.TemporaryDirectory() as folder:
        def count(shape, n):
            model = os.path.join(folder, f"{shape}_{n}.pt2")
            subprocess.run([sys.executable, generator, model, "--shape", shape, "--nodes", str(n)], check=True)
            return instructions(edgelift, model, os.path.join(folder, f"{shape}_{n}.pte"))

        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            counts = {shape: [pool.submit(count, shape, n) for n in SIZES] for shape in shapes}
            failed = False
            for shape, jobs in counts.items():
                a, b, c = (job.result() for job in jobs)
                ratio = (c - b) / (b - a)
                bad = ratio > MOST
                failed = failed or bad
                print(f"{shape:10} {(c - b) / (SIZES[2] - SIZES[1]) / 1e3:8.1f} thousand instructions an operator, ratio {ratio:.2f}{'  NOT LINEAR' if bad else ''}", flush=True)
    return failed


if __name__ == "__main__":
    sys.exit(main())

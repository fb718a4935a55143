"""clang-tidy over src/, a file only if it, a header it includes, the checks or the tool changed since it last passed.

What a file depends on is what the compiler recorded when it was built (ninja -t deps), so the build must be up to date.
Prints what clang-tidy finds and what it says of its own troubles; exits 1 if there is either.
"""
import argparse
import concurrent.futures
import hashlib
import json
import os
import pathlib
import re
import subprocess
import sys
import threading

ROOT = pathlib.Path(__file__).resolve().parent.parent
# How many states of a function the analyser looks at, a tenth of what it does by itself: nearly all of its time goes
# into a few functions with many branches. Once over the whole tree without a limit it found nothing more.
ANALYZER = ["-Xclang", "-analyzer-config", "-Xclang", "max-nodes=20000"]
# Always there: it counts what the checks were not asked for.
NOISE = re.compile(r"^\d+ warnings?( and \d+ errors?)? generated\.$|^\d+ errors? generated\.$|^Error while processing ")


def dependencies(build: pathlib.Path) -> dict[str, list[str]]:
    """Object file -> the files it was made of."""
    listing = subprocess.run(["ninja", "-C", build, "-t", "deps"], capture_output=True, text=True, check=True).stdout
    out: dict[str, list[str]] = {}
    files: list[str] = []
    for line in listing.splitlines():
        if line.startswith("    "):
            files.append(str(build / line.strip()))
        elif line and not line.startswith("ninja:"):
            files = out.setdefault(line.split(": #deps")[0], [])
            if "(STALE)" in line or "(VALID)" not in line:
                out.pop(line.split(": #deps")[0])
    return out


class Keys:
    """Content hashes, each file read once."""

    def __init__(self, tool: str) -> None:
        self.known: dict[str, bytes] = {}
        version = subprocess.run([tool, "--version"], capture_output=True, check=True).stdout
        self.common = version + (ROOT / ".clang-tidy").read_bytes() + pathlib.Path(__file__).read_bytes()

    def content(self, path: str) -> bytes:
        if path not in self.known:
            self.known[path] = hashlib.sha256(pathlib.Path(path).read_bytes()).digest()
        return self.known[path]

    def key(self, command: str, files: list[str]) -> str:
        total = hashlib.sha256(self.common)
        total.update(command.replace(str(ROOT), "").encode())
        for path in sorted(files):
            total.update(path.replace(str(ROOT), "").encode() + b"\0" + self.content(path))
        return total.hexdigest()


def config_trouble(tool: str) -> str:
    """What is wrong with .clang-tidy. The tool ends with 0 all the same, and passes over checks that it does not have."""
    wanted = re.findall(r"^\s+([a-z][\w.*-]+),?$", (ROOT / ".clang-tidy").read_text(), re.M)
    listed = subprocess.run([tool, "--list-checks", "src/base/file.cc", "--"], cwd=ROOT, capture_output=True, text=True)
    if listed.returncode != 0 or listed.stderr.strip():
        return listed.stderr
    enabled = {line.strip() for line in listed.stdout.splitlines()}
    unknown = [w for w in wanted if not any(re.fullmatch(w.replace(".", r"\.").replace("*", ".*"), e) for e in enabled)]
    return f"{tool} has no check {', '.join(unknown)}" if unknown else ""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build")
    parser.add_argument("--passed", type=pathlib.Path, default=ROOT / ".deps" / "tidy-passed", help="keys of files that passed")
    parser.add_argument("--tool", default="clang-tidy")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    args = parser.parse_args()
    build = args.build.resolve()

    if trouble := config_trouble(args.tool):
        print(f"tidy: {trouble}")
        return 1
    passed = set(args.passed.read_text().split()) if args.passed.is_file() else set()
    keys = Keys(args.tool)
    built = dependencies(build)
    todo: list[tuple[str, str]] = []
    still: set[str] = set()
    total = 0
    for entry in json.loads((build / "compile_commands.json").read_text()):
        path = pathlib.Path(entry["directory"], entry["file"])
        if not path.is_relative_to(ROOT / "src"):
            continue
        total += 1
        files = built.get(os.path.relpath(entry["output"], build))
        if files is None or not all(os.path.exists(f) for f in files):
            print(f"tidy: {path.relative_to(ROOT)}: the build is not up to date, so what it includes is not known; build first")
            return 1
        key = keys.key(entry["command"], files)
        if key in passed:
            still.add(key)
        else:
            todo.append((str(path.relative_to(ROOT)), key))
    todo.sort(key=lambda item: -(ROOT / item[0]).stat().st_size)  # the long ones first, so that all end together
    args.passed.parent.mkdir(parents=True, exist_ok=True)
    args.passed.write_text("".join(k + "\n" for k in sorted(still)))
    lock = threading.Lock()

    def run(item: tuple[str, str]) -> bool:
        name, key = item
        command = [args.tool, "-p", str(build), "--quiet", "--warnings-as-errors=*"]
        command += [f"--extra-arg={a}" for a in ["-Wno-unknown-warning-option", *ANALYZER]]
        done = subprocess.run([*command, name], cwd=ROOT, capture_output=True, text=True)
        trouble = "\n".join(line for line in done.stderr.splitlines() if not NOISE.match(line))
        with lock:
            if done.returncode == 0 and not done.stdout.strip() and not trouble:
                with args.passed.open("a") as out:
                    out.write(key + "\n")
                return True
            print(f"{name}: clang-tidy ended with {done.returncode}\n{done.stdout}{trouble}".rstrip(), flush=True)
            return False

    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        bad = list(pool.map(run, todo)).count(False)
    print(f"tidy: {total} files, {total - len(todo)} unchanged since they passed, {bad} with findings", file=sys.stderr)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())

"""What the tree must not hold: machine paths, leftovers, source files over 600 lines without a reason at their head."""
import pathlib
import re
import subprocess
import sys

LIMIT = 600
PATHS = re.compile(r"(?<![\w.])/(?:work|root|home)/[a-z.]")
LEFTOVERS = re.compile(r"\b(?:TODO|FIXME|XXX)\b")


def main() -> int:
    root = pathlib.Path(__file__).resolve().parent.parent
    names = subprocess.run(["git", "ls-files"], cwd=root, capture_output=True, text=True, check=True).stdout.splitlines()
    bad = 0
    for name in names:
        path = root / name
        if path.suffix not in (".h", ".cc", ".py", ".md", ".txt", ".cmake", ".elir") or not path.is_file():
            continue
        if path == pathlib.Path(__file__).resolve():
            continue
        lines = path.read_text(errors="replace").splitlines()
        for number, line in enumerate(lines, 1):
            if PATHS.search(line):
                print(f"{name}:{number}: a path of one machine")
                bad += 1
            if LEFTOVERS.search(line):
                print(f"{name}:{number}: a leftover mark")
                bad += 1
        if path.suffix in (".h", ".cc") and len(lines) > LIMIT and not any("Long because" in l for l in lines[:12]):
            print(f"{name}: {len(lines)} lines; over {LIMIT} needs a 'Long because …' at its head, or a split")
            bad += 1
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())

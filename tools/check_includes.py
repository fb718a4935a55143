"""Includes go one way only (DESIGN.md 2). Prints each line that breaks the rule and exits 1."""
import pathlib
import re
import sys

# folder -> folders it may include (itself is always allowed)
RULES = {
    "base": set(),
    "ir": {"base"},
    "archive": {"base"},
    "xnnpack": {"base"},
    "pte": {"base"},
    "ops": {"base", "ir", "xnnpack"},
    "import": {"base", "ir", "ops", "archive"},
    "edge": {"base", "ir", "ops"},
    "match": {"base", "ir", "ops"},
    "passes": {"base", "ir", "ops", "edge", "match"},
    "partition": {"base", "ir", "ops", "xnnpack"},
    "emit": {"base", "ir", "ops", "xnnpack", "partition", "pte"},
    "api": {"base", "ir", "ops", "xnnpack", "partition", "pte", "emit", "edge", "match", "passes", "import", "archive", "edgelift"},
    "runtime": {"base", "ir", "ops", "xnnpack", "partition", "pte", "emit", "edge", "match", "passes", "import", "archive", "edgelift", "executorch"},
    "cli": {"base", "ir", "ops", "xnnpack", "partition", "pte", "emit", "edge", "match", "passes", "import", "archive", "edgelift", "runtime"},
}
FOLDERS = set(RULES) | {"executorch", "edgelift"}


def main() -> int:
    root = pathlib.Path(__file__).resolve().parent.parent
    bad = 0
    for path in sorted((root / "src").rglob("*")):
        if path.suffix not in (".h", ".cc"):
            continue
        folder = path.relative_to(root / "src").parts[0]
        for number, line in enumerate(path.read_text().splitlines(), 1):
            found = re.match(r'\s*#include\s+[<"]([^/">]+)/', line)
            if not found or found.group(1) not in FOLDERS:
                continue
            target = found.group(1)
            if target != folder and target not in RULES[folder]:
                print(f"{path.relative_to(root)}:{number}: src/{folder} must not include {target}/")
                bad += 1
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())

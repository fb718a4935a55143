"""Includes go one way only, and what a file uses of the standard library it includes, itself or through a
header of ours: libraries differ in what their headers bring along, so that one compiler takes what the next one refuses.
Prints each line that breaks a rule and exits 1.
"""
import pathlib
import re
import subprocess
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


# What is used -> the headers that promise it.
STANDARD = {
    r"std::(?:copy(?:_n|_if)?|sort|stable_sort|find(?:_if(?:_not)?)?|(?:any|all|none)_of|count(?:_if)?|fill(?:_n)?|equal|"
    r"transform|(?:max|min)_element|reverse|rotate|unique|(?:lower|upper)_bound|equal_range|min|max|clamp|remove_if|"
    r"mismatch|is_sorted|replace(?:_if)?|binary_search|partition)\(": ("algorithm",),
    r"std::(?:iota|accumulate|gcd|lcm|reduce|inner_product)\(": ("numeric",),
    r"std::(?:is(?:nan|inf|finite)|fabs|sqrt|pow|floor|ceil|log2?|exp|round|lround|ldexp|tanh|erf|fmod|copysign|signbit)\(|"
    r"\bHUGE_VALF?\b|\bINFINITY\b": ("cmath",),
    r"std::abs\(": ("cmath", "cstdlib"),
    r"std::(?:getenv|strtod|system|abort)\(": ("cstdlib",),
    r"std::(?:memcpy|memcmp|memset|memmove|strlen|strcmp|strerror)\(": ("cstring",),
    r"std::(?:printf|fprintf|snprintf|fopen|fwrite|fflush)\(": ("cstdio",),
    r"std::numeric_limits\b": ("limits",),
    r"std::optional\b": ("optional",),
    r"std::function\b": ("functional",),
    r"std::(?:unique_ptr|shared_ptr|make_unique|make_shared)\b": ("memory",),
    r"std::(?:variant|get_if|holds_alternative|monostate)\b": ("variant",),
    r"std::(?:bit_cast|countr_zero|popcount|bit_width|has_single_bit)\b": ("bit",),
    r"std::array\b": ("array",),
    r"std::(?:multi)?map<": ("map",),
    r"std::set<": ("set",),
    r"std::unordered_(?:multi)?map<": ("unordered_map",),
    r"std::unordered_set<": ("unordered_set",),
    r"std::chrono\b": ("chrono",),
    r"std::atomic\b": ("atomic",),
    r"std::(?:mutex|lock_guard)\b": ("mutex",),
}


def check_standard(root: pathlib.Path) -> int:
    listing = subprocess.run(["git", "ls-files", "*.cc", "*.h"], cwd=root, capture_output=True, text=True, check=True).stdout
    text = {n: re.sub(r"//.*", "", (root / n).read_text()) for n in listing.splitlines() if (root / n).is_file()}

    def reach(name: str, seen: set[str]) -> set[str]:
        seen.add(name)
        for bracket, target in re.findall(r'#include ([<"])([^">]+)', text[name]):
            for base in ("src", "include", "tests", "fuzz", str(pathlib.PurePath(name).parent)):
                inner = f"{base}/{target}"
                if inner in text and inner not in seen and (bracket == '"' or base == "include"):
                    reach(inner, seen)
        return seen

    bad = 0
    for name, code in text.items():
        included = {h for n in reach(name, set()) for h in re.findall(r"#include <([^>]+)>", text[n])}
        for use, headers in STANDARD.items():
            found = re.search(use, code)
            if found and not included & set(headers):
                line = code.count("\n", 0, found.start()) + 1
                print(f"{name}:{line}: {found.group(0).rstrip('(')} without <{headers[-1]}>")
                bad += 1
    return bad


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
    bad += check_standard(root)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())

"""Check that a Python package is written in standard terms and plain English; counts may only fall.

Usage: words_lint.py PACKAGE [--list] [--rule W1 ...] [--depth N] [--budget FILE [--write]]
W1 a function named by one word that is not in ALLOWED (dunders, properties, `_` and test functions are exempt)
W2 a docstring whose first word is a pronoun, a preposition or a question word, or that begins "The same", "So many"
W3 a filler local (`each`, `found`, ...) more than MAX_FILLERS times in a function, or in `for each in PLURAL_NOUN`
W4 a constant named by a bare adjective or quantifier (MOST, FEW, FAR, ...)
W5 a module docstring that is missing or no sentence (MIN_WORDS words and a verb); a package's has MIN_LINES lines
W6 a docstring with a phrase of the old dialect (`so many`, `of which`, `as far as`, ...), a measure of riddles
A budget holds a sum for each rule: more is exit 1. --write lowers numbers and never raises them.
"""

import argparse
import ast
import json
import re
import sys
from collections import Counter
from pathlib import Path

MAX_FILLERS, MIN_WORDS, MIN_LINES = 2, 5, 3
ALLOWED = set(
    """
    parse parser tokenize format print render draw plot show display main run execute load save read write
    open close get set add remove pop push append extend insert update clear copy keys values items index
    count sort find search match replace split join strip filter map fold reduce apply visit walk traverse
    children enter exit send evaluate compile simplify substitute expand factor differentiate integrate
    normalize solve prove refute verify validate check compare equal subtract multiply divide negate power
    minimum maximum floor ceil sum product log exp sqrt gcd sign derive infer lower resolve bind lookup build
    create make convert encode decode dump emit report error warn explain describe fit sample optimise
    optimize minimise minimize maximise simulate measure trace cache reset setup handle call union intersect
    contains project eliminate unroll inline
    """.split()
)
OPENERS = set(
    """
    what how which who whom whose it they them those that such ones none nothing something both either neither
    of in by at for with without from on onto to into between beside besides beyond behind under over above
    below up near along around after before until as where while than through within against per
    """.split()
)
OPENING_PHRASES = ("the same", "so many", "so much", "so far", "the other", "the one", "all that", "no more", "not ")
FILLERS = set("each found known own other others one ones made given taken kept told seen said".split())
ADJECTIVES = set(
    """
    most few far small little large near least more less many much big great long short high low deep wide
    narrow fine coarse rough tall plain whole full empty first last next best worst new old same other sure
    own close enough tried seen said told kept meant shown known given found taken
    """.split()
)
RIDDLES = re.compile(
    r"\b(so many|so much|of which|as far as|of those|of these|of the others|of them|beside|behind it|told|farther|anew"
    r"|at once|thereby|what (is|it|they|each)|that which|none where|such as are|those that|the ones|the others"
    r"|comes? to|in (its|their) (place|stead)|as it is|wherever|one another|stands? (on|alone|for itself)"
    r"|(are|is|may be) no|that much|how (far|much|often))\b",
    re.IGNORECASE,
)
VERBS = set(
    """
    is are was has have had does do can may must will holds gives takes uses lists reads writes proves shows
    derives computes finds follows counts bounds describes defines maps turns returns decides solves checks
    prints compares renders builds converts evaluates simplifies lowers parses runs measures simulates
    estimates fits keeps contains provides implements represents collects resolves binds draws loads stores
    makes adds splits joins searches samples approximates rewrites calls names says means needs lets
    """.split()
)
IMPERATIVE = re.compile(r"[A-Z][a-z]+(?<!s)(?<!ed)(?<!ing) (the|a|an|all|each|every|one|whether|and|or|which|how)\b")
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


def is_exempt(node):
    """Tell whether Python, pytest or a decorator decides about the name of a function, or it is a property."""
    decorators = {
        getattr(d.func if isinstance(d, ast.Call) else d, "attr", getattr(d, "id", "")) for d in node.decorator_list
    }
    return (
        node.name.startswith(("__", "test_"))
        or not node.name.strip("_")
        or bool(decorators & {"property", "cached_property", "setter", "overload", "override", "register"})
    )


def nodes_of(function):
    """Yield the nodes of a function without those of functions and classes inside it."""
    stack = list(function.body)
    while stack:
        node = stack.pop()
        yield node
        if not isinstance(node, (*FUNCTIONS, ast.ClassDef)):
            stack.extend(ast.iter_child_nodes(node))


def filler_problems(function):
    """Yield fillers that are used too often, and loop variables whose iterable has a noun that would name them."""
    uses = Counter(n.id for n in nodes_of(function) if isinstance(n, ast.Name) and n.id in FILLERS)
    if function.name.startswith("__"):
        uses.pop("other", None)
    for name, number in uses.items():
        if number > MAX_FILLERS:
            yield function.lineno, f"`{name}` {number} times in `{function.name}`"
    for node in nodes_of(function):
        if isinstance(node, (ast.For, ast.comprehension)) and isinstance(node.target, ast.Name):
            iterable = node.iter.func if isinstance(node.iter, ast.Call) else node.iter
            noun = getattr(iterable, "attr", getattr(iterable, "id", ""))
            if 0 < uses.get(node.target.id, 0) <= MAX_FILLERS and re.fullmatch(r"_?[a-z_]{3,}[^s]s", noun):
                yield node.target.lineno, f"`{node.target.id}` of `{noun}`"


def problems(path, tree):
    """Yield (rule, line, message) for each fault of a file."""
    doc = ast.get_docstring(tree) or ""
    words = re.findall(r"[A-Za-z]+", doc)
    if (doc or tree.body) and (
        len(words) < MIN_WORDS or not (VERBS & {w.lower() for w in words} or IMPERATIVE.match(doc))
    ):
        yield "W5", 1, f"module docstring is no sentence: {doc.splitlines()[0] if doc else 'missing'}"
    elif path.name == "__init__.py" and len(doc.splitlines()) < MIN_LINES:
        yield "W5", 1, f"package docstring has fewer than {MIN_LINES} lines"
    for node in ast.walk(tree):
        if isinstance(node, (*FUNCTIONS, ast.ClassDef)) and (doc := ast.get_docstring(node)):
            first = re.sub(r"^\W+", "", doc).lower()
            if first.startswith(OPENING_PHRASES) or re.split(r"[^a-z]", first, maxsplit=1)[0] in OPENERS:
                yield "W2", node.lineno, f"{node.name}: {doc.splitlines()[0]}"
            if riddle := RIDDLES.search(doc):
                yield "W6", node.lineno, f"{node.name}: ...{riddle.group()}..."
        if isinstance(node, FUNCTIONS):
            if not is_exempt(node) and "_" not in (name := node.name.strip("_")) and name.lower() not in ALLOWED:
                yield "W1", node.lineno, node.name
            for line, message in filler_problems(node):
                yield "W3", line, message
        if isinstance(node, (ast.Assign, ast.AnnAssign)):
            for name in (n for t in getattr(node, "targets", None) or [node.target] for n in ast.walk(t)):
                if isinstance(name, ast.Name) and name.id.isupper() and name.id.strip("_").lower() in ADJECTIVES:
                    yield "W4", name.lineno, name.id


def main():
    """Print the counts of each package; exit 1 where a sum is above the budget."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("package", type=Path)
    parser.add_argument("--list", action="store_true", help="print file:line of each finding")
    parser.add_argument("--rule", action="append", help="only these rules")
    parser.add_argument("--depth", type=int, default=1, help="number of folders that name a package")
    parser.add_argument("--budget", type=Path)
    parser.add_argument("--write", action="store_true", help="lower the budget to today's counts")
    options = parser.parse_args()
    rules = options.rule or ["W1", "W2", "W3", "W4", "W5", "W6"]
    table = {}  # package -> counts of rules, functions and docstrings
    for path in sorted(options.package.rglob("*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        counts = table.setdefault(
            "/".join(path.relative_to(options.package).parts[:-1][: options.depth]) or ".", Counter()
        )
        for node in ast.walk(tree):
            counts["functions"] += isinstance(node, FUNCTIONS) and not node.name.startswith("__")
            counts["docstrings"] += isinstance(node, (*FUNCTIONS, ast.ClassDef)) and ast.get_docstring(node) is not None
        for rule, line, message in problems(path, tree):
            counts[rule] += 1
            if options.list and rule in rules:
                print(f"{path}:{line}: {rule} {message}")
    print(f"{'package':26}" + "".join(f"{r:>7}" for r in rules) + " functions docstrings   W1 %   W2 %   W6 %")
    for package, counts in [*sorted(table.items()), ("all", sum(table.values(), Counter()))]:
        shares = [
            100 * counts[r] / max(counts["functions" if r == "W1" else "docstrings"], 1) for r in ("W1", "W2", "W6")
        ]
        print(
            f"{package:26}"
            + "".join(f"{counts[r]:7}" for r in rules)
            + f"{counts['functions']:10}{counts['docstrings']:11}"
            + "".join(f"{share:7.1f}" for share in shares)
        )
    if options.budget is None:
        return 0
    allowed = json.loads(options.budget.read_text()) if options.budget.exists() else None
    total = sum(table.values(), Counter())
    now = {rule: total[rule] for rule in rules}
    above = [] if allowed is None else [key for key, number in now.items() if number > allowed.get(key, 0)]
    for key in above:
        print(f"above budget: {key}: {now[key]}, allowed {allowed.get(key, 0)}", file=sys.stderr)
    if options.write and not above:
        options.budget.write_text(json.dumps({**(allowed or {}), **now}, indent=1) + "\n")
    return 1 if above else 0


if __name__ == "__main__":
    sys.exit(main())

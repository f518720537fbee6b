"""Recursive programs that split boxes of iterations, well or wrongly, for tests of bounds on io in any order."""

from __future__ import annotations

import random
from collections.abc import Sequence

from io_programs import ArrayProgram

SIZES = {"i": "n", "j": "m", "k": "p"}


def box_program_from_seed(seed: int, flaw: str = "") -> ArrayProgram:
    """The program of a seed: loops over two or three labels, arrays that some of them pick, each split in turn.

    A `flaw`: "again" makes both calls take the same part, "apart" gives one array another part than the others, "half"
    leaves one call out.
    """
    source = random.Random(seed)
    labels = ["i", "j", "k"][: source.choice((2, 3, 3))]
    labels_of = _arrays(labels, source)
    sizes = tuple(SIZES[label] for label in labels)
    shapes = {name: tuple(SIZES[label] for label in own) for name, own in labels_of.items()}
    least = source.randint(1, 4)
    lines = [f"    if max({', '.join(sizes)}) <= {least}:", *_leaf(labels, labels_of, source)]
    broken = source.randrange(len(labels)) if flaw else -1
    order = list(range(len(labels)))
    source.shuffle(order)
    for place, number in enumerate(order):
        label = labels[number]
        size = SIZES[label]
        last = place == len(order) - 1
        lines.append("    else:" if last else f"    elif {size} >= max({', '.join(sizes)}):")
        lines += _calls(label, labels_of, flaw if number == broken else "", source)
    parameters = ", ".join(
        f"{name}: {'inout ' if name == 'C' else ''}real[{', '.join(own)}]" for name, own in shapes.items()
    )
    text = "\n".join([f"algorithm main({parameters}):", *lines]) + "\n"
    return ArrayProgram(text, shapes, sizes)


def _arrays(labels: Sequence[str], source: random.Random) -> dict[str, tuple[str, ...]]:
    """Three arrays that together are picked by all labels."""
    while True:
        found = {name: tuple(source.sample(labels, source.randint(1, 2))) for name in ("A", "B", "C")}
        if {label for own in found.values() for label in own} == set(labels):
            return found


def _leaf(labels: Sequence[str], labels_of: dict[str, tuple[str, ...]], source: random.Random) -> list[str]:
    order = list(labels)
    source.shuffle(order)
    lines = [f"{'    ' * (2 + depth)}for {label} in 0..{SIZES[label]}:" for depth, label in enumerate(order)]
    a, b, c = (f"{name}[{', '.join(own)}]" for name, own in labels_of.items())
    return [*lines, f"{'    ' * (2 + len(order))}{c} += {a}*{b}"]


def _calls(label: str, labels_of: dict[str, tuple[str, ...]], flaw: str, source: random.Random) -> list[str]:
    size = SIZES[label]
    # At the larger of the sizes, which is more than the leaf's: both parts have some.
    middle = source.choice((f"{size}//2", f"{size} - {size}//2", "1", f"{size} - 1"))
    parts = [f"0..{middle}", f"{middle}..{size}"]
    if flaw == "again":
        parts = [parts[0], parts[0]]
    if flaw == "half":
        parts = parts[:1]
    holders = [name for name, own in labels_of.items() if label in own]
    lines = []
    for number, part in enumerate(parts):
        other = f"{size} - ({middle})..{size}" if number == 0 else f"0..{size} - ({middle})"
        arguments = []
        for name, own in labels_of.items():
            cut = other if flaw == "apart" and name == holders[0] else part
            arguments.append(f"{name}[{', '.join(cut if each == label else ':' for each in own)}]")
        lines.append(f"        main({', '.join(arguments)})")
    return lines

"""What runs of the distributed algorithms must count, from the papers and by hand.

Each formula takes the sizes and gives metrics; those that depend on rounding at these sizes are left out. Words,
messages and flops are those of the longest path, memory the most of a processor.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

from distributed_cases import INTERACTION

Counts = dict[str, int | Fraction]


def lg(P: int) -> int:
    """ceil(log2(P))."""
    return (P - 1).bit_length()


def _power(P: int) -> bool:
    return P & (P - 1) == 0


def _distances(P: int) -> list[int]:
    """The pieces that are sent in each step of Bruck's allgather, and of its reverse."""
    return [min(2**s, P - 2**s) for s in range(lg(P))]


def _bruck(n: int, P: int) -> list[int]:
    """The words that are sent in each step of Bruck's all-to-all: of P pieces, those whose distance has the bit."""
    return [n // P * sum(q >> s & 1 for q in range(P)) for s in range(lg(P))]


def cannon(n: int, g: int) -> Counts:
    """g shifts of A and B, one for the skew; to oneself nothing moves."""
    b = n // g
    moves = (2 * g + 2) * (g > 1)
    return {"flops": 2 * g * b**3, "words": moves * b**2, "messages": moves, "memory": 3 * b**2}


def cannon_unequal(n: int, m: int, p: int, g: int) -> Counts:
    """The processor with the most rows and columns; no skew."""
    rows, inner, columns = (-(-each // g) for each in (n, m, p))
    return {
        "flops": 2 * g * rows * inner * columns,
        "words": g * inner * (rows + columns) * (g > 1),
        "messages": 2 * g * (g > 1),
        "memory": rows * inner + inner * columns + rows * columns,
    }


def summa(n: int, m: int, p: int, g: int, h: int, w: int) -> Counts:
    """Two trees for each panel; on a power of 2 every processor is on a longest path of its tree."""
    q, s = n // g, p // h
    counts: Counts = {"flops": 2 * q * m * s, "memory": q * m // h + m // g * s + q * s + w * (q + s)}
    if _power(g) and _power(h):
        counts |= {"words": m * (q * lg(h) + s * lg(g)), "messages": m // w * (lg(h) + lg(g))}
    return counts


def matmul_25d(n: int, g: int, c: int) -> Counts:
    """W = 2 n^2/sqrt(c P) + (8 - 6/c) c n^2/P, S = 2 sqrt(P/c^3) + 2 + 6 log2 c: Cannon, the skew, three collectives.

    The reduction needs a copy of a block, rotated, and the largest piece that it receives.
    """
    b = n // g
    if b**2 % c:
        return {}
    steps, moves = g // c, g > 1
    piece = b**2 // c
    copies = 3 if c == 1 else 4
    return {
        "flops": 2 * b**3 * steps + b**2 - piece,
        "words": moves * (2 * steps * b**2 + 8 * b**2 - 6 * piece),
        "messages": moves * (2 * steps + 2 + 6 * lg(c)),
        "memory": copies * b**2 + piece * max(_distances(c), default=0),
    }


def matmul_two_level(n: int, g: int, h: int) -> Counts:
    """Cannon between nodes; within them its steps in each of those, with one skew."""
    b = n // (g * h)
    between, within = (2 * g + 2) * (g > 1), (2 * g * h + 2) * (h > 1)
    return {
        "flops": 2 * g * h * b**3,
        "words": between * b**2,
        "messages": between,
        "node_words": within * b**2,
        "node_messages": within,
        "memory": 3 * b**2,
        "node_memory": 3 * b**2 * h**2,
    }


def caps_strassen(n: int, m: int, d: int, P: int) -> Counts:
    """W = 6 (n^2/P^(2/w) - n^2/P) for breadth first; a step depth first makes 7 problems of a quarter of the words."""
    levels = (n // m).bit_length() - 1
    breadth = next(k for k in range(9) if 7**k == P)
    d = d if breadth else 0
    factor = Fraction(7, 4) ** d
    return {
        "flops": Fraction(7**levels * (2 * m**3 + 6 * m**2) - 6 * n**2, P),
        "words": 6 * factor * (Fraction(n**2, 4**breadth) - Fraction(n**2, P)),
        "messages": 7**d * 18 * breadth,
        "memory": 3 * n**2 // P + _caps_memory(n**2 // P, m, d, P),
    }


def _caps_memory(s: int, m: int, d: int, P: int) -> int:
    """Factors and products are 7/4 of an operand each; breadth first as many again are dealt out anew."""
    products = 3 * 7 * (s // 4)
    if P == 1:
        return 0 if s == m**2 else products + _caps_memory(s // 4, m, 0, 1)
    if d:
        return products + _caps_memory(s // 4, m, d - 1, P)
    return 2 * products + _caps_memory(7 * (s // 4), m, 0, P // 7)


def carma(n: int, m: int, p: int, P: int) -> Counts:
    """In each step the half of the matrix not halved moves, and is added where it is C."""
    s, t, v = n * m // P, m * p // P, n * p // P
    if P == 1:
        return {"flops": 2 * n * m * p, "words": 0, "messages": 0, "memory": s + t + v}
    if n >= max(m, p):
        rest, words, sums, own, beside = carma(n // 2, m, p, P // 2), t, 0, 2 * t, 2 * t
    elif p >= m:
        rest, words, sums, own, beside = carma(n, m, p // 2, P // 2), s, 0, 2 * s, 2 * s
    else:
        rest, words, sums, own, beside = carma(n, m // 2, p, P // 2), v, v, 2 * v, 3 * v
    # The rest has this step's array for an operand, beside the operand of half its size.
    return {
        "flops": rest["flops"] + sums,
        "words": rest["words"] + words,
        "messages": rest["messages"] + 1,
        "memory": max(rest["memory"] + own // 2, s + t + v + own + beside),
    }


def lu_25d(n: int, g: int, c: int, b: int) -> Counts:
    """For each panel two sums over the layers, the square to all, panels to rows; but for the last the update."""
    w = n // g
    h, B = w // g, g * b
    m, q = B // c, n // B
    sums = 2 * w * b * (c - 1) // c
    square, dealt = b**2 * (g**2 - 1), sum(_bruck(w * b, g))
    counts: Counts = {
        "flops": q * (B * (B - 1) * (4 * B + 1) // 6 + h * B * (2 * B - 1) + sums)
        + sum(2 * m * (t * b) ** 2 for t in range(q)),
        "words": q * (2 * sums + square + 2 * dealt) + 2 * (q - 1) * m * h * (g - 1),
        "messages": q * (4 * lg(c) + 4 * lg(g)) + 2 * (q - 1) * lg(g),
    }
    squares = b**2 * (1 + g + 2 * g**2)
    while_dealt = 0 if g == 1 else w * b + max(_bruck(w * b, g))
    while_updated = 0 if q == 1 else 2 * h * m + 2 * w * m + (0 if g == 1 else w * m)
    counts["memory"] = w**2 + 5 * w * b + squares + max(while_dealt, while_updated)
    return counts


def nbody_replicated(n: int, c: int, P: int) -> Counts:
    """W = n/c + (5 c - 4) n/P, S = P/c^2 + 1 + 4 log2 c, but for shifts that end where they begin.

    The first shift, by the copy's number, is one where c = 1, and that of each step where the ring has c blocks.
    """
    s = n * c // P
    steps = P // c**2
    shifts = steps * (c**2 < P) + (c > 1)
    piece = s // c
    copies = 3 if c == 1 else 4
    return {
        "flops": (INTERACTION + 1) * s**2 * steps + s - piece,
        "words": shifts * s + 4 * (s - piece),
        "messages": shifts + 4 * lg(c),
        "memory": copies * s + piece * max(_distances(c), default=0),
    }


def nbody_two_level(n: int, pn: int, pl: int) -> Counts:
    """A ring of nodes, and of cores in each of its steps."""
    s = n // (pn * pl)
    return {
        "flops": (INTERACTION + 1) * n * s,
        "words": pn * s * (pn > 1),
        "messages": pn * (pn > 1),
        "node_words": n * (pl > 1),
        "node_messages": pn * pl * (pl > 1),
        "memory": 3 * s,
        "node_memory": 3 * s * pl,
    }


def _fft(n: int, P: int) -> Counts:
    # 15 flops for two outputs of a butterfly, 11 for a twiddle factor.
    return {"flops": Fraction(15 * n * lg(n), 2 * P) + 11 * n // P}


def fft_naive(n: int, P: int) -> Counts:
    """All but the P-th part of two words for each element go out, in P - 1 messages."""
    return _fft(n, P) | {"words": 2 * n * (P - 1) // P**2, "messages": P - 1, "memory": 4 * n // P}


def fft_bruck(n: int, P: int) -> Counts:
    """Half of two words for each element go out in each step; these are copied, as is the rotated whole."""
    copies = 4 if P == 1 else 7
    return _fft(n, P) | {"words": n * lg(P) // P, "messages": lg(P), "memory": copies * n // P}


def jacobi(n: int, m: int, g: int, h: int, steps: int) -> Counts:
    """A row and a column in both directions, where there are neighbours."""
    p, q = n // g, m // h
    return {
        "flops": 4 * p * q * steps,
        "words": 2 * (q * (g > 1) + p * (h > 1)) * steps,
        "messages": 2 * ((g > 1) + (h > 1)) * steps,
        "memory": p * q + (p + 2) * (q + 2),
    }


def spmv_rows(n: int, m: int, P: int, nb: int) -> Counts:
    """An allgather of the vector, with a rotated copy of it; nb is the most elements of a processor."""
    rows = n // P
    return {
        "flops": 2 * nb,
        "words": m - m // P,
        "messages": lg(P),
        "memory": 2 * rows + 1 + m // P + m * (1 + (P > 1)) + 2 * nb,
    }


def tsqr(n: int, m: int, P: int) -> Counts:
    """A triangle, in a square, goes up each level of the tree."""

    def householder(rows: int) -> int:
        return sum(2 * (rows - k) + 6 + (m - k - 1) * (4 * (rows - k) + 1) for k in range(m))

    return {
        "flops": householder(n // P) + lg(P) * householder(2 * m),
        "words": m**2 * lg(P),
        "messages": lg(P),
        "memory": n // P * m + m**2 * (1 if P == 1 else 3),
    }


COUNTS: dict[str, Callable[..., Counts]] = {
    "matmul::cannon": cannon,
    "matmul::cannon_unequal": cannon_unequal,
    "matmul::summa": summa,
    "matmul::matmul_25d": matmul_25d,
    "matmul::matmul_two_level": matmul_two_level,
    "matmul::caps_strassen": caps_strassen,
    "matmul::carma": carma,
    "lu::lu_25d": lu_25d,
    "nbody::nbody_replicated": nbody_replicated,
    "nbody::nbody_two_level": nbody_two_level,
    "fft::fft_naive": fft_naive,
    "fft::fft_bruck": fft_bruck,
    "stencil::jacobi_torus": jacobi,
    "stencil::jacobi_walls": jacobi,
    "sparse::spmv_rows": spmv_rows,
    "qr::tsqr": tsqr,
}
"""All but samplesort, whose counts depend on the keys."""

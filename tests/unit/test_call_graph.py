"""The call graph of a module, and derivations of long chains of calls."""

from __future__ import annotations

import archline as al
from effort import long


@long
def test_a_chain_of_a_thousand_calls_is_derived() -> None:
    count = 1000
    body = "algorithm a{}(x: inout real[n]):\n    for i in 0..n:\n        x[i] += 1.0\n"
    text = "\n".join(body.format(each) + (f"    a{each + 1}(x)\n" if each + 1 < count else "") for each in range(count))
    found = al.loads(text)["a0"].cost()
    assert found.flops.text == f"{count}*n"
    # A loop takes n iterations of two steps, and every call one.
    assert found.work.text == f"{2 * count}*n + {count}"


def test_forty_calls_in_a_row_fetch_what_one_call_does_where_all_fits() -> None:
    text = (
        "algorithm sweep(A: inout real[n, n]):\n"
        "    for i in 0..n:\n        for j in 0..n:\n            A[i, j] *= 2.0\n\n"
        "algorithm many(A: inout real[n, n]):\n" + "    sweep(A)\n" * 40
    )
    io = al.loads(text)["many"].cost().io
    assert io.at(n=16, Z=256, L=8) == (32, 32)
    # The least cache keeps nothing from one call to the next but one line.
    assert io.at(n=16, Z=8, L=8)[1] <= 40 * 32

"""Bounds the iterations of loops over a whole call by potentials, as in amortised analysis.

    for i in 0..n:                          # The potential n - j pays for the iterations of the inner loop,
        while j < n and a[j] < b[i]:        # and nothing adds to it: they are at most n in all.
            j += 1

`paths` turns the body of an algorithm into a transition system: its nodes are the bodies of its loops, its transitions
the paths from one body to the next, with linear constraints on integer registers and affine updates of them.
`potentials` proves invariants of the nodes, and finds potentials, affine in registers and sizes, by linear programs: by
Farkas' lemma, a bound holds exactly if multipliers of the constraints prove it on each path. `proofs` checks these in
exact arithmetic; nothing that it has not checked is used. `totals` is the entry: it bounds the loops of an algorithm.

A. Podelski, A. Rybalchenko, A complete method for the synthesis of linear ranking functions, 2004; M. Sinn, F. Zuleger,
H. Veith, Complexity and resource bound analysis of imperative programs using difference constraints, 2017.
"""

from archline.lazy_modules import load_on_use

load_on_use(__name__)

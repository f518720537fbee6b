"""Bounds the iterations of loops over a whole call by potentials, as in amortised analysis.

    for i in 0..n:                          # The potential n - j pays for the iterations of the inner loop,
        while j < n and a[j] < b[i]:        # and nothing adds to it: they are at most n in all.
            j += 1

`totals.bound_totals` is the entry: it bounds the iterations of the loops of an algorithm. `paths` builds its transition
system, which has a node for each loop body and a transition for each path from one body to the next, with linear
constraints on integer registers and affine updates. `potentials` proves invariants of the nodes, and finds potentials,
affine in registers and sizes, by linear programs: by Farkas' lemma, a potential pays for the iterations on a path if
multipliers of the path's constraints prove it. `logarithms` adds registers for logarithms of forms that are halved or
doubled. `proofs` checks multipliers in exact arithmetic; a bound is used only if all its proofs pass. `linear` has the
affine forms.

A. Podelski, A. Rybalchenko, A complete method for the synthesis of linear ranking functions, 2004; M. Sinn, F. Zuleger,
H. Veith, Complexity and resource bound analysis of imperative programs using difference constraints, 2017.
"""

from archline.lazy_modules import load_on_use

load_on_use(__name__)

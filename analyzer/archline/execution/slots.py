"""Define the arrays and slots of the memory on which generated code runs.

Every generated function takes the tuple `mem` of flat arrays, in the order of the constants MEM_*. `R` and `I` are
two views of the words of memory, as reals and as integers; the line of an address is address // L. `K` holds 64-bit
integers: the slots below, then those that depend on the program, then one counter for each block of straight-line code.
"""

from __future__ import annotations

MEM_REALS = 0
MEM_INTS = 1
MEM_STATE = 2
MEM_TRACE = 3
MEM_EVENTS = 4
MEM_PARENTS = 5
MEM_BAGS = 6
MEM_SHADOW = 7
MEM_DECLARED = 8
MEM_LATEST = 9

STEPS = 0
"""Iterations and calls so far, which progress shows and the fuel limits."""
FUEL = 1
"""The number of steps after which the run stops; 0 asks it to stop now."""
TRACE = 2
"""Accesses so far."""
SPAN = 3
"""The span of the call that returned last."""
PEAK = 4
"""The maximum number of words in arrays that are alive together."""
DEPTH = 5
"""Active calls of recursive algorithms."""
SITE = 6
"""Why the run stopped: the number of the place in the source, an index into the sites of the program."""
FIRST_VALUE = 7
"""The first of five values that the message of the stop shows."""
CALL = 13
"""The number of the call being made; once the run has stopped, of the call whose contract was broken, or 0."""
LINE = 14
"""Words in a line."""
EVENTS = 15
"""Events so far."""
TASKS = 16
"""Tasks (spawned calls and parallel iterations) so far."""
OTHER_SITE = 17
"""The other access of a race."""
SYMBOL_P = 18
SYMBOL_Z = 19
SYMBOL_L = 20
SYMBOL_K = 21
CAPACITY = 22
"""The maximum words that plain memory may grow to."""
LINE_DIVISOR = 23
"""The divisor of an address, if LRU is simulated during the run: the words of a line, or their log2 for a shift."""
CACHE_LINES = 24
"""The capacity of the LRU cache in lines; then its resident, fetched and written-back lines, and its oldest entry."""
RESIDENT_LINES = 25
FETCHED_LINES = 26
WRITTEN_BACK = 27
OLDEST_POSITION = 28
ITERATION_LIMIT = 29
"""The number of iterations after one entry at which a loop without a bound stops; the clock lowers it."""
FIRST_PROGRAM_SLOT = 30
"""Amounts of externs, cost symbols and measures of recursion, then the counters of blocks, follow from here."""

SYMBOLS = {"P": SYMBOL_P, "Z": SYMBOL_Z, "L": SYMBOL_L, "K": SYMBOL_K}

SITE_FUEL = 1
"""The fuel is used up: a long run, or one that was interrupted."""
SITE_RANGE = 2
"""A size, index or product left the range of compiled code; plain Python can run it."""
SITE_FULL = 3
"""The memory, the event log or the table of tasks is full; it can be enlarged."""
FIRST_SITE = 4

INT_LIMIT = 2**63 - 1
"""An int is in -INT_LIMIT..INT_LIMIT: one pattern of the 64 bits is left to mark unset elements."""
NO_INT = -(2**63)
"""The result of checked arithmetic beyond 64 bits, and the pattern of an unset int in compiled memory."""
UNSET_REAL = 0x7FF4_A5A5_5A5A_0001
"""The pattern of an unset real in compiled memory: a NaN that arithmetic does not produce."""
MAX_UNCHECKED_SIZE = 2**31
"""Sizes and indices below this are multiplied unchecked by compiled code."""
MAX_DEPTH = 100_000
"""The number of active recursive calls at which the run stops."""
MAX_ITERATIONS = 10**9
"""The number of iterations of a loop without a bound, after one entry, at which the run stops."""
MAX_LATE_ITERATIONS = 1000
"""The limit once the time for such loops is over: short inner loops stay below it, an endless outer loop stops."""
SHADOW = 6
"""Words of shadow for each element: task and place number of its last writer, of a reader and of an atomic access."""

"""The checker: every rule fires where it should, and what it learns of correct programs is complete and right."""

from __future__ import annotations

import random
import re

import pytest

from archline.language import call_rules, name_rules, type_rules
from archline.language.diagnostics import ArchlineError, Rule
from archline.language.loader import load_text
from archline.resources import find_resource
from effort import long


def codes_of(text: str) -> list[str]:
    try:
        load_text(text)
    except ArchlineError as problem:
        str(problem)
        return [diagnostic.rule.code for diagnostic in problem.diagnostics]
    return []


# Each case is a faulty program; the comment `#! CODE` marks the lines that must be reported, once each.
FAULTS = """
algorithm f(x: inout real[n]):
    x[0] = y #! AL201
    for i in 0..n:
        local t: real = x[i]
    x[0] = t #! AL201
---
algorithm f(x: inout real[n]):
    ensures work <= q #! AL201
    f(x)
claim work(f) is O(m) #! AL201
---
algorithm f(x: inout real[n]):
    g(x) #! AL202
    x[0] = squareroot(x[0]) #! AL202
claim io(h) is O(n) #! AL202
---
algorithm f(x: inout real[n]):
    local Q: queue[n]
    x[0] = Q #! AL212
---
algorithm f(x: inout real[n], i: index):
    for i in 0..n: #! AL203
        pass
    let n = 3 #! AL203
    for k in 0..2:
        local k: int = 1 #! AL203
    for k in 0..2:
        pass
---
extern g(a: real) -> real costs c flops
algorithm f(x: inout real[n], c: size): #! AL203
    x[0] = g(x[1])
---
algorithm f(x: real[n], x: real[n]): #! AL204
    pass
---
algorithm f(x: real[n], L: size): #! AL205
    pass
---
algorithm f(x: inout real[n]):
    let b = Z//3 #! AL205
    for i in 0..P: #! AL205
        pass
---
algorithm f(x: real[n*m], y: real[n]): #! AL206
    pass
---
algorithm f(x: real[n], y: real):
    ensures work <= y #! AL207
    costs y flops #! AL207
---
algorithm f(x: real[n]):
    ensures energy <= n #! AL208
    costs n reads #! AL208
claim time(f) is O(n) #! AL262
claim work(f, n = 2*n) <= power(f) on "gtx-580@double"
claim work(f, k = 2) <= n #! AL201
claim work(f, n = 2, n = 3) <= 5 #! AL262
claim work(f) <= log2(2, n = 3) #! AL262
---
algorithm f(x: inout real[n], k: int):
    x[0] = x[0]/n + k/x[0]
    x[0] += n
    x[0] = max(x[0], k) - 1
    local j: int = x[0] #! AL226
---
algorithm f(k: int, c: inout int[n]):
    local a: int = k/2 #! AL222
    c[0] /= 2 #! AL222
    local b: int = n/2
---
algorithm f(x: inout real[n]):
    x[0] = x[1]//2 #! AL223
    x[0] = x[1]%x[0] #! AL223
---
algorithm f(x: inout real[n], k: int):
    x[0] = x[0]^0.5 #! AL224
    x[0] = x[0]^k #! AL224
    local toggle: int = k^1 #! AL224
    x[0] = x[0]^n + x[0]^2
---
algorithm f(x: inout real[n]):
    if n%2: #! AL225
        pass
    x[0] = n == 2 #! AL225
    let b = not n == 2 and n #! AL225
---
algorithm f(x: inout real[n], c: int[1], A: real[n, n]):
    let t = c[0]
    x[x[0]] = 1 #! AL226
    for i in 0..n step c[0]:
        pass
    local w: real[c[0]] #! AL226
    for i in 0..c[0]:
        pass
    local j: int = x[0] #! AL226
    while c[0] > 0 at most c[0] times: #! AL226
        pass
---
algorithm f(x: inout real[n], k: int):
    x[0] = sqrt(x[0], x[1]) #! AL227
    x[0] = max(x[0]) #! AL227
    x[0] = exp(n)
    x[0] = real_of(x[1]) #! AL227
    x[0] = log(k)
    x[0] = exp(1) + log2(x[1]) + real_of(sqrt(n)) + real_of(k)
---
algorithm f(x: inout real[n], A: inout real[n, n]):
    A = A + x #! AL232
    x[0] = x #! AL228
    A *= A #! AL232
    if x == x: #! AL228 #! AL228
        pass
---
algorithm f(x: inout real[n], k: int):
    x[0] = k[0] #! AL229
    x[0] = real_of(n[0]) #! AL229
---
algorithm f(A: inout real[n, m]):
    A[0, 0] = 1.0 + A[0] #! AL230
    A[0, 0, 0] = 1 #! AL230
---
algorithm f(A: inout real[n, m]):
    let B = A as [n*m] #! AL231
    let C = A[0, :] as [m, 1]
---
algorithm gram(A: real[n, n]):
    pass
algorithm f(A: real[n, n + 1], x: real[n]):
    gram(A) #! AL232
    gram(A[:, 0..n])
    let B = x as [n, 2] #! AL232
    local y: real[n] = x[1..n] #! AL232
    local z: real[n] = x[n..2*n]
---
algorithm gram(A: real[n, n] colmajor):
    pass
algorithm f(A: real[n, n], B: real[n, n] colmajor, C: real[n] zmorton): #! AL233
    gram(A) #! AL233
    gram(B)
---
algorithm g(x: inout real[n]):
    pass
algorithm f(x: real[n], o: offsets[k] into m):
    x[0] = 1 #! AL240
    let v = x[1..n]
    v[0] = 1 #! AL240
    g(x) #! AL240
    g(v as [n - 1]) #! AL240
    o[0] = 1 #! AL240
---
algorithm f(n: size):
    for k in 0..n:
        k = 2 #! AL241
    n = 2
    let h = 2
    h = 3 #! AL241
---
algorithm f(n: size):
    local k: size = 3 #! AL242
    local o: offsets[3] into 4 #! AL242
---
algorithm f(a: out real, n: inout size, o: out offsets[k] into m): #! AL243 #! AL243
    pass
---
algorithm f(y: inout real[n]):
    local t: real = 0
    atomic t += 1 #! AL244
    atomic y[0] = 1 #! AL244
    atomic y[0] += 1
---
algorithm f(y: inout real[n]):
    for i in 0..n step 0: #! AL245
        pass
    let v = y[0..n step -1] #! AL245
---
extern e(a: real) -> real costs 1 flops
algorithm g(x: real[n], a: real):
    g(x) #! AL251
    local t: real = e(a, a) #! AL251
---
algorithm g(x: inout real[n], c: int[n], k: size, i: int):
    g(x[0], c, k, i) #! AL252
    g(c, c, k, i) #! AL252
    g(x as [n, 1], c, k, i) #! AL252
    g(x, c, i, i) #! AL226
    g(x, c, k, k)
    g(x, c, k, x[0]) #! AL252
    g(x + x, c, k, k) #! AL252
---
algorithm b(a: real[n], key: real) -> int:
    local t: int = 1 + b(a, key)
    b(a, key) #! AL253
    spawn b(a, key) #! AL253
    assume b(a, key) > 1 #! AL253
    t = b(a, key)
    return t
---
algorithm g(x: real[n]):
    local t: real = g(x) #! AL254
    t = 1 + g(x) #! AL254
---
algorithm g(x: real[n]) -> real: #! AL255
    pass
algorithm h(x: real[n]) -> real:
    if n > 1: #! AL255
        return 1
algorithm k(x: real[n]):
    parallel for i in 0..n:
        if x[i] > 1.0:
            break #! AL255
algorithm l(x: real[n]):
    continue #! AL255
---
extern e(a: real[n]) costs 1 flops #! AL256
extern d(a: real) costs a flops #! AL207
algorithm g(x: real[n]):
    pass
---
algorithm g(x: real[n]):
    where n%2, 2 divides n, not n is square #! AL101
    pass
---
algorithm g(x: real[n]):
    where n%2, n is square #! AL260
    assume n #! AL260
---
algorithm g(x: real[n]):
    ensures work <= x[0] #! AL261
    ensures work <= exp(n) #! AL261
    ensures work <= log2(n, 2) #! AL261
    ensures work <= n*(n == 2) #! AL261
    pass
claim sin(io(g)) <= 2 #! AL261
---
algorithm g(x: real[n]):
    pass
claim n <= 2*n #! AL262
claim io(2) <= io(g) #! AL262
claim io(g) <= 2*n + Z at n = 3, m = 2 #! AL201
---
algorithm d(x: local real[s], y: local real[s]) on grid(r: P):
    pass
algorithm g(x: inout local real[n]): #! AL270
    d(x, x) #! AL270
    shift x along r by 1 #! AL270
    input x = x #! AL270
    split r by 7 as g: #! AL270
        pass
    local y: real[n] = x when n == 1 #! AL270
---
algorithm g(x: inout local real[n]) on grid(r: P, q: 2):
    shift x along t by 1 #! AL271
    split u by 7 as h: #! AL271
        allreduce x along h with +
    allreduce x along h with + #! AL271
    shift x along q by r
---
algorithm g(x: inout local real[n], c: local int[P]) on grid(r: P):
    shift x along r #! AL272
    shift x along r by 1 onto 2 #! AL272
    shift x along r along r by 1 #! AL272
    barrier x #! AL272
    reduce along r onto 0 with + #! AL272
    send x to (r, r) #! AL272
    broadcast n along r from 0 #! AL272
    local y: real[n]
    local got: int[P]
    alltoall x along r counts c into y, got using naive
    send x to (r + 1)
    receive y from (r - 1)
    local t: real = 0
    allreduce t along r with max
    alltoall x along r into c #! AL240
    alltoall x along r counts c into y
    alltoall x along r counts c into y, got, got #! AL272
    alltoall x along r into y, got #! AL272
    alltoall x along r counts c into y using ring #! AL202
    alltoall x along r counts x into y #! AL252
    alltoall x along r counts x into y, got #! AL252
    exchange x to (r + 1) from (r - 1) #! AL272
---
algorithm g(x: inout local real[n]) on grid(r: P):
    broadcast x along r from r #! AL275
    reduce x along r onto 0 with n #! AL246
    x[0] n= x[0] #! AL246
    shift x along r by r #! AL273
    let e = 2*r
    shift x along r by e + 1 #! AL273
    reduce x onto e//2 with + #! AL275
---
algorithm f(x: inout local any[w], op: operator) on grid(r: P):
    reduce x onto 0 with op

algorithm g(x: inout local real[n], k: index) on grid(r: P):
    f(x, k) #! AL246
    reduce x onto 0 with k #! AL246
---
algorithm g(x: inout local real[n]) on grid(i: P, j: 2):
    for t in 0..i:
        broadcast x along j from 0
        broadcast x along i from 0 #! AL276
    broadcast x[0..i] along i from 0 #! AL277
    if i == 0:
        reduce x along i onto 0 with + #! AL278
    else:
        reduce x along i onto 0 with max #! AL278
---
algorithm g(X: inout real[n], x: inout local real[n]) on grid(r: P):
    X[0] = 1 #! AL274
    x[0] = X[0] #! AL274
    input X = x #! AL274
    output x = X #! AL274
    input x = X
    output X = x
    local y: real[n] = X
---
algorithm g(x: inout local real[n]) on grid(r: P):
    broadcast x along r from r #! AL275
    if r > 0:
        barrier #! AL276
    if r == 0:
        reduce x along r onto 0 with + #! AL278
    else:
        reduce x along r onto 0 with max #! AL278
    allreduce x[0..min(r, n)] along r with + #! AL277
---
algorithm g(x: inout local real[n]) on grid(r: P):
    while x[0] > 1.0: #! AL279
        allreduce x along r with +
"""


@pytest.mark.parametrize("case", [part.strip("\n") + "\n" for part in FAULTS.split("\n---\n")])
def test_faults_are_reported_on_their_lines(case: str) -> None:
    wanted = [
        (number, code) for number, line in enumerate(case.split("\n"), 1) for code in re.findall(r"#! (AL\d+)", line)
    ]
    with pytest.raises(ArchlineError) as error:
        load_text(case)
    found = [(each.span.line, each.rule.code) for each in error.value.diagnostics if each.span is not None]
    assert sorted(found) == sorted(wanted), str(error.value)


def test_every_rule_is_documented_and_tested() -> None:
    rules = {
        value.code: value
        for module in (name_rules, type_rules, call_rules)
        for value in vars(module).values()
        if isinstance(value, Rule)
    }
    # Rules about modules and targets are tested with the loader, AL508 with the runs that break it.
    assert set(rules) - {"AL209", "AL210", "AL211", "AL508"} <= set(re.findall(r"AL\d+", FAULTS))
    assert all(len(rule.explanation.strip()) > 50 for rule in rules.values())


def test_a_real_in_a_contract_is_no_size() -> None:
    with pytest.raises(ArchlineError) as error:
        load_text("algorithm f(b: real, x: real[n]):\n    ensures work <= b\n    pass\n")
    assert not any(finding.hint for finding in error.value.diagnostics)
    assert [each.rule.code for each in error.value.diagnostics] == ["AL207"]


@pytest.mark.parametrize(
    "body",
    [
        "    if n == m:\n        gram(A)\n",
        "    if n != m:\n        pass\n    else:\n        gram(A)\n",
        "    local k: int = n\n    if k == m:\n        gram(A)\n",
        "    for i in 0..1:\n        if n == m + i:\n            gram(A)\n",
        "    assume n == m\n    gram(A)\n",
    ],
)
def test_shapes_that_agree_only_where_they_are_reached_are_left_to_the_run(body: str) -> None:
    assert codes_of("algorithm gram(A: real[n, n]):\n    pass\nalgorithm f(A: real[n, m]):\n" + body) == []


def test_shapes_in_a_loop_longer_than_any_range_of_python_counts() -> None:
    text = "algorithm f(x: inout real[n], y: real[n]):\n    where n is power of 10^40\n    for i in 0..n:\n"
    assert codes_of(text + "        x[0..n-i] = y[0..n-i]\n") == []
    assert codes_of(text + "        x[0..n-i] = y[0..n-i-1]\n") == ["AL232"]


def test_where_facts_are_used_to_compare_shapes() -> None:
    text = """
algorithm pair(x: real[n], y: real[n]):
    pass
algorithm f(x: real[n], y: real[m]):
    where {}
    pair(x, y)
"""
    assert codes_of(text.format("m == n")) == []
    assert codes_of(text.format("m == n + 1")) == ["AL232"]
    assert codes_of(text.format("n is power of 7, m == n^2 + 1")) == ["AL232"]


# What the checker hands on


def test_the_longest_gap_of_possibly_empty_offsets_may_be_zero() -> None:
    module = load_text("algorithm f(o: offsets[k] into nz longest q):\n    where nz >= 0\n    pass\n")
    signature = next(iter(module.signatures.values()))
    assert dict(signature.at_least) == {"k": 1, "nz": 0, "q": 0}


TOKEN = re.compile(r"\n *|[A-Za-z_]\w*|\d+\.?\d*|\.\.\+|\.\.|[-+*/<>=!]=|//|\"[^\"\n]*\"|#.*|.")


@long
def test_mutated_programs_are_diagnosed_or_accepted_never_more() -> None:
    generator = random.Random(20)
    texts = [path.read_text(encoding="utf-8") for path in sorted(find_resource("stdlib").rglob("*.algo"))]
    for _ in range(250):
        tokens = TOKEN.findall(generator.choice(texts))
        words = [k for k, token in enumerate(tokens) if re.match(r"\w", token)]
        for _ in range(generator.choice((1, 1, 2, 4))):
            if generator.random() < 0.7:
                first, second = generator.choice(words), generator.choice(words)
            else:
                first, second = generator.randrange(len(tokens)), generator.randrange(len(tokens))
            tokens[first], tokens[second] = tokens[second], tokens[first]
        codes_of("".join(tokens))

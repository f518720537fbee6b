"""Compare the costs of two versions of programs, and of programs and a baseline.

`cost_changes.compare_versions` compares an algorithm with an earlier version of it, metric by metric, with proofs at
all sizes and values at some, and returns a `results.CostChange` for each difference; `VersionDifferences` collects
them. `sides.read_sides` reads both versions from folders, files or revisions of `git`, `baseline` writes and reads
costs as text, and `canonical` recognises algorithms that differ in names alone. Callers are `api.changes` and
`api.baselines`, for the commands `diff` and `check`.
"""

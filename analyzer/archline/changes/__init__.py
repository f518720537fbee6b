"""Compare the costs of two versions of programs, and of programs and a baseline.

`cost_changes.compare_versions` compares an algorithm with an earlier version of it, metric by metric, by proofs for all
sizes and by values at some, and returns a `results.CostChange` for each difference; `VersionDifferences` collects
these. `sides.read_sides` reads both versions from folders, files or revisions of `git`, `baseline` writes and reads
costs as text, and `canonical` recognises algorithms that differ only in names. Callers are `api.changes` and
`api.baselines`, for the commands `diff` and `check`.
"""

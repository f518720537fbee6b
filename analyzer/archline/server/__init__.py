"""The language server answers editors about open programs: findings, costs, names, and edits.

`language_server` has the handlers of requests. `documents` analyses texts as they are typed, in the process of the
server. Costs take longer, so `worker` derives them in another process, by the questions that `derivation` defines.
"""

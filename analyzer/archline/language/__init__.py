"""The language package parses and checks programs: source, parser, syntax tree, checks, facts, printer.

`loader.load_path`, `load_text` and `load_target` are the entries: they read a `Source`, parse it to a `Program`
(`parser`, `builder`, `syntax`), check it (`checking`) and return a `model.Module` with types, shapes and call targets.
Mistakes are `Diagnostic`s of documented `Rule`s in an `ArchlineError`. `printer` formats programs, `metrics` is the
registry of costs, `call_graph` finds recursions. All later stages read the Module.
"""

from archline.lazy_modules import load_on_use

load_on_use(__name__)

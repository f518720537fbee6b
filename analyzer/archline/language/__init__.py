"""From text to a checked program: source, parser, syntax tree, names and shapes, facts, printer, diagnostics."""

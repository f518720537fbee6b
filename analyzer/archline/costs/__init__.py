"""An algorithm under facts and what is derived of it: bounds, growth, values at sizes, verdicts on its claims."""

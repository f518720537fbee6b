"""Which costs changed between two versions of programs, and baselines of costs."""

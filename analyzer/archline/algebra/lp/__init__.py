"""Linear programs: solved in floats, and exactly."""

failures: dict[str, None] = {}
"""How the solver itself failed in this process, each once, if it never works: then less is found than there is."""


def blamed(reason: str) -> str:
    """Why something is unknown, with how the solver failed, if it did."""
    others = "; ".join(each for each in failures if each not in reason)
    return f"{reason}; {others}" if others else reason

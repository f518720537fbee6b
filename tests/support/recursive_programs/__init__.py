"""Generated divide-and-conquer programs: well formed, ending, free of races, with sizes and data to run them on."""

from recursive_programs.model import RecursiveProgram
from recursive_programs.program import KINDS, recursive_program_from_seed, recursive_programs

__all__ = ["KINDS", "RecursiveProgram", "recursive_program_from_seed", "recursive_programs"]

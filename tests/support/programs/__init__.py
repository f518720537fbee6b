"""Generated programs: well formed, ending, in bounds, race-free and deterministic, with data to run them on."""

from programs.model import GeneratedProgram
from programs.program import program_from_seed, programs

__all__ = ["GeneratedProgram", "program_from_seed", "programs"]

"""Linear programs: solved in floats, and exactly."""

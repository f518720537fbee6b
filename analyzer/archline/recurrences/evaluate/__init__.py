"""Values of recurrences at given sizes."""

"""From costs and a machine to time, energy and power."""

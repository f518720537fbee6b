"""What calls touch, at least and at most."""

"""Recurrences over real sizes whose solutions have closed forms."""

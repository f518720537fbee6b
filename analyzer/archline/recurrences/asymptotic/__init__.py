"""Recurrences over real sizes: the growth of their solutions."""

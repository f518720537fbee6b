"""Recurrences over real sizes: growth of their solutions, and closed forms."""

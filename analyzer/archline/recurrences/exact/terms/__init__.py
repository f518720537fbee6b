"""The terms that closed forms of recurrences may consist of."""

"""The first page of an algorithm's costs, the same in every format: what it shows (page), and a module a format."""

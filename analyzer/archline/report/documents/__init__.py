"""Short pages for notebooks, papers and pull requests: what they show (a module a subject), and a module a format."""

"""From a checked program to its loop tree: scopes, loops, ranges, views and accesses."""

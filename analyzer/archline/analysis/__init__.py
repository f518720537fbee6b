"""From a checked program to its costs: flops, work and span as exact expressions, or bounds, or a reason why not."""

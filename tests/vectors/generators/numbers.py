def _empty():
    return ""
write = write_refusals = write_rounding = write_functions = write_sums = write_random = write_frames = write_trees = write_leaves = _empty

"""rsum, the one order of summation (spec/arithmetic.md, section 4). Terms are FP64."""

BLOCK = 256
LANES = 16


def _block(terms):
    lane = [0.0] * LANES
    for i, term in enumerate(terms):
        lane[i % LANES] += term
    width = LANES // 2
    while width:
        for i in range(width):
            lane[i] += lane[i + width]
        width //= 2
    return lane[0]


def _column_block(terms):
    total = 0.0
    for term in terms:
        total += term
    return total


def _sum(runs, block):
    sums = [block(run[i:i + BLOCK]) for run in runs for i in range(0, len(run), BLOCK)]
    if not sums:
        return 0.0
    return sums[0] if len(sums) == 1 else _sum([sums], block)


def rsum(*runs):
    """The rsum of terms in contiguous runs, each a list."""
    return _sum(runs, _block)


def blocks_of(run):
    """The numbers of terms in the blocks of one run."""
    return [min(BLOCK, run - i) for i in range(0, run, BLOCK)]


def block_sum(terms):
    """The rsum of one block."""
    return _block(terms)


def column_sum(terms):
    """The same of rows, strided."""
    return _column_block(terms)


def join(sums):
    """The rsum, from the sums of all its blocks."""
    return _sum([sums], _block) if len(sums) > 1 else sums[0]


def join_columns(sums):
    return _sum([sums], _column_block) if len(sums) > 1 else sums[0]


def strided(terms):
    """The strided rsum of one column."""
    return _sum([terms], _column_block)

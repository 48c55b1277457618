"""Random numbers and the order of samples (spec/arithmetic.md, sections 6 and 7)."""
from .functions import cospi, log64
from .numbers import rne32, square_root

INIT, ORDER, AUGMENT, DROPOUT, TEST = 1, 2, 3, 4, 5
MASK = 0xFFFFFFFF
UNIT = float.fromhex("0x1p-32")


def philox(counter, key):
    """Philox 4x32-10: four words from a counter of four and a key of two."""
    c, k = list(counter), list(key)
    for _ in range(10):
        p, q = 0xD2511F53 * c[0], 0xCD9E8D57 * c[2]
        c = [q >> 32 ^ c[1] ^ k[0], q & MASK, p >> 32 ^ c[3] ^ k[1], p & MASK]
        k = [k[0] + 0x9E3779B9 & MASK, k[1] + 0xBB67AE85 & MASK]
    return c


class Stream:
    """(seed, purpose, step); numbers are asked for by index."""

    def __init__(self, seed, purpose, step):
        self.key, self.step, self.last = (seed, purpose), (step & MASK, step >> 32), (None, None)

    def u32(self, i):
        block = i // 4
        if self.last[0] != block:
            self.last = block, philox((block & MASK, block >> 32, *self.step), self.key)
        return self.last[1][i % 4]

    def below(self, i, n):
        return self.u32(i) * n >> 32

    def uniform(self, i):
        return (self.u32(i) + 0.5) * UNIT

    def normal(self, i):
        radius = square_root(-2.0 * log64(rne32(self.uniform(2 * i))))
        return radius * cospi(2.0 * self.uniform(2 * i + 1)) + 0.0


def order(seed, epoch, position, n):
    """The sample at a position of an epoch: a keyed bijection of 0 … n−1."""
    if n <= 1:
        return 0
    half = 1
    while 1 << 2 * half < n:
        half += 1
    mask, x = (1 << half) - 1, position
    while True:
        left, right = x >> half, x & mask
        for i in range(6):
            word = philox((right, i, epoch & MASK, epoch >> 32), (seed, ORDER))[0]
            left, right = right, left ^ word & mask
        x = left << half | right
        if x < n:
            return x

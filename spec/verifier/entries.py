"""The bytes of a frame of the rounding log (spec/encodings.md, section 6). Entries are (index, bit), ascending."""
from .numbers import Refused

DENSE = 0x10
MOST = 65536


def _rice(entries, k):
    bits, following = [], 0
    for index, bit in entries:
        gap = index - following
        bits += [1] * (gap >> k) + [0] + [gap >> j & 1 for j in range(k - 1, -1, -1)] + [bit]
        following = index + 1
    return bits


def _rice_length(entries, k):
    gaps = (b[0] - a[0] - 1 for a, b in zip([(-1, 0), *entries], entries))
    return sum((gap >> k) + k + 2 for gap in gaps)


def _fill(bits):
    bits = bits + [1] * (-len(bits) % 8)
    return bytes(int("".join(map(str, bits[i:i + 8])), 2) for i in range(0, len(bits), 8))


def _dense(entries, elements):
    digits = [0] * (-(-elements // 5) * 5)
    for index, bit in entries:
        digits[index] = 1 + bit
    return bytes(sum(d * 3**j for j, d in enumerate(digits[i:i + 5])) for i in range(0, len(digits), 5))


def encode(entries, elements, encoding):
    if not 1 <= elements <= MOST or any(not 0 <= i < elements or b not in (0, 1) for i, b in entries):
        raise Refused("frame: an entry outside its elements")
    if any(a[0] >= b[0] for a, b in zip(entries, entries[1:])):
        raise Refused("frame: entries that do not ascend")
    if encoding == "dense":
        return bytes([DENSE]) + _dense(entries, elements)
    if not entries:
        return b""
    k = min(range(16), key=lambda k: (_rice_length(entries, k), k))
    if -(-elements // 5) < -(-_rice_length(entries, k) // 8):
        return bytes([DENSE]) + _dense(entries, elements)
    return bytes([k]) + _fill(_rice(entries, k))


def _read_rice(data, k, elements):
    bits = [byte >> 7 - j & 1 for byte in data for j in range(8)]
    entries, at, following = [], 0, 0
    while len(bits) - at >= 8 or 0 in bits[at:]:
        quotient = 0
        while at < len(bits) and bits[at]:
            quotient, at = quotient + 1, at + 1
        if at + 1 + k + 1 > len(bits):
            raise Refused("frame: the stream ends within an entry")
        gap = quotient
        for bit in bits[at + 1:at + 1 + k]:
            gap = gap << 1 | bit
        if following + gap >= elements:
            raise Refused("frame: an entry beyond its elements")
        entries.append((following + gap, bits[at + 1 + k]))
        at, following = at + k + 2, following + gap + 1
    return entries


def _read_dense(data, elements):
    digits = []
    for byte in data:
        for _ in range(5):
            digits.append(byte % 3)
            byte //= 3
    return [(i, d - 1) for i, d in enumerate(digits[:elements]) if d]


def decode(data, elements, encoding):
    """The entries; whatever `encode` would not have written is refused, by writing them again."""
    if not 1 <= elements <= MOST:
        raise Refused(f"frame: {elements} elements")
    if len(data) > 1 + -(-elements // 5):
        raise Refused(f"frame: {len(data)} bytes for {elements} elements")
    if not data:
        entries = []
    elif data[0] == DENSE:
        entries = _read_dense(data[1:], elements)
    elif data[0] < 16:
        entries = _read_rice(data[1:], data[0], elements)
    else:
        raise Refused(f"frame: tag {data[0]:#x}")
    if encode(entries, elements, encoding) != data:
        raise Refused("frame: not the canonical bytes of its entries")
    return entries

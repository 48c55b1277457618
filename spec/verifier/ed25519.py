"""Ed25519 signatures by the strict rule of spec/encodings.md, section 9. Slow, and short."""
import hashlib

P = 2**255 - 19
L = 2**252 + 27742317777372353535851937790883648493
D = -121665 * pow(121666, P - 2, P) % P
ROOT = pow(2, (P - 1) // 4, P)  # a square root of −1
NEUTRAL = (0, 1, 1, 0)          # extended coordinates X, Y, Z, T


def add(p, q):
    a, b = (p[1] - p[0]) * (q[1] - q[0]) % P, (p[1] + p[0]) * (q[1] + q[0]) % P
    c, d = 2 * p[3] * q[3] * D % P, 2 * p[2] * q[2] % P
    e, f, g, h = b - a, d - c, d + c, b + a
    return e * f % P, g * h % P, f * g % P, e * h % P


def times(n, p):
    out = NEUTRAL
    while n:
        if n & 1:
            out = add(out, p)
        p, n = add(p, p), n >> 1
    return out


def decode(data):
    """The point of 32 bytes, or None: y below the prime, a point of the curve, one spelling."""
    n = int.from_bytes(data, "little")
    y, sign = n & (1 << 255) - 1, n >> 255
    if y >= P:
        return None
    square = (y * y - 1) * pow(D * y * y + 1, P - 2, P) % P
    x = pow(square, (P + 3) // 8, P)
    if (x * x - square) % P:
        x = x * ROOT % P
    if (x * x - square) % P or (not x and sign):
        return None
    if x & 1 != sign:
        x = P - x
    return x, y, 1, x * y % P


def encode(p):
    z = pow(p[2], P - 2, P)
    x, y = p[0] * z % P, p[1] * z % P
    return (y | (x & 1) << 255).to_bytes(32, "little")


BASE = decode((4 * pow(5, P - 2, P) % P).to_bytes(32, "little"))


def is_small(p):
    """Whether the order of the point divides 8."""
    return encode(times(8, p)) == encode(NEUTRAL)


def verify(key, message, signature):
    r, s = decode(signature[:32]), int.from_bytes(signature[32:], "little")
    a = decode(key)
    if r is None or a is None or s >= L or is_small(r) or is_small(a):
        return False
    k = int.from_bytes(hashlib.sha512(signature[:32] + key + message).digest(), "little") % L
    minus = (P - a[0], a[1], 1, P - a[3])
    return encode(add(times(s, BASE), times(k, minus))) == signature[:32]

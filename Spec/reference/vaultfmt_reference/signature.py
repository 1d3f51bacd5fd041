"""Ed25519 (RFC 8032) with exactly the checks of R-5.20.

PyNaCl signs; what is valid is decided here, step by step, and not by the libsodium that happens to be installed. The tests
compare the two where implementations are known to differ: parts of small order, and S beyond the order.
"""

from hashlib import sha512

from nacl.bindings import crypto_sign, crypto_sign_seed_keypair

P = 2**255 - 19
ORDER = 2**252 + 27742317777372353535851937790883648493
D = -121665 * pow(121666, P - 2, P) % P
ROOT_OF_MINUS_ONE = pow(2, (P - 1) // 4, P)

# X, Y, Z, T with x = X/Z, y = Y/Z, xy = T/Z.
Point = tuple[int, int, int, int]
IDENTITY: Point = (0, 1, 1, 0)


def public_key(seed: bytes) -> bytes:
    return bytes(crypto_sign_seed_keypair(seed)[0])


def sign(seed: bytes, message: bytes) -> bytes:
    return bytes(crypto_sign(message, crypto_sign_seed_keypair(seed)[1])[:64])


def is_valid(public: bytes, message: bytes, signature: bytes) -> bool:
    """R-5.20. Nothing here is secret, so that nothing need take constant time."""
    key, commitment = decoded(public), decoded(signature[:32])
    factor = int.from_bytes(signature[32:], "little")
    if len(signature) != 64 or factor >= ORDER or key is None or commitment is None:
        return False
    if is_small(key) or is_small(commitment):
        return False
    challenge = int.from_bytes(sha512(signature[:32] + public + message).digest(), "little") % ORDER
    return encoded(added(multiplied(factor, BASE), multiplied(challenge, negated(key)))) == signature[:32]


def decoded(data: bytes) -> Point | None:
    """None for what is no point, or not its canonical encoding."""
    if len(data) != 32:
        return None
    number = int.from_bytes(data, "little")
    sign_bit, y = number >> 255, number & (1 << 255) - 1
    if y >= P:
        return None
    square = (y * y - 1) * pow(D * y * y + 1, P - 2, P) % P
    x = pow(square, (P + 3) // 8, P)
    if (x * x - square) % P != 0:
        x = x * ROOT_OF_MINUS_ONE % P
    if (x * x - square) % P != 0 or (x == 0 and sign_bit):
        return None
    if x & 1 != sign_bit:
        x = P - x
    return x, y, 1, x * y % P


def encoded(point: Point) -> bytes:
    inverse = pow(point[2], P - 2, P)
    x, y = point[0] * inverse % P, point[1] * inverse % P
    return (y | (x & 1) << 255).to_bytes(32, "little")


def is_small(point: Point) -> bool:
    x, y, z, _ = multiplied(8, point)
    return x == 0 and (y - z) % P == 0


def negated(point: Point) -> Point:
    x, y, z, t = point
    return P - x, y, z, P - t


def added(left: Point, right: Point) -> Point:
    a, b = (left[1] - left[0]) * (right[1] - right[0]) % P, (left[1] + left[0]) * (right[1] + right[0]) % P
    c, d = 2 * left[3] * right[3] * D % P, 2 * left[2] * right[2] % P
    e, f, g, h = b - a, d - c, d + c, b + a
    return e * f % P, g * h % P, f * g % P, e * h % P


def multiplied(factor: int, point: Point) -> Point:
    result = IDENTITY
    while factor > 0:
        if factor & 1:
            result = added(result, point)
        point, factor = added(point, point), factor >> 1
    return result


def base_point() -> Point:
    point = decoded((4 * pow(5, P - 2, P) % P).to_bytes(32, "little"))
    assert point is not None
    return point


BASE = base_point()

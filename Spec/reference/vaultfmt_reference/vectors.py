"""Writes vector frames: section 5.5, R-5.36."""

from .codec import Limit, require
from .dots import SPLIT, Vector, VectorFrame
from .frames import VECTOR, Reference
from .keyring import Keyring
from .output import Output
from .reader import Reader


def current(reader: Reader, vector: Vector, own: int) -> Reference | None:
    """The frame of the state before, if it says what this state's has to say: only the own id's row may differ."""
    before = reader.vector_frame[0]
    if before.rows.keys() != vector.rows.keys() or before.split != vector.split or before.floor != vector.floor or own in vector.split:
        return None
    is_good = all(revision == before.rows[replica] or replica == own for replica, revision in vector.rows.items())
    return reader.commit.vector if is_good else None


def append_vector(output: Output, vector: Vector, own: int, reader: Reader | None = None) -> Reference:
    """`reader` is the state before, in a file that is changed in place."""
    require(len(vector.rows) <= Limit.ROWS, "a vector with too many rows (R-11.2)", "limit")
    if reader is not None and (there := current(reader, vector, own)) is not None:
        return there
    frame = based(reader, vector) if reader is not None else None
    return output.append_sealed("vector", VECTOR, (frame or VectorFrame(None, [], vector.encoded_rows())).encode())


def based(reader: Reader, vector: Vector) -> VectorFrame | None:
    """With the base of the frame before, or that frame as the base; nothing if it would not be shorter (R-5.34)."""
    _, before = reader.vector_frame
    reference = before.base or reader.commit.vector
    base = VectorFrame.decode(reader.open_vector(reference, reader.commit.offset)).rows([], 0)
    rows = vector.encoded_rows()
    ids = [replica for replica, _ in base]
    if [replica for replica, _ in rows[: len(base)]] != ids:
        return None
    changed = [(at, revision) for at, ((_, old), (_, revision)) in enumerate(zip(base, rows, strict=False), 1) if old != revision]
    goes_back = any(revision & ~SPLIT < base[at - 1][1] & ~SPLIT for at, revision in changed)
    further = rows[len(base) :]
    if goes_back or not 1 <= len(changed) + len(further) <= Limit.OWN_ROWS:
        return None
    frame, whole = VectorFrame(reference, changed, further), VectorFrame(None, [], rows)
    return frame if len(frame.encode()) < len(whole.encode()) else None


def vector_frames(output: Output, vector: Reference, keyring: Keyring) -> dict[int, int]:
    """The frames of the state's vector and of its hand-overs' vectors, and the bases of all of them, by offset."""
    found: dict[int, int] = {}
    for reference in (vector, *(over.vector for over in keyring.hand_overs)):
        found[reference.offset] = reference.length
        frame = bytes(output.data[reference.offset : reference.end])
        base = VectorFrame.decode(output.keys.unseal_at("vector", reference.offset, frame)).base
        if base is not None:
            found[base.offset] = base.length
    return found

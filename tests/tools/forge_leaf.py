#!/usr/bin/env python3
"""Tells a lie that hangs together: changes the state root in the last leaf of a run and writes the head that fits.

    forge_leaf.py RUN
"""
import base64
import hashlib
import pathlib
import struct
import sys

STATE_AT = len(b"ls1/run") + 1 + 32 + 8  # tag, kind, run id, step


def leaves_of(data):
    leaves = []
    while data:
        (length,) = struct.unpack("<I", data[:4])
        leaves.append(bytearray(data[4:4 + length]))
        data = data[4 + length:]
    return leaves


def head(leaves):
    """RFC 9162, section 2.1.1."""
    if len(leaves) == 1:
        return hashlib.sha256(b"\0" + leaves[0]).digest()
    split = 1 << (len(leaves) - 1).bit_length() - 1
    return hashlib.sha256(b"\1" + head(leaves[:split]) + head(leaves[split:])).digest()


def main():
    run = pathlib.Path(sys.argv[1])
    leaves = leaves_of((run / "leaves").read_bytes())
    path = run / "heads" / str(len(leaves))
    origin, size, root = path.read_text().splitlines()
    assert base64.b64decode(root) == head(leaves), "the head does not fit before the lie"
    leaves[-1][STATE_AT] ^= 1
    (run / "leaves").write_bytes(b"".join(struct.pack("<I", len(leaf)) + leaf for leaf in leaves))
    path.write_text(f"{origin}\n{size}\n{base64.b64encode(head(leaves)).decode()}\n")


if __name__ == "__main__":
    main()

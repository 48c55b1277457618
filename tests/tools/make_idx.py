#!/usr/bin/env python3
"""Writes a tiny data set in IDX format, the same bytes every time: each class is a stripe at its own place plus noise.

    make_idx.py DIR [--train N] [--test N] [--size PIXELS] [--classes C] [--seed S]
"""
import argparse
import pathlib
import struct


def numbers(seed):
    """A 64-bit linear congruential generator; its upper bytes."""
    state = seed & (2**64 - 1)
    while True:
        state = (state * 6364136223846793005 + 1442695040888963407) & (2**64 - 1)
        yield state >> 40 & 255


def image(label, size, classes, noise):
    rows = []
    for y in range(size):
        bright = y * classes // size == label
        rows.extend((160 if bright else 0) + next(noise) * 95 // 255 for _ in range(size))
    return bytes(rows)


def write_split(folder, prefix, count, size, classes, noise):
    labels = bytes(next(noise) % classes for _ in range(count))
    images = b"".join(image(label, size, classes, noise) for label in labels)
    (folder / f"{prefix}-images-idx3-ubyte").write_bytes(struct.pack(">IIII", 0x803, count, size, size) + images)
    (folder / f"{prefix}-labels-idx1-ubyte").write_bytes(struct.pack(">II", 0x801, count) + labels)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("dir", type=pathlib.Path)
    parser.add_argument("--train", type=int, default=64)
    parser.add_argument("--test", type=int, default=32)
    parser.add_argument("--size", type=int, default=8)
    parser.add_argument("--classes", type=int, default=4)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    options.dir.mkdir(parents=True, exist_ok=True)
    noise = numbers(options.seed)
    write_split(options.dir, "train", options.train, options.size, options.classes, noise)
    write_split(options.dir, "t10k", options.test, options.size, options.classes, noise)


if __name__ == "__main__":
    main()

"""Bytes read in order, little-endian, never past their end (spec/encodings.md)."""
import struct

from .numbers import Refused


class Reader:
    def __init__(self, data, what):
        self.data, self.at, self.what = data, 0, what

    def take(self, n):
        if n > len(self.data) - self.at:
            raise Refused(f"{self.what}: byte {self.at}: {n} bytes expected, {len(self.data) - self.at} left")
        self.at += n
        return self.data[self.at - n:self.at]

    def u8(self):
        return self.take(1)[0]

    def u32(self):
        return int.from_bytes(self.take(4), "little")

    def u64(self):
        return int.from_bytes(self.take(8), "little")

    def i64(self):
        return int.from_bytes(self.take(8), "little", signed=True)

    def f64(self):
        return struct.unpack("<d", self.take(8))[0]

    def string(self, most=255):
        n = self.u32()
        if n > most:
            raise Refused(f"{self.what}: byte {self.at - 4}: a string of {n} bytes, at most {most} expected")
        text = self.take(n)
        if b"\0" in text:
            raise Refused(f"{self.what}: byte {self.at - n}: a string with NUL")
        return text.decode("utf-8", "surrogateescape")

    def expect(self, data):
        at = self.at
        if self.take(len(data)) != data:
            raise Refused(f"{self.what}: byte {at}: {data!r} expected")

    def end(self):
        if self.at != len(self.data):
            raise Refused(f"{self.what}: {len(self.data) - self.at} bytes after the end")

    def done(self):
        return self.at == len(self.data)


def u8(v):
    return bytes([v])


def u32(v):
    return v.to_bytes(4, "little")


def u64(v):
    return (v & (1 << 64) - 1).to_bytes(8, "little")


def f64(x):
    return struct.pack("<d", x)


def string(text):
    data = text.encode("utf-8", "surrogateescape")
    return u32(len(data)) + data


def words(values):
    return struct.pack(f"<{len(values)}I", *values)

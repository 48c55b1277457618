"""Statements about trees, proofs and leaves, valid ones and each kind that must be refused."""
from verifier import leaves, merkle
from verifier.vectors import COMMITMENTS

from .writer import Draw, Statements

SIZES = (1, 2, 3, 4, 5, 7, 8, 9, 16, 33)


def leaf(i):
    return merkle.leaf_hash(bytes([i]))


def hexes(hashes):
    return [h.hex() for h in hashes]


def write_trees():
    out = Statements("Trees and proofs after RFC 9162", COMMITMENTS)
    out.about("heads; the leaves of eight are those of the published certificate-transparency vectors")
    out.add("tree")
    published = ["-", "00", "10", "2021", "3031", "40414243", "5051525354555657", "606162636465666768696a6b6c6d6e6f"]
    for n in range(1, 9):
        out.add("tree", published[:n])
    inclusions(out)
    consistencies(out)
    return out.text()


def write_multiproofs():
    out = Statements("Proofs of several leaves at once", COMMITMENTS)
    multiproofs(out)
    return out.text()


def inclusions(out):
    out.about("inclusion proofs, and what must be refused: another index, leaf, size, root, a hash changed, gone, doubled or too many")
    for size in SIZES:
        hashes = [leaf(i) for i in range(size)]
        root = merkle.head_of_hashes(hashes)
        for index in sorted({0, size // 2, size - 1}):
            proof = merkle.inclusion_proof(hashes, index)
            out.add("inclusion", root.hex(), size, index, leaf(index).hex(), hexes(proof), expect="ok")
            out.add("inclusion", root.hex(), size, index, leaf(99).hex(), hexes(proof), expect="refuse")
            out.add("inclusion", root.hex(), size, size, leaf(index).hex(), hexes(proof), expect="refuse")
            out.add("inclusion", leaf(98).hex(), size, index, leaf(index).hex(), hexes(proof), expect="refuse")
            out.add("inclusion", root.hex(), size, index, leaf(index).hex(), hexes(proof + [leaf(1)]), expect="refuse")
            out.add("inclusion", root.hex(), 0, 0, leaf(index).hex(), hexes(proof), expect="refuse")
            if proof:
                out.add("inclusion", root.hex(), size, index ^ 1, leaf(index).hex(), hexes(proof), expect="refuse")
                out.add("inclusion", root.hex(), 2 * size, index, leaf(index).hex(), hexes(proof), expect="refuse")
                out.add("inclusion", root.hex(), size, index, leaf(index).hex(), hexes(proof[:-1]), expect="refuse")
                out.add("inclusion", root.hex(), size, index, leaf(index).hex(), hexes(proof[1:]), expect="refuse")
                out.add("inclusion", root.hex(), size, index, leaf(index).hex(), hexes([leaf(97)] + proof[1:]),
                        expect="refuse")
            if len(proof) > 1:
                out.add("inclusion", root.hex(), size, index, leaf(index).hex(), hexes(proof[::-1]), expect="refuse")
    out.about("a node passed off as a leaf: the path is right, but a leaf's hash begins with another byte")
    four = [leaf(i) for i in range(4)]
    out.add("inclusion", merkle.head_of_hashes(four).hex(), 4, 0, merkle.node_hash(*four[:2]).hex(),
            merkle.node_hash(*four[2:]).hex(),
            expect="refuse")


def consistencies(out):
    out.about("consistency proofs, and what must be refused")
    for size in SIZES:
        hashes = [leaf(i) for i in range(size)]
        root = merkle.head_of_hashes(hashes)
        for old in sorted({1, size // 2, max(1, size - 1), size} - {0}):
            before = merkle.head_of_hashes(hashes[:old])
            proof = merkle.consistency_proof(hashes, old)
            out.add("consistency", before.hex(), old, root.hex(), size, hexes(proof), expect="ok")
            out.add("consistency", leaf(99).hex(), old, root.hex(), size, hexes(proof), expect="refuse")
            out.add("consistency", before.hex(), old, leaf(99).hex(), size, hexes(proof), expect="refuse")
            out.add("consistency", before.hex(), 0, root.hex(), size, hexes(proof), expect="refuse")
            out.add("consistency", before.hex(), size + 1, root.hex(), size, hexes(proof), expect="refuse")
            out.add("consistency", before.hex(), old, root.hex(), size, hexes(proof + [leaf(1)]), expect="refuse")
            if proof:
                out.add("consistency", before.hex(), old, root.hex(), size, hexes(proof[:-1]), expect="refuse")
                out.add("consistency", before.hex(), old, root.hex(), size, hexes(proof[1:]), expect="refuse")
                out.add("consistency", before.hex(), old, root.hex(), size, hexes([leaf(97)] + proof[1:]), expect="refuse")


def multiproofs(out):
    out.about("each: the proof, then another root, leaf, index, no leaf, a hash too many, too few, another")
    for size, indexes in ((1, [0]), (5, [0]), (5, [0, 4]), (5, [0, 1, 2, 3, 4]), (8, [2, 3]), (8, [1, 6]),
                          (33, [0, 31, 32]), (33, [7])):
        hashes = [leaf(i) for i in range(size)]
        root, proof = merkle.head_of_hashes(hashes), merkle.multiproof(hashes, indexes)

        def add(result, root=root, size=size, given=None, proof=proof):
            given = {i: leaf(i) for i in indexes} if given is None else given
            pairs = [x for i, h in given.items() for x in (i, h.hex())]
            out.add("multiproof", root.hex(), size, len(given), pairs, hexes(proof), expect=result)

        add("ok")
        add("refuse", root=leaf(99))
        add("refuse", given={i: leaf(i + (i == indexes[0])) for i in indexes})
        add("refuse", given={i + size: leaf(i) for i in indexes})
        add("refuse", given={})
        add("refuse", proof=proof + [leaf(1)])
        if proof:
            add("refuse", proof=proof[:-1])
            add("refuse", proof=[leaf(97)] + proof[1:])


def write_leaves():
    out, draw = Statements("Tensors, states, data, logs, runs, heads", COMMITMENTS), Draw(6)
    out.about("tensor roots: chunks of 256 words, the last with its true length")
    for count in (0, 1, 255, 256, 257, 512, 513, 1024, 5000):
        out.add("tensor", 1, 100, 40, count)
    for count in (0, 1, 255, 256, 257):
        out.add("chunk", 1, 100, 40, count)
    h = [leaf(i).hex() for i in range(8)]
    a, b = ["fc.bias", "f32", "10", h[0]], ["fc.weight", "f32", "10x784", h[1]]
    out.about("states: strictly ascending by the bytes of their names")
    out.add("state")
    for tensors, good in (([a], True), ([a, b], True), ([b, a], False), ([a, a], False),
                          ([["é", "f32", "1", h[2]], ["z", "f32", "1", h[2]]], False),
                          ([["z", "f32", "1", h[2]], ["é", "f32", "1", h[2]]], True),
                          ([["a", "f32", "1", h[0]], ["a.b", "f32", "2x3x4x5", h[1]]], True),
                          ([["n" * 255, "f32", "3", h[0]]], True), ([["n" * 256, "f32", "3", h[0]]], False)):
        out.add("state", *tensors)
        assert out.lines[-1].endswith("refuse") != good
    out.about("leaves of a step and of the rounding log")
    out.add("step", 3, a)
    out.add("step", 0, ["x", "f32", "64x1x28x28", h[3]], ["x.labels", "i32", "64", h[4]])
    out.add("step", 77, ["state", "root", "8", h[5]])
    for frame in ("-", "00", "10f2", "0a5b7f"):
        out.add("log", 1, 2, 0, frame)
        out.add("log", 1 << 40, (1 << 32) - 1, 7, frame)
    out.about("data roots")
    sample = bytes(draw.below(256) for _ in range(2050)).hex()
    out.add("data", "idx", 2, "1x1x2", "images", "01020304", "labels", "0001")
    out.add("data", "idx", 2, "1x1x2", "labels", "0001", "images", "01020304")
    out.add("data", "idx", 2, "1x2x1", "images", "01020304", "labels", "0001")
    out.add("data", "npy", 2, "1x1x2", "images", "01020304", "labels", "0001")
    for length in (2046, 2048, 2050, 4100):
        out.add("data", "cifar10", 1, "3x32x32", "images", sample[:length], "labels", "05")
    out.about("tagged digests")
    for tag in ("ls1/job", "ls1/runid", "ls1/metrics", "ls1/thresholds"):
        for data in ("-", "00", h[0] + h[1]):
            out.add("digest", tag, data)
    runs(out)
    heads(out)
    return out.text()


def runs(out):
    h = [leaf(i) for i in range(8)]
    start, later = leaves.start_leaf(*h[:3]), leaves.run_leaf(h[1], 5, *h[3:6])
    out.about("run leaves, and bytes that are none")
    for data in (start, later, leaves.run_leaf(h[1], (1 << 64) - 1, *h[3:6])):
        out.add("runleaf", data.hex(), expect="ok")
        for other in (data[:-1], data + b"\0", b"ls1/rum" + data[7:], data[:7] + b"\2" + data[8:],
                      data[:7] + bytes([1 - data[7]]) + data[8:],
                      data[:7], b"\0" + data):
            out.add("runleaf", other.hex(), expect="refuse")
    out.add("runleaf", leaves.run_leaf(h[1], 0, *h[3:6]).hex(), expect="refuse")
    out.add("runleaf", "-", expect="refuse")


def heads(out):
    out.about("heads: one spelling")
    text = leaves.head_text(leaf(1), 17, leaf(2)).decode()
    run, size, root = text.split("\n")[:3]
    out.add("head", text.encode().hex(), expect="ok")
    out.add("head", leaves.head_text(leaf(1), (1 << 64) - 1, leaf(2)).hex(), expect="ok")
    for lines in ([run, "017", root], [run, "0", root], [run, "+17", root], [run, " 17", root],
                  [run, "18446744073709551616", root],
                  [run, "", root], [run.upper(), size, root], [run[:9] + run[9:].upper(), size, root],
                  [run[:-1], size, root],
                  ["locksteps" + run[8:], size, root], [run, size, root[:-1]], [run, size, root[:-2] + "=="],
                  [run, size, root + "\n"],
                  [run, size, root, "x"], [run, size], [run + " ", size, root], [run, size, root.replace("=", "A")]):
        out.add("head", ("\n".join(lines) + "\n").encode().hex(), expect="refuse")
    for other in (text[:-1], text.replace("\n", "\r\n"), "", text + text):
        out.add("head", other.encode().hex() or "-", expect="refuse")
    stray = root[:42] + chr(ord(root[42]) + 1) + "="  # the two bits that base64 leaves over are not zero
    out.add("head", f"{run}\n{size}\n{stray}\n".encode().hex(), expect="refuse")

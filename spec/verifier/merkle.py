"""Trees after RFC 9162, section 2.1, and their proofs (spec/encodings.md, section 1)."""
import hashlib

from .numbers import Refused


def leaf_hash(leaf):
    return hashlib.sha256(b"\0" + leaf).digest()


def node_hash(left, right):
    return hashlib.sha256(b"\1" + left + right).digest()


def tagged(tag, data):
    """H(tag, data)."""
    return leaf_hash(tag.encode() + data)


def split(n):
    """The largest power of two below n."""
    return 1 << (n - 1).bit_length() - 1


def head_of_hashes(hashes):
    if not hashes:
        return hashlib.sha256(b"").digest()
    level = list(hashes)  # pairing neighbours level by level splits where the RFC does
    while len(level) > 1:
        pairs = [node_hash(level[i], level[i + 1]) for i in range(0, len(level) - 1, 2)]
        level = pairs + level[len(level) & ~1:]
    return level[0]


def head(leaves):
    return head_of_hashes([leaf_hash(leaf) for leaf in leaves])


# ---- inclusion: section 2.1.3 ----

def inclusion_proof(hashes, index):
    if len(hashes) == 1:
        return []
    k = split(len(hashes))
    if index < k:
        return inclusion_proof(hashes[:k], index) + [head_of_hashes(hashes[k:])]
    return inclusion_proof(hashes[k:], index - k) + [head_of_hashes(hashes[:k])]


def root_from_path(size, index, leaf, proof):
    """The root that a path leads to: which side a sibling is on follows from index and size alone."""
    if size == 1:
        if proof:
            raise Refused(f"inclusion proof: {len(proof)} hashes too many")
        return leaf
    if not proof:
        raise Refused("inclusion proof: a hash is missing")
    k = split(size)
    if index < k:
        return node_hash(root_from_path(k, index, leaf, proof[:-1]), proof[-1])
    return node_hash(proof[-1], root_from_path(size - k, index - k, leaf, proof[:-1]))


def check_inclusion(root, size, index, leaf, proof):
    if not 0 <= index < size:
        raise Refused(f"inclusion proof: index {index} in a tree of {size} leaves")
    if root_from_path(size, index, leaf, proof) != root:
        raise Refused("inclusion proof: it leads to another root")


# ---- consistency: section 2.1.4 ----

def consistency_proof(hashes, old, whole=True):
    """The proof that the first `old` leaves are a prefix; `whole` while the old tree is all of what is looked at."""
    n = len(hashes)
    if old == n:
        return [] if whole else [head_of_hashes(hashes)]
    k = split(n)
    if old <= k:
        return consistency_proof(hashes[:k], old, whole) + [head_of_hashes(hashes[k:])]
    return consistency_proof(hashes[k:], old - k, False) + [head_of_hashes(hashes[:k])]


def _roots(old, size, proof, old_root, whole):
    """(old root, new root) as the proof has them."""
    if old == size:
        if whole:
            if proof:
                raise Refused(f"consistency proof: {len(proof)} hashes too many")
            return old_root, old_root
        if len(proof) != 1:
            raise Refused("consistency proof: of another length")
        return proof[0], proof[0]
    if not proof:
        raise Refused("consistency proof: a hash is missing")
    k = split(size)
    if old <= k:
        a, b = _roots(old, k, proof[:-1], old_root, whole)
        return a, node_hash(b, proof[-1])
    a, b = _roots(old - k, size - k, proof[:-1], old_root, False)
    return node_hash(proof[-1], a), node_hash(proof[-1], b)


def check_consistency(old_root, old, root, size, proof):
    if not 1 <= old <= size:
        raise Refused(f"consistency proof: from {old} to {size} leaves")
    a, b = _roots(old, size, proof, old_root, True)
    if (a, b) != (old_root, root):
        raise Refused("consistency proof: it leads to other roots")


# ---- several leaves at once ----

def multiproof(hashes, indexes, first=0):
    """The hashes that, with the leaves at `indexes` (strictly ascending), give the root: depth first, left before right, the
    head of each largest subtree that holds none of them."""
    if not any(first <= i < first + len(hashes) for i in indexes):
        return [head_of_hashes(hashes)]
    if len(hashes) == 1:
        return []
    k = split(len(hashes))
    return multiproof(hashes[:k], indexes, first) + multiproof(hashes[k:], indexes, first + k)


def check_multiproof(root, size, leaves, proof):
    """`leaves` maps index to leaf hash."""
    if not leaves or any(not 0 <= i < size for i in leaves):
        raise Refused(f"multiproof: no index, or one outside a tree of {size} leaves")
    given = iter(proof)

    def subtree(first, count):
        if not any(first <= i < first + count for i in leaves):
            node = next(given, None)
            if node is None:
                raise Refused("multiproof: a hash is missing")
            return node
        if count == 1:
            return leaves[first]
        k = split(count)
        left = subtree(first, k)
        return node_hash(left, subtree(first + k, count - k))

    if subtree(0, size) != root:
        raise Refused("multiproof: it leads to another root")
    if next(given, None) is not None:
        raise Refused("multiproof: hashes too many")

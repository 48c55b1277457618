#include "commit/hasher.h"

/* The largest power of two below n; n ≥ 2. Where RFC 9162 splits a tree of n leaves. */
static uint64_t split_of(uint64_t n)
{
	uint64_t k = 1;
	while (k < n - k)
		k *= 2;
	return k;
}

static ls_status head_of(ls_hash *out, const ls_hash *leaf_hashes, uint64_t count, ls_hasher *h)
{
	ls_tree t;
	ls_tree_init(&t, h, 0);
	for (uint64_t i = 0; i < count; i++)
		ls_tree_push_hash(&t, &leaf_hashes[i]);
	return ls_tree_head(&t, out);
}

/* Proofs are found from the top down and told from the bottom up. */
static void reverse(ls_hash *proof, size_t count)
{
	for (size_t i = 0; i < count / 2; i++) {
		ls_hash keep = proof[i];
		proof[i] = proof[count - 1 - i];
		proof[count - 1 - i] = keep;
	}
}

ls_status ls_inclusion_make(ls_hash proof[LS_PROOF_MAX], size_t *count, const ls_hash *leaf_hashes, uint64_t size,
                            uint64_t index, ls_hasher *h)
{
	ls_status status = LS_OK;
	const ls_hash *at = leaf_hashes;
	*count = 0;
	if (index >= size)
		return LS_ERR_USAGE;
	while (size > 1) {
		uint64_t k = split_of(size);
		if (index < k) {
			LS_TRY(head_of(&proof[(*count)++], at + k, size - k, h));
			size = k;
		} else {
			LS_TRY(head_of(&proof[(*count)++], at, k, h));
			at += k;
			index -= k;
			size -= k;
		}
	}
	reverse(proof, *count);
done:
	return status;
}

ls_status ls_inclusion_verify(bool *valid, const ls_hash *root, uint64_t size, const ls_hash *leaf_hash, uint64_t index,
                              const ls_hash *proof, size_t count, ls_hasher *h)
{
	ls_status status = LS_OK;
	ls_hash r = *leaf_hash;
	uint64_t fn = index, sn = size - 1; // the node above the leaf, and the last node of its level
	*valid = false;
	if (index >= size)
		return LS_OK;
	for (size_t i = 0; i < count; i++) {
		if (sn == 0)
			return LS_OK; // a proof longer than the tree is high
		if (fn & 1 || fn == sn) {
			LS_TRY(ls_commit__node(&r, &proof[i], &r, h, 0));
			while (!(fn & 1) && fn != 0) { // levels at which the node has no sibling
				fn >>= 1;
				sn >>= 1;
			}
		} else {
			LS_TRY(ls_commit__node(&r, &r, &proof[i], h, 0));
		}
		fn >>= 1;
		sn >>= 1;
	}
	*valid = sn == 0 && ls_hash_equal(&r, root);
done:
	return status;
}

ls_status ls_consistency_make(ls_hash proof[LS_PROOF_MAX + 1], size_t *count, const ls_hash *leaf_hashes, uint64_t size,
                              uint64_t old_size, ls_hasher *h)
{
	ls_status status = LS_OK;
	const ls_hash *at = leaf_hashes;
	bool known = true; // the subtree at hand is the whole old tree, whose head the verifier has
	*count = 0;
	if (old_size == 0 || old_size > size)
		return LS_ERR_USAGE;
	while (old_size != size) {
		uint64_t k = split_of(size);
		if (old_size <= k) {
			LS_TRY(head_of(&proof[(*count)++], at + k, size - k, h));
			size = k;
		} else {
			LS_TRY(head_of(&proof[(*count)++], at, k, h));
			at += k;
			old_size -= k;
			size -= k;
			known = false;
		}
	}
	if (!known)
		LS_TRY(head_of(&proof[(*count)++], at, size, h));
	reverse(proof, *count);
done:
	return status;
}

/* Rebuilds both heads from the proof. */
static ls_status climb(bool *valid, const ls_hash *old_root, uint64_t old_size, const ls_hash *root, uint64_t size,
                       const ls_hash *seed, const ls_hash *proof, size_t count, ls_hasher *h)
{
	ls_status status = LS_OK;
	ls_hash fr = *seed, sr = *seed;
	uint64_t fn = old_size - 1, sn = size - 1;
	*valid = false;
	while (fn & 1) {
		fn >>= 1;
		sn >>= 1;
	}
	for (size_t i = 0; i < count; i++) {
		if (sn == 0)
			return LS_OK;
		if (fn & 1 || fn == sn) {
			LS_TRY(ls_commit__node(&fr, &proof[i], &fr, h, 0));
			LS_TRY(ls_commit__node(&sr, &proof[i], &sr, h, 0));
			while (!(fn & 1) && fn != 0) {
				fn >>= 1;
				sn >>= 1;
			}
		} else {
			LS_TRY(ls_commit__node(&sr, &sr, &proof[i], h, 0));
		}
		fn >>= 1;
		sn >>= 1;
	}
	*valid = sn == 0 && ls_hash_equal(&fr, old_root) && ls_hash_equal(&sr, root);
done:
	return status;
}

ls_status ls_consistency_verify(bool *valid, const ls_hash *old_root, uint64_t old_size, const ls_hash *root,
                                uint64_t size, const ls_hash *proof, size_t count, ls_hasher *h)
{
	*valid = false;
	if (old_size == 0 || old_size > size)
		return LS_OK;
	if (old_size == size) {
		*valid = count == 0 && ls_hash_equal(old_root, root);
		return LS_OK;
	}
	if (count == 0)
		return LS_OK;
	if ((old_size & (old_size - 1)) == 0) // the old tree is itself a subtree: its head starts the climb
		return climb(valid, old_root, old_size, root, size, old_root, proof, count, h);
	return climb(valid, old_root, old_size, root, size, &proof[0], proof + 1, count - 1, h);
}

#include "commit/hasher.h"

/* A subtree whose first leaf is number `first`, and those of the shown leaves that lie in it. Subtrees halve from one
 * call to the next, so recursion is at most LS_PROOF_MAX deep, whatever a proof claims. */
typedef struct subtree {
	uint64_t first, size;
	size_t from, to;
} subtree;

/* Leaves of the left half of a tree of size ≥ 2, where RFC 9162 splits it. */
static uint64_t left_size(uint64_t size)
{
	uint64_t k = 1;
	while (k < size - k)
		k *= 2;
	return k;
}

/* ---- making ---- */

typedef struct maker {
	ls_hash *proof;
	size_t room, count;
	const ls_hash *leaf_hashes;
	const uint64_t *index;
	ls_hasher *hasher;
} maker;

static ls_status make(maker *m, subtree t)
{
	subtree left = t, right = t;
	ls_status status;
	if (t.from == t.to) {
		ls_tree tree;
		if (m->count == m->room)
			return LS_ERR_LIMIT;
		ls_tree_init(&tree, m->hasher, 0);
		for (uint64_t i = 0; i < t.size; i++)
			ls_tree_push_hash(&tree, &m->leaf_hashes[t.first + i]);
		return ls_tree_head(&tree, &m->proof[m->count++]);
	}
	if (t.size == 1)
		return LS_OK;
	left.size = left_size(t.size);
	right.first += left.size;
	right.size -= left.size;
	while (right.from < t.to && m->index[right.from] < right.first)
		right.from++;
	left.to = right.from;
	status = make(m, left);
	return status == LS_OK ? make(m, right) : status;
}

ls_status ls_multiproof_make(ls_hash *proof, size_t room, size_t *count, const ls_hash *leaf_hashes, uint64_t size,
                             const uint64_t *index, size_t indexes, ls_hasher *h)
{
	maker m = {.proof = proof, .room = room, .leaf_hashes = leaf_hashes, .index = index, .hasher = h};
	ls_status status;
	*count = 0;
	for (size_t i = 0; i < indexes; i++)
		if (index[i] >= size || (i && index[i] <= index[i - 1]))
			return LS_ERR_USAGE;
	if (!indexes)
		return LS_ERR_USAGE;
	status = make(&m, (subtree){0, size, 0, indexes});
	*count = m.count;
	return status;
}

/* ---- verifying ---- */

typedef struct reader {
	const ls_shown_leaf *leaf;
	const ls_hash *proof;
	size_t count, at;
	bool short_of; /* hashes */
	ls_hasher *hasher;
} reader;

static ls_status climb(reader *r, subtree t, ls_hash *out)
{
	subtree left = t, right = t;
	ls_hash a, b;
	ls_status status;
	if (t.from == t.to) {
		r->short_of |= r->at == r->count;
		if (!r->short_of)
			*out = r->proof[r->at++];
		return LS_OK;
	}
	if (t.size == 1) {
		*out = r->leaf[t.from].hash;
		return LS_OK;
	}
	left.size = left_size(t.size);
	right.first += left.size;
	right.size -= left.size;
	while (right.from < t.to && r->leaf[right.from].index < right.first)
		right.from++;
	left.to = right.from;
	status = climb(r, left, &a);
	if (status == LS_OK && !r->short_of)
		status = climb(r, right, &b);
	return status == LS_OK && !r->short_of ? ls_commit__node(out, &a, &b, r->hasher, 0) : status;
}

ls_status ls_multiproof_verify(bool *valid, const ls_hash *root, uint64_t size, const ls_shown_leaf *leaf, size_t leaves,
                               const ls_hash *proof, size_t count, ls_hasher *h)
{
	reader r = {.leaf = leaf, .proof = proof, .count = count, .hasher = h};
	ls_hash head;
	ls_status status;
	*valid = false;
	for (size_t i = 0; i < leaves; i++)
		if (leaf[i].index >= size || (i && leaf[i].index <= leaf[i - 1].index))
			return LS_OK;
	if (!leaves)
		return LS_OK;
	status = climb(&r, (subtree){0, size, 0, leaves}, &head);
	*valid = status == LS_OK && !r.short_of && r.at == count && ls_hash_equal(&head, root);
	return status;
}

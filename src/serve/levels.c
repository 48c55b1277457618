/* Proofs by RFC 9162, sections 2.1.3 and 2.1.4, from the stored heads of complete subtrees: what a proof needs of any one subtree is
 * made of at most 64 of them. */
#include <lockstep/serve.h>

#define LEVEL_MAX (UINT64_C(1) << 40) /* bytes */

void ls_levels_init(ls_levels *t, ls_hasher *hasher)
{
	*t = (ls_levels){.hasher = hasher};
	for (int l = 0; l < 64; l++)
		ls_buf_init(&t->level[l], LEVEL_MAX);
}

void ls_levels_free(ls_levels *t)
{
	for (int l = 0; l < 64; l++)
		ls_buf_free(&t->level[l]);
}

static const ls_hash *node(const ls_levels *t, int level, uint64_t index)
{
	return (const ls_hash *)(const void *)(t->level[level].data + index * LS_HASH_BYTES);
}

ls_status ls_levels_push(ls_levels *t, const ls_hash *leaf_hash)
{
	ls_status status = LS_OK;
	ls_hash hash = *leaf_hash;
	uint64_t index = t->size;
	for (int l = 0; status == LS_OK; l++, index >>= 1) {
		ls_buf_bytes(&t->level[l], hash.byte, LS_HASH_BYTES);
		status = t->level[l].status;
		if (!(index & 1))
			break;
		if (status == LS_OK)
			status = ls_hash_node(&hash, node(t, l, index - 1), node(t, l, index), t->hasher);
	}
	t->size += status == LS_OK;
	return status;
}

/* The largest power of two below n ≥ 2. */
static uint64_t split_of(uint64_t n)
{
	return UINT64_C(1) << (63 - __builtin_clzll(n - 1));
}

/* The head over `n` ≥ 1 leaves from `start`, which is a multiple of the split's power of two. */
static ls_status head_of(const ls_levels *t, uint64_t start, uint64_t n, ls_hash *out)
{
	ls_status status;
	ls_hash left, right;
	uint64_t k;
	if (!(n & (n - 1))) {
		int level = __builtin_ctzll(n);
		*out = *node(t, level, start >> level);
		return LS_OK;
	}
	k = split_of(n);
	LS_TRY(head_of(t, start, k, &left));
	LS_TRY(head_of(t, start + k, n - k, &right));
	LS_TRY(ls_hash_node(out, &left, &right, t->hasher));
done:
	return status;
}

ls_status ls_levels_head(const ls_levels *t, uint64_t size, ls_hash *out)
{
	return size && size <= t->size ? head_of(t, 0, size, out) : LS_ERR_USAGE;
}

/* Both proofs name the siblings on the way down, the deepest first: they are written from the end and then moved. */
typedef struct way {
	ls_hash hash[LS_PROOF_MAX + 1];
	size_t count;
} way;

static void write_up(const way *w, ls_hash *proof, size_t *count)
{
	for (size_t i = 0; i < w->count; i++)
		proof[i] = w->hash[w->count - 1 - i];
	*count = w->count;
}

ls_status ls_levels_inclusion(const ls_levels *t, uint64_t size, uint64_t index, ls_hash proof[LS_PROOF_MAX], size_t *count)
{
	ls_status status = LS_OK;
	way w = {.count = 0};
	uint64_t start = 0, n = size;
	if (size > t->size || index >= size)
		return LS_ERR_USAGE;
	while (n > 1) {
		uint64_t k = split_of(n);
		bool right = index - start >= k;
		LS_TRY(head_of(t, right ? start : start + k, right ? k : n - k, &w.hash[w.count++]));
		start += right ? k : 0;
		n = right ? n - k : k;
	}
	write_up(&w, proof, count);
done:
	return status;
}

ls_status ls_levels_consistency(const ls_levels *t, uint64_t size, uint64_t old_size, ls_hash proof[LS_PROOF_MAX + 1], size_t *count)
{
	ls_status status = LS_OK;
	way w = {.count = 0};
	uint64_t start = 0, n = size;
	bool whole = true; // the subtree looked at begins where the tree does, so that its head is known to whoever asks
	if (size > t->size || !old_size || old_size > size)
		return LS_ERR_USAGE;
	while (old_size - start < n) {
		uint64_t k = split_of(n);
		bool right = old_size - start > k;
		LS_TRY(head_of(t, right ? start : start + k, right ? k : n - k, &w.hash[w.count++]));
		whole &= !right;
		start += right ? k : 0;
		n = right ? n - k : k;
	}
	if (!whole)
		LS_TRY(head_of(t, start, n, &w.hash[w.count++]));
	write_up(&w, proof, count);
done:
	return status;
}

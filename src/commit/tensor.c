#include "commit/hasher.h"

#define CHUNK_BYTES (LS_CHUNK_WORDS * 4)
#define GROUPS_MAX 256      /* group heads are kept on the stack */
#define GROUP_LOG2_MIN 4    /* 16 chunks: a task of some 13 µs, well above the price of handing it out */
#define PARALLEL_CHUNKS 128 /* below this, waking a worker costs more than it saves */

int64_t ls_chunk_count(int64_t words)
{
	return words / LS_CHUNK_WORDS + (words % LS_CHUNK_WORDS != 0);
}

static void push_chunk(ls_tree *t, const uint8_t *words, size_t count)
{
	static const char prefix[] = LS_COMMIT_LEAF_PREFIX LS_TAG_CHUNK;
	ls_commit__part parts[] = {{prefix, sizeof prefix - 1}, {words, count * 4}};
#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
	uint8_t swapped[CHUNK_BYTES];
	for (size_t i = 0; i < count; i++) {
		uint32_t w;
		memcpy(&w, words + 4 * i, 4);
		ls_put_le32(swapped + 4 * i, w);
	}
	parts[1].data = swapped;
#endif
	ls_commit__tree_push_parts(t, parts, 2);
}

static void push_chunks(ls_tree *t, const uint8_t *words, int64_t count)
{
	while (count > 0) {
		int64_t n = count < LS_CHUNK_WORDS ? count : LS_CHUNK_WORDS;
		push_chunk(t, words, (size_t)n);
		words += n * 4;
		count -= n;
	}
}

/* A complete subtree per group of 2^k chunks; only the last group may be smaller, which is just where RFC 9162 puts
 * the incomplete part, so the head over group heads is the head over all chunks. */
typedef struct group_work {
	const uint8_t *words;
	int64_t count, group_words;
	ls_hasher *hasher;
	ls_hash head[GROUPS_MAX];
	ls_status status[GROUPS_MAX];
} group_work;

static void hash_group(void *context, int64_t index, int worker)
{
	group_work *work = context;
	int64_t first = index * work->group_words, left = work->count - first;
	ls_tree t;
	ls_tree_init(&t, work->hasher, worker);
	push_chunks(&t, work->words + first * 4, left < work->group_words ? left : work->group_words);
	work->status[index] = ls_tree_head(&t, &work->head[index]);
}

static ls_status root_in_groups(ls_hash *out, const void *words, int64_t count, ls_pool *pool, ls_hasher *h)
{
	group_work work = {.words = words, .count = count, .hasher = h};
	int64_t chunks = ls_chunk_count(count), groups;
	int log2 = GROUP_LOG2_MIN;
	ls_tree t;
	while (((chunks - 1) >> log2) + 1 > GROUPS_MAX)
		log2++;
	groups = ((chunks - 1) >> log2) + 1;
	work.group_words = (int64_t)LS_CHUNK_WORDS << log2;
	ls_pool_run(pool, groups, hash_group, &work);
	ls_tree_init(&t, h, 0);
	for (int64_t i = 0; i < groups; i++) {
		if (work.status[i] != LS_OK)
			return work.status[i];
		ls_tree_push_hash(&t, &work.head[i]);
	}
	return ls_tree_head(&t, out);
}

ls_status ls_tensor_root(ls_hash *out, const void *words, int64_t count, ls_pool *pool, ls_hasher *h)
{
	ls_tree t;
	if (count < 0 || ls_pool_threads(pool) > ls_hasher_workers(h))
		return LS_ERR_USAGE;
	if (ls_pool_threads(pool) > 1 && ls_chunk_count(count) >= PARALLEL_CHUNKS)
		return root_in_groups(out, words, count, pool, h);
	ls_tree_init(&t, h, 0);
	push_chunks(&t, words, count);
	return ls_tree_head(&t, out);
}

ls_status ls_chunk_hash(ls_hash *out, const void *words, int count, ls_hasher *h)
{
	ls_tree t;
	if (count < 1 || count > LS_CHUNK_WORDS)
		return LS_ERR_USAGE;
	ls_tree_init(&t, h, 0);
	push_chunk(&t, words, (size_t)count);
	return ls_tree_head(&t, out); // the head of one leaf is its leaf hash
}

#include "commit/hasher.h"

#define CHUNK_BYTES (LS_CHUNK_WORDS * 4)
#define PIECE_CHUNKS 32    /* a task of some 11 µs, well above the price of handing it out */
#define BATCH_PIECES 256   /* of one parallel job; their heads are kept on the stack */
#define PARALLEL_CHUNKS 96 /* below this, waking a worker costs more than it saves */

int64_t ls_chunk_count(int64_t words)
{
	return words / LS_CHUNK_WORDS + (words % LS_CHUNK_WORDS != 0);
}

static ls_status hash_chunk(ls_hash *out, const uint8_t *words, size_t count, ls_hasher *h, int worker)
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
	return ls_commit__digest(out, parts, 2, h, worker);
}

/* The level above `count` nodes, in their place; a node without a neighbour rises as it is, which is where RFC 9162 has
 * the incomplete part of a tree. */
static ls_status join_pairs(ls_hash *node, int count, ls_hasher *h, int worker)
{
	ls_commit__two_fn two = ls_commit__hasher_two(h);
	ls_status status = LS_OK;
	int i = 0;
	for (; two && i + 4 <= count; i += 4)
		ls_commit__two_nodes(two, &node[i / 2], &node[i]);
	for (; i + 2 <= count && status == LS_OK; i += 2)
		status = ls_commit__node(&node[i / 2], &node[i], &node[i + 1], h, worker);
	if (i < count)
		node[i / 2] = node[i];
	return status;
}

/* Head over the chunks of up to PIECE_CHUNKS chunks. */
static ls_status hash_piece(ls_hash *out, const uint8_t *words, int64_t count, ls_hasher *h, int worker)
{
	ls_commit__two_fn two = ls_commit__hasher_two(h);
	ls_hash node[PIECE_CHUNKS];
	ls_status status = LS_OK;
	int nodes = 0;
	if (count == 0)
		return ls_commit__digest(out, NULL, 0, h, worker);
	for (; two && count >= 2 * LS_CHUNK_WORDS; nodes += 2, words += 2 * CHUNK_BYTES, count -= 2 * LS_CHUNK_WORDS)
		ls_commit__two_chunks(two, &node[nodes], words, words + CHUNK_BYTES);
	for (; count > 0 && status == LS_OK; nodes++, words += CHUNK_BYTES, count -= LS_CHUNK_WORDS)
		status = hash_chunk(&node[nodes], words, (size_t)(count < LS_CHUNK_WORDS ? count : LS_CHUNK_WORDS), h, worker);
	for (; nodes > 1 && status == LS_OK; nodes = (nodes + 1) / 2)
		status = join_pairs(node, nodes, h, worker);
	*out = node[0];
	return status;
}

/* A complete subtree of one tensor; only its last piece may be smaller, which is just where RFC 9162 puts the incomplete
 * part, so the head over the pieces' heads is the head over all chunks. */
typedef struct piece {
	const uint8_t *words;
	int64_t count;
	bool last; /* of its tensor */
	ls_hash head;
	ls_status status;
} piece;

typedef struct batch {
	ls_hasher *hasher;
	int pieces;
	int64_t chunks;
	piece piece[BATCH_PIECES];
} batch;

static void run_piece(void *context, int64_t index, int worker)
{
	batch *b = context;
	piece *p = &b->piece[index];
	p->status = hash_piece(&p->head, p->words, p->count, b->hasher, worker);
}

/* The next pieces, beginning `*at` words into tensor `*index`. */
static void fill(batch *b, const ls_tensor_words *tensor, size_t tensors, size_t *index, int64_t *at)
{
	const int64_t most = (int64_t)PIECE_CHUNKS * LS_CHUNK_WORDS;
	b->chunks = 0;
	for (b->pieces = 0; b->pieces < BATCH_PIECES && *index < tensors; b->pieces++) {
		const ls_tensor_words *t = &tensor[*index];
		int64_t left = t->count - *at;
		piece *p = &b->piece[b->pieces];
		p->words = (const uint8_t *)t->words + *at * 4;
		p->count = left < most ? left : most;
		p->last = left <= most;
		b->chunks += ls_chunk_count(p->count);
		*at = p->last ? 0 : *at + most;
		*index += p->last;
	}
}

ls_status ls_tensor_roots(ls_tensor_words *tensor, size_t tensors, ls_pool *pool, ls_hasher *h)
{
	batch b = {.hasher = h};
	size_t index = 0, done = 0;
	int64_t at = 0;
	ls_tree tree;
	if (ls_pool_threads(pool) > ls_hasher_workers(h))
		return LS_ERR_USAGE;
	for (size_t i = 0; i < tensors; i++)
		if (tensor[i].count < 0)
			return LS_ERR_USAGE;
	ls_tree_init(&tree, h, 0);
	while (index < tensors) {
		fill(&b, tensor, tensors, &index, &at);
		ls_pool_run(b.chunks < PARALLEL_CHUNKS ? NULL : pool, b.pieces, run_piece, &b);
		for (int i = 0; i < b.pieces; i++) {
			ls_status status = b.piece[i].status;
			ls_tree_push_hash(&tree, &b.piece[i].head);
			if (status == LS_OK && b.piece[i].last) {
				status = ls_tree_head(&tree, &tensor[done++].root);
				ls_tree_init(&tree, h, 0);
			}
			if (status != LS_OK)
				return status;
		}
	}
	return LS_OK;
}

ls_status ls_tensor_root(ls_hash *out, const void *words, int64_t count, ls_pool *pool, ls_hasher *h)
{
	ls_tensor_words tensor = {.words = words, .count = count};
	ls_status status = ls_tensor_roots(&tensor, 1, pool, h);
	*out = tensor.root;
	return status;
}

ls_status ls_chunk_hash(ls_hash *out, const void *words, int count, ls_hasher *h)
{
	if (count < 1 || count > LS_CHUNK_WORDS)
		return LS_ERR_USAGE;
	return hash_chunk(out, words, (size_t)count, h, 0);
}

/* Byte-pair encoding: within a piece of text, the pair whose merge comes first becomes one token, until no pair has one. */
#include "data/tokenizer.h"

#include <stdio.h>

/* ---- the table of merges ---- */

static uint32_t slot_of(const ls_tokenizer *t, uint32_t left, uint32_t right)
{
	uint64_t mixed = ((uint64_t)left << 16 | right) * UINT64_C(0x9e3779b97f4a7c15);
	return (uint32_t)(mixed >> 32) & (t->slots - 1);
}

/* More than half of the slots are free, so every search ends. */
static const ls_data__merge *find_merge(const ls_tokenizer *t, uint32_t left, uint32_t right)
{
	for (uint32_t s = slot_of(t, left, right); t->slot[s]; s = (s + 1) & (t->slots - 1)) {
		const ls_data__merge *m = &t->merge[t->slot[s] - 1];
		if (m->left == left && m->right == right)
			return m;
	}
	return NULL;
}

ls_status ls_data__bpe_index(ls_tokenizer *t, const char *path, ls_error *err)
{
	t->slots = 4;
	while (t->slots <= 2 * t->merges)
		t->slots *= 2;
	t->slot = ls_alloc(t->slots, sizeof *t->slot);
	if (!t->slot)
		return ls_error_set(err, LS_ERR_NOMEM, "%s: no memory for its merges", path);
	for (uint32_t i = 0; i < t->merges; i++) {
		const ls_data__merge *m = &t->merge[i];
		uint32_t s = slot_of(t, m->left, m->right);
		char found[64];
		if (find_merge(t, m->left, m->right)) {
			snprintf(found, sizeof found, "merge %u a second time", find_merge(t, m->left, m->right)->rank + 1);
			return ls_error_input(err, path, "merges", found, "each pair once", NULL);
		}
		while (t->slot[s])
			s = (s + 1) & (t->slots - 1);
		t->slot[s] = i + 1;
	}
	return LS_OK;
}

/* ---- one piece ---- */

/* The tokens of a piece are a doubly linked list, whose nodes are numbered by their first byte; one that was merged into
 * its left neighbour is dead. A heap holds the pairs that have a merge; some of them are out of date. */
#define DEAD (-1)
#define NONE UINT32_MAX

typedef struct candidate {
	uint32_t rank, at;    /* of the left node */
	uint16_t left, right; /* the tokens it was made for: else it is out of date */
} candidate;

typedef struct piece_merger {
	const ls_tokenizer *t;
	ls_buf *out;
	size_t cap; /* nodes that there is room for */
	int32_t *token;
	uint32_t *next, *before;
	candidate *heap;
	size_t heap_len;
} piece_merger;

/* A piece of n bytes begins with at most n − 1 candidates; each of at most n − 1 merges takes one and adds at most two. */
static ls_status make_room(piece_merger *m, size_t len, ls_error *err)
{
	size_t cap = m->cap ? m->cap : 256;
	if (len <= m->cap)
		return LS_OK;
	if (len > LS_TOKENIZER_PIECE_MAX)
		return ls_error_set(err, LS_ERR_LIMIT,
		                    "text: found %zu bytes without a boundary between words, expected at most %zu\n"
		                    "  hint: data.tokenizer: bytes has no such limit", len, LS_TOKENIZER_PIECE_MAX);
	while (cap < len)
		cap *= 2;
	ls_free(m->token);
	ls_free(m->next);
	ls_free(m->before);
	ls_free(m->heap);
	m->token = ls_alloc(cap, sizeof *m->token);
	m->next = ls_alloc(cap, sizeof *m->next);
	m->before = ls_alloc(cap, sizeof *m->before);
	m->heap = ls_alloc(2 * cap, sizeof *m->heap);
	m->cap = m->token && m->next && m->before && m->heap ? cap : 0;
	return m->cap ? LS_OK : ls_error_set(err, LS_ERR_NOMEM, "no memory to encode a text");
}

static bool precedes(const candidate *a, const candidate *b)
{
	return a->rank != b->rank ? a->rank < b->rank : a->at < b->at;
}

static void push(piece_merger *m, candidate c)
{
	size_t i = m->heap_len++;
	while (i && precedes(&c, &m->heap[(i - 1) / 2])) {
		m->heap[i] = m->heap[(i - 1) / 2];
		i = (i - 1) / 2;
	}
	m->heap[i] = c;
}

static candidate pop(piece_merger *m)
{
	candidate top = m->heap[0], last = m->heap[--m->heap_len];
	size_t i = 0, child;
	while ((child = 2 * i + 1) < m->heap_len) {
		child += child + 1 < m->heap_len && precedes(&m->heap[child + 1], &m->heap[child]);
		if (!precedes(&m->heap[child], &last))
			break;
		m->heap[i] = m->heap[child];
		i = child;
	}
	if (m->heap_len)
		m->heap[i] = last;
	return top;
}

/* Offers the pair whose left node is `at`, where it has a merge. */
static void offer(piece_merger *m, uint32_t at)
{
	const ls_data__merge *merge;
	if (at == NONE || m->next[at] == NONE)
		return;
	merge = find_merge(m->t, (uint32_t)m->token[at], (uint32_t)m->token[m->next[at]]);
	if (merge)
		push(m, (candidate){merge->rank, at, merge->left, merge->right});
}

static void merge_at(piece_merger *m, const candidate *c)
{
	uint32_t right = m->next[c->at];
	if (m->token[c->at] != c->left || right == NONE || m->token[right] != c->right)
		return;
	m->token[c->at] = m->t->merge[c->rank].whole;
	m->token[right] = DEAD;
	m->next[c->at] = m->next[right];
	if (m->next[right] != NONE)
		m->before[m->next[right]] = c->at;
	offer(m, m->before[c->at]);
	offer(m, c->at);
}

static ls_status encode_piece(void *context, const uint8_t *piece, size_t len, ls_error *err)
{
	ls_status status;
	piece_merger *m = context;
	LS_TRY(make_room(m, len, err));
	m->heap_len = 0;
	for (size_t i = 0; i < len; i++) {
		m->token[i] = m->t->of_byte[piece[i]];
		m->next[i] = i + 1 < len ? (uint32_t)i + 1 : NONE;
		m->before[i] = i ? (uint32_t)i - 1 : NONE;
	}
	for (size_t i = 0; i < len; i++)
		offer(m, (uint32_t)i);
	while (m->heap_len) {
		candidate c = pop(m);
		merge_at(m, &c);
	}
	for (uint32_t i = 0; i != NONE; i = m->next[i])
		ls_buf_u16(m->out, (uint16_t)m->token[i]);
done:
	return status;
}

ls_status ls_data__bpe_encode(const ls_tokenizer *t, const uint8_t *text, size_t len, ls_buf *out, ls_error *err)
{
	piece_merger m = {.t = t, .out = out};
	ls_status status = ls_data__cut(t->cutter, text, len, encode_piece, &m, err);
	ls_free(m.token);
	ls_free(m.next);
	ls_free(m.before);
	ls_free(m.heap);
	return status;
}

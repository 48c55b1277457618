/* What one element must be: entry of the rounding log, partial sums, the rule on two words; and the two values that are no
 * op's element, the state root and the loss of the metrics. */
#include "judge/game.h"

#include "num/wide.h"

#include <stdio.h>

/* ---- entry ---- */

static ls_bound bound_of(const ls_game *g)
{
	ls_arithmetic a = {.fp32 = g->job.fp32, .depth = g->job.depth};
	return ls_product_promise(&a, &g->product);
}

ls_bound ls_judge__bound(const ls_game *g)
{
	return bound_of(g);
}

/* A leaf of the log names its step, op and frame itself, so that neither index nor size of the path needs to be known. */
static bool frame_included(ls_game *g, ls_cursor *c, uint32_t frame, const uint8_t *bytes, size_t len)
{
	uint64_t size = ls_cursor_u64(c), index = ls_cursor_u64(c);
	ls_buf leaf;
	bool good;
	ls_buf_init(&leaf, LS_TURN_BYTES_MAX);
	good = ls_log_leaf_encode(&leaf, g->step, g->op, frame, bytes, len) == LS_OK &&
	       ls_judge__included(g, c, &g->own[LS_JUDGE__TRAINER].log, size, index, leaf.data, leaf.len);
	ls_buf_free(&leaf);
	return good;
}

static bool find_entry(const ls_game *g, const uint8_t *bytes, size_t len, int *out)
{
	int64_t start = g->element / LS_FRAME_ELEMENTS * LS_FRAME_ELEMENTS;
	int64_t left = ls_shape_count(&g->record.output[0].shape) - start;
	uint32_t elements = left < (int64_t)LS_FRAME_ELEMENTS ? (uint32_t)left : LS_FRAME_ELEMENTS;
	ls_entry *entry = ls_alloc(elements, sizeof *entry);
	size_t count = 0;
	bool good = entry && ls_entries_decode(entry, &count, elements, g->job.encoding, bytes, len);
	*out = -1;
	for (size_t i = 0; good && i < count; i++)
		if (entry[i].index == (uint32_t)(g->element - start))
			*out = entry[i].bit;
	ls_free(entry);
	return good;
}

bool ls_judge__take_entry(ls_game *g, int side, ls_cursor *c)
{
	size_t len;
	const uint8_t *bytes = ls_judge__bytes(c, &len);
	int entry;
	if (!bytes || !frame_included(g, c, (uint32_t)(g->element / LS_FRAME_ELEMENTS), bytes, len) || !ls_cursor_done(c) ||
	    !find_entry(g, bytes, len, &entry))
		return false;
	g->entry = entry;
	if (g->entry_road && entry < 0)
		ls_judge__end(g, LS_RULING_AUDITOR_WRONG, "the rounding log has no entry where the auditor says that one is forged");
	else
		ls_judge__enter_element(g);
	return true;
}

/* ---- the rule ---- */

static const char forged_text[] = "the rounding log's entry names a value that no honest platform reaches";

static ls_entry_kind judge_sum(const ls_game *g, const ls_sum *sum, float *value)
{
	int bits = g->record.output[0].bits;
	if (g->entry >= 0)
		return ls_sum_judge(sum, bound_of(g), bits, g->entry, value);
	*value = ls_sum_round(sum, bits);
	return LS_ENTRY_REDUNDANT;
}

bool ls_judge__consistent(const ls_game *g, int side, const ls_sum *sum)
{
	float value;
	bool forged = judge_sum(g, sum, &value) == LS_ENTRY_FORGED;
	if (g->entry_road)
		return forged == (side == LS_JUDGE__AUDITOR);
	return ls_bits_f32(value) == g->word[side] && !(forged && side == LS_JUDGE__TRAINER);
}

static void admissible(ls_game *g, uint32_t word)
{
	g->result.has_words = true;
	g->result.admissible_word = word;
}

void ls_judge__rule_product(ls_game *g, const ls_sum *sum)
{
	float value;
	bool forged = judge_sum(g, sum, &value) == LS_ENTRY_FORGED;
	if (g->entry_road) {
		ls_judge__end_wrong(g, forged, !forged, forged ? forged_text : "the rounding log's entry names an admissible value");
		return;
	}
	admissible(g, ls_bits_f32(value));
	if (forged)
		ls_judge__end_wrong(g, true, g->word[1] != ls_bits_f32(value), forged_text);
	else
		ls_judge__end_wrong(g, g->word[0] != ls_bits_f32(value), g->word[1] != ls_bits_f32(value),
		                    "the exact sum of products, with the rounding log's entry where there is one, admits one value");
}

/* ---- partial sums ---- */

int64_t ls_sum_child(int64_t terms)
{
	int64_t child = 1;
	while (child * LS_SUM_FAN < terms)
		child *= LS_SUM_FAN;
	return child;
}

void ls_sum_encode(ls_buf *out, const ls_sum *sum)
{
	for (int i = 0; i < LS_WIDE_LIMBS; i++)
		ls_buf_u64(out, sum->e.limb[i]);
	for (int i = 0; i < LS_WIDE_LIMBS; i++)
		ls_buf_u64(out, sum->s.limb[i]);
	ls_buf_u8(out, sum->non_finite);
}

/* 2^21 terms below 2^554 units stay below 2^600; numbers beyond are nobody's sums, and the arithmetic that follows need not
 * cope with them. */
#define SUM_TOP 600

static bool read_sum(ls_cursor *c, ls_sum *out)
{
	ls_wide magnitude;
	uint8_t flag;
	*out = (ls_sum){0};
	for (int i = 0; i < LS_WIDE_LIMBS; i++)
		out->e.limb[i] = ls_cursor_u64(c);
	for (int i = 0; i < LS_WIDE_LIMBS; i++)
		out->s.limb[i] = ls_cursor_u64(c);
	flag = ls_cursor_u8(c);
	out->non_finite = flag == 1;
	magnitude = out->e;
	ls_num__wide_abs(&magnitude);
	return !c->failed && flag <= 1 && ls_num__wide_top(&magnitude) < SUM_TOP && ls_num__wide_top(&out->s) < SUM_TOP;
}

static bool same_sum(const ls_sum *a, const ls_sum *b)
{
	return !memcmp(&a->e, &b->e, sizeof a->e) && !memcmp(&a->s, &b->s, sizeof a->s) && a->non_finite == b->non_finite;
}

static int64_t child_count(const ls_game *g)
{
	int64_t child = ls_sum_child(g->sum_terms);
	return (g->sum_terms + child - 1) / child;
}

static void add_up(const ls_sum *children, int64_t count, ls_sum *out)
{
	*out = (ls_sum){0};
	for (int64_t i = 0; i < count; i++) {
		ls_num__wide_add(&out->e, &children[i].e);
		ls_num__wide_add(&out->s, &children[i].s);
		out->non_finite |= children[i].non_finite;
	}
}

static void enter_terms(ls_game *g, int64_t first, int64_t terms)
{
	g->sum_first = first;
	g->sum_terms = terms;
	if (terms > LS_SUM_FAN)
		ls_judge__expect(g, LS_ROLE_TRAINER, LS_TURN_SUMS);
	else
		ls_judge__expect(g, LS_ROLE_AUDITOR, LS_TURN_OPEN);
}

void ls_judge__enter_element(ls_game *g)
{
	g->has_sum = false;
	if (g->def->class == LS_OP_PRODUCT && g->job.mode != LS_JUDGE__PINNED)
		enter_terms(g, 0, ls_product_all_terms(&g->product));
	else
		ls_judge__expect(g, LS_ROLE_AUDITOR, LS_TURN_OPEN);
}

/* Both have shown the parts of their node: they must make up the node, and at the top they must make up the word. */
static void compare_sums(ls_game *g)
{
	int64_t count = child_count(g), child = ls_sum_child(g->sum_terms), at = 0, left;
	ls_sum whole[2];
	bool good[2];
	for (int side = 0; side < 2; side++) {
		add_up(g->children[side], count, &whole[side]);
		good[side] = g->has_sum ? same_sum(&whole[side], &g->sum[side]) : ls_judge__consistent(g, side, &whole[side]);
	}
	if (!good[0] || !good[1]) {
		ls_judge__end_wrong(g, !good[0], !good[1], "its own partial sums do not make up what it said of the element");
		return;
	}
	while (at < count && same_sum(&g->children[0][at], &g->children[1][at]))
		at++;
	if (at == count) { // equal parts make up one sum, of which two different things cannot follow
		ls_judge__end(g, LS_RULING_EVIDENCE_INVALID, "equal partial sums of different values");
		return;
	}
	for (int side = 0; side < 2; side++)
		g->sum[side] = g->children[side][at];
	g->has_sum = true;
	left = g->sum_terms - at * child;
	enter_terms(g, g->sum_first + at * child, left < child ? left : child);
}

bool ls_judge__take_sums(ls_game *g, int side, ls_cursor *c)
{
	int64_t count = child_count(g);
	ls_sum children[LS_SUM_FAN];
	for (int64_t i = 0; i < count; i++)
		if (!read_sum(c, &children[i]))
			return false;
	if (!ls_cursor_done(c))
		return false;
	memcpy(g->children[side], children, (size_t)count * sizeof *children);
	if (side == LS_JUDGE__TRAINER)
		ls_judge__expect(g, LS_ROLE_AUDITOR, LS_TURN_SUMS);
	else
		compare_sums(g);
	return true;
}

/* ---- state root and loss ---- */

/* Leaves of the ops that make the state after the step, and, for its names, the whole state before. */
static bool read_state(ls_game *g, ls_cursor *c, ls_judge__entry *after)
{
	int count = g->commit.op.input_count;
	ls_judge__entry before;
	ls_tree tree;
	ls_hash head;
	ls_tree_init(&tree, g->hasher, 0);
	for (int i = 0; i < count; i++) {
		const ls_judge__source *source = &g->commit.input[i];
		size_t len;
		const uint8_t *bytes;
		if (g->has_before) {
			bytes = ls_judge__bytes(c, &len);
			if (!bytes || !ls_judge__state_leaf_read(&before, bytes, len))
				return false;
			ls_tree_push(&tree, bytes, len);
		}
		if (source->source == 0) {
			if (!g->has_before || source->place != (uint32_t)i) // a tensor that stays as it is stays in its place
				return false;
			after[i] = before;
			continue;
		}
		bytes = ls_judge__bytes(c, &len);
		if (!bytes || !ls_judge__leaf_is(g, &g->op_hash[LS_JUDGE__TRAINER][source->source - 1], bytes, len) ||
		    !ls_judge__step_leaf_read(&after[i], source->source - 1, source->place, bytes, len))
			return false;
		if (g->has_before)
			memcpy(after[i].name, before.name, sizeof before.name);
	}
	return !g->has_before || (ls_tree_head(&tree, &head) == LS_OK && ls_hash_equal(&head, &g->state_before));
}

static bool root_of(ls_game *g, const ls_judge__entry *after, ls_hash *out)
{
	int count = g->commit.op.input_count;
	ls_tensor_entry *entry = ls_alloc((size_t)count, sizeof *entry);
	bool good = entry != NULL;
	for (int i = 0; good && i < count; i++) {
		entry[i] = (ls_tensor_entry){.name = after[i].name, .dtype = (uint8_t)after[i].dtype, .rank = (uint8_t)after[i].shape.rank,
		                             .root = after[i].root};
		memcpy(entry[i].dims, after[i].shape.dim, sizeof after[i].shape.dim);
	}
	good = good && ls_state_root(out, entry, (size_t)count, g->hasher, NULL) == LS_OK;
	ls_free(entry);
	return good;
}

bool ls_judge__take_state(ls_game *g, int side, ls_cursor *c)
{
	ls_judge__entry *after = ls_alloc((size_t)g->commit.op.input_count, sizeof *after);
	ls_hash root;
	bool good = after && read_state(g, c, after) && ls_cursor_done(c) && root_of(g, after, &root);
	ls_free(after);
	if (!good)
		return false;
	ls_judge__end_wrong(g, !ls_hash_equal(&root, &g->claimed[0]), !ls_hash_equal(&root, &g->claimed[1]),
	                    "the state root is not that of the tensors which the step leaves, and on which both agree");
	return true;
}

bool ls_judge__take_loss(ls_game *g, int side, ls_cursor *c)
{
	size_t record_len, leaf_len;
	const uint8_t *bytes = ls_judge__bytes(c, &record_len), *leaf;
	ls_judge__record record = {0};
	ls_judge__entry entry;
	uint8_t chunk[9 + 4] = LS_TAG_CHUNK;
	bool wrong[2];
	bool good = bytes && ls_judge__record_read(&record, bytes, record_len) && record.index < g->ops &&
	            !strcmp(record.output[0].name, "loss") &&
	            ls_judge__included(g, c, &g->job.program, g->ops, record.index, bytes, record_len);
	leaf = good ? ls_judge__bytes(c, &leaf_len) : NULL;
	good = leaf && ls_cursor_done(c) && ls_judge__leaf_is(g, &g->op_hash[LS_JUDGE__TRAINER][record.index], leaf, leaf_len) &&
	       ls_judge__step_leaf_read(&entry, record.index, 0, leaf, leaf_len);
	if (good) {
		for (int s = 0; s < 2; s++) {
			ls_put_le32(chunk + 9, g->loss[s]);
			wrong[s] = !ls_judge__leaf_is(g, &entry.root, chunk, sizeof chunk);
		}
		g->op = record.index;
		ls_judge__end_wrong(g, wrong[0], wrong[1], "the metrics say another loss than the step tree, on which both agree");
	}
	ls_judge__record_free(&record);
	return good;
}

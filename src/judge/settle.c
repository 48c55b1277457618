/* What one element must be: entry of the rounding log, partial sums, the rule on two words; and the two values that are no
 * op's element, the state root and the loss of the metrics. */
#include "judge/game.h"

#include <stdio.h>

/* ---- entry ---- */

/* A leaf of the log names its step, op and frame itself, so that neither index nor size of the path needs to be known. */
static bool frame_included(ls_game *g, ls_cursor *c, uint32_t frame, const uint8_t *bytes, size_t len)
{
	uint64_t size = ls_cursor_u64(c), index = ls_cursor_u64(c);
	ls_buf leaf;
	bool good;
	ls_buf_init(&leaf, LS_TURN_BYTES_MAX);
	good = ls_judge__ok(g, ls_log_leaf_encode(&leaf, g->step, g->op, frame, bytes, len)) &&
	       ls_judge__included(g, c, &g->own[LS_JUDGE__TRAINER].log, size, index, leaf.data, leaf.len);
	ls_buf_free(&leaf);
	return good;
}

static bool find_entry(ls_game *g, const uint8_t *bytes, size_t len, int *out)
{
	int64_t start = g->element / LS_FRAME_ELEMENTS * LS_FRAME_ELEMENTS;
	int64_t left = ls_shape_count(&g->record.output[0].shape) - start;
	uint32_t elements = left < (int64_t)LS_FRAME_ELEMENTS ? (uint32_t)left : LS_FRAME_ELEMENTS;
	ls_entry *entry = ls_judge__alloc(g, elements, sizeof *entry);
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
		ls_judge__enter_sums(g);
	return true;
}

/* ---- the rule ---- */

ls_judge_rules ls_judge__rules(const ls_game *g)
{
	static const ls_judge_mode mode[] = {[LS_JUDGE__LOGGED] = LS_JUDGE_LOGGED, [LS_JUDGE__PLAIN] = LS_JUDGE_EXACT,
	                                     [LS_JUDGE__EXACT] = LS_JUDGE_EXACT, [LS_JUDGE__PINNED] = LS_JUDGE_PINNED};
	return (ls_judge_rules){.mode = mode[g->job.mode], .arithmetic = {.fp32 = g->job.fp32, .depth = g->job.depth}};
}

ls_reader ls_judge__reader(const ls_game *g)
{
	return (ls_reader){.program = g->program, .op = ls_program_op(g->program, ls_program_ops(g->program) - 1), .step = g->step};
}

void ls_judge__rule(ls_game *g, const ls_judgement *j)
{
	static const char forged_text[] = "the rounding log's entry names a value that no honest platform reaches";
	bool forged = j->entry == LS_ENTRY_FORGED;
	if (g->entry_road) {
		ls_judge__end_wrong(g, forged, !forged, forged ? forged_text : "the rounding log's entry names an admissible value");
		return;
	}
	g->result.has_words = true;
	g->result.admissible_word = j->word;
	if (forged)
		ls_judge__end_wrong(g, true, g->word[1] != j->word, forged_text);
	else
		ls_judge__end_wrong(g, g->word[0] != j->word, g->word[1] != j->word,
		                    g->entry >= 0 ? "the op's definition, with the rounding log's entry, admits one value"
		                                  : "the op's definition admits one value");
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
	return !g->has_before || (ls_judge__ok(g, ls_tree_head(&tree, &head)) && ls_hash_equal(&head, &g->state_before));
}

static bool root_of(ls_game *g, const ls_judge__entry *after, ls_hash *out)
{
	int count = g->commit.op.input_count;
	ls_tensor_entry *entry = ls_judge__alloc(g, (size_t)count, sizeof *entry);
	bool good = entry != NULL;
	for (int i = 0; good && i < count; i++) {
		entry[i] = (ls_tensor_entry){.name = after[i].name, .dtype = (uint8_t)after[i].dtype, .rank = (uint8_t)after[i].shape.rank,
		                             .root = after[i].root};
		memcpy(entry[i].dims, after[i].shape.dim, sizeof after[i].shape.dim);
	}
	good = good && ls_judge__ok(g, ls_state_root(out, entry, (size_t)count, g->hasher, NULL));
	ls_free(entry);
	return good;
}

bool ls_judge__take_state(ls_game *g, int side, ls_cursor *c)
{
	ls_judge__entry *after = ls_judge__alloc(g, (size_t)g->commit.op.input_count, sizeof *after);
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
	bool good = bytes && ls_judge__ok(g, ls_judge__record_read(&record, bytes, record_len)) && record.index < g->ops &&
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
		good = g->trouble == LS_OK; // else nobody knows whether it is that leaf
	}
	if (good) {
		g->op = record.index;
		ls_judge__end_wrong(g, wrong[0], wrong[1], "the metrics say another loss than the step tree, on which both agree");
	}
	ls_judge__record_free(&record);
	return good;
}

/* From the heads down to one element: leaf, step, op, output, chunk. */
#include "judge/game.h"

/* ---- claim and leaves ---- */

/* A leaf of this run: its bytes, borrowed by the path that follows them. */
static bool read_leaf(ls_game *g, ls_cursor *c, int side, uint64_t index, ls_leaf *out)
{
	size_t len;
	const ls_head *head = &g->terms.head[side].head;
	const uint8_t *bytes = ls_judge__bytes(c, &len);
	if (!bytes || !ls_judge__ok(g, ls_leaf_decode(out, bytes, len, NULL)) || !ls_hash_equal(&out->run, &g->run) ||
	    (out->kind == LS_LEAF_START) != (index == 0) || (index == 0 && !ls_hash_equal(&out->job, &g->job_id)))
		return false;
	return ls_judge__included(g, c, &head->root, head->size, index, bytes, len);
}

/* The last op's record tells how many ops there are. */
static bool read_commit(ls_game *g, ls_cursor *c, bool init, ls_judge__record *out)
{
	size_t len;
	const uint8_t *bytes = ls_judge__bytes(c, &len);
	return bytes && ls_judge__ok(g, ls_judge__record_read(out, bytes, len)) && !strcmp(out->op.kind, "commit") && out->op.output_count == 1 &&
	       out->index < UINT32_MAX &&
	       ls_judge__included(g, c, init ? &g->job.init : &g->job.program, (uint64_t)out->index + 1, out->index, bytes, len);
}

bool ls_judge__take_claim(ls_game *g, int side, ls_cursor *c)
{
	uint8_t road = ls_cursor_u8(c);
	uint64_t leaf = ls_cursor_u64(c), step = 0, element = 0;
	uint32_t op = 0;
	ls_leaf before = {0}, own = {0};
	ls_judge__record commit = {0};
	bool good = road <= 1 && read_commit(g, c, leaf == 0, &commit) && (leaf == 0 || read_leaf(g, c, side, leaf - 1, &before));
	if (good && road == 0) {
		good = read_leaf(g, c, side, leaf, &own);
	} else if (good) {
		step = ls_cursor_u64(c);
		op = ls_cursor_u32(c);
		element = ls_cursor_u64(c);
		good = leaf > 0 && step > before.step && op < commit.index && element < UINT64_C(1) << 40;
	}
	if (!good || !ls_cursor_done(c)) {
		ls_judge__record_free(&commit);
		return false;
	}
	g->entry_road = road == 1;
	g->leaf = leaf;
	g->named_step = step;
	g->named_op = op;
	g->named_element = (int64_t)element;
	g->before = before;
	g->own[side] = own;
	g->commit = commit;
	g->ops = commit.index + 1;
	ls_judge__expect(g, LS_ROLE_TRAINER, LS_TURN_LEAVES);
	return true;
}

/* What the two leaves say by themselves. */
static void compare_leaves(ls_game *g)
{
	const ls_leaf *t = &g->own[LS_JUDGE__TRAINER], *a = &g->own[LS_JUDGE__AUDITOR];
	uint64_t last = t->step;
	if (!g->entry_road && a->step != t->step)
		ls_judge__end(g, LS_RULING_UNDECIDED, "the leaves end with different steps");
	else if (!g->entry_road && g->leaf > 0 && !ls_hash_equal(&t->log, &a->log))
		ls_judge__end(g, LS_RULING_AUDITOR_WRONG, "the auditor's leaf does not carry the root of the trainer's rounding log, under which a replay is made");
	else if (!g->entry_road && ls_hash_equal(&t->state, &a->state) && ls_hash_equal(&t->metrics, &a->metrics))
		ls_judge__end(g, LS_RULING_EVIDENCE_INVALID, "the leaves are the same: there is no dispute");
	else if (g->leaf > 0 && (last <= g->before.step || last - g->before.step > LS_LEAF_STEPS_MAX || (g->entry_road && g->named_step > last)))
		ls_judge__end(g, LS_RULING_UNDECIDED, "the leaf covers no steps, more than a dispute goes into, or not the step that is named");
	else if (g->leaf > 0)
		ls_judge__expect(g, LS_ROLE_TRAINER, LS_TURN_STEPS);
	else
		ls_judge__enter_step(g, 0);
}

bool ls_judge__take_leaves(ls_game *g, int side, ls_cursor *c)
{
	ls_leaf own;
	ls_buf before;
	bool good = true;
	ls_buf_init(&before, LS_LEAF_BYTES_MAX);
	if (g->leaf > 0)
		good = ls_judge__ok(g, ls_leaf_encode(&before, &g->before)) &&
		       ls_judge__included(g, c, &g->terms.head[side].head.root, g->terms.head[side].head.size, g->leaf - 1, before.data, before.len);
	ls_buf_free(&before);
	if (!good || !read_leaf(g, c, side, g->leaf, &own) || !ls_cursor_done(c))
		return false;
	g->own[side] = own;
	compare_leaves(g);
	return true;
}

/* ---- steps ---- */

static bool metrics_fit(ls_game *g, const ls_judge__step *steps, uint64_t first, uint64_t count, const ls_hash *digest)
{
	ls_hash hash;
	ls_buf bytes;
	bool good;
	ls_buf_init(&bytes, LS_LEAF_STEPS_MAX * 20);
	for (uint64_t i = 0; i < count; i++) {
		ls_buf_u64(&bytes, first + i);
		ls_buf_u32(&bytes, steps[i].loss);
		ls_buf_u64(&bytes, steps[i].rate);
	}
	good = ls_judge__ok(g, bytes.status) && ls_judge__ok(g, ls_hash_tagged(&hash, "ls1/metrics", bytes.data, bytes.len)) && ls_hash_equal(&hash, digest);
	ls_buf_free(&bytes);
	return good;
}

static bool same_step(const ls_judge__step *a, const ls_judge__step *b)
{
	return ls_hash_equal(&a->state, &b->state) && a->loss == b->loss && a->rate == b->rate;
}

static void compare_steps(ls_game *g)
{
	uint64_t at = 0;
	while (at < g->step_count[LS_JUDGE__AUDITOR] && same_step(&g->steps[0][at], &g->steps[1][at]))
		at++;
	if (at < g->step_count[LS_JUDGE__AUDITOR]) {
		g->entry_road = false; // what the entry's op reads may not be agreed: this comes first
		if (ls_hash_equal(&g->steps[0][at].state, &g->steps[1][at].state) && g->steps[0][at].loss == g->steps[1][at].loss) {
			g->step = g->before.step + 1 + at;
			ls_judge__end(g, LS_RULING_UNDECIDED, "only the learning rate in the metrics differs, which no op's output is");
			return;
		}
	}
	ls_judge__enter_step(g, g->before.step + 1 + at);
}

#define STEP_BYTES (LS_HASH_BYTES + 4 + 8)

bool ls_judge__take_steps(ls_game *g, int side, ls_cursor *c)
{
	uint64_t first = g->before.step + 1, all = g->own[LS_JUDGE__TRAINER].step - g->before.step;
	bool whole = side == LS_JUDGE__TRAINER || !g->entry_road;
	uint64_t count = whole ? all : g->named_step - first;
	ls_judge__step *steps = count <= (c->len - c->pos) / STEP_BYTES ? ls_judge__alloc(g, count, sizeof *steps) : NULL;
	bool good = steps != NULL;
	for (uint64_t i = 0; good && i < count; i++) {
		good = ls_judge__hash(c, &steps[i].state);
		steps[i].loss = ls_cursor_u32(c);
		steps[i].rate = ls_cursor_u64(c);
	}
	good = good && ls_cursor_done(c);
	if (good && whole)
		good = ls_hash_equal(&steps[count - 1].state, &g->own[side].state) && metrics_fit(g, steps, first, count, &g->own[side].metrics);
	if (!good) {
		ls_free(steps);
		return false;
	}
	g->steps[side] = steps;
	g->step_count[side] = count;
	if (side == LS_JUDGE__TRAINER)
		ls_judge__expect(g, LS_ROLE_AUDITOR, LS_TURN_STEPS);
	else
		compare_steps(g);
	return true;
}

void ls_judge__enter_step(ls_game *g, uint64_t step)
{
	uint64_t at = step ? step - g->before.step - 1 : 0;
	g->step = step;
	g->has_before = step > 0;
	if (step > 0)
		g->state_before = at ? g->steps[0][at - 1].state : g->before.state;
	for (int side = 0; side < 2; side++) {
		g->has_claimed[side] = step == 0 || at < g->step_count[side];
		if (!g->has_claimed[side])
			continue;
		g->claimed[side] = step ? g->steps[side][at].state : g->own[side].state;
		g->loss[side] = step ? g->steps[side][at].loss : 0;
	}
	ls_judge__expect(g, LS_ROLE_TRAINER, LS_TURN_OPS);
}

/* ---- ops ---- */

static bool step_leaf(ls_game *g, ls_buf *out, const ls_judge__record *record, const ls_hash *roots)
{
	ls_tensor_entry entry[LS_OP_OUTPUTS] = {{0}};
	for (int o = 0; o < record->op.output_count; o++) {
		const ls_value *v = &record->output[o];
		entry[o] = (ls_tensor_entry){.name = v->name, .dtype = (uint8_t)v->dtype, .rank = (uint8_t)v->shape.rank, .root = roots[o]};
		memcpy(entry[o].dims, v->shape.dim, sizeof v->shape.dim);
	}
	return ls_judge__ok(g, ls_step_leaf_encode(out, record->index, entry, (uint32_t)record->op.output_count));
}

static bool is_step_leaf(ls_game *g, const ls_hash *expected, const ls_judge__record *record, const ls_hash *roots)
{
	ls_buf leaf;
	bool same;
	ls_buf_init(&leaf, 1 << 14);
	same = step_leaf(g, &leaf, record, roots) && ls_judge__leaf_is(g, expected, leaf.data, leaf.len);
	ls_buf_free(&leaf);
	return same;
}

static void compare_ops(ls_game *g)
{
	uint32_t at = 0;
	while (at < g->op_count[LS_JUDGE__AUDITOR] && ls_hash_equal(&g->op_hash[0][at], &g->op_hash[1][at]))
		at++;
	if (at == g->ops) { // the states agree as well, so it was the loss that did not
		ls_judge__expect(g, LS_ROLE_AUDITOR, LS_TURN_LOSS);
		return;
	}
	g->entry_road = at == g->op_count[LS_JUDGE__AUDITOR]; // else what the entry's op reads is not agreed
	g->op = at;
	ls_judge__expect(g, LS_ROLE_AUDITOR, LS_TURN_OP);
}

bool ls_judge__take_ops(ls_game *g, int side, ls_cursor *c)
{
	uint32_t count = g->has_claimed[side] ? g->ops : g->named_op;
	ls_hash *hash = count <= (c->len - c->pos) / LS_HASH_BYTES ? ls_judge__alloc(g, count, sizeof *hash) : NULL;
	bool good = hash != NULL;
	for (uint32_t i = 0; good && i < count; i++)
		good = ls_judge__hash(c, &hash[i]);
	good = good && ls_cursor_done(c);
	if (good && g->has_claimed[side]) // whose last op does not commit to the state it promised has no step tree at all
		good = is_step_leaf(g, &hash[count - 1], &g->commit, &g->claimed[side]);
	if (!good) {
		ls_free(hash);
		return false;
	}
	g->op_hash[side] = hash;
	g->op_count[side] = count;
	if (side == LS_JUDGE__TRAINER)
		ls_judge__expect(g, LS_ROLE_AUDITOR, LS_TURN_OPS);
	else
		compare_ops(g);
	return true;
}

/* An input's tensor: the leaf that commits to it, in the agreed part of the step tree or in the state before. */
static bool read_given(ls_game *g, ls_cursor *c, const ls_judge__source *source, ls_judge__entry *out)
{
	size_t len;
	const uint8_t *bytes = ls_judge__bytes(c, &len);
	if (!bytes)
		return false;
	if (source->source > 0)
		return source->source <= g->op && ls_judge__leaf_is(g, &g->op_hash[LS_JUDGE__TRAINER][source->source - 1], bytes, len) &&
		       ls_judge__step_leaf_read(out, source->source - 1, source->place, bytes, len);
	return g->has_before && ls_judge__state_leaf_read(out, bytes, len) &&
	       ls_judge__included(g, c, &g->state_before, (uint64_t)g->commit.op.input_count, source->place, bytes, len);
}

static bool read_inputs(ls_game *g, ls_cursor *c, const ls_judge__record *record, ls_judge__entry **out)
{
	ls_judge__entry *given = ls_judge__alloc(g, (size_t)record->op.input_count, sizeof *given);
	bool good = given != NULL;
	for (int i = 0; good && i < record->op.input_count; i++)
		good = read_given(g, c, &record->input[i], &given[i]);
	*out = good ? given : NULL;
	if (!good)
		ls_free(given);
	return good;
}

static bool read_roots(ls_game *g, ls_cursor *c, int side, const ls_judge__record *record, ls_hash roots[LS_OP_OUTPUTS])
{
	for (int o = 0; o < record->op.output_count; o++)
		if (!ls_judge__hash(c, &roots[o]))
			return false;
	return is_step_leaf(g, &g->op_hash[side][g->op], record, roots);
}

/* Where definitions decide nothing, or not in this version. */
static const char *undecidable(const ls_game *g)
{
	bool product = g->def && g->def->class == LS_OP_PRODUCT;
	if (product && g->job.mode == LS_JUDGE__PLAIN)
		return "mode plain leaves the sums of products to platforms";
	if (product && g->job.empirical && g->job.mode == LS_JUDGE__LOGGED)
		return "the job's thresholds are empirical (uncertified): an honest platform may differ by more than they allow";
	if (!strcmp(g->record.op.kind, "import"))
		return "imported weights are not opened in this version: compare the file with the job's import root";
	return NULL;
}

static void after_op(ls_game *g)
{
	const char *why = undecidable(g);
	if (why)
		ls_judge__end(g, LS_RULING_UNDECIDED, "%s", why);
	else if (g->entry_road) {
		g->element = g->named_element;
		ls_judge__expect(g, LS_ROLE_AUDITOR, LS_TURN_ENTRY);
	} else
		ls_judge__expect(g, LS_ROLE_TRAINER, LS_TURN_OP);
}

/* An entry can be forged only where there are entries. */
static bool entry_possible(const ls_game *g, const ls_judge__record *record)
{
	const ls_op_def *def = ls_op_find(record->op.kind);
	return def && def->class == LS_OP_PRODUCT && g->job.mode == LS_JUDGE__LOGGED &&
	       g->named_element < ls_shape_count(&record->output[0].shape);
}

static bool take_record(ls_game *g, int side, ls_cursor *c)
{
	size_t len;
	const uint8_t *bytes = ls_judge__bytes(c, &len);
	ls_judge__record record = {0};
	ls_judge__entry *given = NULL;
	ls_program *program = NULL;
	ls_hash roots[LS_OP_OUTPUTS] = {{{0}}};
	bool commits, good = bytes && ls_judge__ok(g, ls_judge__record_read(&record, bytes, len)) && record.index == g->op &&
	                     ls_judge__included(g, c, g->step ? &g->job.program : &g->job.init, g->ops, g->op, bytes, len);
	commits = good && g->op + 1 == g->ops;
	if (good && !commits)
		good = read_inputs(g, c, &record, &given) && ls_judge__ok(g, ls_judge__program(&program, &record, given, g->job.bits, g->job.state_bits));
	if (good)
		good = (g->entry_road ? entry_possible(g, &record) : read_roots(g, c, side, &record, roots)) && ls_cursor_done(c);
	if (!good) {
		ls_judge__record_free(&record);
		ls_free(given);
		ls_program_free(program);
		return false;
	}
	g->record = record;
	g->given = given;
	g->program = program;
	g->def = ls_op_find(record.op.kind);
	memcpy(g->roots[side], roots, sizeof roots);
	if (g->def && g->def->class == LS_OP_PRODUCT)
		g->def->product(program, ls_program_op(program, ls_program_ops(program) - 1), &g->product);
	after_op(g);
	return true;
}

bool ls_judge__take_op(ls_game *g, int side, ls_cursor *c)
{
	ls_hash roots[LS_OP_OUTPUTS];
	if (side == LS_JUDGE__AUDITOR)
		return take_record(g, side, c);
	if (!read_roots(g, c, side, &g->record, roots) || !ls_cursor_done(c))
		return false;
	memcpy(g->roots[side], roots, sizeof roots);
	while (ls_hash_equal(&g->roots[0][g->output], &g->roots[1][g->output])) // the leaves differ, so some root does
		g->output++;
	if (!g->program) {
		ls_judge__expect(g, LS_ROLE_AUDITOR, LS_TURN_STATE);
		return true;
	}
	g->node[0] = g->roots[0][g->output];
	g->node[1] = g->roots[1][g->output];
	g->chunks = (uint64_t)ls_chunk_count(ls_shape_count(&g->record.output[g->output].shape));
	ls_judge__expect(g, LS_ROLE_TRAINER, g->chunks > 1 ? LS_TURN_GROUPS : LS_TURN_CHUNK);
	return true;
}

/* ---- the output's tensor ---- */

uint64_t ls_group_size(uint64_t chunks)
{
	uint64_t size = 1;
	while (size * LS_GROUP_FAN < chunks)
		size *= LS_GROUP_FAN;
	return size;
}

/* Groups of a power of two of chunks, only the last of which is smaller, lie where RFC 9162 has subtrees: the head over
 * their heads is the head over the chunks. */
static void compare_groups(ls_game *g)
{
	uint64_t size = ls_group_size(g->chunks), at = 0, left;
	while (ls_hash_equal(&g->group[0][at], &g->group[1][at])) // the nodes over them differ
		at++;
	g->node[0] = g->group[0][at];
	g->node[1] = g->group[1][at];
	left = g->chunks - at * size;
	g->chunk += at * size;
	g->chunks = left < size ? left : size;
	ls_judge__expect(g, LS_ROLE_TRAINER, g->chunks > 1 ? LS_TURN_GROUPS : LS_TURN_CHUNK);
}

bool ls_judge__take_groups(ls_game *g, int side, ls_cursor *c)
{
	uint64_t size = ls_group_size(g->chunks), count = (g->chunks + size - 1) / size;
	ls_hash group[LS_GROUP_FAN], head;
	ls_tree tree;
	ls_tree_init(&tree, g->hasher, 0);
	for (uint64_t i = 0; i < count; i++) {
		if (!ls_judge__hash(c, &group[i]))
			return false;
		ls_tree_push_hash(&tree, &group[i]);
	}
	if (!ls_cursor_done(c) || !ls_judge__ok(g, ls_tree_head(&tree, &head)) || !ls_hash_equal(&head, &g->node[side]))
		return false;
	memcpy(g->group[side], group, count * sizeof *group);
	if (side == LS_JUDGE__TRAINER)
		ls_judge__expect(g, LS_ROLE_AUDITOR, LS_TURN_GROUPS);
	else
		compare_groups(g);
	return true;
}

static void compare_chunks(ls_game *g)
{
	int64_t at = 0;
	while (!memcmp(g->words[0] + 4 * at, g->words[1] + 4 * at, 4))
		at++;
	g->element = (int64_t)g->chunk * LS_CHUNK_WORDS + at;
	for (int side = 0; side < 2; side++)
		g->word[side] = ls_get_le32(g->words[side] + 4 * at);
	g->result.has_words = true;
	g->result.trainer_word = g->word[0];
	g->result.auditor_word = g->word[1];
	if (g->def->class == LS_OP_PRODUCT && g->job.mode == LS_JUDGE__LOGGED)
		ls_judge__expect(g, LS_ROLE_AUDITOR, LS_TURN_ENTRY);
	else
		ls_judge__enter_sums(g);
}

bool ls_judge__take_chunk(ls_game *g, int side, ls_cursor *c)
{
	int64_t left = ls_shape_count(&g->record.output[g->output].shape) - (int64_t)g->chunk * LS_CHUNK_WORDS;
	size_t words = left < LS_CHUNK_WORDS ? (size_t)left : LS_CHUNK_WORDS;
	uint8_t leaf[9 + 4 * LS_CHUNK_WORDS] = LS_TAG_CHUNK;
	const uint8_t *bytes = ls_cursor_take(c, 4 * words);
	if (!bytes || !ls_cursor_done(c))
		return false;
	memcpy(leaf + 9, bytes, 4 * words);
	if (!ls_judge__leaf_is(g, &g->node[side], leaf, 9 + 4 * words))
		return false;
	memcpy(g->words[side], bytes, 4 * words);
	if (side == LS_JUDGE__TRAINER)
		ls_judge__expect(g, LS_ROLE_AUDITOR, LS_TURN_CHUNK);
	else
		compare_chunks(g);
	return true;
}

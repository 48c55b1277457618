/* A player's turns that speak of values: the output's tensor, the entry, partial sums, and what the definition reads. */
#include "dispute/player.h"

#include <stdio.h>

#define DATA_CHUNK 1024

static const ls_op *op_of(const ls_player *p, const ls_game_view *v)
{
	return ls_program_op(ls_dispute__program(p, v->step), (int)v->op);
}

static void put_words(ls_buf *out, const uint32_t *words, int64_t count)
{
	for (int64_t i = 0; i < count; i++)
		ls_buf_u32(out, words[i]);
}

/* The disputed output: its words, and how many. */
static ls_status output_words(ls_player *p, const ls_game_view *v, const uint32_t **words, int64_t *count, ls_error *err)
{
	int value = op_of(p, v)->outputs[v->output];
	ls_status status = ls_dispute__need_values(p, v, err);
	if (status != LS_OK)
		return status;
	*words = ls_dispute__rerun_words(&p->rerun, v->step, value);
	*count = ls_shape_count(&ls_program_value(ls_dispute__program(p, v->step), value)->shape);
	return *words ? LS_OK : ls_error_set(err, LS_ERR_INPUT, "op %u: its output could not be computed again", v->op);
}

ls_status ls_dispute__turn_groups(ls_player *p, const ls_game_view *v, ls_buf *out, ls_error *err)
{
	const uint32_t *words;
	int64_t count, group = (int64_t)ls_group_size(v->chunks) * LS_CHUNK_WORDS, at = (int64_t)v->chunk * LS_CHUNK_WORDS, end;
	ls_status status;
	LS_TRY(output_words(p, v, &words, &count, err));
	end = at + (int64_t)v->chunks * LS_CHUNK_WORDS < count ? at + (int64_t)v->chunks * LS_CHUNK_WORDS : count;
	for (; at < end; at += group) {
		ls_hash head;
		LS_TRY(ls_tensor_root(&head, words + at, end - at < group ? end - at : group, ls_platform_pool(p->o.platform), p->rerun.hasher));
		ls_buf_bytes(out, head.byte, LS_HASH_BYTES);
	}
done:
	return status;
}

ls_status ls_dispute__turn_chunk(ls_player *p, const ls_game_view *v, ls_buf *out, ls_error *err)
{
	const uint32_t *words;
	int64_t count, at = (int64_t)v->chunk * LS_CHUNK_WORDS;
	ls_status status = output_words(p, v, &words, &count, err);
	if (status == LS_OK)
		put_words(out, words + at, count - at < LS_CHUNK_WORDS ? count - at : LS_CHUNK_WORDS);
	return status;
}

/* ---- the rounding log ---- */

static int64_t frames_of(const ls_program *program, int op)
{
	const ls_op *o = ls_program_op(program, op);
	int64_t elements = ls_shape_count(&ls_program_value(program, o->outputs[0])->shape);
	return ls_op_find(o->kind)->class == LS_OP_PRODUCT ? (elements + LS_FRAME_ELEMENTS - 1) / LS_FRAME_ELEMENTS : 0;
}

/* Walks the block's frames, which ls_run_read_log has found to be whole; hashes each and remembers the one in question. */
static ls_status hash_frames(ls_player *p, const ls_game_view *v, ls_cursor *block, ls_hash *hashes, uint64_t *index, const uint8_t **frame,
                             uint32_t *len, ls_error *err)
{
	const ls_program *program = p->rerun.program[1];
	ls_status status = LS_OK;
	uint64_t first, last, at = 0;
	ls_buf leaf;
	ls_buf_init(&leaf, 1 << 18);
	ls_run_leaf_steps(p->o.trainer, v->leaf, &first, &last);
	for (uint64_t step = first; step <= last; step++)
		for (int op = 0; op < ls_program_ops(program); op++)
			for (int64_t f = 0; f < frames_of(program, op); f++, at++) {
				uint32_t n = ls_cursor_u32(block);
				const uint8_t *bytes = ls_cursor_take(block, n);
				ls_buf_reset(&leaf);
				LS_TRY(ls_log_leaf_encode(&leaf, step, (uint32_t)op, (uint32_t)f, bytes, n));
				LS_TRY(ls_dispute__hash(p, &leaf, &hashes[at], err));
				if (step != v->step || op != (int)v->op || f != v->element / LS_FRAME_ELEMENTS)
					continue;
				*index = at;
				*frame = bytes;
				*len = n;
			}
done:
	ls_buf_free(&leaf);
	return status;
}

ls_status ls_dispute__turn_entry(ls_player *p, const ls_game_view *v, ls_buf *out, ls_error *err)
{
	ls_status status;
	uint64_t first, last, count = 0, index = 0;
	uint8_t *block = NULL;
	const uint8_t *frame = NULL;
	uint32_t len = 0;
	size_t block_len;
	ls_hash *hashes = NULL;
	ls_cursor cursor;
	ls_run_leaf_steps(p->o.trainer, v->leaf, &first, &last);
	for (int op = 0; op < ls_program_ops(p->rerun.program[1]); op++)
		count += (uint64_t)frames_of(p->rerun.program[1], op) * (last - first + 1);
	LS_TRY(ls_dispute__read_block(&p->rerun, v->leaf, &block, &block_len, err));
	hashes = ls_alloc(count, sizeof *hashes);
	if (!hashes) {
		status = ls_error_set(err, LS_ERR_NOMEM, "no memory for %llu frames", (unsigned long long)count);
		goto done;
	}
	cursor = ls_cursor_over(block, block_len);
	LS_TRY(hash_frames(p, v, &cursor, hashes, &index, &frame, &len, err));
	ls_dispute__put_bytes(out, frame, len);
	ls_buf_u64(out, count);
	ls_buf_u64(out, index);
	LS_TRY(ls_dispute__put_path(p, out, hashes, count, index, err));
done:
	ls_free(hashes);
	ls_free(block);
	return status;
}

/* ---- reading, and noting what was read ---- */

typedef struct noting {
	ls_player *p;
	const ls_game_view *v;
	const ls_program *program;
	const ls_op *op;
	const uint32_t **words; /* one per input */
	bool **used;            /* one per input and chunk */
	bool *data;             /* chunks of the data tree, leaf 0 left out */
	uint64_t sample_bytes, last_part; /* chunks before the data's last part: labels, or tokens */
	ls_reader reader;
	ls_samples samples;
} noting;

static uint32_t note_word(void *context, int input, int64_t index)
{
	noting *n = context;
	n->used[input][index / LS_CHUNK_WORDS] = true;
	return n->words[input][index];
}

static const uint8_t *note_sample(void *context, int64_t index)
{
	noting *n = context;
	const ls_samples *from = ls_plan_samples(n->p->o.plan);
	uint64_t at = (uint64_t)index * n->sample_bytes, end = at + n->sample_bytes;
	for (uint64_t chunk = at / DATA_CHUNK; chunk <= (end - 1) / DATA_CHUNK; chunk++)
		n->data[chunk] = true;
	return from->sample(from->context, index);
}

static int32_t note_label(void *context, int64_t index)
{
	noting *n = context;
	const ls_samples *from = ls_plan_samples(n->p->o.plan);
	n->data[n->last_part + (uint64_t)index / DATA_CHUNK] = true;
	return from->label(from->context, index);
}

static int32_t note_token(void *context, int64_t index)
{
	noting *n = context;
	const ls_samples *from = ls_plan_samples(n->p->o.plan);
	n->data[n->last_part + 2 * (uint64_t)index / DATA_CHUNK] = true;
	return from->token(from->context, index);
}

static void close_noting(noting *n)
{
	for (int i = 0; n->used && i < n->op->input_count; i++)
		ls_free(n->used[i]);
	ls_free(n->used);
	ls_free(n->words);
	ls_free(n->data);
}

static int64_t input_words(const noting *n, int input)
{
	return ls_shape_count(&ls_program_value(n->program, n->op->inputs[input])->shape);
}

static ls_status open_noting(noting *n, ls_player *p, const ls_game_view *v, ls_error *err)
{
	ls_status status;
	bool room = true;
	*n = (noting){.p = p, .v = v, .program = ls_dispute__program(p, v->step), .op = op_of(p, v)};
	n->samples = (ls_samples){.context = n, .sample = note_sample, .label = note_label, .token = note_token};
	n->reader = (ls_reader){.program = n->program, .op = n->op, .step = v->step, .context = n, .word = note_word, .samples = &n->samples};
	LS_TRY(ls_dispute__need_values(p, v, err));
	n->words = ls_alloc((size_t)n->op->input_count, sizeof *n->words);
	n->used = ls_alloc((size_t)n->op->input_count, sizeof *n->used);
	for (int i = 0; n->words && n->used && i < n->op->input_count; i++) {
		n->words[i] = ls_dispute__rerun_words(&p->rerun, v->step, n->op->inputs[i]);
		n->used[i] = ls_alloc((size_t)ls_chunk_count(input_words(n, i)), sizeof **n->used);
		room &= n->used[i] && n->words[i];
	}
	if (!n->words || !n->used || !room)
		status = ls_error_set(err, LS_ERR_NOMEM, "no memory for the inputs of op %u", v->op);
done:
	return status;
}

/* ---- sums ---- */

static bool is_pinned(const noting *n)
{
	return ls_op_find(n->op->kind)->class == LS_OP_PRODUCT && ls_plan_spec(n->p->o.plan)->arithmetic.mode == LS_JOB_PINNED;
}

static void put_children(noting *n, ls_buf *out)
{
	const ls_game_view *v = n->v;
	int64_t child = ls_sum_child(v->sum_terms), end = v->sum_first + v->sum_terms, i, j;
	ls_product product;
	ls_op_find(n->op->kind)->product(n->program, n->op, &product);
	ls_product_locate(&product, v->element, &i, &j);
	for (int64_t at = v->sum_first; at < end; at += child) {
		ls_sum sum;
		ls_product_sum_terms(&n->reader, &product, i, j, at, end - at < child ? end - at : child, &sum);
		ls_sum_encode(out, &sum);
	}
}

static void put_states(noting *n, ls_buf *out)
{
	ls_product product;
	ls_pinned_state state = LS_PINNED_STATE_START;
	int64_t all, i, j;
	ls_op_find(n->op->kind)->product(n->program, n->op, &product);
	ls_product_locate(&product, n->v->element, &i, &j);
	all = ls_product_all_terms(&product);
	for (int64_t at = 0; at < all; at += LS_SUM_FAN) {
		ls_product_pinned_terms(&n->reader, &product, i, j, at, all - at < LS_SUM_FAN ? all - at : LS_SUM_FAN, &state);
		ls_pinned_encode(out, &state);
	}
}

static bool never_given(void *context, double *sum)
{
	return false;
}

static void put_part(void *context, double sum)
{
	ls_part_encode(context, sum);
}

ls_status ls_dispute__turn_sums(ls_player *p, const ls_game_view *v, ls_buf *out, ls_error *err)
{
	ls_parts parts = {.context = out, .given = never_given, .made = put_part};
	noting n;
	ls_status status = open_noting(&n, p, v, err);
	if (status == LS_OK && is_pinned(&n)) {
		put_states(&n, out);
	} else if (status == LS_OK && v->parts) {
		n.reader.parts = &parts;
		ls_op_find(n.op->kind)->element(&n.reader, v->output, v->element);
	} else if (status == LS_OK) {
		put_children(&n, out);
	}
	close_noting(&n);
	return status;
}

/* ---- the last turn ---- */

/* u32 count ‖ the hashes that show the leaves that are marked. */
static ls_status put_proof(noting *n, ls_buf *out, const ls_hash *hash, uint64_t size, const uint64_t *index, size_t count, ls_error *err)
{
	size_t room = count * LS_PROOF_MAX, made = 0;
	ls_hash *proof = ls_alloc(room, sizeof *proof);
	ls_status status = proof ? ls_multiproof_make(proof, room, &made, hash, size, index, count, n->p->rerun.hasher) : LS_ERR_NOMEM;
	ls_buf_u32(out, (uint32_t)made);
	for (size_t i = 0; status == LS_OK && i < made; i++)
		ls_buf_bytes(out, proof[i].byte, LS_HASH_BYTES);
	ls_free(proof);
	return status == LS_OK ? status : ls_error_set(err, status, "could not make a proof of %zu leaves", count);
}

/* Numbers of what is marked, ascending; freed by ls_free. */
static uint64_t *marked(const bool *mark, uint64_t size, size_t *count)
{
	uint64_t *index;
	*count = 0;
	for (uint64_t i = 0; i < size; i++)
		*count += mark[i];
	index = ls_alloc(*count, sizeof *index);
	for (uint64_t i = 0, at = 0; index && i < size; i++)
		if (mark[i])
			index[at++] = i;
	return index;
}

static int words_in(int64_t words, uint64_t chunk)
{
	int64_t left = words - (int64_t)chunk * LS_CHUNK_WORDS;
	return (int)(left < LS_CHUNK_WORDS ? left : LS_CHUNK_WORDS);
}

/* Chunks of one tensor that were read, and what shows them to be its. */
static ls_status put_tensor(noting *n, int input, ls_buf *out, ls_error *err)
{
	int64_t words = input_words(n, input);
	uint64_t chunks = (uint64_t)ls_chunk_count(words), *index;
	size_t count;
	ls_status status = LS_OK;
	ls_hash *hash = ls_alloc(chunks, sizeof *hash);
	index = marked(n->used[input], chunks, &count);
	if (!hash || !index) {
		status = ls_error_set(err, LS_ERR_NOMEM, "no memory for %llu chunks", (unsigned long long)chunks);
		goto done;
	}
	ls_buf_u32(out, (uint32_t)count);
	if (!count)
		goto done;
	for (uint64_t c = 0; c < chunks; c++)
		LS_TRY(ls_chunk_hash(&hash[c], n->words[input] + c * LS_CHUNK_WORDS, words_in(words, c), n->p->rerun.hasher));
	for (size_t i = 0; i < count; i++) {
		ls_buf_u64(out, index[i]);
		put_words(out, n->words[input] + index[i] * LS_CHUNK_WORDS, words_in(words, index[i]));
	}
	LS_TRY(put_proof(n, out, hash, chunks, index, count, err));
done:
	ls_free(index);
	ls_free(hash);
	return status;
}

/* The data tree: its parts, and how many chunks, leaf 0 left out, lie before each. */
typedef struct data_tree {
	ls_data_part part[LS_DATASET_PARTS_MAX];
	uint64_t first[LS_DATASET_PARTS_MAX + 1];
	uint32_t parts;
	uint64_t leaves;
	ls_hash *hash;
	ls_buf leaf;
} data_tree;

static size_t data_chunk(const data_tree *d, uint64_t chunk, const uint8_t **bytes)
{
	uint32_t part = 0;
	uint64_t at;
	while (chunk >= d->first[part + 1])
		part++;
	at = (chunk - d->first[part]) * DATA_CHUNK;
	*bytes = (const uint8_t *)d->part[part].bytes + at;
	return d->part[part].len - at < DATA_CHUNK ? (size_t)(d->part[part].len - at) : DATA_CHUNK;
}

/* Leaf 0 is left in d->leaf. */
static ls_status hash_data(noting *n, data_tree *d, ls_error *err)
{
	const ls_dataset *data = ls_plan_data(n->p->o.plan);
	int64_t shape[3];
	ls_status status;
	for (uint64_t i = 0; i + 1 < d->leaves; i++) {
		const uint8_t *bytes;
		size_t len = data_chunk(d, i, &bytes);
		ls_buf_reset(&d->leaf);
		ls_buf_bytes(&d->leaf, LS_TAG_DATA "\1", strlen(LS_TAG_DATA) + 1);
		ls_buf_bytes(&d->leaf, bytes, len);
		LS_TRY(ls_dispute__hash(n->p, &d->leaf, &d->hash[i + 1], err));
	}
	ls_buf_reset(&d->leaf);
	ls_dataset_shape(data, shape);
	status = ls_data_head_encode(&d->leaf, ls_dataset_format(data), (uint64_t)ls_dataset_count(data), shape, 3, d->part, d->parts);
	if (status != LS_OK)
		return ls_error_set(err, status, "could not write down what the data are");
	LS_TRY(ls_dispute__hash(n->p, &d->leaf, &d->hash[0], err));
done:
	return status;
}

static ls_status open_data(noting *n, data_tree *d, ls_error *err)
{
	const ls_dataset *data = ls_plan_data(n->p->o.plan);
	int64_t shape[3];
	d->parts = ls_dataset_parts(data, d->part);
	for (uint32_t i = 0; i < d->parts; i++)
		d->first[i + 1] = d->first[i] + (d->part[i].len + DATA_CHUNK - 1) / DATA_CHUNK;
	d->leaves = 1 + d->first[d->parts];
	ls_dataset_shape(data, shape);
	n->sample_bytes = (uint64_t)(shape[0] * shape[1] * shape[2]);
	n->last_part = d->first[d->parts - 1];
	d->hash = ls_alloc(d->leaves, sizeof *d->hash);
	n->data = ls_alloc(d->leaves - 1, sizeof *n->data);
	return d->hash && n->data ? LS_OK : ls_error_set(err, LS_ERR_NOMEM, "no memory for the data tree");
}

static ls_status put_data(noting *n, data_tree *d, ls_buf *out, ls_error *err)
{
	size_t count = 0;
	uint64_t *index = marked(n->data, d->leaves - 1, &count);
	ls_status status = index ? hash_data(n, d, err) : ls_error_set(err, LS_ERR_NOMEM, "no memory for the data that was read");
	if (status != LS_OK)
		goto done;
	ls_dispute__put_bytes(out, d->leaf.data, d->leaf.len);
	LS_TRY(ls_dispute__put_path(n->p, out, d->hash, d->leaves, 0, err));
	ls_buf_u32(out, (uint32_t)count);
	for (size_t i = 0; i < count; i++) {
		const uint8_t *bytes;
		size_t len = data_chunk(d, index[i], &bytes);
		ls_buf_u64(out, index[i]);
		ls_buf_bytes(out, bytes, len);
		index[i]++; // leaf 0 comes before the chunks
	}
	LS_TRY(put_proof(n, out, d->hash, d->leaves, index, count, err));
done:
	ls_free(index);
	return status;
}

/* Of the blocks of a long sum only the one in question is read. */
typedef struct counted {
	int64_t at, part;
} counted;

static bool all_but_one(void *context, double *sum)
{
	counted *c = context;
	*sum = 0;
	return c->at++ != c->part;
}

static void forget_part(void *context, double sum)
{
}

/* Runs the definition, so that what it reads is noted. */
static void read_all(noting *n)
{
	const ls_op_def *def = ls_op_find(n->op->kind);
	const ls_game_view *v = n->v;
	counted c = {0, v->part};
	ls_parts parts = {.context = &c, .given = all_but_one, .made = forget_part};
	ls_product product;
	ls_sum sum;
	int64_t i, j;
	if (def->class != LS_OP_PRODUCT) {
		n->reader.parts = v->parts ? &parts : NULL;
		def->element(&n->reader, v->output, v->element);
		return;
	}
	def->product(n->program, n->op, &product); // the same words whatever the mode makes of them
	ls_product_locate(&product, v->element, &i, &j);
	ls_product_sum_terms(&n->reader, &product, i, j, v->sum_first, v->sum_terms, &sum);
}

ls_status ls_dispute__turn_open(ls_player *p, const ls_game_view *v, ls_buf *out, ls_error *err)
{
	noting n;
	data_tree d = {0};
	bool loads;
	ls_status status = open_noting(&n, p, v, err);
	ls_buf_init(&d.leaf, 1 << 16);
	if (status != LS_OK)
		goto done;
	loads = ls_op_find(n.op->kind)->class == LS_OP_LOAD;
	if (loads)
		LS_TRY(open_data(&n, &d, err));
	read_all(&n);
	for (int i = 0; i < n.op->input_count; i++)
		LS_TRY(put_tensor(&n, i, out, err));
	if (loads)
		LS_TRY(put_data(&n, &d, out, err));
done:
	ls_buf_free(&d.leaf);
	ls_free(d.hash);
	close_noting(&n);
	return status;
}

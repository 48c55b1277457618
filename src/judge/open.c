/* The last turn: the words, bytes and frames that an element is computed from, each under a root that both agree on; then
 * its definition. Exactly what the definition reads has to be opened, so one element has one such turn. */
#include "judge/game.h"

#include <setjmp.h>

#define SAMPLE_BYTES_MAX (1 << 20)
#define DATA_CHUNK 1024

/* Leaves of one tree, ascending. */
typedef struct opened {
	uint32_t count;
	uint64_t *index;
	const uint8_t **bytes;
	bool *used;
} opened;

/* The data tree's leaf 0. */
typedef struct data_head {
	uint64_t samples, sample_bytes, image_chunks, leaves, image_bytes;
} data_head;

typedef struct reading {
	ls_game *g;
	opened *input; /* one per input of the op */
	opened data;
	data_head head;
	uint8_t *sample;
	jmp_buf missing; /* where reading goes on as soon as a definition asks for what was not opened */
} reading;

static void free_opened(opened *o)
{
	ls_free(o->index);
	ls_free(o->bytes);
	ls_free(o->used);
}

/* Every chunk is as long as its place in the tensor says: the leaf needs no length. */
static bool read_opened(ls_game *g, ls_cursor *c, opened *o, const char *tag, const ls_hash *root, uint64_t leaves, uint64_t first,
                        size_t (*length)(const void *context, uint64_t index), const void *context)
{
	uint8_t leaf[16 + DATA_CHUNK];
	size_t tag_len = strlen(tag);
	o->count = ls_cursor_u32(c);
	if (o->count > (c->len - c->pos) / 9)
		return false;
	o->index = ls_alloc(o->count, sizeof *o->index);
	o->bytes = ls_alloc(o->count, sizeof *o->bytes);
	o->used = ls_alloc(o->count, sizeof *o->used);
	if (!o->index || !o->bytes || !o->used)
		return false;
	memcpy(leaf, tag, tag_len);
	for (uint32_t i = 0; i < o->count; i++) {
		size_t len;
		o->index[i] = ls_cursor_u64(c);
		if (o->index[i] >= leaves - first || (i && o->index[i] <= o->index[i - 1]))
			return false;
		len = length(context, o->index[i]);
		o->bytes[i] = ls_cursor_take(c, len);
		if (!o->bytes[i])
			return false;
		memcpy(leaf + tag_len, o->bytes[i], len);
		if (!ls_judge__included(g, c, root, leaves, o->index[i] + first, leaf, tag_len + len))
			return false;
	}
	return true;
}

/* The bytes of an opened leaf; reading stops where it was not opened. */
static const uint8_t *find(reading *r, opened *o, uint64_t index)
{
	uint32_t low = 0, high = o->count;
	while (low < high) {
		uint32_t middle = low + (high - low) / 2;
		if (o->index[middle] < index)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == o->count || o->index[low] != index)
		longjmp(r->missing, 1);
	o->used[low] = true;
	return o->bytes[low];
}

static bool all_used(const opened *o)
{
	bool all = true;
	for (uint32_t i = 0; i < o->count; i++)
		all &= o->used[i];
	return all;
}

/* ---- tensors ---- */

static size_t tensor_chunk(const void *context, uint64_t index)
{
	int64_t left = *(const int64_t *)context - (int64_t)index * LS_CHUNK_WORDS;
	return 4 * (size_t)(left < LS_CHUNK_WORDS ? left : LS_CHUNK_WORDS);
}

static uint32_t word(void *context, int input, int64_t index)
{
	reading *r = context;
	if (index < 0 || index >= ls_shape_count(&r->g->given[input].shape))
		longjmp(r->missing, 1);
	return ls_get_le32(find(r, &r->input[input], (uint64_t)index / LS_CHUNK_WORDS) + 4 * (index % LS_CHUNK_WORDS));
}

static bool read_tensors(ls_game *g, ls_cursor *c, reading *r)
{
	for (int i = 0; i < g->record.op.input_count; i++) {
		int64_t words = ls_shape_count(&g->given[i].shape);
		if (!read_opened(g, c, &r->input[i], LS_TAG_CHUNK, &g->given[i].root, (uint64_t)ls_chunk_count(words), 0, tensor_chunk, &words))
			return false;
	}
	return true;
}

/* ---- data ---- */

static size_t data_chunk(const void *context, uint64_t index)
{
	const data_head *h = context;
	uint64_t part = index < h->image_chunks ? h->image_bytes : h->samples;
	uint64_t at = (index < h->image_chunks ? index : index - h->image_chunks) * DATA_CHUNK;
	return part - at < DATA_CHUNK ? (size_t)(part - at) : DATA_CHUNK;
}

static bool named(ls_cursor *c, const char *name)
{
	char found[LS_COMMIT_NAME_MAX + 1];
	ls_cursor_str(c, found, sizeof found);
	return !strcmp(found, name);
}

/* Samples and shape must be those of the op: the client signed both. */
static bool read_data_head(ls_game *g, ls_cursor *c, data_head *h)
{
	const int64_t *a = g->record.op.ints; /* samples, batch, seed, shuffle, C, H, W */
	size_t len;
	const uint8_t *bytes = ls_judge__bytes(c, &len);
	ls_cursor head = ls_cursor_over(bytes, bytes ? len : 0);
	const uint8_t *tag = ls_cursor_take(&head, strlen(LS_TAG_DATA) + 1);
	char format[LS_COMMIT_NAME_MAX + 1];
	bool good;
	ls_cursor_str(&head, format, sizeof format);
	*h = (data_head){.samples = ls_cursor_u64(&head)};
	good = tag && !memcmp(tag, LS_TAG_DATA "\0", strlen(LS_TAG_DATA) + 1) && h->samples == (uint64_t)a[0] && ls_cursor_u8(&head) == 3;
	for (int i = 0; i < 3; i++)
		good &= ls_cursor_u64(&head) == (uint64_t)a[4 + i];
	good = good && a[4] * a[5] <= SAMPLE_BYTES_MAX && a[4] * a[5] * a[6] <= SAMPLE_BYTES_MAX && h->samples <= (UINT64_C(1) << 40);
	if (!good || ls_cursor_u32(&head) != 2)
		return false;
	h->sample_bytes = (uint64_t)(a[4] * a[5] * a[6]);
	good = named(&head, "images");
	h->image_bytes = ls_cursor_u64(&head);
	good = good && h->image_bytes == h->samples * h->sample_bytes && named(&head, "labels") && ls_cursor_u64(&head) == h->samples;
	h->image_chunks = (h->image_bytes + DATA_CHUNK - 1) / DATA_CHUNK;
	h->leaves = 1 + h->image_chunks + (h->samples + DATA_CHUNK - 1) / DATA_CHUNK;
	return good && ls_cursor_done(&head) && ls_judge__included(g, c, &g->job.data, h->leaves, 0, bytes, len);
}

static const uint8_t *sample(void *context, int64_t index)
{
	reading *r = context;
	uint64_t from = (uint64_t)index * r->head.sample_bytes, to = from + r->head.sample_bytes;
	for (uint64_t at = from; at < to;) {
		const uint8_t *chunk = find(r, &r->data, at / DATA_CHUNK);
		uint64_t in = at % DATA_CHUNK, n = DATA_CHUNK - in < to - at ? DATA_CHUNK - in : to - at;
		memcpy(r->sample + (at - from), chunk + in, n);
		at += n;
	}
	return r->sample;
}

static int32_t label(void *context, int64_t index)
{
	reading *r = context;
	return find(r, &r->data, r->head.image_chunks + (uint64_t)index / DATA_CHUNK)[index % DATA_CHUNK];
}

static bool read_data(ls_game *g, ls_cursor *c, reading *r)
{
	if (!read_data_head(g, c, &r->head))
		return false;
	r->sample = ls_alloc(r->head.sample_bytes, 1);
	return r->sample &&
	       read_opened(g, c, &r->data, LS_TAG_DATA "\1", &g->job.data, r->head.leaves, 1, data_chunk, &r->head);
}

/* ---- the element ---- */

void ls_product_partial(const ls_reader *r, const ls_product *p, int64_t index, int64_t first, int64_t count, ls_sum *out)
{
	int64_t i, j;
	ls_product_locate(p, index, &i, &j);
	ls_sum_init(out);
	for (int64_t k = first; k < first + count; k++) {
		int64_t a = k < p->terms ? ls_operand_index(&p->a, i, k) : -1, b = k < p->terms ? ls_operand_index(&p->b, j, k) : -1;
		if (k == p->terms)
			ls_sum_add(out, ls_read_f32(r, p->bias_input, p->bias == LS_BIAS_ROW ? i : j), 1.0f);
		else if (a >= 0 && b >= 0)
			ls_sum_add(out, ls_read_f32(r, p->a.input, a), ls_read_f32(r, p->b.input, b));
	}
}

static bool same_wide(const ls_wide *a, const ls_wide *b)
{
	return !memcmp(a, b, sizeof *a);
}

static void rule_block(ls_game *g, const ls_sum *sum)
{
	bool wrong[2];
	if (!g->has_sum) {
		ls_judge__rule_product(g, sum);
		return;
	}
	for (int side = 0; side < 2; side++)
		wrong[side] = !same_wide(&sum->e, &g->sum[side].e) || !same_wide(&sum->s, &g->sum[side].s) ||
		              sum->non_finite != g->sum[side].non_finite;
	ls_judge__end_wrong(g, wrong[0], wrong[1], "a partial sum of the element is not that of its terms");
}

static void rule_word(ls_game *g, uint32_t admissible)
{
	g->result.admissible_word = admissible;
	ls_judge__end_wrong(g, g->word[0] != admissible, g->word[1] != admissible, "the op's definition gives one value");
}

static uint32_t pinned(const ls_reader *reader, const ls_game *g)
{
	int64_t i, j;
	ls_product_locate(&g->product, g->element, &i, &j);
	return ls_bits_f32(ls_product_pinned(reader, &g->product, i, j, g->record.output[0].bits));
}

/* False where something that the definition reads was not opened. */
static bool evaluate(reading *r, ls_sum *sum, uint32_t *value)
{
	ls_game *g = r->g;
	ls_samples samples = {r, sample, label};
	ls_reader reader = {.program = g->program, .op = ls_program_op(g->program, ls_program_ops(g->program) - 1), .step = g->step,
	                    .context = r, .word = word, .samples = &samples};
	if (setjmp(r->missing)) // definitions hold nothing that would have to be released
		return false;
	if (g->def->class == LS_OP_PRODUCT && g->job.mode == LS_JUDGE__PINNED)
		*value = pinned(&reader, g);
	else if (g->def->class == LS_OP_PRODUCT)
		ls_product_partial(&reader, &g->product, g->element, g->sum_first, g->sum_terms, sum);
	else
		*value = g->def->element(&reader, g->output, g->element);
	return true;
}

bool ls_judge__take_open(ls_game *g, int side, ls_cursor *c)
{
	int inputs = g->record.op.input_count;
	reading r = {.g = g, .input = ls_alloc((size_t)inputs, sizeof *r.input)};
	ls_sum sum;
	uint32_t value = 0;
	bool good = r.input && read_tensors(g, c, &r) && (g->def->class != LS_OP_LOAD || read_data(g, c, &r)) && ls_cursor_done(c) &&
	            evaluate(&r, &sum, &value) && all_used(&r.data);
	for (int i = 0; r.input && i < inputs; i++) {
		good = good && all_used(&r.input[i]);
		free_opened(&r.input[i]);
	}
	free_opened(&r.data);
	ls_free(r.sample);
	ls_free(r.input);
	if (!good)
		return false;
	if (g->def->class == LS_OP_PRODUCT && g->job.mode != LS_JUDGE__PINNED)
		rule_block(g, &sum);
	else
		rule_word(g, value);
	return true;
}

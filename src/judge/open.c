/* The last turn: the words and samples that an element is computed from, each under a root that both agree on; then its
 * definition. Exactly what the definition reads has to be opened, so one element has one such turn. */
#include "judge/game.h"

#define SAMPLE_BYTES_MAX (1 << 20)
#define DATA_CHUNK 1024
#define DATA_PARTS_MAX 4
#define DATA_BYTES_MAX (UINT64_C(1) << 62) /* of a part */

/* The data tree's leaf 0: parts, and how many chunks, leaf 0 left out, lie before each. */
typedef struct data_head {
	uint32_t parts;
	struct {
		char name[LS_COMMIT_NAME_MAX + 1];
		uint64_t bytes, first;
	} part[DATA_PARTS_MAX];
	uint64_t sample_bytes, chunks;
} data_head;

/* Chunks of the data tree, leaf 0 left out; ascending. */
typedef struct data_opened {
	size_t count;
	uint64_t *index;
	const uint8_t **bytes;
	bool *read;
} data_opened;

typedef struct reading {
	ls_game *g;
	ls_opening *opening;
	data_opened data;
	data_head head;
	uint8_t *sample;
	bool missing; /* of data */
	/* the block in question, of an rsum in parts */
	int64_t at;
	double made;
} reading;

/* ---- tensors ---- */

/* u32 count ‖ per hash 32 bytes. Counts beyond what the turn could hold fail. */
static ls_hash *read_proof(ls_game *g, ls_cursor *c, size_t *count)
{
	ls_hash *proof;
	*count = ls_cursor_u32(c);
	if (*count > (c->len - c->pos) / LS_HASH_BYTES)
		return NULL;
	proof = ls_judge__alloc(g, *count, sizeof *proof);
	for (size_t i = 0; proof && i < *count; i++)
		ls_judge__hash(c, &proof[i]);
	return proof;
}

static size_t words_of(int64_t words, uint64_t index)
{
	int64_t left = words - (int64_t)index * LS_CHUNK_WORDS;
	return left < LS_CHUNK_WORDS ? (size_t)left : LS_CHUNK_WORDS;
}

/* Numbers of chunks and their words, ls_opening_add checks the rest. */
static bool read_chunks(ls_cursor *c, int64_t words, uint64_t *index, uint32_t *word, size_t count, size_t *total)
{
	*total = 0;
	for (size_t i = 0; i < count; i++) {
		size_t n;
		const uint8_t *bytes;
		index[i] = ls_cursor_u64(c);
		if (index[i] >= (uint64_t)ls_chunk_count(words))
			return false;
		n = words_of(words, index[i]);
		bytes = ls_cursor_take(c, 4 * n);
		for (size_t w = 0; bytes && w < n; w++)
			word[*total + w] = ls_get_le32(bytes + 4 * w);
		*total += n;
		if (!bytes)
			return false;
	}
	return true;
}

static bool read_tensor(ls_cursor *c, reading *r, int input)
{
	int64_t words = ls_shape_count(&r->g->given[input].shape);
	size_t count = ls_cursor_u32(c), total, proof_count;
	uint64_t *index;
	uint32_t *word;
	ls_hash *proof = NULL;
	ls_opened opened = LS_OPENED_FOREIGN;
	bool good;
	if (!ls_judge__ok(r->g, ls_opening_tensor(r->opening, input, &r->g->given[input].root, words, 0, NULL)) || count > (c->len - c->pos) / 12)
		return false;
	if (!count)
		return !c->failed;
	index = ls_judge__alloc(r->g, count, sizeof *index);
	word = ls_judge__alloc(r->g, count * LS_CHUNK_WORDS, sizeof *word);
	good = index && word && read_chunks(c, words, index, word, count, &total) && (proof = read_proof(r->g, c, &proof_count)) != NULL &&
	       ls_judge__ok(r->g, ls_opening_add(r->opening, input, index, count, word, total, proof, proof_count, &opened, NULL)) && opened == LS_OPENED;
	ls_free(index);
	ls_free(word);
	ls_free(proof);
	return good;
}

/* ---- data ---- */

static size_t data_length(const data_head *h, uint64_t index)
{
	uint32_t i = h->parts - 1;
	uint64_t at;
	while (index < h->part[i].first)
		i--;
	at = (index - h->part[i].first) * DATA_CHUNK;
	return h->part[i].bytes - at < DATA_CHUNK ? (size_t)(h->part[i].bytes - at) : DATA_CHUNK;
}

static bool is_part(const data_head *h, uint32_t i, const char *name, uint64_t bytes)
{
	return !strcmp(h->part[i].name, name) && h->part[i].bytes == bytes;
}

/* Of `load`: samples, batch, seed, shuffle, C, H, W. */
static bool fits_pictures(const int64_t *a, const int64_t dims[3], data_head *h)
{
	uint64_t samples = (uint64_t)a[0];
	bool good = dims[0] == a[4] && dims[1] == a[5] && dims[2] == a[6] && a[4] * a[5] <= SAMPLE_BYTES_MAX &&
	            a[4] * a[5] * a[6] <= SAMPLE_BYTES_MAX && samples <= UINT64_C(1) << 40;
	h->sample_bytes = good ? (uint64_t)(a[4] * a[5] * a[6]) : 0;
	return good && h->parts == 2 && is_part(h, 0, "images", samples * h->sample_bytes) && is_part(h, 1, "labels", samples);
}

/* Of `load_tokens`: samples, batch, seed, shuffle, length, …; its shape rule bounds both. What the tokens were made of comes before them. */
static bool fits_tokens(const int64_t *a, const int64_t dims[3], const data_head *h)
{
	uint64_t tokens = (uint64_t)a[0] * (uint64_t)a[4] + 1;
	return dims[0] == 1 && dims[1] == 1 && dims[2] == a[4] && is_part(h, h->parts - 1, "tokens", 2 * tokens);
}

static bool read_parts(ls_cursor *c, data_head *h)
{
	h->parts = ls_cursor_u32(c);
	if (h->parts < 1 || h->parts > DATA_PARTS_MAX)
		return false;
	for (uint32_t i = 0; i < h->parts; i++) {
		ls_cursor_str(c, h->part[i].name, sizeof h->part[i].name);
		h->part[i].bytes = ls_cursor_u64(c);
		h->part[i].first = h->chunks;
		if (h->part[i].bytes > DATA_BYTES_MAX)
			return false;
		h->chunks += (h->part[i].bytes + DATA_CHUNK - 1) / DATA_CHUNK;
	}
	return ls_cursor_done(c);
}

/* Samples and shape must be those of the op: the client signed both. */
static bool read_data_head(ls_game *g, ls_cursor *c, data_head *h)
{
	const int64_t *a = g->record.op.ints;
	size_t len;
	const uint8_t *bytes = ls_judge__bytes(c, &len);
	ls_cursor head = ls_cursor_over(bytes, bytes ? len : 0);
	const uint8_t *tag = ls_cursor_take(&head, strlen(LS_TAG_DATA) + 1);
	char format[LS_COMMIT_NAME_MAX + 1];
	int64_t dims[3];
	bool good;
	ls_cursor_str(&head, format, sizeof format);
	*h = (data_head){0};
	good = tag && !memcmp(tag, LS_TAG_DATA "\0", strlen(LS_TAG_DATA) + 1) && ls_cursor_u64(&head) == (uint64_t)a[0] && ls_cursor_u8(&head) == 3;
	for (int i = 0; i < 3; i++)
		dims[i] = (int64_t)ls_cursor_u64(&head);
	good = good && read_parts(&head, h) && (strcmp(g->def->kind, "load") ? fits_tokens(a, dims, h) : fits_pictures(a, dims, h));
	return good && ls_judge__included(g, c, &g->job.data, h->chunks + 1, 0, bytes, len);
}

/* The chunks' bytes, and their leaf hashes under their places in the data tree. */
static bool read_data_chunks(ls_cursor *c, reading *r, ls_shown_leaf *leaf)
{
	uint8_t bytes[sizeof LS_TAG_DATA + DATA_CHUNK] = LS_TAG_DATA "\1";
	data_opened *d = &r->data;
	for (size_t i = 0; i < d->count; i++) {
		size_t len;
		d->index[i] = ls_cursor_u64(c);
		if (d->index[i] >= r->head.chunks || (i && d->index[i] <= d->index[i - 1]))
			return false;
		len = data_length(&r->head, d->index[i]);
		d->bytes[i] = ls_cursor_take(c, len);
		if (!d->bytes[i])
			return false;
		memcpy(bytes + sizeof LS_TAG_DATA, d->bytes[i], len);
		leaf[i].index = d->index[i] + 1;
		if (!ls_judge__ok(r->g, ls_hash_leaf(&leaf[i].hash, bytes, sizeof LS_TAG_DATA + len, r->g->hasher)))
			return false;
	}
	return true;
}

static bool read_data(ls_game *g, ls_cursor *c, reading *r)
{
	data_opened *d = &r->data;
	ls_shown_leaf *leaf;
	ls_hash *proof = NULL;
	size_t proof_count;
	bool valid = false, good;
	if (!read_data_head(g, c, &r->head))
		return false;
	d->count = ls_cursor_u32(c);
	if (!d->count || d->count > (c->len - c->pos) / 9)
		return false;
	d->index = ls_judge__alloc(g, d->count, sizeof *d->index);
	d->bytes = ls_judge__alloc(g, d->count, sizeof *d->bytes);
	d->read = ls_judge__alloc(g, d->count, sizeof *d->read);
	r->sample = ls_judge__alloc(g, r->head.sample_bytes, 1); // of tokens none
	leaf = ls_judge__alloc(g, d->count, sizeof *leaf);
	good = d->index && d->bytes && d->read && r->sample && leaf && read_data_chunks(c, r, leaf) &&
	       (proof = read_proof(r->g, c, &proof_count)) != NULL &&
	       ls_judge__ok(g, ls_multiproof_verify(&valid, &g->job.data, r->head.chunks + 1, leaf, d->count, proof, proof_count, g->hasher)) && valid;
	ls_free(leaf);
	ls_free(proof);
	return good;
}

/* The bytes of an opened chunk, or NULL, which is remembered. */
static const uint8_t *find(reading *r, uint64_t index)
{
	data_opened *d = &r->data;
	size_t low = 0, high = d->count;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (d->index[middle] < index)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == d->count || d->index[low] != index) {
		r->missing = true;
		return NULL;
	}
	d->read[low] = true;
	return d->bytes[low];
}

static const uint8_t *sample(void *context, int64_t index)
{
	reading *r = context;
	uint64_t from = (uint64_t)index * r->head.sample_bytes, to = from + r->head.sample_bytes;
	for (uint64_t at = from; at < to;) {
		const uint8_t *chunk = find(r, at / DATA_CHUNK);
		uint64_t in = at % DATA_CHUNK, n = DATA_CHUNK - in < to - at ? DATA_CHUNK - in : to - at;
		if (chunk)
			memcpy(r->sample + (at - from), chunk + in, n);
		at += n;
	}
	return r->sample;
}

static int32_t label(void *context, int64_t index)
{
	reading *r = context;
	const uint8_t *chunk = find(r, r->head.part[1].first + (uint64_t)index / DATA_CHUNK);
	return chunk ? chunk[index % DATA_CHUNK] : 0;
}

/* Two bytes each, of which no chunk has only one. */
static int32_t token(void *context, int64_t index)
{
	reading *r = context;
	uint64_t at = 2 * (uint64_t)index;
	const uint8_t *chunk = find(r, r->head.part[r->head.parts - 1].first + at / DATA_CHUNK);
	return chunk ? chunk[at % DATA_CHUNK] | chunk[at % DATA_CHUNK + 1] << 8 : 0;
}

/* ---- the element ---- */

/* Blocks before the one in question are agreed; those behind it decide nothing any more. */
static bool given(void *context, double *sum)
{
	reading *r = context;
	int64_t at = r->at++;
	*sum = 0;
	if (at == r->g->part)
		return false;
	if (at < r->g->parts)
		*sum = ls_f64_bits(ls_get_le64(r->g->list[0] + 8 * at));
	return true;
}

static void made(void *context, double sum)
{
	((reading *)context)->made = sum;
}

/* A block of an rsum, or the state after a run of a pinned sum's terms: the item of the list. */
static bool list_item(reading *r, ls_reader *reader, ls_buf *item)
{
	ls_game *g = r->g;
	ls_parts parts = {.context = r, .given = given, .made = made};
	if (ls_judge__is_pinned(g)) {
		const uint8_t *before = g->list[0] + (g->part - 1) * LS_PINNED_BYTES;
		ls_pinned_state state = LS_PINNED_STATE_START;
		int64_t i, j;
		if (g->part)
			state = (ls_pinned_state){ls_f32_bits(ls_get_le32(before)), ls_f32_bits(ls_get_le32(before + 4)), before[8]};
		ls_product_locate(&g->product, g->element, &i, &j);
		ls_product_pinned_terms(reader, &g->product, i, j, g->sum_first, g->sum_terms, &state);
		ls_pinned_encode(item, &state);
	} else {
		reader->parts = &parts;
		g->def->element(reader, g->output, g->element);
		ls_part_encode(item, r->made);
	}
	return ls_judge__ok(g, item->status);
}

static bool all_read(const reading *r)
{
	int input;
	int64_t index;
	if (r->missing || ls_opening_missing(r->opening, &input, &index) || ls_opening_unread(r->opening))
		return false;
	for (size_t i = 0; i < r->data.count; i++)
		if (!r->data.read[i])
			return false;
	return true;
}

/* Computes what is in question; where everything that was opened was read and nothing else, rules. */
static bool evaluate(reading *r)
{
	ls_game *g = r->g;
	ls_samples samples = {.context = r, .sample = sample, .label = label, .token = token};
	ls_reader reader = ls_judge__reader(g);
	ls_judge_rules rules = ls_judge__rules(g);
	ls_judgement judgement;
	ls_sum sum;
	ls_buf item;
	int64_t i, j;
	bool good = true;
	ls_buf_init(&item, LS_PINNED_BYTES);
	reader.samples = &samples;
	ls_opening_reader(r->opening, &reader);
	if (g->parts) {
		good = list_item(r, &reader, &item) && all_read(r);
		if (good)
			ls_judge__rule_item(g, item.data);
	} else if (g->has_sum) {
		ls_product_locate(&g->product, g->element, &i, &j);
		ls_product_sum_terms(&reader, &g->product, i, j, g->sum_first, g->sum_terms, &sum);
		good = all_read(r);
		if (good)
			ls_judge__rule_sum(g, &sum);
	} else {
		good = ls_judge__ok(g, ls_judge_element(&judgement, &reader, &rules, g->output, g->element, g->entry, NULL)) && all_read(r);
		if (good)
			ls_judge__rule(g, &judgement);
	}
	ls_buf_free(&item);
	return good;
}

bool ls_judge__take_open(ls_game *g, int side, ls_cursor *c)
{
	reading r = {.g = g};
	bool good = ls_judge__ok(g, ls_opening_open(&r.opening, g->record.op.input_count, NULL));
	for (int i = 0; good && i < g->record.op.input_count; i++)
		good = read_tensor(c, &r, i);
	good = good && (g->def->class != LS_OP_LOAD || read_data(g, c, &r)) && ls_cursor_done(c) && evaluate(&r);
	ls_opening_free(r.opening);
	ls_free(r.data.index);
	ls_free(r.data.bytes);
	ls_free(r.data.read);
	ls_free(r.sample);
	return good;
}

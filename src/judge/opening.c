#include <lockstep/verify.h>

typedef struct chunk {
	uint64_t index;
	bool read;
	uint32_t words[LS_CHUNK_WORDS];
} chunk;

/* One input: what is known of its tensor, and its opened chunks in ascending order. */
typedef struct tensor {
	ls_hash root;
	int64_t words;
	int bits;
	bool known;
	chunk **chunk;
	size_t count, capacity, last; /* last: the chunk that was read last, where the next word is likely to be */
} tensor;

struct ls_opening {
	tensor *tensor;
	int inputs;
	size_t chunks; /* of all inputs */
	ls_hasher *hasher;
	bool missing;
	int missing_input;
	int64_t missing_index;
};

ls_status ls_opening_open(ls_opening **out, int inputs, ls_error *err)
{
	ls_opening *o = NULL;
	ls_status status = LS_OK;
	*out = NULL;
	if (inputs < 0 || inputs > LS_OPENING_INPUTS_MAX)
		return ls_error_set(err, LS_ERR_LIMIT, "opening: found %d inputs, expected at most %d", inputs, LS_OPENING_INPUTS_MAX);
	o = ls_alloc(1, sizeof *o);
	if (o)
		o->tensor = ls_alloc((size_t)inputs, sizeof *o->tensor);
	if (!o || !o->tensor) {
		status = ls_error_set(err, LS_ERR_NOMEM, "no memory for an opening of %d inputs", inputs);
		goto done;
	}
	o->inputs = inputs;
	LS_TRY(ls_hasher_open(&o->hasher, 1, err));
	*out = o;
	o = NULL;
done:
	ls_opening_free(o);
	return status;
}

void ls_opening_free(ls_opening *o)
{
	if (!o)
		return;
	for (int i = 0; o->tensor && i < o->inputs; i++) {
		for (size_t c = 0; c < o->tensor[i].count; c++)
			ls_free(o->tensor[i].chunk[c]);
		ls_free(o->tensor[i].chunk);
	}
	ls_free(o->tensor);
	ls_hasher_free(o->hasher);
	ls_free(o);
}

ls_status ls_opening_tensor(ls_opening *o, int input, const ls_hash *root, int64_t words, int bits, ls_error *err)
{
	if (input < 0 || input >= o->inputs || o->tensor[input].known || words < 0 ||
	    (bits != 0 && (bits < LS_GRID_MIN || bits > LS_GRID_MAX)))
		return ls_error_set(err, LS_ERR_USAGE, "opening: found input %d of %lld words and grid %d, expected a new one of at most %d",
		                    input, (long long)words, bits, o->inputs);
	o->tensor[input].root = *root;
	o->tensor[input].words = words;
	o->tensor[input].bits = bits;
	o->tensor[input].known = true;
	return LS_OK;
}

/* ---- adding ---- */

static size_t words_of(const tensor *t, uint64_t index)
{
	int64_t left = t->words - (int64_t)index * LS_CHUNK_WORDS;
	return left < LS_CHUNK_WORDS ? (size_t)left : LS_CHUNK_WORDS;
}

/* Numbers ascending and within the tensor, and as many words as they have. */
static bool is_sane(const tensor *t, const uint64_t *index, size_t count, size_t word_count)
{
	size_t need = 0;
	for (size_t i = 0; i < count; i++) {
		if (index[i] >= (uint64_t)ls_chunk_count(t->words) || (i && index[i] <= index[i - 1]))
			return false;
		need += words_of(t, index[i]);
	}
	return count > 0 && need == word_count;
}

static ls_status hash_chunks(ls_opening *o, const tensor *t, const uint64_t *index, size_t count, const uint32_t *words,
                             ls_shown_leaf *leaf)
{
	ls_status status = LS_OK;
	for (size_t i = 0; i < count && status == LS_OK; i++) {
		size_t n = words_of(t, index[i]);
		leaf[i].index = index[i];
		status = ls_chunk_hash(&leaf[i].hash, words, (int)n, o->hasher);
		words += n;
	}
	return status;
}

static bool all_on_grid(const tensor *t, const uint32_t *words, size_t count)
{
	for (size_t i = 0; t->bits && i < count; i++)
		if (!ls_on_grid(ls_f32_bits(words[i]), t->bits))
			return false;
	return true;
}

/* The place of a chunk: the first whose number is not less. */
static size_t place_of(const tensor *t, uint64_t index)
{
	size_t low = 0, high = t->count;
	while (low < high) {
		size_t middle = (low + high) / 2;
		if (t->chunk[middle]->index < index)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static bool is_open(const tensor *t, size_t place, uint64_t index)
{
	return place < t->count && t->chunk[place]->index == index;
}

static bool reserve(tensor *t)
{
	size_t capacity = t->capacity ? 2 * t->capacity : 16;
	chunk **grown;
	if (t->count < t->capacity)
		return true;
	grown = ls_alloc(capacity, sizeof *grown);
	if (!grown)
		return false;
	if (t->count)
		memcpy(grown, t->chunk, t->count * sizeof *grown);
	ls_free(t->chunk);
	t->chunk = grown;
	t->capacity = capacity;
	return true;
}

/* A chunk that was opened before has the same words: both hash into one root. */
static ls_status take(ls_opening *o, tensor *t, uint64_t index, const uint32_t *words)
{
	size_t place = place_of(t, index);
	chunk *c;
	if (is_open(t, place, index))
		return LS_OK;
	if (o->chunks == LS_OPENING_CHUNKS_MAX)
		return LS_ERR_LIMIT;
	c = ls_alloc(1, sizeof *c);
	if (!c || !reserve(t)) {
		ls_free(c);
		return LS_ERR_NOMEM;
	}
	c->index = index;
	memcpy(c->words, words, words_of(t, index) * sizeof *words);
	memmove(t->chunk + place + 1, t->chunk + place, (t->count - place) * sizeof *t->chunk);
	t->chunk[place] = c;
	t->count++;
	o->chunks++;
	return LS_OK;
}

static ls_status take_all(ls_opening *o, tensor *t, const uint64_t *index, size_t count, const uint32_t *words, ls_error *err)
{
	ls_status status = LS_OK;
	for (size_t i = 0; i < count && status == LS_OK; i++) {
		status = take(o, t, index[i], words);
		words += words_of(t, index[i]);
	}
	if (status == LS_ERR_LIMIT)
		ls_error_set(err, status, "opening: found more chunks than fit, expected at most %d", LS_OPENING_CHUNKS_MAX);
	else if (status != LS_OK)
		ls_error_set(err, status, "opening: no memory for another chunk after %zu", (size_t)o->chunks);
	return status;
}

ls_status ls_opening_add(ls_opening *o, int input, const uint64_t *index, size_t count, const uint32_t *words, size_t word_count,
                         const ls_hash *proof, size_t proof_count, ls_opened *result, ls_error *err)
{
	tensor *t;
	ls_shown_leaf *leaf = NULL;
	bool valid;
	ls_status status = LS_OK;
	*result = LS_OPENED_FOREIGN;
	if (input < 0 || input >= o->inputs || !o->tensor[input].known)
		return ls_error_set(err, LS_ERR_USAGE, "opening: found chunks of input %d, expected one whose root is known", input);
	if (count > LS_OPENING_CHUNKS_MAX)
		return ls_error_set(err, LS_ERR_LIMIT, "opening: found %zu chunks, expected at most %d", count, LS_OPENING_CHUNKS_MAX);
	t = &o->tensor[input];
	if (!is_sane(t, index, count, word_count))
		return LS_OK;
	leaf = ls_alloc(count, sizeof *leaf);
	if (!leaf)
		return ls_error_set(err, LS_ERR_NOMEM, "no memory for %zu chunks", count);
	LS_TRY(hash_chunks(o, t, index, count, words, leaf));
	LS_TRY(ls_multiproof_verify(&valid, &t->root, (uint64_t)ls_chunk_count(t->words), leaf, count, proof, proof_count, o->hasher));
	if (valid)
		LS_TRY(take_all(o, t, index, count, words, err));
	if (valid)
		*result = all_on_grid(t, words, word_count) ? LS_OPENED : LS_OPENED_OFF_GRID;
done:
	ls_free(leaf);
	return status;
}

/* ---- reading ---- */

static uint32_t word(void *context, int input, int64_t index)
{
	ls_opening *o = context;
	tensor *t = input >= 0 && input < o->inputs ? &o->tensor[input] : NULL;
	uint64_t number = (uint64_t)index / LS_CHUNK_WORDS;
	if (t && index >= 0 && index < t->words) {
		if (!is_open(t, t->last, number))
			t->last = place_of(t, number);
		if (is_open(t, t->last, number)) {
			t->chunk[t->last]->read = true;
			return t->chunk[t->last]->words[index % LS_CHUNK_WORDS];
		}
	}
	if (!o->missing) {
		o->missing = true;
		o->missing_input = input;
		o->missing_index = index;
	}
	return 0;
}

void ls_opening_reader(ls_opening *o, ls_reader *reader)
{
	o->missing = false;
	for (int i = 0; i < o->inputs; i++)
		for (size_t c = 0; c < o->tensor[i].count; c++)
			o->tensor[i].chunk[c]->read = false;
	reader->context = o;
	reader->word = word;
}

bool ls_opening_missing(const ls_opening *o, int *input, int64_t *index)
{
	*input = o->missing_input;
	*index = o->missing_index;
	return o->missing;
}

bool ls_opening_unread(const ls_opening *o)
{
	for (int i = 0; i < o->inputs; i++)
		for (size_t c = 0; c < o->tensor[i].count; c++)
			if (!o->tensor[i].chunk[c]->read)
				return true;
	return false;
}

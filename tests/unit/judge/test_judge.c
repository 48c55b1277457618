// The judge: elements from opened chunks, claims, and what parties may try with chunks and proofs.
#include "op/support.h"

#include <lockstep/verify.h>

enum { ROWS = 6, TERMS = 700, COLUMNS = 5 };

/* y = a·b + bias and z = relu(y), with everything opened for a judge. */
typedef struct court {
	scene s;
	int a, b, bias, y, z;
	ls_opening *opening;
	ls_hasher *hasher;
} court;

static int64_t words_of(const court *c, int value)
{
	return scene_count(&c->s, value);
}

static ls_hash root_of(const court *c, int value)
{
	ls_hash root;
	assert_int_equal(ls_tensor_root(&root, c->s.words[value], words_of(c, value), NULL, c->hasher), LS_OK);
	return root;
}

static void court_open(court *c)
{
	*c = (court){0};
	scene_open(&c->s, 32, 32);
	c->a = scene_given(&c->s, "a", (ls_shape){2, {ROWS, TERMS}});
	c->b = scene_given(&c->s, "b", (ls_shape){2, {TERMS, COLUMNS}});
	c->bias = scene_given(&c->s, "bias", (ls_shape){1, {COLUMNS}});
	c->y = scene_op(&c->s, "matmul", "y", INPUTS(c->a, c->b, c->bias), INTS(0, 0), NONE);
	c->z = scene_op(&c->s, "relu", "z", INPUTS(c->y), NONE, NONE);
	scene_run(&c->s);
	assert_int_equal(ls_hasher_open(&c->hasher, 1, NULL), LS_OK);
}

static void court_close(court *c)
{
	ls_opening_free(c->opening);
	ls_hasher_free(c->hasher);
	scene_close(&c->s);
}

/* Chunks of one value as a party sends them. */
typedef struct sent {
	uint64_t index[64];
	size_t count, words, proof_count;
	uint32_t word[64 * LS_CHUNK_WORDS];
	ls_hash proof[256];
} sent;

static void take_chunks(const court *c, int value, uint64_t first, uint64_t step, sent *out)
{
	int64_t words = words_of(c, value);
	uint64_t chunks = (uint64_t)ls_chunk_count(words);
	ls_hash leaf[64];
	*out = (sent){0};
	assert_in_range(chunks, 1, 64);
	for (uint64_t i = 0; i < chunks; i++) {
		int64_t left = words - (int64_t)i * LS_CHUNK_WORDS, n = left < LS_CHUNK_WORDS ? left : LS_CHUNK_WORDS;
		const uint32_t *from = c->s.words[value] + i * LS_CHUNK_WORDS;
		assert_int_equal(ls_chunk_hash(&leaf[i], from, (int)n, c->hasher), LS_OK);
		if (i < first || (i - first) % step)
			continue;
		memcpy(out->word + out->words, from, (size_t)n * 4);
		out->words += (size_t)n;
		out->index[out->count++] = i;
	}
	assert_int_equal(ls_multiproof_make(out->proof, 256, &out->proof_count, leaf, chunks, out->index, out->count, c->hasher), LS_OK);
}

static ls_opened send(court *c, int input, const sent *m)
{
	ls_opened result;
	ls_error err = LS_ERROR_INIT;
	assert_ok(ls_opening_add(c->opening, input, m->index, m->count, m->word, m->words, m->proof, m->proof_count, &result, &err));
	return result;
}

static void know(court *c, int input, int value, int bits)
{
	ls_hash root = root_of(c, value);
	ls_error err = LS_ERROR_INIT;
	assert_ok(ls_opening_tensor(c->opening, input, &root, words_of(c, value), bits, &err));
}

static void open_for(court *c, const int *values, int count)
{
	ls_opening_free(c->opening);
	assert_int_equal(ls_opening_open(&c->opening, count, NULL), LS_OK);
	for (int i = 0; i < count; i++)
		know(c, i, values[i], 32);
}

static ls_claim claim_of(court *c, int value, ls_judge_mode mode, int64_t depth, int64_t index, int entry, uint32_t word,
                         ls_judgement *judgement)
{
	const ls_op *op = ls_program_op(c->s.program, ls_program_value(c->s.program, value)->op);
	ls_reader reader = {.program = c->s.program, .op = op, .step = 1};
	ls_judge_rules rules = {.mode = mode, .arithmetic = {.depth = depth}};
	ls_error err = LS_ERROR_INIT;
	ls_claim claim;
	assert_ok(ls_judge_claim(&claim, judgement, c->opening, &reader, &rules, 0, index, entry, word, &err));
	return claim;
}

static void open_everything(court *c)
{
	const int values[] = {c->a, c->b, c->bias};
	open_for(c, values, 3);
	for (int i = 0; i < 3; i++) {
		sent m;
		take_chunks(c, values[i], 0, 1, &m);
		assert_int_equal(send(c, i, &m), LS_OPENED);
	}
}

static void products_in_each_mode(void **state)
{
	court c;
	int differ = 0;
	court_open(&c);
	open_everything(&c);
	for (int64_t i = 0; i < ROWS * COLUMNS; i++) {
		uint32_t right = c.s.words[c.y][i], pinned;
		ls_judgement j;
		assert_int_equal(claim_of(&c, c.y, LS_JUDGE_EXACT, 0, i, LS_JUDGE_NO_ENTRY, right, &j), LS_CLAIM_ADMISSIBLE);
		assert_int_equal(claim_of(&c, c.y, LS_JUDGE_EXACT, 0, i, LS_JUDGE_NO_ENTRY, right ^ 1, &j), LS_CLAIM_WRONG);
		assert_int_equal(j.word, right);
		assert_false(j.two_valued);
		claim_of(&c, c.y, LS_JUDGE_PINNED, 0, i, LS_JUDGE_NO_ENTRY, 0, &j);
		pinned = j.word;
		differ += pinned != right;
		assert_int_equal(claim_of(&c, c.y, LS_JUDGE_PINNED, 0, i, LS_JUDGE_NO_ENTRY, pinned, &j), LS_CLAIM_ADMISSIBLE);
	}
	assert_true(differ > 5);
	court_close(&c);
}

/* A depth that makes many elements two-valued, and one that makes none. */
static void entries(void **state)
{
	court c;
	int two = 0;
	court_open(&c);
	open_everything(&c);
	for (int64_t i = 0; i < ROWS * COLUMNS; i++) {
		uint32_t right = c.s.words[c.y][i];
		int bit = (int)(right & 1);
		ls_judgement j;
		assert_int_equal(claim_of(&c, c.y, LS_JUDGE_LOGGED, 1 << 21, i, bit, right, &j), LS_CLAIM_ADMISSIBLE);
		assert_int_equal(j.entry, LS_ENTRY_REDUNDANT);
		assert_int_equal(claim_of(&c, c.y, LS_JUDGE_LOGGED, 1, i, !bit, right, &j), LS_CLAIM_FORGED);
		claim_of(&c, c.y, LS_JUDGE_LOGGED, 1 << 21, i, !bit, right, &j);
		two += j.two_valued;
		if (j.two_valued) {
			assert_int_equal(j.entry, LS_ENTRY_OVERRIDE);
			assert_int_equal(j.word & 1, !bit);
			assert_true(j.word - right == 1 || right - j.word == 1);
			assert_int_equal(claim_of(&c, c.y, LS_JUDGE_LOGGED, 1 << 21, i, !bit, j.word, &j), LS_CLAIM_ADMISSIBLE);
			assert_int_equal(claim_of(&c, c.y, LS_JUDGE_LOGGED, 1 << 21, i, !bit, right, &j), LS_CLAIM_WRONG);
			assert_int_equal(claim_of(&c, c.y, LS_JUDGE_LOGGED, 1 << 21, i, LS_JUDGE_NO_ENTRY, j.word, &j), LS_CLAIM_WRONG);
		} else {
			assert_int_equal(j.entry, LS_ENTRY_FORGED);
			assert_int_equal(j.word, right);
		}
	}
	assert_true(two > 0);
	court_close(&c);
}

/* 1 + 2^-24 is a tie, so both neighbours are admissible at any depth. */
static void both_ends_of_a_tie(void **state)
{
	court c;
	ls_judgement j;
	court_open(&c);
	memset(c.s.words[c.a], 0, 4 * TERMS * ROWS);
	memset(c.s.words[c.bias], 0, 4 * COLUMNS);
	scene_f32(&c.s, c.a)[0] = 1;
	scene_f32(&c.s, c.a)[1] = 0x1p-24f;
	scene_f32(&c.s, c.b)[0] = scene_f32(&c.s, c.b)[COLUMNS] = 1;
	open_everything(&c);
	assert_int_equal(claim_of(&c, c.y, LS_JUDGE_LOGGED, 0, 0, LS_JUDGE_NO_ENTRY, 0x3f800000, &j), LS_CLAIM_ADMISSIBLE);
	assert_true(j.two_valued);
	assert_int_equal(claim_of(&c, c.y, LS_JUDGE_LOGGED, 0, 0, 1, 0x3f800001, &j), LS_CLAIM_ADMISSIBLE);
	assert_int_equal(claim_of(&c, c.y, LS_JUDGE_LOGGED, 0, 0, LS_JUDGE_NO_ENTRY, 0x3f800001, &j), LS_CLAIM_WRONG);
	assert_int_equal(claim_of(&c, c.y, LS_JUDGE_LOGGED, 0, 0, 2, 0x3f800001, &j), LS_CLAIM_FORGED);
	assert_int_equal(claim_of(&c, c.y, LS_JUDGE_EXACT, 0, 0, LS_JUDGE_NO_ENTRY, 0x3f800001, &j), LS_CLAIM_WRONG);
	court_close(&c);
}

/* Only the chunks that an element needs: and without one of them it stays undecided. */
static void what_was_not_opened_decides_nothing(void **state)
{
	court c;
	sent m;
	ls_judgement j;
	int input;
	int64_t index;
	court_open(&c);
	const int values[] = {c.a, c.b, c.bias};
	open_for(&c, values, 3);
	for (int i = 1; i < 3; i++) {
		take_chunks(&c, values[i], 0, 1, &m);
		assert_int_equal(send(&c, i, &m), LS_OPENED);
	}
	assert_int_equal(claim_of(&c, c.y, LS_JUDGE_EXACT, 0, 0, LS_JUDGE_NO_ENTRY, c.s.words[c.y][0], &j), LS_CLAIM_UNDECIDED);
	assert_true(ls_opening_missing(c.opening, &input, &index));
	assert_int_equal(input, 0);
	assert_int_equal(index, 0);
	take_chunks(&c, c.a, 0, 2, &m); // every second one
	assert_int_equal(send(&c, 0, &m), LS_OPENED);
	assert_int_equal(claim_of(&c, c.y, LS_JUDGE_EXACT, 0, 0, LS_JUDGE_NO_ENTRY, c.s.words[c.y][0], &j), LS_CLAIM_UNDECIDED);
	assert_true(ls_opening_missing(c.opening, &input, &index));
	assert_int_equal(index, LS_CHUNK_WORDS);
	take_chunks(&c, c.a, 1, 2, &m);
	assert_int_equal(send(&c, 0, &m), LS_OPENED);
	assert_int_equal(send(&c, 0, &m), LS_OPENED); // once more changes nothing
	for (int64_t i = 0; i < ROWS * COLUMNS; i++)
		assert_int_equal(claim_of(&c, c.y, LS_JUDGE_EXACT, 0, i, LS_JUDGE_NO_ENTRY, c.s.words[c.y][i], &j), LS_CLAIM_ADMISSIBLE);
	assert_false(ls_opening_missing(c.opening, &input, &index));
	court_close(&c);
}

/* Each thing that a party could send in place of the tensor's own chunks. */
static void foreign_chunks(void **state)
{
	court c;
	sent right, m;
	court_open(&c);
	open_for(&c, (int[]){c.a, c.b}, 2);
	take_chunks(&c, c.a, 0, 3, &right);
	m = right;
	m.word[5] ^= 1;
	assert_int_equal(send(&c, 0, &m), LS_OPENED_FOREIGN);
	m = right;
	m.words--;
	assert_int_equal(send(&c, 0, &m), LS_OPENED_FOREIGN);
	m = right;
	m.index[0] = 1;
	assert_int_equal(send(&c, 0, &m), LS_OPENED_FOREIGN);
	m = right;
	m.index[1] = m.index[0];
	assert_int_equal(send(&c, 0, &m), LS_OPENED_FOREIGN);
	m = right;
	m.index[m.count - 1] = UINT64_MAX;
	assert_int_equal(send(&c, 0, &m), LS_OPENED_FOREIGN);
	m = right;
	m.proof_count--;
	assert_int_equal(send(&c, 0, &m), LS_OPENED_FOREIGN);
	m = right;
	m.proof[0].byte[0] ^= 1;
	assert_int_equal(send(&c, 0, &m), LS_OPENED_FOREIGN);
	m = (sent){0};
	assert_int_equal(send(&c, 0, &m), LS_OPENED_FOREIGN);
	assert_int_equal(send(&c, 1, &right), LS_OPENED_FOREIGN); // another tensor's
	assert_int_equal(send(&c, 0, &right), LS_OPENED);
	court_close(&c);
}

static void words_off_the_grid(void **state)
{
	static const uint32_t bad[] = {0x80000000, 0x7fc00001, 0xffc00000, 0x3f800001};
	for (int i = 0; i < 4; i++) {
		court c;
		sent m;
		court_open(&c);
		for (int64_t k = 0; k < words_of(&c, c.bias); k++)
			c.s.words[c.bias][k] = 0x3f800000;
		c.s.words[c.bias][3] = bad[i];
		assert_int_equal(ls_opening_open(&c.opening, 2, NULL), LS_OK);
		know(&c, 0, c.bias, 19);
		know(&c, 1, c.bias, 0); // labels have no grid
		take_chunks(&c, c.bias, 0, 1, &m);
		assert_int_equal(send(&c, 0, &m), LS_OPENED_OFF_GRID);
		assert_int_equal(send(&c, 1, &m), LS_OPENED);
		court_close(&c);
	}
}

/* An op that is no product, over one chunk. */
static void other_ops(void **state)
{
	court c;
	sent m;
	ls_judgement j;
	court_open(&c);
	open_for(&c, (int[]){c.y}, 1);
	take_chunks(&c, c.y, 0, 1, &m);
	assert_int_equal(send(&c, 0, &m), LS_OPENED);
	for (int64_t i = 0; i < ROWS * COLUMNS; i++) {
		uint32_t right = c.s.words[c.z][i];
		assert_int_equal(claim_of(&c, c.z, LS_JUDGE_LOGGED, 0, i, LS_JUDGE_NO_ENTRY, right, &j), LS_CLAIM_ADMISSIBLE);
		assert_int_equal(claim_of(&c, c.z, LS_JUDGE_PINNED, 0, i, LS_JUDGE_NO_ENTRY, right + 1, &j), LS_CLAIM_WRONG);
	}
	court_close(&c);
}

static void wrong_use_is_refused(void **state)
{
	court c;
	ls_judgement j;
	ls_judge_rules rules = {.mode = LS_JUDGE_LOGGED};
	ls_hash root = {{0}};
	ls_opened opened;
	court_open(&c);
	open_everything(&c);
	ls_reader reader = {.program = c.s.program, .op = ls_program_op(c.s.program, ls_program_value(c.s.program, c.y)->op), .step = 1};
	ls_opening_reader(c.opening, &reader);
	assert_int_equal(ls_judge_element(&j, &reader, &rules, 1, 0, LS_JUDGE_NO_ENTRY, NULL), LS_ERR_USAGE);
	assert_int_equal(ls_judge_element(&j, &reader, &rules, 0, -1, LS_JUDGE_NO_ENTRY, NULL), LS_ERR_USAGE);
	assert_int_equal(ls_judge_element(&j, &reader, &rules, 0, ROWS * COLUMNS, LS_JUDGE_NO_ENTRY, NULL), LS_ERR_USAGE);
	rules.mode = LS_JUDGE_EXACT;
	assert_int_equal(ls_judge_element(&j, &reader, &rules, 0, 0, 1, NULL), LS_ERR_USAGE);
	rules.mode = LS_JUDGE_LOGGED;
	assert_int_equal(ls_judge_element(&j, &reader, &rules, 0, 0, 1, NULL), LS_OK);
	reader.op = ls_program_op(c.s.program, ls_program_value(c.s.program, c.z)->op);
	assert_int_equal(ls_judge_element(&j, &reader, &rules, 0, 0, 1, NULL), LS_ERR_USAGE);
	assert_int_equal(ls_opening_tensor(c.opening, 0, &root, 3, 32, NULL), LS_ERR_USAGE); // known already
	assert_int_equal(ls_opening_tensor(c.opening, 3, &root, 3, 32, NULL), LS_ERR_USAGE);
	assert_int_equal(ls_opening_add(c.opening, 7, NULL, 0, NULL, 0, NULL, 0, &opened, NULL), LS_ERR_USAGE);
	assert_string_equal(ls_claim_text(LS_CLAIM_FORGED), "forged-entry");
	court_close(&c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(products_in_each_mode), cmocka_unit_test(entries), cmocka_unit_test(both_ends_of_a_tie),
		cmocka_unit_test(what_was_not_opened_decides_nothing), cmocka_unit_test(foreign_chunks),
		cmocka_unit_test(words_off_the_grid), cmocka_unit_test(other_ops), cmocka_unit_test(wrong_use_is_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

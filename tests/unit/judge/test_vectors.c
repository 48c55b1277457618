// ctest: labels=quick timeout=120
// Every case of tests/vectors/elements before the judge: its inputs as opened chunks, each checked word as a claim.
#include "base/vectors.h"
#include "num/gen.h"

#include <lockstep/verify.h>

#include <dirent.h>

enum { INPUTS_MAX = 6, KINDS_MAX = 256, CHUNKS_MAX = 16384 };

typedef struct judged_case {
	char name[128], kind[32];
	int bits, state_bits, inputs, reads;
	ls_judge_rules rules;
	ls_threshold threshold;
	uint64_t step;
	ls_dtype dtype[INPUTS_MAX];
	ls_shape shape[INPUTS_MAX];
	uint32_t *words[INPUTS_MAX];
	uint32_t samples, imports;
	ls_op_spec spec;
	ls_program *program; // built, and the opening filled, by the first statement
	ls_opening *opening;
	bool refused;
	uint8_t sample[4096];
	int64_t sample_size;
} judged_case;

typedef struct tally {
	int64_t cases, claims, wrong_claims, forged;
	char kind[KINDS_MAX][32]; // that some claim was about
	int kinds;
} tally;

static void clear(judged_case *c)
{
	for (int i = 0; i < c->inputs; i++)
		ls_free(c->words[i]);
	ls_program_free(c->program);
	ls_opening_free(c->opening);
	*c = (judged_case){.bits = 32, .state_bits = 32, .step = 1};
}

// ---- the scene ----

static void read_words(const vectors *v, judged_case *c, uint32_t *out, int64_t count)
{
	enum { SOURCE = 3 };
	for (int64_t i = 0; i < count; i++) {
		uint32_t w;
		int64_t n = vectors_is(v, SOURCE, "words") ? 0 : vectors_int(v, SOURCE + 2);
		if (vectors_is(v, SOURCE, "words")) {
			out[i] = vectors_hex32(v, SOURCE + 1 + (int)i);
			continue;
		}
		w = gen_number((uint32_t)vectors_int(v, SOURCE + 1), 0, (uint64_t)i);
		if (vectors_is(v, SOURCE, "gen"))
			out[i] = gen_word(w, n, vectors_int(v, SOURCE + 3), c->bits);
		else if (vectors_is(v, SOURCE, "int"))
			out[i] = ls_bits_f32((float)((int64_t)w % (2 * n + 1) - n));
		else
			out[i] = (uint32_t)((uint64_t)w * (uint64_t)n >> 32);
	}
}

static void read_input(const vectors *v, judged_case *c)
{
	ls_shape *shape = &c->shape[c->inputs];
	int64_t count;
	assert_in_range(c->inputs, 0, INPUTS_MAX - 1);
	c->dtype[c->inputs] = vectors_is(v, 1, "i32") ? LS_I32 : LS_F32;
	shape->rank = vectors_dims(v, 2, shape->dim);
	count = ls_shape_count(shape);
	c->words[c->inputs] = ls_alloc((size_t)count, 4);
	assert_non_null(c->words[c->inputs]);
	read_words(v, c, c->words[c->inputs++], count);
}

static void read_mode(const vectors *v, judged_case *c)
{
	c->rules.mode = vectors_is(v, 1, "pinned") ? LS_JUDGE_PINNED : vectors_is(v, 1, "logged") ? LS_JUDGE_LOGGED : LS_JUDGE_EXACT;
}

static void read_bound(const vectors *v, judged_case *c)
{
	c->rules.arithmetic = (ls_arithmetic){.fp32 = vectors_is(v, 1, "fp32"), .depth = vectors_is(v, 1, "depth") ? vectors_int(v, 2) : 0};
	if (!vectors_is(v, 1, "tau"))
		return;
	c->threshold = (ls_threshold){.tau = vectors_f64(v, 2)};
	c->rules.arithmetic.thresholds = &c->threshold;
	c->rules.arithmetic.threshold_count = 1;
}

static void read_op(const vectors *v, judged_case *c)
{
	snprintf(c->kind, sizeof c->kind, "%s", v->word[1]);
	c->reads = (int)vectors_int(v, 2);
	c->spec = (ls_op_spec){.kind = c->kind, .name = "y", .input_count = c->reads};
	for (int i = 0; i < c->reads; i++)
		c->spec.inputs[i] = i;
}

static void read_attributes(const vectors *v, judged_case *c)
{
	for (int i = 1; i < v->words; i++)
		if (vectors_is(v, 0, "ints"))
			c->spec.ints[c->spec.int_count++] = vectors_int(v, i);
		else
			c->spec.nums[c->spec.num_count++] = vectors_f64(v, i);
}

static void read_grid(const vectors *v, judged_case *c)
{
	c->bits = (int)vectors_int(v, 1);
	c->state_bits = (int)vectors_int(v, 2);
}

static void read_step(const vectors *v, judged_case *c)
{
	c->step = (uint64_t)vectors_int(v, 1);
}

static void read_samples(const vectors *v, judged_case *c)
{
	c->samples = (uint32_t)vectors_int(v, 1);
}

static void read_imports(const vectors *v, judged_case *c)
{
	c->imports = (uint32_t)vectors_int(v, 1);
}

static const struct {
	const char *word;
	void (*read)(const vectors *v, judged_case *c);
} lines[] = {{"grid", read_grid}, {"mode", read_mode}, {"bound", read_bound}, {"step", read_step}, {"input", read_input},
             {"samples", read_samples}, {"imports", read_imports}, {"op", read_op}, {"ints", read_attributes}, {"nums", read_attributes}};

static bool read_scene(const vectors *v, judged_case *c)
{
	for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
		if (vectors_is(v, 0, lines[i].word)) {
			lines[i].read(v, c);
			return true;
		}
	return false;
}

// ---- before the judge ----

/* All chunks of an input under a proof that is none: nothing but the root remains to be compared. */
static void open_input(judged_case *c, int input, ls_hasher *hasher)
{
	static uint64_t index[CHUNKS_MAX];
	int64_t words = ls_shape_count(&c->shape[input]), chunks = ls_chunk_count(words);
	ls_error err = LS_ERROR_INIT;
	ls_opened opened;
	ls_hash root;
	assert_in_range(chunks, 1, CHUNKS_MAX);
	for (int64_t i = 0; i < chunks; i++)
		index[i] = (uint64_t)i;
	assert_ok(ls_tensor_root(&root, c->words[input], words, NULL, hasher));
	assert_ok(ls_opening_tensor(c->opening, input, &root, words, 0, &err));
	assert_ok(ls_opening_add(c->opening, input, index, (size_t)chunks, c->words[input], (size_t)words, NULL, 0, &opened, &err));
	assert_int_equal(opened, LS_OPENED);
}

static void build(judged_case *c)
{
	ls_error err = LS_ERROR_INIT;
	ls_hasher *hasher;
	if (c->program)
		return;
	assert_ok(ls_program_open(&c->program, c->bits, c->state_bits, &err));
	assert_ok(ls_opening_open(&c->opening, c->reads, &err));
	assert_ok(ls_hasher_open(&hasher, 1, &err));
	for (int i = 0; i < c->reads; i++) {
		ls_op given = {.kind = "given", .output_count = 1};
		ls_value value = {.dtype = c->dtype[i], .bits = c->dtype[i] == LS_F32 ? c->bits : 32, .shape = c->shape[i]};
		snprintf(value.name, sizeof value.name, "x%d", i);
		assert_int_equal(ls_program_add_op(c->program, &given, &value), i);
		open_input(c, i, hasher);
	}
	ls_hasher_free(hasher);
	c->refused = ls_op_append(c->program, &c->spec) < 0;
	if (!strcmp(c->kind, "load") && !c->refused)
		c->sample_size = c->spec.ints[4] * c->spec.ints[5] * c->spec.ints[6];
}

static const uint8_t *sample(void *context, int64_t index)
{
	judged_case *c = context;
	assert_in_range(c->sample_size, 1, sizeof c->sample);
	for (int64_t j = 0; j < c->sample_size; j++)
		c->sample[j] = (uint8_t)gen_number(c->samples, 1, (uint64_t)(index * c->sample_size + j));
	return c->sample;
}

static int32_t label(void *context, int64_t index)
{
	return (int32_t)((uint64_t)gen_number(((judged_case *)context)->samples, 2, (uint64_t)index) * 10 >> 32);
}

static uint32_t imported(void *context, int64_t tensor, int64_t index)
{
	judged_case *c = context;
	return gen_word(gen_number(c->imports, 3 + (uint64_t)tensor, (uint64_t)index), 120, 8, c->state_bits);
}

static ls_claim claim(judged_case *c, int output, int64_t index, int entry, uint32_t word, ls_judgement *judgement)
{
	const ls_samples samples = {c, sample, label};
	const ls_imports imports = {c, imported};
	ls_reader r = {.program = c->program, .op = ls_program_op(c->program, c->reads), .step = c->step, .samples = &samples,
	               .imports = &imports};
	ls_error err = LS_ERROR_INIT;
	ls_claim result;
	assert_ok(ls_judge_claim(&result, judgement, c->opening, &r, &c->rules, output, index, entry, word, &err));
	return result;
}

static const char *const meanings[] = {"redundant", "override", "forged"};

static void note_kind(tally *t, const char *kind)
{
	for (int i = 0; i < t->kinds; i++)
		if (!strcmp(t->kind[i], kind))
			return;
	assert_in_range(t->kinds, 0, KINDS_MAX - 1);
	snprintf(t->kind[t->kinds++], sizeof t->kind[0], "%s", kind);
}

/* check OUTPUT INDEX ENTRY MEANING WORD. The stated word is admissible, or the entry is forged; the twin, another word, is wrong. */
static void check(const vectors *v, judged_case *c, tally *t)
{
	int output = (int)vectors_int(v, 1), entry = vectors_is(v, 3, "-") ? LS_JUDGE_NO_ENTRY : (int)vectors_int(v, 3);
	int64_t index = vectors_int(v, 2);
	uint32_t word = vectors_hex32(v, 5);
	bool forged = vectors_is(v, 4, "forged");
	ls_judgement j;
	ls_claim found = claim(c, output, index, entry, word, &j);
	if (found != (forged ? LS_CLAIM_FORGED : LS_CLAIM_ADMISSIBLE) || j.word != word)
		fail_msg("%s:%d: %s: found %s, %08x", v->path, v->line, c->name, ls_claim_text(found), j.word);
	if (entry != LS_JUDGE_NO_ENTRY)
		vectors_expect(v, vectors_is(v, 4, meanings[j.entry]), "another meaning");
	found = claim(c, output, index, entry, word ^ 1, NULL);
	vectors_expect(v, found == (forged ? LS_CLAIM_FORGED : LS_CLAIM_WRONG), "a wrong word passed");
	note_kind(t, c->kind);
	t->claims++;
	t->wrong_claims += found == LS_CLAIM_WRONG;
	t->forged += forged;
}

static void run(const char *name, tally *t)
{
	judged_case c = {0};
	vectors v;
	clear(&c);
	vectors_open(&v, name);
	while (vectors_next(&v)) {
		if (vectors_is(&v, 0, "case")) {
			clear(&c);
			snprintf(c.name, sizeof c.name, "%s", v.word[1]);
			t->cases++;
			continue;
		}
		if (read_scene(&v, &c))
			continue;
		build(&c);
		vectors_expect(&v, c.refused == vectors_is(&v, 0, "refuse"), "refused, or not, against the vector");
		if (vectors_is(&v, 0, "check"))
			check(&v, &c, t);
	}
	clear(&c);
	vectors_close(&v);
}

/* A file that is added is run; an op that is added without a vector is a failure. */
static void every_vector_of_every_op(void **state)
{
	static tally t;
	DIR *folder = opendir(LS_TEST_VECTORS "/elements");
	struct dirent *entry;
	size_t count;
	const ls_op_def *const *ops = ls_op_table(&count);
	assert_non_null(folder);
	while ((entry = readdir(folder))) {
		char name[300];
		size_t len = strlen(entry->d_name);
		if (len < 4 || strcmp(entry->d_name + len - 4, ".txt"))
			continue;
		snprintf(name, sizeof name, "elements/%s", entry->d_name);
		run(name, &t);
	}
	closedir(folder);
	print_message("%lld cases, %lld claims, %lld forged, %lld wrong ones refused, %d kinds of op\n", (long long)t.cases, (long long)t.claims,
	              (long long)t.forged, (long long)t.wrong_claims, t.kinds);
	for (size_t i = 0; i < count; i++) {
		bool found = ops[i]->class == LS_OP_COMMIT; // no elements: tests/vectors/commit has its roots
		for (int k = 0; k < t.kinds; k++)
			found |= !strcmp(t.kind[k], ops[i]->kind);
		if (!found)
			fail_msg("op '%s' has no vector in tests/vectors/elements", ops[i]->kind);
	}
	assert_true(t.forged > 10 && t.wrong_claims > 500);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(every_vector_of_every_op)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

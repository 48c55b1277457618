// ctest: labels=quick timeout=120
// The cases of tests/vectors/elements: what the independent verifier says an element is, the definitions here must say.
#include "base/statements.h"
#include "num/gen.h"

#include <lockstep/op.h>

enum { INPUTS_MAX = 6 };

/* One case as far as it has been read. */
typedef struct scene {
	char name[128], mode[16];
	int bits, state_bits, inputs, reads, output;
	ls_arithmetic arithmetic;
	ls_threshold threshold;
	uint64_t step;
	ls_dtype dtype[INPUTS_MAX];
	ls_shape shape[INPUTS_MAX];
	uint32_t *words[INPUTS_MAX];
	uint32_t samples, imports;
	ls_op_spec spec;
	char kind[32];
	ls_program *program; /* built by the first statement */
	bool refused;
	uint8_t sample[4096];
	int64_t sample_size;
} scene;

typedef struct tally {
	int64_t cases, checks, twins, refusals, wrong;
	uint32_t falsify; /* added to every expected word */
} tally;

static void clear(scene *s)
{
	for (int i = 0; i < s->inputs; i++)
		ls_free(s->words[i]);
	ls_program_free(s->program);
	*s = (scene){.bits = 32, .state_bits = 32, .mode = "exact", .step = 1};
}

// ---- reading ----

static void read_source(const vectors *v, scene *s, int word, uint32_t *out, int64_t count)
{
	bool words = vectors_is(v, word, "words");
	uint32_t seed = words ? 0 : (uint32_t)vectors_int(v, word + 1);
	vectors_expect(v, !words || v->words - word - 1 == count, "expected as many words as elements");
	for (int64_t i = 0; i < count; i++) {
		uint32_t w = gen_number(seed, 0, (uint64_t)i);
		if (words) {
			out[i] = vectors_hex32(v, word + 1 + (int)i);
		} else if (vectors_is(v, word, "gen")) {
			out[i] = gen_word(w, vectors_int(v, word + 2), vectors_int(v, word + 3), s->bits);
		} else if (vectors_is(v, word, "int")) {
			int64_t n = vectors_int(v, word + 2);
			out[i] = ls_bits_f32((float)((int64_t)w % (2 * n + 1) - n));
		} else {
			vectors_expect(v, vectors_is(v, word, "below"), "expected words, gen, int or below");
			out[i] = (uint32_t)((uint64_t)w * (uint64_t)vectors_int(v, word + 2) >> 32);
		}
	}
}

static void read_input(const vectors *v, scene *s)
{
	ls_shape *shape = &s->shape[s->inputs];
	vectors_expect(v, s->inputs < INPUTS_MAX, "too many inputs");
	s->dtype[s->inputs] = vectors_is(v, 1, "i32") ? LS_I32 : LS_F32;
	shape->rank = vectors_dims(v, 2, shape->dim);
	s->words[s->inputs] = ls_alloc((size_t)ls_shape_count(shape), 4);
	assert_non_null(s->words[s->inputs]);
	read_source(v, s, 3, s->words[s->inputs], ls_shape_count(shape));
	s->inputs++;
}

static void read_bound(const vectors *v, scene *s)
{
	s->arithmetic = (ls_arithmetic){.fp32 = vectors_is(v, 1, "fp32")};
	if (vectors_is(v, 1, "depth"))
		s->arithmetic.depth = vectors_int(v, 2);
	if (vectors_is(v, 1, "tau")) {
		s->threshold = (ls_threshold){.tau = vectors_f64(v, 2)};
		s->arithmetic.thresholds = &s->threshold;
		s->arithmetic.threshold_count = 1;
	}
}

static void read_op(const vectors *v, scene *s)
{
	snprintf(s->kind, sizeof s->kind, "%s", v->word[1]);
	s->spec = (ls_op_spec){.kind = s->kind, .name = "y", .input_count = (int)vectors_int(v, 2)};
	s->reads = s->spec.input_count;
	for (int i = 0; i < s->reads; i++)
		s->spec.inputs[i] = i;
}

/* False where the line is a statement. */
static bool read_scene(const vectors *v, scene *s)
{
	if (vectors_is(v, 0, "grid")) {
		s->bits = (int)vectors_int(v, 1);
		s->state_bits = (int)vectors_int(v, 2);
	} else if (vectors_is(v, 0, "mode")) {
		snprintf(s->mode, sizeof s->mode, "%s", v->word[1]);
	} else if (vectors_is(v, 0, "bound")) {
		read_bound(v, s);
	} else if (vectors_is(v, 0, "step")) {
		s->step = (uint64_t)vectors_int(v, 1);
	} else if (vectors_is(v, 0, "input")) {
		read_input(v, s);
	} else if (vectors_is(v, 0, "samples")) {
		s->samples = (uint32_t)vectors_int(v, 1);
	} else if (vectors_is(v, 0, "imports")) {
		s->imports = (uint32_t)vectors_int(v, 1);
	} else if (vectors_is(v, 0, "op")) {
		read_op(v, s);
	} else if (vectors_is(v, 0, "ints")) {
		for (int i = 1; i < v->words; i++)
			s->spec.ints[s->spec.int_count++] = vectors_int(v, i);
	} else if (vectors_is(v, 0, "nums")) {
		for (int i = 1; i < v->words; i++)
			s->spec.nums[s->spec.num_count++] = vectors_f64(v, i);
	} else {
		return false;
	}
	return true;
}

static void build(scene *s)
{
	ls_error err = LS_ERROR_INIT;
	if (s->program)
		return;
	assert_ok(ls_program_open(&s->program, s->bits, s->state_bits, &err));
	for (int i = 0; i < s->reads; i++) {
		ls_op given = {.kind = "given", .output_count = 1};
		ls_value value = {.dtype = s->dtype[i], .bits = s->dtype[i] == LS_F32 ? s->bits : 32, .shape = s->shape[i]};
		snprintf(value.name, sizeof value.name, "x%d", i);
		assert_int_equal(ls_program_add_op(s->program, &given, &value), i);
	}
	s->refused = ls_op_append(s->program, &s->spec) < 0;
}

// ---- elements ----

static uint32_t word(void *context, int input, int64_t index)
{
	return ((scene *)context)->words[input][index];
}

static const uint8_t *sample(void *context, int64_t index)
{
	scene *s = context;
	for (int64_t j = 0; j < s->sample_size; j++)
		s->sample[j] = (uint8_t)gen_number(s->samples, 1, (uint64_t)(index * s->sample_size + j));
	return s->sample;
}

static int32_t label(void *context, int64_t index)
{
	return (int32_t)((uint64_t)gen_number(((scene *)context)->samples, 2, (uint64_t)index) * 10 >> 32);
}

static uint32_t imported(void *context, int64_t tensor, int64_t index)
{
	scene *s = context;
	return gen_word(gen_number(s->imports, 3 + (uint64_t)tensor, (uint64_t)index), 120, 8, s->state_bits);
}

static const char *const meanings[] = {[LS_ENTRY_REDUNDANT] = "redundant", [LS_ENTRY_OVERRIDE] = "override",
                                       [LS_ENTRY_FORGED] = "forged"};

static uint32_t product_element(const scene *s, const ls_reader *r, const ls_op_def *def, int64_t index, int entry,
                                const char **meaning)
{
	ls_product p;
	ls_sum sum;
	float value;
	int64_t i, j;
	int bits = ls_reader_output(r, 0)->bits;
	def->product(s->program, r->op, &p);
	ls_product_locate(&p, index, &i, &j);
	assert_int_equal(ls_product_out_index(&p, i, j), index);
	if (!strcmp(s->mode, "pinned"))
		return ls_bits_f32(ls_product_pinned(r, &p, i, j, bits));
	ls_product_sum(r, &p, i, j, &sum);
	if (entry < 0)
		return ls_bits_f32(ls_sum_round(&sum, bits));
	*meaning = meanings[ls_sum_judge(&sum, ls_product_bound(&s->arithmetic, s->kind, &p), bits, entry, &value)];
	return ls_bits_f32(value);
}

/* The word of an element, and what its entry means. */
static uint32_t element(scene *s, int output, int64_t index, int entry, const char **meaning)
{
	const ls_op_def *def = ls_op_find(s->kind);
	const ls_samples samples = {s, sample, label};
	const ls_imports imports = {s, imported};
	ls_reader r = {.program = s->program, .op = ls_program_op(s->program, s->reads), .step = s->step, .context = s, .word = word,
	               .samples = &samples, .imports = &imports};
	*meaning = "value";
	if (!strcmp(s->kind, "load"))
		s->sample_size = s->spec.ints[4] * s->spec.ints[5] * s->spec.ints[6];
	assert_in_range(s->sample_size, 0, sizeof s->sample);
	return def->class == LS_OP_PRODUCT ? product_element(s, &r, def, index, entry, meaning) : def->element(&r, output, index);
}

// ---- statements ----

static bool check(const vectors *v, scene *s, uint32_t falsify)
{
	const char *meaning;
	int entry = vectors_is(v, 3, "-") ? -1 : (int)vectors_int(v, 3);
	uint32_t expected = vectors_hex32(v, 5) ^ falsify;
	uint32_t found = element(s, (int)vectors_int(v, 1), vectors_int(v, 2), entry, &meaning);
	if (found == expected && vectors_is(v, 4, meaning))
		return true;
	if (!falsify)
		print_message("%s:%d: %s: found %s %08x, expected %s %08x\n", v->path, v->line, s->name, meaning, found, v->word[4], expected);
	return false;
}

static void output(const vectors *v, scene *s)
{
	const ls_value *found = ls_program_value(s->program, ls_program_op(s->program, s->reads)->outputs[s->output++]);
	ls_shape shape = {.rank = 0};
	shape.rank = vectors_dims(v, 3, shape.dim);
	vectors_expect(v, found->dtype == (vectors_is(v, 1, "i32") ? LS_I32 : vectors_is(v, 1, "root") ? LS_ROOT : LS_F32) &&
	                      found->bits == vectors_int(v, 2) && ls_shape_equal(&found->shape, &shape), "another output");
}

static void record(const vectors *v, const scene *s)
{
	ls_error err = LS_ERROR_INIT;
	ls_hasher *hasher;
	ls_buf bytes;
	ls_hash found;
	char hex[LS_HASH_HEX_SIZE];
	ls_buf_init(&bytes, 1 << 16);
	ls_program_record(s->program, s->reads, &bytes);
	assert_ok(ls_hasher_open(&hasher, 1, &err));
	assert_ok(ls_hash_leaf(&found, bytes.data, bytes.len, hasher));
	ls_hash_hex(hex, &found);
	vectors_expect(v, vectors_is(v, 1, hex), "another record");
	ls_hasher_free(hasher);
	ls_buf_free(&bytes);
}

/* The checks of a case are seen again with one bit of an input flipped, so they are kept. */
enum { CHECKS_MAX = 64 };
typedef struct kept {
	int output, entry;
	int64_t index;
	uint32_t word;
	char meaning[12];
} kept;

static void keep(const vectors *v, kept *list, int *count)
{
	kept *k = &list[*count];
	vectors_expect(v, *count < CHECKS_MAX, "too many checks");
	*k = (kept){(int)vectors_int(v, 1), vectors_is(v, 3, "-") ? -1 : (int)vectors_int(v, 3), vectors_int(v, 2), vectors_hex32(v, 5), ""};
	snprintf(k->meaning, sizeof k->meaning, "%s", v->word[4]);
	(*count)++;
}

static void twin(const vectors *v, scene *s, const kept *list, int count)
{
	uint32_t *flipped = &s->words[vectors_int(v, 1)][vectors_int(v, 2)];
	bool noticed = false;
	*flipped ^= UINT32_C(1) << vectors_int(v, 3);
	for (int i = 0; i < count; i++) {
		const char *meaning;
		uint32_t found = element(s, list[i].output, list[i].index, list[i].entry, &meaning);
		noticed |= found != list[i].word || strcmp(meaning, list[i].meaning);
	}
	*flipped ^= UINT32_C(1) << vectors_int(v, 3);
	vectors_expect(v, noticed, "a flipped bit went unseen");
}

static void statement(const vectors *v, scene *s, tally *t, kept *list, int *count)
{
	build(s);
	vectors_expect(v, s->refused == vectors_is(v, 0, "refuse"), s->refused ? "the op is refused" : "expected a refusal");
	if (vectors_is(v, 0, "check")) {
		keep(v, list, count);
		t->checks++;
		t->wrong += !check(v, s, t->falsify);
	} else if (vectors_is(v, 0, "output")) {
		output(v, s);
	} else if (vectors_is(v, 0, "record")) {
		record(v, s);
	} else if (vectors_is(v, 0, "twin")) {
		t->twins++;
		twin(v, s, list, *count);
	} else {
		vectors_expect(v, vectors_is(v, 0, "refuse"), "an unknown statement");
		t->refusals++;
	}
}

static void run(const char *name, tally *t)
{
	vectors v;
	scene s = {0};
	kept list[CHECKS_MAX];
	int count = 0;
	clear(&s);
	vectors_open(&v, name);
	while (vectors_next(&v)) {
		if (vectors_is(&v, 0, "case")) {
			clear(&s);
			snprintf(s.name, sizeof s.name, "%s", v.word[1]);
			count = 0;
			t->cases++;
		} else if (!read_scene(&v, &s)) {
			statement(&v, &s, t, list, &count);
		}
	}
	clear(&s);
	vectors_close(&v);
}

static const char *const files[] = {"elements/products.txt", "elements/logged.txt", "elements/pinned.txt", "elements/sums.txt",
                                    "elements/maps.txt", "elements/functions.txt", "elements/ends.txt", "elements/refusals.txt"};

static void definitions_agree_with_the_verifier(void **state)
{
	for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
		tally t = {0};
		run(files[i], &t);
		print_message("%s: %lld cases, %lld checks, %lld twins, %lld refusals\n", files[i], (long long)t.cases, (long long)t.checks,
		              (long long)t.twins, (long long)t.refusals);
		assert_int_equal(t.wrong, 0);
		assert_true(t.checks + t.refusals >= t.cases);
		assert_true(t.cases > 0);
	}
}

static void no_check_passes_with_another_word(void **state)
{
	for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
		tally t = {.falsify = 1};
		run(files[i], &t);
		assert_int_equal(t.wrong, t.checks);
	}
}

/* rate KIND lr gamma EVERY WARMUP STEPS T */
static bool rates(const vectors *v, int words, answer *a)
{
	ls_schedule s = {(ls_schedule_kind)vectors_int(v, 1), vectors_f64(v, 2), vectors_f64(v, 3), vectors_int(v, 4), vectors_int(v, 5),
	                 vectors_int(v, 6)};
	answer_f64(a, ls_schedule_lr(&s, (uint64_t)vectors_int(v, 7)));
	return vectors_is(v, 0, "rate");
}

static void learning_rates_agree(void **state)
{
	statements_check("num/rates.txt", rates, 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(learning_rates_agree),
		cmocka_unit_test(definitions_agree_with_the_verifier),
		cmocka_unit_test(no_check_passes_with_another_word),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

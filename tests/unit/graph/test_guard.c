/* What notices that memory changed: its two sums, which word they name, and where an executor asks them. */
#include "graph/support.h"

#include "graph/guard.h"

enum { WORDS = 1000 };

static void draw_words(uint32_t *words, int64_t count, uint64_t seed)
{
	ls_stream stream = {(uint32_t)seed, LS_PURPOSE_TEST, 0};
	for (int64_t i = 0; i < count; i++)
		words[i] = ls_random_u32(&stream, (uint64_t)i);
}

static bool sums_equal(ls_sums x, ls_sums y)
{
	return x.words == y.words && x.places == y.places;
}

static void sums_are_those_of_the_header(void **state)
{
	const uint32_t words[4] = {7, 0, UINT32_MAX, 5};
	ls_sums s = ls_graph__sums(words, 4);
	assert_int_equal(s.words, 7 + 0 + (uint64_t)UINT32_MAX + 5);
	assert_int_equal(s.places, 4 * 7 + 3 * 0 + 2 * (uint64_t)UINT32_MAX + 5);
	assert_true(sums_equal(ls_graph__sums(words, 0), (ls_sums){0, 0}));
}

static void every_bit_is_seen_and_named(void **state)
{
	static const int64_t counts[] = {1, 2, 33, WORDS};
	uint32_t words[WORDS];
	for (size_t c = 0; c < sizeof counts / sizeof *counts; c++) {
		int64_t count = counts[c];
		ls_sums then;
		draw_words(words, count, 1 + c);
		then = ls_graph__sums(words, count);
		for (int64_t i = 0; i < count; i++)
			for (int bit = 0; bit < 32; bit++) {
				uint32_t before = words[i], expected = 0;
				int64_t index = -1;
				ls_sums now;
				words[i] ^= UINT32_C(1) << bit;
				now = ls_graph__sums(words, count);
				assert_false(sums_equal(then, now));
				assert_true(ls_graph__locate(&then, &now, words, count, &index, &expected));
				assert_int_equal(index, i);
				assert_int_equal(expected, before);
				words[i] = before;
			}
	}
}

static void a_word_that_changes_altogether_is_named(void **state)
{
	static const uint32_t other[] = {0, 1, 0x80000000, UINT32_MAX};
	uint32_t words[WORDS], expected;
	int64_t index;
	ls_sums then, now;
	draw_words(words, WORDS, 9);
	then = ls_graph__sums(words, WORDS);
	for (size_t o = 0; o < 4; o++)
		for (int64_t i = 0; i < WORDS; i += 111) {
			uint32_t before = words[i];
			words[i] = other[o];
			now = ls_graph__sums(words, WORDS);
			assert_true(ls_graph__locate(&then, &now, words, WORDS, &index, &expected));
			assert_int_equal(index, i);
			assert_int_equal(expected, before);
			words[i] = before;
		}
}

/* Two changes are seen, too, but there is no one word to name; nothing changed, nothing named. */
static void several_words_are_seen_and_not_named(void **state)
{
	uint32_t words[WORDS], expected;
	int64_t index;
	ls_sums then, now;
	int named = 0;
	draw_words(words, WORDS, 4);
	then = ls_graph__sums(words, WORDS);
	assert_false(ls_graph__locate(&then, &then, words, WORDS, &index, &expected));
	for (int64_t i = 1; i < WORDS; i++) {
		words[0] ^= 1;
		words[i] ^= 1u << 31;
		now = ls_graph__sums(words, WORDS);
		assert_false(sums_equal(then, now));
		named += ls_graph__locate(&then, &now, words, WORDS, &index, &expected);
		words[0] ^= 1;
		words[i] ^= 1u << 31;
	}
	assert_true(named < WORDS / 100); // two that look like one are a matter of chance
	for (int64_t i = 1; i < WORDS; i++) {
		uint32_t a = words[i - 1], b = words[i];
		words[i - 1] = b; // a swap leaves the first sum as it was
		words[i] = a;
		now = ls_graph__sums(words, WORDS);
		assert_int_equal(now.words, then.words);
		assert_false(sums_equal(then, now));
		assert_false(ls_graph__locate(&then, &now, words, WORDS, &index, &expected));
		words[i - 1] = a;
		words[i] = b;
	}
}

static void texts_name_writer_reader_and_word(void **state)
{
	ls_error err = LS_ERROR_INIT;
	ls_guard g = {0};
	ls_program *p = net_program(32);
	int value = ls_program_find(p, "relu2");
	int64_t count = ls_shape_count(&ls_program_value(p, value)->shape);
	uint32_t *words = ls_alloc((size_t)count, sizeof *words);
	draw_words(words, count, 5);
	assert_ok(ls_graph__guard_open(&g, p, &err));
	ls_graph__guard_wrote(&g, value, 6, words);
	assert_ok(ls_graph__guard_check(&g, value, 12, 7, words, &err));
	words[count - 1] ^= 4;
	assert_int_equal(ls_graph__guard_check(&g, value, 12, 7, words, &err), LS_ERR_NONCONFORMING);
	assert_non_null(strstr(err.text, "step 12, value 'relu2' of op 6 (relu), before op 7 (matmul): element 59: found "));
	words[0] ^= 1 << 20;
	assert_int_equal(ls_graph__guard_check(&g, value, 12, 7, words, &err), LS_ERR_NONCONFORMING);
	assert_non_null(strstr(err.text, "several elements"));
	ls_graph__guard_wrote(&g, value, 6, words); // written anew: what it is now is right
	assert_ok(ls_graph__guard_check(&g, value, 13, 7, words, &err));
	ls_graph__guard_free(&g);
	ls_free(words);
	ls_program_free(p);
}

/* The state before the first step counts as it is found, and again after `forget`; between steps it must stay as it is. */
static void the_state_is_guarded_between_steps(void **state)
{
	ls_error err = LS_ERROR_INIT;
	ls_guard g = {0};
	ls_program *p = net_program(32);
	const ls_op *commit = ls_program_op(p, ls_program_ops(p) - 1);
	uint32_t weights[3] = {1, 2, 3}, next[3] = {4, 5, 6}; // conv.b, before and after the step
	assert_ok(ls_graph__guard_open(&g, p, &err));
	assert_ok(ls_graph__guard_check(&g, 0, 1, 1, weights, &err));
	weights[1]++;
	assert_int_equal(ls_graph__guard_check(&g, 0, 1, 1, weights, &err), LS_ERR_NONCONFORMING);
	assert_non_null(strstr(err.text, "of the step before, before op 1 (conv2d): element 1: found 00000003, expected 00000002"));
	ls_graph__guard_wrote(&g, commit->inputs[0], 20, next);
	ls_graph__guard_next(&g);
	assert_ok(ls_graph__guard_check(&g, 0, 2, 1, next, &err));
	next[2] = 0;
	assert_int_equal(ls_graph__guard_check(&g, 0, 2, 1, next, &err), LS_ERR_NONCONFORMING);
	ls_graph__guard_forget(&g);
	assert_ok(ls_graph__guard_check(&g, 0, 2, 1, next, &err));
	ls_graph__guard_free(&g);
	ls_program_free(p);
}

static void without_a_program_nothing_is_guarded(void **state)
{
	ls_error err = LS_ERROR_INIT;
	ls_guard g = {0};
	uint32_t word = 1;
	ls_graph__guard_wrote(&g, 0, 0, &word);
	word = 2;
	assert_ok(ls_graph__guard_check(&g, 0, 1, 1, &word, &err));
	ls_graph__guard_next(&g);
	ls_graph__guard_forget(&g);
	ls_graph__guard_free(&g);
}

/* ---- in an executor ---- */

typedef struct flip {
	int op, value;
	bool done;
} flip;

static void after_op(void *context, ls_exec *exec, uint64_t step, int op, ls_step_log *log)
{
	flip *f = context;
	if (step != 2 || op != f->op)
		return;
	((uint32_t *)ls_exec_value(exec, f->value))[1] ^= 1u << 22;
	f->done = true;
}

/* Two steps with a bit that flips in the second: the status of that step. */
static ls_status steps_with_flip(ls_platform *platform, const ls_program *p, bool guard, flip *f, ls_hash *root, ls_error *err)
{
	uint8_t bytes[NET_SAMPLES * NET_SIDE * NET_SIDE];
	ls_samples samples = net_samples(bytes);
	ls_watch watch = {.context = f, .after_op = after_op};
	ls_exec_options o = {.program = p, .samples = &samples, .rounding = LS_ROUNDING_EXACT, .guard = guard, .watch = &watch};
	ls_step_result result = {0};
	ls_status status;
	bench b;
	bench_open(&b, platform, o);
	net_start(b.exec, 3);
	bench_step(&b, 1);
	status = ls_exec_step(b.exec, 2, &b.log, true, &result, err);
	*root = result.state_root;
	bench_close(&b);
	return status;
}

/* Whatever an op makes that a later one reads. */
static bool is_read_after(const ls_program *p, int op, int value)
{
	for (int i = op + 1; i < ls_program_ops(p); i++)
		for (int k = 0; k < ls_program_op(p, i)->input_count; k++)
			if (ls_program_op(p, i)->inputs[k] == value)
				return true;
	return false;
}

static void an_executor_stops_at_each_value_that_is_read(void **state)
{
	ls_error err = LS_ERROR_INIT;
	ls_platform *platform = platform_named("native");
	ls_program *p = net_program(32);
	ls_hash right, other;
	flip none = {.op = -1};
	int flips = 0, changed = 0;
	assert_ok(steps_with_flip(platform, p, true, &none, &right, &err));
	for (int op = 0; op < ls_program_ops(p) - 1; op++)
		for (int o = 0; o < ls_program_op(p, op)->output_count; o++) {
			flip f = {.op = op, .value = ls_program_op(p, op)->outputs[o]};
			if (ls_shape_count(&ls_program_value(p, f.value)->shape) < 2 || !is_read_after(p, op, f.value))
				continue;
			assert_int_equal(steps_with_flip(platform, p, true, &f, &other, &err), LS_ERR_NONCONFORMING);
			assert_true(f.done);
			assert_non_null(strstr(err.text, ls_program_value(p, f.value)->name));
			assert_non_null(strstr(err.text, "step 2, "));
			assert_non_null(strstr(err.text, "element 1: "));
			if (ls_program_value(p, f.value)->dtype == LS_F32) { // without the guard nobody notices
				assert_ok(steps_with_flip(platform, p, false, &f, &other, &err));
				changed += !ls_hash_equal(&right, &other);
			}
			flips++;
		}
	assert_true(flips >= 20 && changed >= flips / 2);
	ls_program_free(p);
	ls_platform_free(platform);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sums_are_those_of_the_header),
		cmocka_unit_test(every_bit_is_seen_and_named),
		cmocka_unit_test(a_word_that_changes_altogether_is_named),
		cmocka_unit_test(several_words_are_seen_and_not_named),
		cmocka_unit_test(texts_name_writer_reader_and_word),
		cmocka_unit_test(the_state_is_guarded_between_steps),
		cmocka_unit_test(without_a_program_nothing_is_guarded),
		cmocka_unit_test(an_executor_stops_at_each_value_that_is_read),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

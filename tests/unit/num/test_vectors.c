// The statements of tests/vectors/num: what the independent verifier computes, the functions here must compute.
#include "base/statements.h"
#include "num/gen.h"

static float word_of(const vectors *v, int word)
{
	return ls_f32_bits(vectors_hex32(v, word));
}

static bool rounding(const vectors *v, int words, answer *a)
{
	if (vectors_is(v, 0, "round"))
		answer_word(a, ls_round_f64(vectors_f64(v, 2), (int)vectors_int(v, 1)));
	else if (vectors_is(v, 0, "length"))
		answer_f64(a, ls_grid_step(vectors_f64(v, 2), (int)vectors_int(v, 1)));
	else
		return false;
	return true;
}

static bool functions(const vectors *v, int words, answer *a)
{
	if (vectors_is(v, 0, "exp"))
		answer_word(a, ls_exp(word_of(v, 1)));
	else if (vectors_is(v, 0, "log"))
		answer_word(a, ls_log(word_of(v, 1)));
	else if (vectors_is(v, 0, "rsqrt"))
		answer_word(a, ls_rsqrt(word_of(v, 1)));
	else if (vectors_is(v, 0, "tanh"))
		answer_word(a, ls_tanh(word_of(v, 1)));
	else if (vectors_is(v, 0, "sigmoid"))
		answer_word(a, ls_sigmoid(word_of(v, 1)));
	else if (vectors_is(v, 0, "gelu"))
		answer_word(a, ls_gelu(word_of(v, 1)));
	else if (vectors_is(v, 0, "gelu_slope"))
		answer_word(a, ls_gelu_slope(word_of(v, 1)));
	else if (vectors_is(v, 0, "log64"))
		answer_f64(a, ls_log_f64(word_of(v, 1)));
	else if (vectors_is(v, 0, "cospi"))
		answer_f64(a, ls_cospi(vectors_f64(v, 1)));
	else if (vectors_is(v, 0, "sqrt"))
		answer_f64(a, ls_sqrt(vectors_f64(v, 1)));
	else if (vectors_is(v, 0, "fma"))
		answer_f64(a, ls_fma(vectors_f64(v, 1), vectors_f64(v, 2), vectors_f64(v, 3)));
	else if (vectors_is(v, 0, "fma32"))
		answer_word(a, ls_fma_f32(word_of(v, 1), word_of(v, 2), word_of(v, 3)));
	else
		return false;
	return true;
}

// ---- sums ----

static void rsum_runs(const vectors *v, int words, answer *a)
{
	ls_rsum sum;
	int64_t at = 0;
	ls_rsum_init(&sum);
	for (int i = 4; i < words; i++) {
		for (int64_t end = at + vectors_int(v, i); at < end; at++)
			ls_rsum_push(&sum, gen_at(v, 1, at));
		ls_rsum_end_run(&sum);
	}
	answer_f64(a, ls_rsum_finish(&sum));
}

static void strided(const vectors *v, answer *a)
{
	ls_rsum_column sum;
	ls_rsum_column_init(&sum);
	for (int64_t i = 0; i < vectors_int(v, 4); i++)
		ls_rsum_column_push(&sum, gen_at(v, 1, i));
	answer_f64(a, ls_rsum_column_finish(&sum));
}

static ls_bound bound_of(const vectors *v, int word, int64_t terms)
{
	if (vectors_is(v, word, "fp32"))
		return ls_bound_fp32(terms);
	if (vectors_is(v, word, "tau"))
		return ls_bound_window(vectors_f64(v, word + 1));
	return ls_bound_fp64(vectors_int(v, word + 1) ? vectors_int(v, word + 1) : ls_depth_default(terms));
}

/* within SEED LOW SPAN N BITS BOUND… C */
static void within(const vectors *v, int words, answer *a)
{
	ls_sum sum;
	int64_t n = vectors_int(v, 4);
	ls_sum_init(&sum);
	for (int64_t k = 0; k < n; k++)
		ls_sum_add(&sum, gen_at(v, 1, 2 * k), gen_at(v, 1, 2 * k + 1));
	answer_put(a, "%d", ls_sum_within(&sum, vectors_f64(v, words - 1), bound_of(v, 6, n), (int)vectors_int(v, 5)));
}

static bool sums(const vectors *v, int words, answer *a)
{
	if (vectors_is(v, 0, "rsum"))
		rsum_runs(v, words, a);
	else if (vectors_is(v, 0, "strided"))
		strided(v, a);
	else if (vectors_is(v, 0, "within"))
		within(v, words, a);
	else
		return false;
	return true;
}

// ---- random numbers ----

static bool philox(const vectors *v, answer *a)
{
	uint32_t in[6], out[4];
	for (int i = 0; i < 6; i++)
		in[i] = vectors_hex32(v, 1 + i);
	ls_philox(out, in, in + 4);
	answer_put(a, "%08x %08x %08x %08x", out[0], out[1], out[2], out[3]);
	return true;
}

static bool stream_number(const vectors *v, answer *a)
{
	ls_stream s = {(uint32_t)vectors_int(v, 1), (uint32_t)vectors_int(v, 2), vectors_number(v, v->word[3], 10)};
	uint64_t index = vectors_number(v, v->word[4], 10);
	if (vectors_is(v, 0, "u32"))
		answer_put(a, "%08x", ls_random_u32(&s, index));
	else if (vectors_is(v, 0, "below"))
		answer_put(a, "%u", ls_random_below(&s, index, (uint32_t)vectors_int(v, 5)));
	else if (vectors_is(v, 0, "uniform"))
		answer_f64(a, ls_random_uniform(&s, index));
	else if (vectors_is(v, 0, "normal"))
		answer_f64(a, ls_random_normal(&s, index));
	else
		return false;
	return true;
}

static bool draws(const vectors *v, int words, answer *a)
{
	if (vectors_is(v, 0, "philox"))
		return philox(v, a);
	if (!vectors_is(v, 0, "order"))
		return words >= 5 && stream_number(v, a);
	answer_put(a, "%llu", (unsigned long long)ls_shuffle((uint32_t)vectors_int(v, 1), (uint64_t)vectors_int(v, 2),
	                                                     (uint64_t)vectors_int(v, 3), (uint64_t)vectors_int(v, 4)));
	return true;
}

// ---- frames ----

static bool frames(const vectors *v, int words, answer *a)
{
	ls_entry *entries = ls_alloc(LS_FRAME_ELEMENTS, sizeof *entries);
	uint8_t bytes[1 << 14];
	size_t count, len = vectors_is(v, 3, "-") ? 0 : strlen(v->word[3]) / 2;
	bool good;
	assert_non_null(entries);
	assert_in_range(len, 0, sizeof bytes);
	vectors_expect(v, !len || ls_unhex(bytes, len, v->word[3]), "expected hex digits");
	good = ls_entries_decode(entries, &count, (uint32_t)vectors_int(v, 2),
	                         vectors_is(v, 1, "dense") ? LS_ENCODING_DENSE : LS_ENCODING_SPARSE, bytes, len);
	for (size_t i = 0; good && i < count; i++)
		answer_put(a, "%s%u:%d", i ? " " : "", entries[i].index, entries[i].bit);
	if (!good)
		answer_put(a, "refuse");
	ls_free(entries);
	return vectors_is(v, 0, "frame");
}

static void test_rounding(void **state)
{
	statements_check("num/rounding.txt", rounding, 10);
}

static void test_functions(void **state)
{
	statements_check("num/functions.txt", functions, 4);
}

static void test_sigmoids(void **state)
{
	statements_check("num/sigmoids.txt", functions, 4);
}

static void test_sums(void **state)
{
	statements_check("num/sums.txt", sums, 8);
}

static void test_random(void **state)
{
	statements_check("num/random.txt", draws, 2);
}

static void test_frames(void **state)
{
	statements_check("num/frames.txt", frames, 4);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rounding), cmocka_unit_test(test_functions), cmocka_unit_test(test_sigmoids),
		cmocka_unit_test(test_sums), cmocka_unit_test(test_random), cmocka_unit_test(test_frames),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

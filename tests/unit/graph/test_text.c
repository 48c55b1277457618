// What is easy to get wrong in training on text: dropout that drops another share than it scales for, a gradient that ignores the
// mask, labels that are shifted twice.
#include "graph/support.h"

enum { N = 1 << 18 };

// ---- dropout ----

/* y = dropout(x) of ones. */
static void drop_ones(float *y, double share, int64_t seed, int64_t site, uint64_t step)
{
	scene s;
	int x, d;
	scene_open(&s, 32, 32);
	x = scene_given(&s, "x", (ls_shape){1, {N}});
	for (int i = 0; i < N; i++)
		scene_f32(&s, x)[i] = 1;
	d = scene_op(&s, "dropout", "y", INPUTS(x), INTS(seed, site), NUMS(share));
	s.step = step;
	scene_run(&s);
	memcpy(y, scene_f32(&s, d), N * sizeof *y);
	scene_close(&s);
}

static int kept_of(const float *y)
{
	int kept = 0;
	for (int i = 0; i < N; i++)
		kept += y[i] != 0;
	return kept;
}

/* Four standard deviations of a binomial count. */
static bool within(int count, double share)
{
	double off = count - N * share;
	return off * off <= 16 * N * share * (1 - share);
}

static void test_the_stated_share_is_dropped_and_scaled_for(void **state)
{
	static const double shares[] = {0.1, 0.25, 0.5, 0.9};
	float *y = malloc(N * sizeof *y);
	for (int i = 0; i < 4; i++) {
		int kept;
		drop_ones(y, shares[i], 3, 0, 1);
		kept = kept_of(y);
		assert_true(within(kept, 1 - shares[i]));
		assert_false(within(kept, 1 - (shares[i] + 0.01))); // 11 % where 10 were said would be seen
		for (int k = 0; k < N; k++)
			assert_true(y[k] == 0 || y[k] == (float)(1 / (1 - shares[i])));
		assert_false((float)(1 / (1 - shares[i])) == (float)(1 / (1 - shares[i] - 0.01)));
	}
	free(y);
}

/* How many places have the same fate in both: of independent masks of one half, half. */
static int agreeing(const float *a, const float *b)
{
	int same = 0;
	for (int i = 0; i < N; i++)
		same += (a[i] == 0) == (b[i] == 0);
	return same;
}

static void test_masks_of_seeds_sites_and_steps_are_independent(void **state)
{
	float *a = malloc(N * sizeof *a), *b = malloc(N * sizeof *b);
	drop_ones(a, 0.5, 3, 0, 1);
	for (int i = 0; i < 3; i++) {
		drop_ones(b, 0.5, i == 0 ? 4 : 3, i == 1, i == 2 ? 2 : 1);
		assert_true(within(agreeing(a, b), 0.5));
	}
	drop_ones(b, 0.5, 3, 0, 1);
	assert_int_equal(agreeing(a, b), N);
	free(a);
	free(b);
}

enum { ROWS = 6, CLASSES = 20, ELEMENTS = ROWS * CLASSES };

static void test_the_gradient_uses_the_mask(void **state)
{
	scene s;
	int x, labels, y, loss, dx, dy, dropped = 0, moved = 0;
	float before[ELEMENTS];
	scene_open(&s, 32, 32);
	x = ls_program_add_state(s.program, "x", &(ls_shape){2, {ROWS, CLASSES}});
	for (int i = 0; i < ELEMENTS; i++)
		((float *)scene_room(&s, x))[i] = ls_f32(scene_random(&s));
	labels = scene_given_as(&s, "labels", LS_I32, (ls_shape){1, {ROWS}});
	y = scene_op(&s, "dropout", "y", INPUTS(x), INTS(5, 2), NUMS(0.3));
	loss = append_loss(s.program, y, labels);
	ls_autodiff(s.program, loss, &x, 1, &dx);
	assert_false(ls_program_failed(s.program));
	dy = ls_program_find(s.program, "d.y");
	assert_true(dy >= 0 && dx >= 0);
	scene_run(&s);
	for (int i = 0; i < ELEMENTS; i++) {
		bool kept = scene_f32(&s, y)[i] != 0;
		float want = kept ? ls_f32((double)scene_f32(&s, dy)[i] * (1 / (1 - 0.3))) : 0;
		assert_true(scene_f32(&s, x)[i] != 0 && scene_f32(&s, dy)[i] != 0); // so zeros are the mask's
		assert_int_equal(ls_bits_f32(scene_f32(&s, dx)[i]), ls_bits_f32(want));
		dropped += !kept;
	}
	assert_in_range(dropped, 1, ELEMENTS - 1);
	memcpy(before, scene_f32(&s, dx), sizeof before);
	s.step++; // the next step's mask is another, forward and back
	scene_run(&s);
	for (int i = 0; i < ELEMENTS; i++) {
		assert_int_equal(scene_f32(&s, dx)[i] == 0, scene_f32(&s, y)[i] == 0);
		moved += (before[i] == 0) != (scene_f32(&s, dx)[i] == 0);
	}
	assert_true(moved > 0);
	scene_close(&s);
}

// ---- labels ----

enum { SEQUENCES = 5, BATCH = 5, LENGTH = 7, VOCAB = 11 };

/* A stream in which the next token, and the next but one, are easy to tell. */
static int32_t token(void *context, int64_t index)
{
	return (int32_t)(index * index % VOCAB);
}

/* The loss of logits that are certain of the token `ahead` places further on than the one that was read. */
static float loss_of_certainty(int ahead)
{
	const ls_samples samples = {.token = token};
	scene s;
	int x, logits, loss;
	float found;
	scene_open(&s, 32, 32);
	s.samples = &samples;
	logits = scene_given(&s, "logits", (ls_shape){2, {BATCH * LENGTH, VOCAB}});
	x = scene_op(&s, "load_tokens", "x", NULL, 0, INTS(SEQUENCES, BATCH, 3, 1, LENGTH, 0, BATCH), NULL, 0);
	loss = append_loss(s.program, logits, x + 1);
	assert_false(ls_program_failed(s.program));
	scene_run(&s); // first to see which sequences the rows hold
	for (int r = 0; r < BATCH * LENGTH; r++) {
		int64_t at = -1;
		for (int64_t i = 0; i < SEQUENCES && at < 0; i++) { // which sequence this row's tokens are
			bool same = true;
			for (int t = 0; t < LENGTH; t++)
				same &= (int32_t)s.words[x][r / LENGTH * LENGTH + t] == token(NULL, i * LENGTH + t);
			at = same ? i * LENGTH + r % LENGTH : -1;
		}
		assert_true(at >= 0);
		assert_int_equal(s.words[x + 1][r], token(NULL, at + 1));
		for (int v = 0; v < VOCAB; v++)
			scene_f32(&s, logits)[r * VOCAB + v] = v == token(NULL, at + ahead) ? 30 : 0;
	}
	scene_run(&s);
	found = scene_f32(&s, loss)[0];
	scene_close(&s);
	return found;
}

static void test_labels_are_shifted_once(void **state)
{
	assert_true(loss_of_certainty(1) < 1e-6f);
	assert_true(loss_of_certainty(0) > 10); // who only copies, or sees one too far, is wrong
	assert_true(loss_of_certainty(2) > 10);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_stated_share_is_dropped_and_scaled_for),
		cmocka_unit_test(test_masks_of_seeds_sites_and_steps_are_independent), cmocka_unit_test(test_the_gradient_uses_the_mask),
		cmocka_unit_test(test_labels_are_shifted_once),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

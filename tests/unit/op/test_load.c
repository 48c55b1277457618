// Augmentation by its words: frame with zeros, cut out, mirror. Written a second time, over a real frame.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <lockstep/op.h>

enum { N = 12, BATCH = 6, C = 2, H = 5, W = 7, SIZE = C * H * W, SEED = 9, MOST = 6 };

static uint8_t bytes[N][C][H][W];

static const uint8_t *sample(void *context, int64_t index)
{
	return &bytes[index][0][0][0];
}

static int32_t label(void *context, int64_t index)
{
	return (int32_t)index;
}

static int append_load(ls_program *program, int64_t crop, int64_t flip, int ints)
{
	ls_op_spec spec = {.kind = "load", .name = "x", .ints = {N, BATCH, SEED, 1, C, H, W, crop, flip}, .int_count = ints,
	                   .nums = {0, 0, 1, 1}, .num_count = 4};
	return ls_op_append(program, &spec);
}

/* Runs the definition for one step: the bytes come back as they are, as mean is 0 and std 1. */
static void loaded(float out[BATCH][C][H][W], int32_t labels[BATCH], uint64_t step, int64_t crop, int64_t flip, int ints)
{
	const ls_samples samples = {.sample = sample, .label = label};
	ls_program *program;
	void *outs[2] = {out, labels};
	assert_int_equal(ls_program_open(&program, 32, 32, NULL), LS_OK);
	assert_int_equal(append_load(program, crop, flip, ints), 0);
	ls_op_call call = {.program = program, .op = ls_program_op(program, 0), .def = ls_op_find("load"), .step = step, .out = outs,
	                   .samples = &samples};
	ls_op_reference(&call);
	ls_program_free(program);
}

/* One sample, in the words of the description. */
static void by_the_book(float out[C][H][W], int64_t index, int b, uint64_t step, int crop, bool may_flip, int *dy, int *dx, bool *flip)
{
	ls_stream stream = {SEED, LS_PURPOSE_AUGMENT, step};
	uint8_t frame[H + 2 * MOST][W + 2 * MOST];
	*dy = (int)ls_random_below(&stream, 3 * (uint64_t)b, (uint32_t)(2 * crop + 1));
	*dx = (int)ls_random_below(&stream, 3 * (uint64_t)b + 1, (uint32_t)(2 * crop + 1));
	*flip = may_flip && ls_random_u32(&stream, 3 * (uint64_t)b + 2) < UINT32_C(0x80000000);
	for (int c = 0; c < C; c++) {
		memset(frame, 0, sizeof frame);
		for (int y = 0; y < H; y++)
			memcpy(&frame[crop + y][crop], bytes[index][c][y], W);
		for (int y = 0; y < H; y++)
			for (int x = 0; x < W; x++)
				out[c][y][x] = (float)frame[*dy + y][*dx + (*flip ? W - 1 - x : x)];
	}
}

static void fill(void)
{
	for (int i = 0; i < N * SIZE; i++)
		(&bytes[0][0][0][0])[i] = (uint8_t)(1 + i * 37 % 251); // no byte is 0, so that the frame shows
}

static void frames_crops_and_mirrors(void **state)
{
	static const int crops[] = {4, 1, MOST, 0};
	unsigned rows = 0, columns = 0, flips = 0;
	fill();
	for (uint64_t step = 1; step <= 40; step++) {
		float got[BATCH][C][H][W], want[C][H][W], plain[BATCH][C][H][W];
		int32_t labels[BATCH];
		int crop = crops[step % 4], moved = 0;
		bool may_flip = crop != 1;
		loaded(plain, labels, step, 0, 0, 7);
		loaded(got, labels, step, crop, may_flip, 9);
		for (int b = 0; b < BATCH; b++) {
			int dy, dx;
			bool flip;
			by_the_book(want, labels[b], b, step, crop, may_flip, &dy, &dx, &flip);
			assert_memory_equal(got[b], want, sizeof want);
			assert_int_equal(memcmp(got[b], plain[b], sizeof want) != 0, dy != crop || dx != crop || flip);
			moved += memcmp(got[b], plain[b], sizeof want) != 0;
			rows |= crop == 4 ? 1u << dy : 0;
			columns |= crop == 4 ? 1u << dx : 0;
			flips += flip;
		}
		assert_true(moved > 0);
	}
	assert_int_equal(rows, 0x1ff); // each of the nine places was met
	assert_int_equal(columns, 0x1ff);
	assert_in_range(flips, 60, 120); // of 180
}

static void steps_draw_anew(void **state)
{
	float first[BATCH][C][H][W], again[BATCH][C][H][W], later[BATCH][C][H][W];
	int32_t labels[BATCH];
	fill();
	memset(bytes[1], 3, sizeof bytes - sizeof bytes[0]);
	for (int i = 1; i < N; i++)
		memcpy(bytes[i], bytes[0], sizeof bytes[0]); // all samples alike: what differs is the change
	loaded(first, labels, 1, 4, 1, 9);
	loaded(again, labels, 1, 4, 1, 9);
	loaded(later, labels, 2, 4, 1, 9);
	assert_memory_equal(first, again, sizeof first);
	assert_memory_not_equal(first, later, sizeof first);
	assert_memory_not_equal(first[0], first[1], sizeof first[0]);
}

static void refuses(int64_t crop, int64_t flip, int ints)
{
	ls_program *program;
	assert_int_equal(ls_program_open(&program, 32, 32, NULL), LS_OK);
	assert_int_equal(append_load(program, crop, flip, ints), -1);
	ls_program_free(program);
}

/* One meaning has one record. */
static void other_records_are_refused(void **state)
{
	ls_program *program;
	refuses(0, 0, 9);
	refuses(-1, 1, 9);
	refuses(257, 0, 9);
	refuses(4, 2, 9);
	refuses(4, -1, 9);
	refuses(4, 1, 8);
	refuses(4, 1, 10);
	assert_int_equal(ls_program_open(&program, 32, 32, NULL), LS_OK);
	assert_int_equal(append_load(program, 256, 1, 9), 0);
	ls_program_free(program);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(frames_crops_and_mirrors),
		cmocka_unit_test(steps_draw_anew),
		cmocka_unit_test(other_records_are_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

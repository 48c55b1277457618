// Rounding and the rounding test of a row: every instruction set against the scalar definition, on nasty values.
#include "kernel/finish.h"
#include "kernel/cases.h"

static const char *const isa_names[] = {"portable", "avx2", "avx512"};
#define ISAS 3

enum { MOST = 64, WORDS = 3 };

// FP64 numbers around the boundaries of the FP32 grid: halves between neighbours, ± a few units, powers of two,
// subnormals, the overflow boundary, and what is no number.
static double nasty(random_source *r)
{
	uint32_t exponent = (uint32_t)draw(r, 0, 254), fraction = ls_random_u32(&r->stream, r->at++) & 0x7fffff;
	double v, step;
	switch (draw(r, 0, 9)) {
	case 0: exponent = 0; break;
	case 1: fraction = 0; break;
	case 2: fraction = 0x7fffff; break;
	case 3: exponent = 0; fraction = (uint32_t)draw(r, 0, 3); break;
	case 4: exponent = 254; fraction = 0x7fffff; break;
	case 5: return ls_f64_bits((uint64_t)ls_random_u32(&r->stream, r->at++) << 32 | fraction);
	default: break;
	}
	v = ls_f32_bits(exponent << 23 | fraction);
	step = ls_grid_step(v, 32);
	switch (draw(r, 0, 4)) {
	case 0: break;
	case 1: v += step / 2; break;
	case 2: v += step / 4; break;
	case 3: v = ls_f64_bits(ls_bits_f64(v + step / 2) + (uint64_t)draw(r, 0, 2)); break;
	default: v = ls_f64_bits(ls_bits_f64(v + step / 2) - (uint64_t)draw(r, 0, 2)); break;
	}
	if (draw(r, 0, 60) == 0)
		v = draw(r, 0, 1) ? __builtin_inf() : __builtin_nan("");
	return draw(r, 0, 1) ? v : -v;
}

// Bounds of every size: none, comparable to half a step, huge, not finite.
static double bound_for(random_source *r, double c)
{
	static const double part[] = {0, 0x1p-30, 0.25, 0.5, 0.50000001, 1, 1e10};
	double step = c - c == 0 && __builtin_fabs(c) < 0x1p128 ? ls_grid_step(c, 32) : 1;
	if (draw(r, 0, 40) == 0)
		return draw(r, 0, 1) ? __builtin_inf() : __builtin_nan("");
	return step * part[draw(r, 0, 6)];
}

struct row {
	double c[MOST], column[MOST], column_bias[MOST];
	uint64_t row_support[WORDS * 2], column_support[WORDS * MOST]; // words of the row are two apart
	ls_bound_row bound;
	int64_t n;
};

static void draw_row(struct row *row, random_source *r)
{
	row->n = draw(r, 1, MOST);
	row->bound = (ls_bound_row){.row = draw(r, 0, 1) ? 1 : 0x1.8p-3, .row_bias = draw(r, 0, 1) ? 0 : 0x1p-140,
	                            .column = row->column, .column_bias = row->column_bias};
	for (int64_t j = 0; j < row->n; j++) {
		row->c[j] = nasty(r);
		row->column[j] = bound_for(r, row->c[j]);
		row->column_bias[j] = draw(r, 0, 3) ? 0 : bound_for(r, row->c[j]);
	}
}

// Supports in which a common bit is as likely as none, and sums of +0 and −0 to go with them.
static void draw_supports(struct row *row, random_source *r)
{
	row->bound.words = draw(r, 0, WORDS);
	row->bound.rows = (ls_support){row->row_support, 2};
	row->bound.columns = (ls_support){row->column_support, MOST};
	for (int64_t w = 0; w < WORDS; w++) {
		row->row_support[2 * w] = UINT64_C(1) << draw(r, 0, 63);
		for (int64_t j = 0; j < row->n; j++)
			row->column_support[w * MOST + j] = draw(r, 0, 3) ? ~row->row_support[2 * w] : UINT64_MAX;
	}
	for (int64_t j = 0; j < row->n; j++)
		if (draw(r, 0, 1))
			row->c[j] = draw(r, 0, 1) ? 0.0 : -0.0;
}

static bool is_empty(const struct row *row, int64_t j)
{
	bool empty = row->bound.words > 0 && row->c[j] == 0;
	for (int64_t w = 0; w < row->bound.words; w++)
		empty &= (row->row_support[2 * w] & row->column_support[w * MOST + j]) == 0;
	return empty;
}

static bool is_hit(const uint32_t *hit, int64_t hits, int64_t j)
{
	for (int64_t h = 0; h < hits; h++)
		if (hit[h] == j)
			return true;
	return false;
}

static void test_rows_of_every_isa_equal_the_definition(void **state)
{
	int64_t hit_count = 0, settled = 0, empty_count = 0;
	for (int i = 0; i < ISAS; i++) {
		ls_kernel_table table;
		if (ls_kernel__table_init(&table, isa_names[i], NULL) != LS_OK)
			continue;
		random_source r = random_from(11);
		for (int round = 0; round < 3000; round++) {
			struct row row;
			float plain[MOST], tested[MOST];
			uint32_t hit[MOST];
			draw_row(&row, &r);
			if (round % 2)
				draw_supports(&row, &r);
			table.round(plain, row.c, row.n);
			int64_t hits = table.test(tested, row.c, &row.bound, row.n, hit);
			for (int64_t h = 1; h < hits; h++)
				assert_true(hit[h - 1] < hit[h]);
			for (int64_t j = 0; j < row.n; j++) {
				double t = (row.bound.row * row.column[j] + row.bound.row_bias) + row.column_bias[j];
				bool ambiguous = ls_ambiguous(row.c[j], t, 32), found = is_hit(hit, hits, j), empty = is_empty(&row, j);
				assert_int_equal(ls_bits_f32(plain[j]), ls_bits_f32(ls_round_f64(row.c[j], 32)));
				assert_int_equal(found, ambiguous && !empty);
				empty_count += ambiguous && empty;
				if (!found)
					assert_int_equal(ls_bits_f32(tested[j]), ls_bits_f32(plain[j]));
				hit_count += found;
				settled += !found;
			}
		}
	}
	assert_true(hit_count > 1000 && settled > 1000 && empty_count > 1000);
}

// Rows must not write past their end, whatever their length.
static void test_rows_stay_inside(void **state)
{
	for (int i = 0; i < ISAS; i++) {
		ls_kernel_table table;
		if (ls_kernel__table_init(&table, isa_names[i], NULL) != LS_OK)
			continue;
		for (int64_t n = 1; n <= 40; n++) {
			double c[40] = {0}, zero[40] = {0};
			float out[48];
			uint32_t hit[40];
			ls_bound_row bound = {.row = 1, .column = zero, .column_bias = zero};
			memset(out, 0xa5, sizeof out);
			table.round(out, c, n);
			assert_int_equal(ls_bits_f32(out[n]), 0xa5a5a5a5);
			memset(out, 0xa5, sizeof out);
			assert_int_equal(table.test(out, c, &bound, n, hit), 0);
			assert_int_equal(ls_bits_f32(out[n]), 0xa5a5a5a5);
			assert_int_equal(ls_bits_f32(out[n - 1]), 0);
		}
	}
}

// A whole tile: layouts that jump and layouts with a stride, both kinds of bias, narrow grids.
static void test_tiles_equal_the_definition(void **state)
{
	enum { M = 7, N = 45 };
	for (uint32_t seed = 0; seed < 200; seed++) {
		random_source r = random_from(900 + seed);
		ls_kernel_table table;
		double c[M * N], rows[M], columns[N], scratch[2 * M + 2 * N];
		float bias[N], out[M * N], value[N];
		uint32_t hit[N];
		ls_finish_space space = {.row = scratch, .row_bias = scratch + M, .column = scratch + 2 * M,
		                         .column_bias = scratch + 2 * M + N, .value = value, .hit = hit}, *spaces[] = {&space};
		ls_product p = {.rows = M, .columns = N, .terms = 600, .bias = (ls_bias)(seed % 3), .row_stride = 15,
		                .inner = 15, .outer_stride = 15 * M, .inner_stride = 1};
		if (seed % 2) // turned: column by column
			p.row_stride = 1, p.inner = N, p.inner_stride = M;
		ls_flag_list flags = {0};
		ls_findings of_rows = {.squares = rows}, of_columns = {.squares = columns};
		ls_product_call call = {.product = &p, .bias = bias, .out = out, .bits = seed % 5 ? 32 : 16,
		                        .bound = ls_bound_fp64(514), .test = true, .sample = -1, .flags = &flags};
		ls_sums sums = {.m = M, .n = N, .c = c, .ldc = N, .rows = &of_rows, .columns = &of_columns};
		size_t at = 0;
		assert_int_equal(ls_kernel__table_init(&table, NULL, NULL), LS_OK);
		for (int i = 0; i < M * N; i++)
			c[i] = nasty(&r);
		for (int i = 0; i < M; i++)
			rows[i] = draw(&r, 0, 4) ? 0x1p60 : 0;
		for (int j = 0; j < N; j++) {
			columns[j] = draw(&r, 0, 9) ? 0x1p-40 : __builtin_inf();
			bias[j] = draw_value(&r, WIDE);
		}
		assert_int_equal(ls_kernel__finish(&table, &call, &sums, &space), LS_OK);
		assert_int_equal(ls_kernel__gather_flags(&flags, spaces, 1), LS_OK);
		for (int64_t index = 0; index < M * N; index++) {
			int64_t i = seed % 2 ? index % M : index % (15 * M) / 15;
			int64_t j = seed % 2 ? index / M : index / (15 * M) * 15 + index % 15;
			double v = c[i * N + j], b = p.bias == LS_BIAS_ROW ? bias[i] : p.bias == LS_BIAS_COLUMN ? bias[j] : 0;
			double t = ls_bound_t(ls_bound_fp64(514), ls_sqrt(rows[i])) * ls_sqrt(columns[j]) + ls_bound_t(ls_bound_fp64(514), __builtin_fabs(b));
			bool flagged = at < flags.count && flags.flag[at].index == index;
			assert_int_equal(ls_bits_f32(out[index]), ls_bits_f32(ls_round_f64(v, call.bits)));
			assert_int_equal(flagged, ls_ambiguous(v, t, call.bits));
			if (flagged) {
				assert_int_equal(ls_bits_f64(flags.flag[at].c), ls_bits_f64(v));
				at++;
			}
		}
		assert_int_equal(at, flags.count);
		ls_flag_list_free(&flags);
		ls_flag_list_free(&space.flags);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rows_of_every_isa_equal_the_definition),
		cmocka_unit_test(test_rows_stay_inside),
		cmocka_unit_test(test_tiles_equal_the_definition),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

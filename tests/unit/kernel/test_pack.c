// Packing: every instruction set's panels hold what the operand's definition says, and nothing is written beside them.
#include "kernel/cases.h"
#include "kernel/image.h"
#include "kernel/pack.h"

#define ISAS 3
static const char *const isa_names[ISAS] = {"portable", "avx2", "avx512"};

enum { ROWS_MOST = 70, WORDS = LS_BLOCK_TERMS / 64, GUARD = 16 };
static const float guard = 77;

// One operand, and a piece of it.
struct piece {
	ls_operand operand;
	ls_source source;
	const float *x; // of the definition
	int64_t row0, k0, k, all;
	ls_layout layout;
	const ls_packers *packers;
};

struct packed {
	void *numbers;
	int64_t count;
	double squares[ROWS_MOST + LS_PANEL_LANES];
	uint64_t support[WORDS * (ROWS_MOST + LS_PANEL_LANES)];
};

static bool is_wide(const struct piece *p)
{
	return p->packers->size == sizeof(double);
}

static double number(const struct piece *p, const void *numbers, int64_t at)
{
	return is_wide(p) ? ((const double *)numbers)[at] : (double)((const float *)numbers)[at];
}

static struct packed pack(const struct piece *p)
{
	struct packed out = {.count = ls_kernel__layout_lanes(&p->layout) * p->all};
	ls_findings findings = {.stride = ROWS_MOST + LS_PANEL_LANES, .words = WORDS};
	ls_pack *space = ls_alloc(1, sizeof *space);
	out.numbers = ls_alloc((size_t)out.count + GUARD, p->packers->size);
	assert_true(space && out.numbers);
	if (is_wide(p)) {
		findings.squares = out.squares;
		findings.support = out.support;
	}
	for (int64_t i = 0; i < out.count + GUARD; i++) {
		if (is_wide(p))
			((double *)out.numbers)[i] = (double)guard;
		else
			((float *)out.numbers)[i] = guard;
	}
	ls_kernel__pack_begin(space, p->packers, &p->source, p->k0, p->k);
	assert_int_equal(space->all, p->all);
	ls_kernel__pack_rows(space, p->row0, &p->layout, out.numbers, &findings);
	ls_free(space);
	return out;
}

static float element(const struct piece *p, int64_t row, int64_t k)
{
	int64_t at;
	if (k == p->k)
		return p->source.bias ? p->source.bias[p->row0 + row] : 1;
	at = ls_operand_index(&p->operand, p->row0 + row, p->k0 + k);
	return at < 0 ? 0 : p->x[at];
}

static void check_row(const struct piece *p, const struct packed *out, int64_t row)
{
	double squares = 0;
	for (int64_t k = 0; k < p->k; k++) {
		double v = (double)element(p, row, k);
		bool nonzero = out->support[(p->k0 / 64 + k / 64) * (ROWS_MOST + LS_PANEL_LANES) + row] >> (k % 64) & 1;
		squares += v * v;
		if (is_wide(p))
			assert_int_equal(nonzero, v != 0);
	}
	if (is_wide(p) && squares - squares == 0)
		assert_int_equal(ls_bits_f64(out->squares[row]), ls_bits_f64(squares));
}

static void check(const struct piece *p, const struct packed *out)
{
	const ls_layout *l = &p->layout;
	for (int64_t panel = 0; panel < l->panels; panel++) {
		int64_t first = ls_kernel__panel_row(l, panel), rows = ls_kernel__panel_row(l, panel + 1) - first;
		int64_t lanes = ls_kernel__panel_lanes(l, panel), ld = l->joined ? l->rows : lanes;
		int64_t base = l->joined ? first : first * p->all;
		for (int64_t k = 0; k < p->all; k++)
			for (int64_t r = 0; r < lanes; r++) {
				double expected = r < rows ? (double)element(p, first + r, k) : 0, got = number(p, out->numbers, base + k * ld + r);
				if (expected == expected || got == got)
					assert_true(got == expected);
			}
		for (int64_t r = 0; r < rows; r++)
			check_row(p, out, first + r);
	}
	for (int64_t i = 0; i < GUARD; i++)
		assert_true(number(p, out->numbers, out->count + i) == (double)guard);
}

static void draw_piece(struct piece *p, const product_case *c, const ls_source *source, bool of_b, random_source *r)
{
	int64_t rows = of_b ? c->product.columns : c->product.rows, most;
	p->operand = of_b ? c->product.b : c->product.a;
	p->source = *source;
	p->x = of_b ? c->b : c->a;
	p->row0 = draw(r, 0, rows - 1);
	p->k0 = draw(r, 0, (c->product.terms - 1) / 64) * 64;
	p->k0 = p->k0 < LS_BLOCK_TERMS ? p->k0 : 0;
	most = c->product.terms - p->k0 < LS_BLOCK_TERMS - p->k0 ? c->product.terms - p->k0 : LS_BLOCK_TERMS - p->k0;
	p->k = draw(r, 0, 1) ? most : draw(r, 1, most);
	p->all = p->k + (p->source.extra && p->k0 + p->k == c->product.terms);
}

static ls_layout draw_layout(const struct piece *p, int64_t rows, random_source *r)
{
	bool joined = draw(r, 0, 3) == 0, balanced = draw(r, 0, 1);
	int width = (int)draw(r, 1, 2 * LS_PANEL_LANES);
	rows = rows - p->row0 < ROWS_MOST ? rows - p->row0 : ROWS_MOST;
	return ls_kernel__layout(rows, width, balanced || draw(r, 0, 1) ? 1 : width, balanced, joined);
}

// The operands as they are and, where patches reach beyond their images, inside copies of these.
static void check_operand(const product_case *c, bool of_b, const ls_kernel_table *table, ls_pool *pool, random_source *r)
{
	const ls_product *p = &c->product;
	ls_operand moved = of_b ? p->b : p->a;
	ls_image image = {0};
	struct piece piece;
	ls_bias side = of_b ? LS_BIAS_COLUMN : LS_BIAS_ROW;
	ls_source source = {&moved, of_b ? c->b : c->a, p->terms, p->bias != LS_BIAS_NONE, p->bias == side ? c->bias : NULL};
	int64_t rows = of_b ? p->columns : p->rows;
	if (draw(r, 0, 3))
		assert_int_equal(ls_kernel__image_surround(&image, &moved, &source.x, moved.kind == LS_OPERAND_PATCHES ? rows : p->terms, pool,
		                                           NULL), LS_OK);
	draw_piece(&piece, c, &source, of_b, r);
	piece.layout = draw_layout(&piece, rows, r);
	for (int wide = 0; wide < 2; wide++) {
		struct packed out;
		piece.packers = wide ? &table->wide : &table->narrow;
		out = pack(&piece);
		check(&piece, &out);
		ls_free(out.numbers);
	}
	ls_kernel__image_free(&image);
}

static void test_panels_hold_the_operand(void **state)
{
	ls_pool *pool;
	assert_int_equal(ls_pool_open(&pool, 2, NULL), LS_OK);
	for (int i = 0; i < ISAS; i++) {
		ls_kernel_table table;
		if (ls_kernel__table_init(&table, isa_names[i], NULL) != LS_OK)
			continue;
		for (uint32_t seed = 0; seed < 1500; seed++) {
			product_case c = case_random(seed);
			random_source r = random_from(10000 + seed);
			check_operand(&c, false, &table, pool, &r);
			check_operand(&c, true, &table, pool, &r);
			case_free(&c);
		}
	}
	ls_pool_free(pool);
}

// One 3 × 3 image with a margin of one: a copy whose patches lie inside, and a patch that would be dwarfed by its margins.
static void test_images_with_room(void **state)
{
	float x[9] = {1, 2, 3, 4, 5, 6, 7, 8, 9};
	const float *at = x;
	ls_patches p = {1, 3, 3, 3, 3, 3, 3, 1, -1, 1, 1, 0};
	ls_operand o = {.kind = LS_OPERAND_PATCHES, .patches = p};
	ls_image image = {0};
	ls_pool *pool;
	assert_int_equal(ls_pool_open(&pool, 1, NULL), LS_OK);
	assert_false(ls_kernel__is_inside(&p));
	assert_int_equal(ls_kernel__image_surround(&image, &o, &at, 9, pool, NULL), LS_OK);
	assert_true(at == image.x && ls_kernel__is_inside(&o.patches));
	assert_int_equal(o.patches.height, 5);
	assert_int_equal(o.patches.width, 5);
	for (int i = 0; i < 25; i++)
		assert_true(at[i] == (i / 5 % 4 && i % 5 % 4 ? x[(i / 5 - 1) * 3 + i % 5 - 1] : 0));
	o.patches = (ls_patches){1, 3, 3, 1, 1, 2, 2, 1000, -500, 1, 1, 0};
	at = x;
	assert_int_equal(ls_kernel__image_surround(&image, &o, &at, 4, pool, NULL), LS_OK);
	assert_true(at == x && !ls_kernel__is_inside(&o.patches));
	ls_kernel__image_free(&image);
	ls_pool_free(pool);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_panels_hold_the_operand),
		cmocka_unit_test(test_images_with_room),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

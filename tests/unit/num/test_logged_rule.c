// ctest: libs=mpfr
/* The rule of mode logged: a small trainer and a small auditor, each with any C that its bound allows, against the
 * definition of admissible values in GMP's rational numbers, for each kind of bound. The elements are made so that hard
 * places are common: middles, grid points, powers of two, zero, the overflow boundary; B is a sizeable part of a step.
 */
#include "num/num_support.h"

#include <gmp.h>

#define PAIRS 4
#define NONE (-1)
#define UNIT 700 /* GMP integers count units of 2^-700 */
#define FINE 200 /* the bound is kept in units of 2^-(UNIT+FINE), of which it is a whole number */

/* ---- the definition, in integers ---- */

typedef struct element {
	ls_sum sum;
	mpz_t e, s, bound; /* bound = B·2^FINE */
	ls_bound rule;
	int bits;
	float rounded, other; /* R(E) and, where there are two admissible values, the other */
	bool two;
} element;

static mpz_t scratch[4];

static void element_open(element *x)
{
	ls_sum_init(&x->sum);
	mpz_set_ui(x->e, 0);
	mpz_set_ui(x->s, 0);
}

static void to_units(mpz_t out, double v)
{
	mpz_set_d(out, v * two_to(UNIT));
}

static double from_units(const mpz_t v)
{
	return mpz_get_d(v) * two_to(-UNIT);
}

static void add_term(element *x, float a, float b)
{
	ls_sum_add(&x->sum, a, b);
	to_units(scratch[0], (double)a * b);
	mpz_add(x->e, x->e, scratch[0]);
	mpz_abs(scratch[0], scratch[0]);
	mpz_add(x->s, x->s, scratch[0]);
}

/* m·2^k as one term; |m| < 2^24, −298 ≤ k. */
static void add_scaled(element *x, int m, int k)
{
	int half = k / 2;
	add_term(x, scaled(m, half), scaled(1.0, k - half));
}

static float grid_number(uint64_t steps, int step, bool negative)
{
	int top = steps ? 63 - __builtin_clzll(steps) : 0;
	if (steps && top + step - UNIT > 127)
		return ls_f32_bits(UINT32_C(0x7f800000) | (uint32_t)negative << 31);
	float v = (float)((double)steps * two_to(step - UNIT));
	return negative ? ls_f32(-(double)v) : v;
}

/* B from its definition; `step` is the place of the grid's step, in units. */
static void define_bound(element *x, int step)
{
	mpq_t b, s, part;
	mpq_inits(b, s, part, NULL);
	mpq_set_z(s, x->s);
	switch (x->rule.kind) {
	case LS_BOUND_FP64:
		mpq_set_d(b, (double)x->rule.depth * 0x1p-53);
		mpq_mul(b, b, s);
		break;
	case LS_BOUND_FP32:
		mpq_set_d(b, 32 * 0x1p-24);
		mpq_set_d(part, ((double)x->rule.terms + 31.0 - (double)((x->rule.terms + 31) % 32)) / 32.0 * 0x1p-53);
		mpq_add(b, b, part);
		mpq_set_d(part, 1.0 + 0x1p-10);
		mpq_mul(b, b, part);
		mpq_mul(b, b, s);
		mpq_set_ui(part, (unsigned long)x->rule.terms, 1);
		mpq_mul_2exp(part, part, UNIT - 149);
		mpq_add(b, b, part);
		break;
	case LS_BOUND_WINDOW:
		mpq_set_d(b, 0.5);
		mpq_set_d(part, x->rule.tau);
		mpq_sub(b, b, part);
		mpq_mul_2exp(b, b, (mp_bitcnt_t)step);
		break;
	}
	mpq_mul_2exp(b, b, FINE);
	assert_int_equal(mpz_cmp_ui(mpq_denref(b), 1), 0);
	mpz_set(x->bound, mpq_numref(b));
	mpq_clears(b, s, part, NULL);
}

/* Fills rounded, other, bound, two from e, s, rule, bits. */
static void define(element *x)
{
	mpz_ptr magnitude = scratch[0], rest = scratch[1], distance = scratch[2], step_size = scratch[3];
	mpz_abs(magnitude, x->e);
	int top = mpz_sgn(magnitude) ? (int)mpz_sizeinbase(magnitude, 2) - 1 : 0;
	int least = UNIT - 149 + 32 - x->bits;
	int step = top - (x->bits - 9) > least ? top - (x->bits - 9) : least;
	mpz_fdiv_q_2exp(distance, magnitude, (mp_bitcnt_t)step);
	uint64_t steps = mpz_get_ui(distance);
	mpz_fdiv_r_2exp(rest, magnitude, (mp_bitcnt_t)step);
	mpz_set_ui(step_size, 1);
	mpz_mul_2exp(step_size, step_size, (mp_bitcnt_t)step);
	mpz_mul_2exp(distance, rest, 1);
	int half = mpz_cmp(distance, step_size);
	bool up = half > 0 || (half == 0 && steps % 2 == 1);
	bool negative = mpz_sgn(x->e) < 0;
	x->rounded = grid_number(steps + up, step, negative);
	x->other = grid_number(steps + !up, step, negative);
	/* 4B < s */
	define_bound(x, step);
	mpz_mul_2exp(step_size, step_size, FINE);
	mpz_mul_2exp(scratch[0], x->bound, 2);
	x->two = mpz_cmp(scratch[0], step_size) < 0;
	/* |2·rest − s| ≤ 2B, and no interval above 2^128 */
	mpz_mul_2exp(distance, distance, FINE);
	mpz_sub(distance, distance, step_size);
	mpz_abs(distance, distance);
	mpz_mul_2exp(scratch[0], x->bound, 1);
	x->two = x->two && mpz_cmp(distance, scratch[0]) <= 0 && top < UNIT + 128;
}

static bool within(const element *x, double c)
{
	to_units(scratch[0], c);
	mpz_sub(scratch[0], scratch[0], x->e);
	mpz_abs(scratch[0], scratch[0]);
	mpz_mul_2exp(scratch[0], scratch[0], FINE);
	return mpz_cmp(scratch[0], x->bound) <= 0;
}

/* ---- elements in hard places ---- */

static float random_grid_number(rng *r, int bits)
{
	uint32_t one = UINT32_C(1) << (32 - bits), u;
	switch (rng_below(r, 8)) {
	case 0:
		u = 0;
		break;
	case 1:
		u = UINT32_C(0x7f800000) - one * (1 + (uint32_t)rng_below(r, 2)); /* the largest */
		break;
	case 2:
		u = (uint32_t)(1 + rng_below(r, 254)) << 23; /* a power of two */
		break;
	case 3:
		u = ((uint32_t)(1 + rng_below(r, 254)) << 23) - one; /* just below one */
		break;
	case 4:
		u = (uint32_t)rng_below(r, 0x1000000); /* around the subnormals */
		break;
	default:
		u = (uint32_t)(90 + rng_below(r, 70)) << 23 | (uint32_t)rng_below(r, 0x800000);
		break;
	}
	return ls_f32_bits((u & ~(one - 1)) | (uint32_t)rng_below(r, 2) << 31);
}

/* A bound of the kind, near 2^-share steps where the kind allows to choose. */
static ls_bound make_rule(ls_bound_kind kind, double s, double step, int share, rng *r)
{
	double part = two_to(-share) * (0.75 + 0.5 * rng_unit(r) * rng_unit(r));
	double depth = s > 0 ? step * part * 0x1p53 / s : 2;
	if (kind == LS_BOUND_FP32)
		return ls_bound_fp32(1 + rng_below(r, rng_below(r, 2) ? 100 : (1 << 21) - 1));
	if (kind == LS_BOUND_WINDOW && rng_below(r, 8) == 0)
		return ls_bound_window((1 + rng_below(r, (1 << 20) - 1)) * 0x1p-21); /* any, also those that leave no two values */
	if (kind == LS_BOUND_WINDOW)
		return ls_bound_window(0.5 - (part < 1 ? part : 1) * 0.25);
	return ls_bound_fp64(depth < 2 ? 2 : depth > 0x1p51 ? INT64_C(1) << 51 : (int64_t)depth);
}

/* An E near `place` quarters of a step beyond a grid number, with S inflated by pairs that cancel. */
static void make_element(element *x, ls_bound_kind kind, rng *r)
{
	static const int grids[] = {16, 17, 18, 19, 32, 32};
	x->bits = grids[rng_below(r, kind == LS_BOUND_FP32 ? 4 : 6)];
	element_open(x);
	float g = random_grid_number(r, x->bits);
	int negative = ls_bits_f32(g) >> 31 ? -1 : 1;
	double step = ls_grid_step((double)g, x->bits);
	int k = (int)(ls_bits_f64(step) >> 52) - 1023;
	int share = rng_below(r, 14); /* B is near 2^-share steps */
	int place = rng_below(r, 4) ? 2 : rng_below(r, 5) - 1;
	add_term(x, g, 1.0f);
	if (place)
		add_scaled(x, negative * place, k - 2);
	for (int i = rng_below(r, 4); i > 0; i--)
		add_scaled(x, rng_below(r, 2049) - 1024, k - share - 10 - (i == 1 ? rng_below(r, 60) : 0));
	if (rng_below(r, 2)) {
		float big = scaled(1.0 + rng_below(r, 1000) * 0x1p-10, k / 2);
		float times = scaled(1.0, k - k / 2 + rng_below(r, 26));
		add_term(x, big, times);
		add_term(x, -big, times);
	}
	x->rule = make_rule(kind, from_units(x->s), step, share, r);
	define(x);
}

/* ---- two parties ---- */

typedef struct party {
	double c, t;
} party;

/* Any C with |C − E| ≤ B, the extremes and the middle of the interval included. */
static double honest_sum(const element *x, rng *r)
{
	mpz_ptr want = scratch[1];
	mpz_fdiv_q_2exp(want, x->bound, FINE);
	switch (rng_below(r, 4)) {
	case 0:
		break;
	case 1:
		mpz_neg(want, want);
		break;
	default:
		mpz_mul_si(want, want, (long)(rng_unit(r) * 0x1p30));
		mpz_fdiv_q_2exp(want, want, 30);
		break;
	}
	mpz_add(want, want, x->e);
	if (rng_below(r, 8) == 0) { /* half-way between the two values, if that is allowed */
		double middle = ((double)x->rounded + (double)x->other) * 0.5;
		if (middle < 0x1p140 && middle > -0x1p140 && within(x, middle))
			return middle;
	}
	double c = from_units(want);
	if (!within(x, c)) /* the conversion cut towards zero; the next number lies on the other side of E ± B */
		c = ls_f64_bits(ls_bits_f64(c) + 1);
	assert_true(within(x, c));
	return c;
}

static party make_party(const element *x, rng *r)
{
	party p;
	p.c = honest_sum(x, r);
	double norm = from_units(x->s) * (1.0 + 0x1p-52) * (rng_below(r, 2) ? 1.0 : 1.5 + 0.5 * rng_unit(r));
	if (x->rule.kind == LS_BOUND_WINDOW)
		p.t = ls_bound_window_t(x->rule, p.c, x->bits);
	else
		p.t = ls_bound_t(x->rule, norm) + ls_bound_floor(x->rule);
	return p;
}

typedef struct outcome {
	float value;
	int entry; /* NONE or a bit */
	bool forged;
} outcome;

static outcome trainer(const element *x, party p)
{
	outcome o = {0.0f, NONE, false};
	if (4 * p.t >= ls_grid_step(p.c, x->bits)) {
		o.value = ls_sum_round(&x->sum, x->bits);
		return o;
	}
	o.value = ls_round_f64(p.c, x->bits);
	if (ls_ambiguous(p.c, p.t, x->bits))
		o.entry = ls_grid_last_bit(o.value, x->bits);
	return o;
}

static outcome auditor(const element *x, party p, int entry)
{
	outcome o = {ls_round_f64(p.c, x->bits), entry, false};
	bool fine = 4 * p.t < ls_grid_step(p.c, x->bits);
	if (entry == NONE) {
		if (!fine || ls_ambiguous(p.c, p.t, x->bits))
			o.value = ls_sum_round(&x->sum, x->bits);
	} else if (!fine || ls_grid_last_bit(o.value, x->bits) != entry) {
		o.forged = ls_sum_judge(&x->sum, x->rule, x->bits, entry, &o.value) == LS_ENTRY_FORGED;
	}
	return o;
}

static bool same(float a, float b)
{
	return ls_bits_f32(a) == ls_bits_f32(b);
}

static bool admissible(const element *x, float v)
{
	return same(v, x->rounded) || (x->two && same(v, x->other));
}

/* ---- what must hold ---- */

/* The judge, for every bit and for numbers that are no bit. */
static void check_judge(const element *x)
{
	assert_int_equal(ls_bits_f32(ls_sum_round(&x->sum, x->bits)), ls_bits_f32(x->rounded));
	assert_int_equal(ls_sum_two_valued(&x->sum, x->rule, x->bits), x->two);
	for (int bit = -1; bit <= 2; bit++) {
		float value, want = x->rounded;
		ls_entry_kind kind = ls_sum_judge(&x->sum, x->rule, x->bits, bit, &value), expected = LS_ENTRY_FORGED;
		if (bit == ls_grid_last_bit(x->rounded, x->bits)) {
			expected = LS_ENTRY_REDUNDANT;
		} else if ((bit == 0 || bit == 1) && x->two) {
			expected = LS_ENTRY_OVERRIDE;
			want = x->other;
			assert_int_equal(ls_grid_last_bit(x->other, x->bits), bit);
		}
		assert_int_equal(kind, expected);
		assert_int_equal(ls_bits_f32(value), ls_bits_f32(want));
	}
}

/* ls_sum_within at C and on both sides of the bound's ends. */
static void check_within(const element *x, double c)
{
	for (int i = -2; i <= 2; i++) {
		double near = ls_f64_bits(ls_bits_f64(c) + (uint64_t)(int64_t)i);
		double size = near < 0 ? -near : near;
		if (size >= 0x1p-600 && size < 0x1p140) /* what to_units holds exactly */
			assert_int_equal(ls_sum_within(&x->sum, near, x->rule, x->bits), within(x, near));
	}
}

typedef struct counts {
	int64_t pairs, entries, overrides, apart, two, forged, taken_unjudged;
} counts;

static void check_pair(const element *x, party t, party a, counts *n)
{
	outcome made = trainer(x, t), redone = auditor(x, a, made.entry);
	if (!same(made.value, redone.value) || redone.forged)
		fail_msg("grid %d, bound %d: C %a, %a; trainer %a (entry %d), auditor %a%s", x->bits, (int)x->rule.kind,
		         t.c, a.c, (double)made.value, made.entry, (double)redone.value, redone.forged ? ", accused" : "");
	assert_true(admissible(x, made.value));
	n->pairs++;
	n->entries += made.entry != NONE;
	n->overrides += !same(made.value, x->rounded);
	n->apart += !same(ls_round_f64(t.c, x->bits), ls_round_f64(a.c, x->bits));
	/* Any entry whatever: the value it names if that is admissible, an accusation if not. */
	for (int bit = 0; bit <= 1; bit++) {
		outcome o = auditor(x, a, bit);
		bool redundant = ls_grid_last_bit(x->rounded, x->bits) == bit;
		assert_int_equal(o.forged, !redundant && !x->two);
		assert_int_equal(ls_bits_f32(o.value), ls_bits_f32(redundant || !x->two ? x->rounded : x->other));
		n->forged += o.forged;
		n->taken_unjudged += !redundant && same(ls_round_f64(a.c, x->bits), o.value);
	}
}

static void elements_open(element *x)
{
	mpz_inits(x->e, x->s, x->bound, NULL);
	for (int i = 0; i < 4; i++)
		mpz_init(scratch[i]);
}

static void elements_close(element *x)
{
	mpz_clears(x->e, x->s, x->bound, NULL);
	for (int i = 0; i < 4; i++)
		mpz_clear(scratch[i]);
}

static void honest_parties_agree(ls_bound_kind kind, int elements)
{
	element x;
	rng r = {1};
	counts n = {0};
	elements_open(&x);
	for (int i = 0; i < elements; i++) {
		make_element(&x, kind, &r);
		check_judge(&x);
		n.two += x.two;
		for (int k = 0; k < PAIRS; k++) {
			party t = make_party(&x, &r), a = make_party(&x, &r);
			check_within(&x, t.c);
			check_pair(&x, t, a, &n);
		}
	}
	elements_close(&x);
	print_message("%lld pairs, %lld R(C) apart, %lld entries, %lld overrides, %lld elements with two values, "
	              "%lld forged found\n",
	              (long long)n.pairs, (long long)n.apart, (long long)n.entries, (long long)n.overrides,
	              (long long)n.two, (long long)n.forged);
	/* The cases that decide are common, or the test would show nothing. */
	assert_true(n.pairs >= 3 * elements);
	assert_true(n.apart > elements / 6 && n.entries > elements / 3 && n.overrides > elements / 6);
	assert_true(n.two > elements / 30 && n.forged > elements / 3 && n.taken_unjudged > elements / 30);
}

static void honest_parties_agree_in_fp64(void **state)
{
	honest_parties_agree(LS_BOUND_FP64, 260000);
}

static void honest_parties_agree_in_fp32(void **state)
{
	honest_parties_agree(LS_BOUND_FP32, 100000);
}

static void honest_parties_agree_within_a_window(void **state)
{
	honest_parties_agree(LS_BOUND_WINDOW, 100000);
}

/* ---- rules that look right and are not ---- */

/* The end of the range of C that has the entry's last bit. */
static float move_to(const element *x, party p, double reach, int entry)
{
	float low = ls_round_f64(p.c - reach, x->bits), high = ls_round_f64(p.c + reach, x->bits);
	if (ls_grid_last_bit(ls_round_f64(p.c, x->bits), x->bits) == entry)
		return ls_round_f64(p.c, x->bits);
	return ls_grid_last_bit(low, x->bits) == entry ? low : high;
}

/* Log within twice the bound, apply within once. */
static bool naive_pair_agrees(const element *x, party t, party a)
{
	float made = ls_round_f64(t.c, x->bits), redone = ls_round_f64(a.c, x->bits);
	if (ls_ambiguous(t.c, 2 * t.t, x->bits) && ls_ambiguous(a.c, a.t, x->bits))
		redone = move_to(x, a, a.t, ls_grid_last_bit(made, x->bits));
	return same(made, redone);
}

/* Apply any entry: the neighbour of R(C) on C's side. */
static float apply_unjudged(const element *x, party a, int entry)
{
	return move_to(x, a, ls_grid_step(a.c, x->bits), entry);
}

static void simpler_rules_fail(void **state)
{
	element x;
	rng r = {2};
	int64_t apart = 0, fooled = 0;
	elements_open(&x);
	for (int i = 0; i < 20000; i++) {
		make_element(&x, LS_BOUND_FP64, &r);
		party t = make_party(&x, &r), a = make_party(&x, &r);
		apart += !naive_pair_agrees(&x, t, a);
		int lie = 1 - ls_grid_last_bit(x.rounded, x.bits);
		fooled += !x.two && !admissible(&x, apply_unjudged(&x, a, lie));
	}
	elements_close(&x);
	print_message("20000 pairs: twice-and-once loses %lld, applying any entry takes %lld lies\n", (long long)apart,
	              (long long)fooled);
	assert_true(apart > 100);
	assert_true(fooled > 1000);
}

/* ---- single cases ---- */

static element *fixed(element *x, int bits, int64_t depth)
{
	x->bits = bits;
	x->rule = ls_bound_fp64(depth);
	define(x);
	return x;
}

static void edges(void **state)
{
	element x;
	float value;
	elements_open(&x);
	/* On a grid point: one value, however close the bound comes to a quarter of a step. */
	element_open(&x);
	add_term(&x, 1.0f, 1.0f);
	check_judge(fixed(&x, 16, (INT64_C(1) << 44) - 1));
	assert_false(x.two);
	/* On the middle: two values while 4B < s, and not at 4B = s. S = 1+2^-8 = 257·2^-8, s = 2^-7: s/4 = d·u·S near
	 * d = 2^44·256/257. */
	element_open(&x);
	add_term(&x, 1.0f, 1.0f);
	add_term(&x, 1.0f, 0x1p-8f);
	int64_t edge = (INT64_C(1) << 52) / 257;
	check_judge(fixed(&x, 16, edge));
	assert_true(x.two);
	check_judge(fixed(&x, 16, edge + 1));
	assert_false(x.two);
	/* Exactly 4B = s: by cancellation S = 1 and E = 257·2^-17, a middle of steps of 2^-16. */
	element_open(&x);
	add_term(&x, 0.5f, 1.0f + 0x101p-17f);
	add_term(&x, -0.5f, 1.0f - 0x101p-17f);
	check_judge(fixed(&x, 16, (INT64_C(1) << 35) - 1));
	assert_true(x.two);
	check_judge(fixed(&x, 16, INT64_C(1) << 35));
	assert_false(x.two);
	/* Overflow: between the largest number and 2^128 both ends may be named, beyond only inf. */
	element_open(&x);
	add_term(&x, 0x1.fep127f, 1.0f);
	add_term(&x, 0x1p119f, 1.0f);
	check_judge(fixed(&x, 16, 1000));
	assert_true(x.two);
	assert_int_equal(ls_sum_judge(&x.sum, ls_bound_fp64(1000), 16, 1, &value), LS_ENTRY_OVERRIDE);
	assert_int_equal(ls_bits_f32(value), 0x7f7f0000);
	assert_int_equal(ls_sum_judge(&x.sum, ls_bound_fp64(1000), 16, 0, &value), LS_ENTRY_REDUNDANT);
	assert_int_equal(ls_bits_f32(value), 0x7f800000);
	add_term(&x, -0x1p119f, 0x1p-20f); /* just below the middle */
	check_judge(fixed(&x, 16, INT64_C(1) << 40));
	assert_int_equal(ls_sum_judge(&x.sum, x.rule, 16, 0, &value), LS_ENTRY_OVERRIDE);
	assert_int_equal(ls_bits_f32(value), 0x7f800000);
	add_term(&x, 0x1p119f, 1.0f);
	add_term(&x, 0x1p119f, 1.0f);
	check_judge(fixed(&x, 16, 1000));
	assert_int_equal(ls_sum_judge(&x.sum, ls_bound_fp64(1000), 16, 1, &value), LS_ENTRY_FORGED);
	assert_int_equal(ls_bits_f32(value), 0x7f800000);
	/* Half of the smallest number, on either side of zero; and zero itself, with and without terms. */
	element_open(&x);
	add_term(&x, -0x1p-75f, 0x1p-75f);
	check_judge(fixed(&x, 32, 512));
	assert_int_equal(ls_sum_judge(&x.sum, ls_bound_fp64(512), 32, 1, &value), LS_ENTRY_OVERRIDE);
	assert_int_equal(ls_bits_f32(value), 0x80000001);
	add_term(&x, 0x1p-75f, 0x1p-75f);
	check_judge(fixed(&x, 32, 512));
	assert_int_equal(ls_sum_judge(&x.sum, ls_bound_fp64(512), 32, 1, &value), LS_ENTRY_FORGED);
	element_open(&x);
	check_judge(fixed(&x, 32, 512));
	elements_close(&x);
}

static void factors_that_are_not_finite(void **state)
{
	static const uint32_t odd[] = {0x7f800000, 0xff800000, 0x7fc00000, 0x7f800001};
	for (size_t i = 0; i < sizeof odd / sizeof odd[0]; i++) {
		ls_sum sum;
		float value;
		ls_sum_init(&sum);
		ls_sum_add(&sum, 1.0f, 1.0f);
		ls_sum_add(&sum, ls_f32_bits(odd[i]), 0.0f);
		assert_int_equal(ls_bits_f32(ls_sum_round(&sum, 32)), LS_NAN_BITS);
		assert_int_equal(ls_sum_judge(&sum, ls_bound_fp64(512), 32, 0, &value), LS_ENTRY_REDUNDANT);
		assert_int_equal(ls_bits_f32(value), LS_NAN_BITS);
		assert_int_equal(ls_sum_judge(&sum, ls_bound_fp64(512), 32, 1, &value), LS_ENTRY_FORGED);
		assert_int_equal(ls_bits_f32(value), LS_NAN_BITS);
		assert_false(ls_sum_two_valued(&sum, ls_bound_fp64(512), 32));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(honest_parties_agree_in_fp64),
		cmocka_unit_test(honest_parties_agree_in_fp32),
		cmocka_unit_test(honest_parties_agree_within_a_window),
		cmocka_unit_test(simpler_rules_fail),
		cmocka_unit_test(edges),
		cmocka_unit_test(factors_that_are_not_finite),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

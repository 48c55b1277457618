#include "kernel/certificate.h"

#include "kernel/pack.h"

// The exponent of the largest power of two that x, finite, is a multiple of.
static int unit_of(float x)
{
	uint32_t bits = ls_bits_f32(x) & 0x7fffffff, exponent = bits >> 23;
	uint32_t fraction = exponent ? (bits & 0x7fffff) | 0x800000 : bits;
	if (bits == 0)
		return LS_KERNEL__NO_UNIT;
	return (int)(exponent ? exponent : 1) - 150 + __builtin_ctz(fraction);
}

static int smaller(int a, int b)
{
	return a < b ? a : b;
}

static void find_units(const ls_operand *o, const float *x, int64_t terms, int64_t first, int64_t count, float *factors, int *out)
{
	for (int64_t r = 0; r < count; r++) {
		out[r] = LS_KERNEL__NO_UNIT;
		ls_kernel__fetch(o, x, first + r, 0, terms, factors);
		for (int64_t k = 0; k < terms; k++)
			out[r] = smaller(out[r], unit_of(factors[k]));
	}
}

static bool reserve(ls_certificate *c, size_t lines, size_t terms)
{
	if (lines > c->lines) {
		ls_free(c->row);
		c->row = ls_alloc(lines, sizeof *c->row);
		c->lines = c->row ? lines : 0;
	}
	if (terms > c->terms) {
		ls_free(c->factors);
		c->factors = ls_alloc(terms, sizeof *c->factors);
		c->terms = c->factors ? terms : 0;
	}
	return c->row && c->factors;
}

bool ls_kernel__certificate_find(ls_certificate *c, const ls_product_call *call, int64_t i0, int64_t m, int64_t j0, int64_t n)
{
	const ls_product *p = call->product;
	if (!reserve(c, (size_t)(m + n), (size_t)p->terms))
		return false;
	c->column = c->row + m;
	find_units(&p->a, call->a, p->terms, i0, m, c->factors, c->row);
	find_units(&p->b, call->b, p->terms, j0, n, c->factors, c->column);
	return true;
}

bool ls_kernel__certificate_holds(const ls_certificate *c, const ls_product_call *call, int64_t i0, int64_t i, int64_t j0, int64_t j,
                                  double t)
{
	ls_bias bias = call->product->bias;
	int unit = c->row[i] + c->column[j];
	if (bias != LS_BIAS_NONE)
		unit = smaller(unit, unit_of(call->bias[bias == LS_BIAS_ROW ? i0 + i : j0 + j]));
	// without a unit there is no term but zeros; units are at least 2^-298
	return unit >= LS_KERNEL__NO_UNIT / 2 || ls_bound_norm(call->bound, t) < ls_f64_bits((uint64_t)(53 + unit + 1023) << 52);
}

void ls_kernel__certificate_free(ls_certificate *c)
{
	ls_free(c->row);
	ls_free(c->factors);
	*c = (ls_certificate){0};
}

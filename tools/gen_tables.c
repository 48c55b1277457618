/* Writes src/num/function_tables.h to standard output. Every constant is computed by MPFR to 300 bits and rounded once.
 * The normal build does not use this program:
 *   cc -std=c17 -o gen_tables tools/gen_tables.c -lmpfr -lgmp && ./gen_tables > src/num/function_tables.h
 */
#include <mpfr.h>
#include <stdio.h>

#define PRECISION 300
#define EXP_STEPS 64   /* table entries of 2^(i/64) */
#define LOG_STEPS 128  /* intervals of the mantissa, by its top seven bits */
#define LOG_HALVED 48  /* from this interval on (m >= 1.375) the mantissa is halved */
#define LOG_GRID 44    /* high parts are multiples of 2^-44, so that their sums with |e| < 256 stay exact */
#define RECIPROCAL_BITS 16
#define HEAD_BITS 24   /* of a number that is added to others of so many bits */
#define FACTOR_BITS 29 /* times 24 bits: a product of 53 */

static void print_number(const char *name, double value)
{
	printf("#define %s %a\n", name, value);
}

static void print_array(const char *name, const double *values, int count)
{
	printf("static const double %s[%d] = {", name, count);
	for (int i = 0; i < count; i++)
		printf("%s%a,", i % 4 ? " " : "\n\t", values[i]);
	printf("\n};\n\n");
}

/* high + low = value, high a multiple of 2^-grid. */
static void split(mpfr_t value, int grid, double *high, double *low)
{
	mpfr_t h;
	mpfr_init2(h, PRECISION);
	mpfr_mul_2si(h, value, grid, MPFR_RNDN);
	mpfr_rint(h, h, MPFR_RNDN);
	mpfr_div_2si(h, h, grid, MPFR_RNDN);
	*high = mpfr_get_d(h, MPFR_RNDN);
	mpfr_sub(h, value, h, MPFR_RNDN);
	*low = mpfr_get_d(h, MPFR_RNDN);
	mpfr_clear(h);
}

static void exp_tables(void)
{
	double power[EXP_STEPS], rest[EXP_STEPS], high, low;
	mpfr_t x;
	mpfr_init2(x, PRECISION);
	for (int i = 0; i < EXP_STEPS; i++) {
		mpfr_set_si_2exp(x, i, -6, MPFR_RNDN);
		mpfr_exp2(x, x, MPFR_RNDN);
		power[i] = mpfr_get_d(x, MPFR_RNDN);
		mpfr_sub_d(x, x, power[i], MPFR_RNDN);
		rest[i] = mpfr_get_d(x, MPFR_RNDN);
	}
	printf("/* exp: 2^(i/64); 64/ln 2; ln 2/64 in two parts, the high one a multiple of 2^-42. */\n");
	print_array("ls_num__exp_power", power, EXP_STEPS);
	mpfr_const_log2(x, MPFR_RNDN);
	mpfr_div_si(x, x, EXP_STEPS, MPFR_RNDN);
	split(x, 42, &high, &low);
	print_number("LS_NUM__LN2_64_HIGH", high);
	print_number("LS_NUM__LN2_64_LOW", low);
	mpfr_si_div(x, 1, x, MPFR_RNDN);
	print_number("LS_NUM__INVERSE_LN2_64", mpfr_get_d(x, MPFR_RNDN));
	printf("\n/* What 2^(i/64) is above the table's number. */\n");
	print_array("ls_num__exp_power_low", rest, EXP_STEPS);
	mpfr_clear(x);
}

/* 1/middle of interval i to RECIPROCAL_BITS bits. The two intervals beside m = 1 take 1 itself, so that log keeps its
 * relative accuracy there. */
static double reciprocal(int i)
{
	mpfr_t c, middle;
	double value;
	if (i == 0 || i == LOG_STEPS - 1)
		return 1;
	mpfr_init2(c, RECIPROCAL_BITS);
	mpfr_init2(middle, PRECISION);
	mpfr_set_d(middle, (1 + (i + 0.5) / LOG_STEPS) * (i >= LOG_HALVED ? 0.5 : 1), MPFR_RNDN);
	mpfr_ui_div(c, 1, middle, MPFR_RNDN);
	value = mpfr_get_d(c, MPFR_RNDN);
	mpfr_clear(c);
	mpfr_clear(middle);
	return value;
}

static void log_tables(void)
{
	double c[LOG_STEPS], high[LOG_STEPS], low[LOG_STEPS], ln2_high, ln2_low;
	mpfr_t x;
	mpfr_init2(x, PRECISION);
	for (int i = 0; i < LOG_STEPS; i++) {
		c[i] = reciprocal(i);
		mpfr_set_d(x, c[i], MPFR_RNDN);
		mpfr_log(x, x, MPFR_RNDN);
		if (!mpfr_zero_p(x))
			mpfr_neg(x, x, MPFR_RNDN);
		split(x, LOG_GRID, &high[i], &low[i]);
	}
	printf("\n/* log: c about 1/m for each interval of the mantissa; -ln c and ln 2 in two parts,\n"
	       " * the high ones multiples of 2^-44. */\n");
	print_array("ls_num__log_c", c, LOG_STEPS);
	print_array("ls_num__log_high", high, LOG_STEPS);
	print_array("ls_num__log_low", low, LOG_STEPS);
	mpfr_const_log2(x, MPFR_RNDN);
	split(x, LOG_GRID, &ln2_high, &ln2_low);
	print_number("LS_NUM__LN2_HIGH", ln2_high);
	print_number("LS_NUM__LN2_LOW", ln2_low);
	mpfr_clear(x);
}

/* pi^(2i+odd)/(2i+odd)! with alternating sign. */
static void taylor(const char *name, int odd, int count)
{
	double values[16];
	mpfr_t pi, x;
	mpfr_init2(pi, PRECISION);
	mpfr_init2(x, PRECISION);
	mpfr_const_pi(pi, MPFR_RNDN);
	for (int i = 0; i < count; i++) {
		mpfr_pow_si(x, pi, 2 * i + odd, MPFR_RNDN);
		for (int k = 2; k <= 2 * i + odd; k++)
			mpfr_div_si(x, x, k, MPFR_RNDN);
		values[i] = mpfr_get_d(x, MPFR_RNDN) * (i % 2 ? -1 : 1);
	}
	print_array(name, values, count);
	mpfr_clear(pi);
	mpfr_clear(x);
}

/* The top `bits` bits of a value, towards zero, and what is left of it. */
static void print_two_parts(const char *name, mpfr_t value, int bits)
{
	char part[64];
	mpfr_t high, low;
	mpfr_init2(high, bits);
	mpfr_init2(low, PRECISION);
	mpfr_set(high, value, MPFR_RNDZ);
	mpfr_sub(low, value, high, MPFR_RNDN);
	snprintf(part, sizeof part, "%s_HIGH", name);
	print_number(part, mpfr_get_d(high, MPFR_RNDN));
	snprintf(part, sizeof part, "%s_LOW", name);
	print_number(part, mpfr_get_d(low, MPFR_RNDN));
	mpfr_clear(high);
	mpfr_clear(low);
}

/* GELU is x/(1 + e^-w), w = A x + B x^3 with A = 2 sqrt(2/pi), B = 0.044715 A. */
static void gelu_constants(void)
{
	mpfr_t a, b;
	mpfr_init2(a, PRECISION);
	mpfr_init2(b, PRECISION);
	mpfr_const_pi(a, MPFR_RNDN);
	mpfr_ui_div(a, 8, a, MPFR_RNDN);
	mpfr_sqrt(a, a, MPFR_RNDN);
	mpfr_mul_ui(b, a, 44715, MPFR_RNDN);
	mpfr_div_ui(b, b, 1000000, MPFR_RNDN);
	print_two_parts("LS_NUM__GELU_A", a, HEAD_BITS);
	print_two_parts("LS_NUM__GELU_B", b, FACTOR_BITS);
	mpfr_mul_ui(b, b, 3, MPFR_RNDN);
	print_two_parts("LS_NUM__GELU_3B", b, FACTOR_BITS);
	mpfr_clear(a);
	mpfr_clear(b);
}

/* tanh x = x + c_1 x^3 + c_2 x^5 + …. From tanh' = 1 - tanh^2: (2k+1) c_k = - sum of c_i c_j with i + j = k - 1. */
static void tanh_coefficients(int count)
{
	double values[16];
	mpfr_t c[17], term;
	mpfr_init2(term, PRECISION);
	for (int k = 0; k <= count; k++) {
		mpfr_init2(c[k], PRECISION);
		mpfr_set_si(c[k], k ? 0 : 1, MPFR_RNDN);
		for (int i = 0; i < k; i++) {
			mpfr_mul(term, c[i], c[k - 1 - i], MPFR_RNDN);
			mpfr_sub(c[k], c[k], term, MPFR_RNDN);
		}
		mpfr_div_si(c[k], c[k], 2 * k + 1, MPFR_RNDN);
		if (k)
			values[k - 1] = mpfr_get_d(c[k], MPFR_RNDN);
	}
	print_array("ls_num__tanh_terms", values, count);
	for (int k = 0; k <= count; k++)
		mpfr_clear(c[k]);
	mpfr_clear(term);
}

int main(void)
{
	printf("/* Generated by tools/gen_tables.c. Part of the definition of the arithmetic: never change a digit. */\n"
	       "#ifndef LS_NUM_FUNCTION_TABLES_H\n#define LS_NUM_FUNCTION_TABLES_H\n\n");
	exp_tables();
	log_tables();
	printf("\n/* cospi: coefficients of cos(pi r) in r^2, and of sin(pi r)/r in r^2. */\n");
	taylor("ls_num__cospi_cos", 0, 9);
	taylor("ls_num__cospi_sin", 1, 8);
	printf("/* tanh: coefficients of x^3, x^5, …. */\n");
	tanh_coefficients(8);
	printf("/* GELU: its constants in two parts, the high one of 24 or 29 bits. */\n");
	gelu_constants();
	printf("#endif\n");
	return 0;
}

/* The stages of ls_dot_exact, apart so that tests see each of them. */
#ifndef LOCKSTEP_NUM_DOT_H
#define LOCKSTEP_NUM_DOT_H

#include <lockstep/num.h>

typedef enum ls_num__dot_stage {
	LS_NUM__DOT_PLAIN = 0, /* an FP64 sum and its bound */
	LS_NUM__DOT_BIN = 1,   /* one exact bin */
	LS_NUM__DOT_BINS = 2,  /* two */
	LS_NUM__DOT_WIDE = 3   /* ls_sum */
} ls_num__dot_stage;

enum { LS_NUM__DOT_STAGES = 4 };

/* Terms in one exact bin: their sum is high + Σr, high exact. */
typedef struct ls_num__bin_sum {
	double high, rest; /* rest: Σr, added in FP64 in whatever order */
	bool exact;        /* all r are zero */
} ls_num__bin_sum;

/* Fills a bin: from acc = start, for each term t = acc + p, z = t − acc, r = p − z, acc = t; high = Σz. Terms may go to
 * any number of lanes that all begin at `start`. p + acc may be one fused multiply-add, and p − z another: p is exact. */
typedef ls_num__bin_sum (*ls_num__fill)(double start, const float *a, const float *b, int64_t n);

ls_num__bin_sum ls_num__fill_portable(double start, const float *a, const float *b, int64_t n);

/* R(Σ a[i]·b[i]) of 1 ≤ n < LS_TERMS_MAX terms with finite factors, where magnitude ≥ Σ|ab|·(1+2^-21) is known and below
 * 2^278. Begins with one bin, filled by `fill`; magnitude 0 says that there is nothing to add. */
float ls_num__dot_within(const float *a, const float *b, int64_t n, double magnitude, int bits, ls_num__fill fill,
                         ls_num__dot_stage *settled);

/* Starts at stage `from` and says in `*settled` which one gave the answer. */
float ls_num__dot(const float *a, const float *b, int64_t n, int bits, ls_num__dot_stage from,
                  ls_num__dot_stage *settled);

#endif

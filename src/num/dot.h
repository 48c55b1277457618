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

/* Starts at stage `from` and says in `*settled` which one gave the answer. */
float ls_num__dot(const float *a, const float *b, int64_t n, int bits, ls_num__dot_stage from,
                  ls_num__dot_stage *settled);

#endif

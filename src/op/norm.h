/* Internal to src/op: what the ops of batch normalisation share. A channel of x (N, C, H, W) is N planes of H·W elements;
 * where a sum runs over a channel, the planes are its runs.
 */
#ifndef LS_OP_NORM_H
#define LS_OP_NORM_H

#include "op/op.h"

/* Complains unless input `image` is (N, C, H, W) and each of the inputs first … last holds one number per channel. */
bool ls_op__channels_fit(ls_program *program, const ls_op *op, int image, int first, int last);

/* n = N·H·W, the elements of a channel. */
int64_t ls_op__channel_size(const ls_shape *x);

/* The channel that flat index `index` of x lies in. */
int64_t ls_op__channel_of(const ls_shape *x, int64_t index);

/* rsum over a channel of term(r, context, flat index). */
double ls_op__channel_rsum(const ls_reader *r, const ls_shape *x, int64_t channel, ls_op__term term, float context);
/* Its blocks. */
int64_t ls_op__channel_parts(const ls_shape *x);

#endif

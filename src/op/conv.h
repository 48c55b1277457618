/* Internal to src/op: what the three directions of a convolution share. */
#ifndef LS_OP_CONV_H
#define LS_OP_CONV_H

#include <lockstep/op.h>

enum { LS_CONV_STRIDE, LS_CONV_PAD, LS_CONV_DIM0, LS_CONV_DIM1 };

/* ⌊(extent + 2·pad − kernel)/stride⌋ + 1 */
static inline int64_t ls_op__extent(int64_t extent, int64_t kernel, int64_t stride, int64_t pad)
{
	return (extent + 2 * pad - kernel) / stride + 1;
}

/* True where a window of `kernel` at this stride and padding meets an image of `extent` at `out` places, as the forward op
 * would have it: what the shape rules of gradients ask of their attributes. */
static inline bool ls_op__fits(int64_t extent, int64_t kernel, int64_t stride, int64_t pad, int64_t out)
{
	return extent >= 1 && extent <= INT32_MAX && kernel >= 1 && kernel <= INT32_MAX && stride >= 1 && stride <= 1024 && pad >= 0 &&
	       pad < kernel && extent + 2 * pad >= kernel && ls_op__extent(extent, kernel, stride, pad) == out;
}

/* The patches of tensor x (N, C, H, W) that meet a kernel at each of oh × ow positions. */
static inline ls_patches ls_op__patches(const ls_shape *x, int64_t kh, int64_t kw, int64_t oh, int64_t ow, int64_t stride,
                                        int64_t pad)
{
	return (ls_patches){.channels = x->dim[1], .height = x->dim[2], .width = x->dim[3], .kernel_height = kh, .kernel_width = kw,
	                    .out_height = oh, .out_width = ow, .step = stride, .offset = -pad, .tap = 1, .divisor = 1};
}

#endif

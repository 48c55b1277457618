/* Inner loops over contiguous numbers that exist once per instruction set. Their text is one (loops_body.h); each
 * instruction set compiles it with its own flags, and every element is the same IEEE operations, so all return the same
 * bits. R is to a grid of `bits`; outputs may lie over inputs of the same element.
 */
#ifndef LS_KERNEL_LOOPS_H
#define LS_KERNEL_LOOPS_H

#include <lockstep/op.h>

/* What sgd needs to know of a step. */
typedef struct ls_sgd_loop {
	double lr, decay, momentum;
	bool nesterov;
} ls_sgd_loop;

/* One channel of batch normalisation. */
typedef struct ls_norm_loop {
	double mean, r, gamma, beta;    /* forward */
	double scale, even, slope;      /* backward: γ·r, s₁/n, s₂/n */
} ls_norm_loop;

/* One row of layer normalisation. γ and β are arrays. */
typedef struct ls_layer_norm_loop {
	double mean, r;     /* backward: r only */
	double even, slope; /* s₁/C, s₂/C */
	const float *gamma, *beta;
} ls_layer_norm_loop;

/* Where adam reads and writes. */
typedef struct ls_adam_places {
	float *next, *next_m, *next_v;
	const float *w, *g, *m, *v;
} ls_adam_places;

typedef struct ls_loops {
	/* One block of rsum, n ≤ 256 terms: x; c·c with c = RNE32(x − mean); a·b; (a·b)·c. */
	double (*sum)(const float *x, int64_t n);
	double (*squares)(const float *x, int64_t n, double mean);
	double (*dot)(const float *a, const float *b, int64_t n);
	double (*dot3)(const float *a, const float *b, const float *c, int64_t n);

	void (*add)(float *out, const float *a, const float *b, int64_t n, int bits);
	void (*relu)(float *out, const float *x, int64_t n, int bits);
	void (*relu_grad)(float *dx, const float *dy, const float *y, int64_t n, int bits);
	void (*tanh)(float *out, const float *x, int64_t n, int bits);
	void (*sigmoid)(float *out, const float *x, int64_t n, int bits);
	void (*gelu)(float *out, const float *x, int64_t n, int bits);
	void (*tanh_grad)(float *dx, const float *dy, const float *y, int64_t n, int bits);
	void (*sigmoid_grad)(float *dx, const float *dy, const float *y, int64_t n, int bits);
	void (*gelu_grad)(float *dx, const float *dy, const float *x, int64_t n, int bits);
	void (*batch_norm)(float *y, float *normal, const float *x, int64_t n, const ls_norm_loop *c, int bits);
	void (*batch_norm_dinput)(float *dx, const float *dy, const float *normal, int64_t n, const ls_norm_loop *c, int bits);
	/* `m` and `next_m` NULL without momentum. */
	void (*sgd)(float *next, float *next_m, const float *w, const float *g, const float *m, int64_t n,
	            const ls_sgd_loop *s, int bits);
	void (*scale)(float *out, const float *x, int64_t n, double factor, int bits);
	void (*layer_norm)(float *y, float *normal, const float *x, int64_t n, const ls_layer_norm_loop *c, int bits);
	void (*layer_norm_dinput)(float *dx, const float *dy, const float *normal, int64_t n, const ls_layer_norm_loop *c, int bits);
	void (*adam)(const ls_adam_places *p, int64_t n, const ls_adam *a, int bits);
	/* For softmax: the largest, NaN where there is one; e^RNE32(x − m); R(x/by); R(p·(dp − dot)). */
	float (*largest)(const float *x, int64_t n);
	void (*exp_below)(float *out, const float *x, int64_t n, double m);
	void (*divide)(float *out, const float *x, int64_t n, double by, int bits);
	void (*softmax_grad)(float *dz, const float *dp, const float *p, int64_t n, double dot, int bits);
	/* Element i is number first + i of the op's stream. */
	void (*dropout)(float *out, const float *x, int64_t n, const ls_dropout *d, int bits);
	/* n windows of 2×2 side by side, their rows at x0 and x1; first maximum, NaN largest. */
	void (*max2x2)(float *out, const float *x0, const float *x1, int64_t n, int bits);
	void (*max2x2_grad)(float *dx0, float *dx1, const float *dy, const float *x0, const float *x1, int64_t n, int bits);
} ls_loops;

/* Those of AVX are there on x86-64 only, and for processors that have it. */
const ls_loops *ls_kernel__loops_portable(void);
const ls_loops *ls_kernel__loops_avx2(void);
const ls_loops *ls_kernel__loops_avx512(void);

#endif

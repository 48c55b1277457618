/* Lockstep: the arithmetic. Grids, the rounding test, exact sums of products, rsum, correctly rounded functions, random
 * numbers, and the bit coding of the rounding log. Everything here is a definition to the bit (spec/arithmetic.md):
 * no libm, no contraction, no result that depends on compiler or processor.
 *
 * Symbols: R(x) round-to-nearest-even to a grid; u = 2^-53; E the exact sum of products, S the exact sum of their
 * absolute values; s the length of the grid interval that holds E; B how far from E a platform's sum may lie (ls_bound).
 */
#ifndef LOCKSTEP_NUM_H
#define LOCKSTEP_NUM_H

#include <lockstep/base.h>

#ifdef __FAST_MATH__
#error "Lockstep cannot be compiled with fast-math: it changes bits"
#endif
#if defined(__FLT_EVAL_METHOD__) && __FLT_EVAL_METHOD__ != 0
#error "Lockstep needs each operation rounded to its own type (s390x: -fexcess-precision=fast; 32-bit x86: -msse2 -mfpmath=sse)"
#endif

/* ---- grids: FP32 with the low 32−bits mantissa bits zero; bits = 16…32 (a precondition of all that take it) ---- */

#define LS_GRID_MIN 16
#define LS_GRID_MAX 32
#define LS_NAN_BITS UINT32_C(0x7fc00000) /* the one NaN */

/* RNE to FP32 without −0 and with the one NaN: R on grid 32. */
static inline float ls_f32(double x)
{
	float v = (float)x;
	return v == v ? v + 0.0f : ls_f32_bits(LS_NAN_BITS); /* adding +0 turns −0 into +0 and changes nothing else */
}

/* R for bits < 32; use ls_round_f64. */
float ls_num__round_f64(double x, int bits);

/* R(x), in one rounding from FP64. Gradual underflow; −0 becomes +0; beyond the overflow boundary (the largest grid
 * number plus half a step, itself included) ±inf; every NaN becomes the one NaN. */
static inline float ls_round_f64(double x, int bits)
{
	return bits == LS_GRID_MAX ? ls_f32(x) : ls_num__round_f64(x, bits);
}

float ls_round_f32(float x, int bits);
/* True iff v is a number of the grid in its one pattern (not −0, not another NaN). */
bool ls_on_grid(float v, int bits);
/* Length of the grid interval [lo, hi) that holds |x|: 2^(e−(bits−9)) for 2^e ≤ |x| < 2^(e+1), at least
 * 2^(−149+32−bits). x finite. */
double ls_grid_step(double x, int bits);
/* The lowest bit that the grid keeps: what an entry of the rounding log says. inf counts as even; so does NaN, by
 * convention, so that an entry on a NaN element is redundant if it says 0 and forged if it says 1. */
int ls_grid_last_bit(float v, int bits);

/* Correctly rounded √ and fused multiply-add, the only operations beyond + − × ÷ that ops may use. NaN results have one
 * pattern; zeros keep the sign that IEEE 754 gives them. */
double ls_sqrt(double x);
double ls_fma(double a, double b, double c);
float ls_fma_f32(float a, float b, float c);

/* ---- products (class 1) ---- */

/* Terms of one element may not reach 2^21. */
#define LS_TERMS_MAX (INT64_C(1) << 21)

#define LS_DEPTH_MAX 2097152 /* 2^21, the largest that a job may name */

/* The job's default depth for K terms: 512 + ⌈K/512⌉. */
int64_t ls_depth_default(int64_t terms);

/* What B is. The first two are certified: every platform that keeps its duty stays within them (proofs in
 * src/num/bound.c). The third is the paper's, empirical: nothing is proved, and a platform that errs by more can look
 * guilty though it did what it promised. */
typedef enum ls_bound_kind {
	LS_BOUND_FP64 = 0,  /* d·u·S: sums in FP64 of exact products, depth ≤ d−2 */
	LS_BOUND_FP32 = 1,  /* (32·2^-24 + ⌈K/32⌉·u)·(1+2^-10)·S + K·2^-149: chunks of 32 terms in FP32, their sums in FP64 */
	LS_BOUND_WINDOW = 2 /* (½−τ)·s */
} ls_bound_kind;

typedef struct ls_bound {
	ls_bound_kind kind;
	int64_t depth; /* FP64: d; less than 0 counts as 0 */
	int64_t terms; /* FP32: K with the bias, < LS_TERMS_MAX */
	double tau;    /* WINDOW: 0 < τ < ½, in grid intervals: an element is near a boundary where |C − R(C)| > τ·s */
} ls_bound;

/* Terms of a chunk under FP32 compute. */
#define LS_CHUNK_TERMS 32

static inline ls_bound ls_bound_fp64(int64_t depth)
{
	return (ls_bound){.kind = LS_BOUND_FP64, .depth = depth};
}
static inline ls_bound ls_bound_fp32(int64_t terms)
{
	return (ls_bound){.kind = LS_BOUND_FP32, .terms = terms};
}
static inline ls_bound ls_bound_window(double tau)
{
	return (ls_bound){.kind = LS_BOUND_WINDOW, .tau = tau};
}

/* Certified bounds. t ≥ B + the rounding of C−t and C+t, from norm bounds: t = ls_bound_t(bound, norm) +
 * ls_bound_floor(bound), norm ≥ ‖a‖·‖b‖ or ≥ S up to the rounding of at most LS_TERMS_MAX FP64 additions. The first is
 * proportional to the norm, so that norms may be split between rows, columns and bias; the second is added once and is
 * zero for FP64. depth ≤ LS_DEPTH_MAX: far beyond, (1+u)^d − 1 exceeds d·u by more than is paid for. */
double ls_bound_t(ls_bound bound, double norm);
double ls_bound_floor(ls_bound bound);
/* Of kind FP64 only: the way back from t, at least S·(1+2^-21), which is what ls_bound_t's factor 1+2^-20 leaves when norms
 * and a few roundings have taken their part. */
double ls_bound_norm(ls_bound bound, double t);
/* WINDOW: t = (½−τ+2^-28)·s(C), the last of which covers the rounding of C−t and C+t. Not finite where C is not. */
double ls_bound_window_t(ls_bound bound, double c, int bits);

/* True iff R(C−t) ≠ R(C+t), or C or t is not finite: C alone does not settle R(E). Where it is false and |C − E| is
 * within the bound that t stands for, R(C) = R(E) is proved. */
bool ls_ambiguous(double c, double t, int bits);

/* R(Σ a[i]·b[i]), the bits of ls_sum_round over the same terms, at a fraction of its cost: plain FP64 with the rounding
 * test, then one exact bin, then two, and ls_sum where these do not settle it. Any n; n ≤ 0 gives +0. */
float ls_dot_exact(const float *a, const float *b, int64_t n, int bits);

/* 704-bit two's complement fixed point; bit 0 weighs 2^-298, the product of two smallest subnormals. */
#define LS_WIDE_LIMBS 11
typedef struct ls_wide {
	uint64_t limb[LS_WIDE_LIMBS];
} ls_wide;

/* E and S of one element, exactly, plus whether a factor was not finite. */
typedef struct ls_sum {
	ls_wide e, s;
	int64_t terms;
	bool non_finite;
} ls_sum;

void ls_sum_init(ls_sum *sum);
void ls_sum_add(ls_sum *sum, float a, float b); /* adds the term a·b; a bias v is the term v·1 */
float ls_sum_round(const ls_sum *sum, int bits); /* R(E); the one NaN where a factor was not finite */
/* True iff |C − E| ≤ B, decided exactly: the trainer's check of its own platform. Where a factor was not finite, true iff
 * C is not finite either; otherwise a C that is not finite gives false. `bits` matters to WINDOW only. */
bool ls_sum_within(const ls_sum *sum, double c, ls_bound bound, int bits);
/* True iff |C − E| ≤ t, for t ≥ 0, where both C and t are multiples of 2^-361; of others, true only if. Infinite and NaN factors
 * as above; a t that is not finite says nothing, and nothing contradicts it. */
bool ls_sum_near(const ls_sum *sum, double c, double t);

/* What one entry of the rounding log means for one element (spec: mode logged). */
typedef enum ls_entry_kind {
	LS_ENTRY_REDUNDANT = 0, /* says what R(E) says */
	LS_ENTRY_OVERRIDE = 1,  /* the other admissible end of the interval */
	LS_ENTRY_FORGED = 2     /* names an inadmissible value */
} ls_entry_kind;

/* Decides from E, S, B alone, in integer arithmetic. `*value` receives the element's value (R(E) for redundant and
 * forged). With m steps below |E|, the interval's ends are m and m+1 steps with E's sign; above the largest grid number
 * the upper end is ±inf (bit 0), and |E| ≥ 2^128 admits ±inf only. A bit other than 0 and 1 is forged. */
ls_entry_kind ls_sum_judge(const ls_sum *sum, ls_bound bound, int bits, int entry_bit, float *value);
/* True iff 4B < s and E lies within B of its interval's midpoint: two admissible values (spec "freedom"). */
bool ls_sum_two_valued(const ls_sum *sum, ls_bound bound, int bits);

/* ---- sums (class 2) ---- */

/* The canonical order. Blocks of at most 256 terms that never cross a run; in a block 16 accumulators by i mod 16, each
 * starting from +0, joined (l,l+8), (l,l+4), (l,l+2), (l,l+1); block sums are summed by the same rule (one run) until
 * one is left. The result is never −0. */
#define LS_RSUM_LEVELS 8
#define LS_RSUM_BLOCK 256
typedef struct ls_rsum {
	double lane[LS_RSUM_LEVELS][16];
	int fill[LS_RSUM_LEVELS];
	int64_t blocks[LS_RSUM_LEVELS]; /* sums this level has handed up */
} ls_rsum;

void ls_rsum_init(ls_rsum *r);
void ls_rsum_push(ls_rsum *r, double term);
/* The sum of a whole block of the present run in place of its terms; the block before must be full or have ended its run. */
void ls_rsum_push_block(ls_rsum *r, double sum);
/* The next term begins a new run, hence a new block. Runs without terms leave no trace. */
void ls_rsum_end_run(ls_rsum *r);
double ls_rsum_finish(const ls_rsum *r); /* the sum so far, which may go on; no terms give +0 */
/* One run of n terms. */
double ls_rsum_f32(const float *terms, int64_t n);
/* Strided sums: `rows` terms at x[0], x[stride], …; one accumulator from +0, blocks of 256 rows, block sums by the same
 * rule. */
double ls_rsum_strided_f32(const float *x, int64_t rows, int64_t stride);

/* Streaming form of the strided rule. */
typedef struct ls_rsum_column {
	double acc[LS_RSUM_LEVELS];
	int fill[LS_RSUM_LEVELS];
	int64_t blocks[LS_RSUM_LEVELS];
} ls_rsum_column;

void ls_rsum_column_init(ls_rsum_column *r);
void ls_rsum_column_push(ls_rsum_column *r, double term);
void ls_rsum_column_push_block(ls_rsum_column *r, double sum); /* the sum of 256 rows, or of the last ones */
double ls_rsum_column_finish(const ls_rsum_column *r);

/* ---- functions (class 3): one FP32 argument, correctly rounded to FP32, +0 and the one NaN as on grids ---- */

float ls_exp(float x); /* exp(+inf)=+inf, exp(−inf)=+0 */
float ls_log(float x); /* log(0)=−inf, negative or NaN gives NaN */
float ls_rsqrt(float x); /* 1/√x; ±0 gives +inf, +inf gives +0, negative or NaN gives NaN */
float ls_tanh(float x); /* ±inf gives ±1 */
float ls_sigmoid(float x); /* 1/(1 + e^-x); +inf gives 1, −inf +0 */
/* ½x·(1 + tanh(√(2/π)·(x + 0.044715·x³))), √(2/π) and 0.044715 as real numbers, and its derivative. At +inf they are +inf
 * and 1, at −inf, by their limits, +0. */
float ls_gelu(float x);
float ls_gelu_slope(float x);
double ls_log_f64(float x); /* the FP64 value behind ls_log, before its rounding; pinned, for schedules and normals */
/* cos(π·x), |x| ≤ 2^20: a pinned FP64 polynomial, not correctly rounded; the same bits everywhere. */
double ls_cospi(double x);

/* ---- random numbers ---- */

/* Philox 4x32-10 (Salmon et al., SC11). */
void ls_philox(uint32_t out[4], const uint32_t counter[4], const uint32_t key[2]);

/* What a stream of random numbers is for; part of the key, so that no two uses share numbers. */
typedef enum ls_purpose {
	LS_PURPOSE_INIT = 1,
	LS_PURPOSE_ORDER = 2,
	LS_PURPOSE_AUGMENT = 3,
	LS_PURPOSE_DROPOUT = 4,
	LS_PURPOSE_TEST = 5,
	LS_PURPOSE_SAMPLE = 6 /* text that a model writes; nothing commits to it */
} ls_purpose;

typedef struct ls_stream {
	uint32_t seed;
	uint32_t purpose;
	uint64_t step; /* or tensor number, or epoch: the high half of the counter */
} ls_stream;

/* The index-th number of the stream: word index mod 4 of the block with counter (⌊index/4⌋ low, high, step low, high). */
uint32_t ls_random_u32(const ls_stream *stream, uint64_t index);
/* (u32·n)>>32, uniform over 0…n−1 up to 2^-32. */
uint32_t ls_random_below(const ls_stream *stream, uint64_t index, uint32_t n);
/* (u32+½)·2^-32, in (0, 1). */
double ls_random_uniform(const ls_stream *stream, uint64_t index);
/* Standard normal by Box–Muller from numbers 2·index and 2·index+1: √(−2·log(u1))·cospi(2·u2), u1 rounded to FP32. */
double ls_random_normal(const ls_stream *stream, uint64_t index);
/* Keyed bijection of 0…n−1 (Feistel on Philox, cycle-walking): the sample at `position` of `epoch`. n ≥ 1. */
uint64_t ls_shuffle(uint32_t seed, uint64_t epoch, uint64_t position, uint64_t n);

/* ---- rounding-log bit coding: one frame of at most 65,536 consecutive elements ---- */

#define LS_FRAME_ELEMENTS 65536u

typedef struct ls_entry {
	uint32_t index; /* within the frame (coding) or within the op's output (elsewhere) */
	uint8_t bit;
} ls_entry;

typedef enum ls_encoding {
	LS_ENCODING_SPARSE = 0, /* Rice gaps + bit; dense where that is smaller */
	LS_ENCODING_DENSE = 1   /* base 3, five decisions a byte */
} ls_encoding;

/* Appends the one canonical coding of `count` entries (strictly ascending index < elements ≤ 65,536). */
ls_status ls_entries_encode(ls_buf *out, const ls_entry *entries, size_t count, uint32_t elements, ls_encoding encoding);
/* Decodes a frame into `entries` (room for `elements`), refusing every byte string that ls_entries_encode would not have
 * written. False where it is not canonical. */
bool ls_entries_decode(ls_entry *entries, size_t *count, uint32_t elements, ls_encoding encoding, const uint8_t *data,
                       size_t len);

#endif

#include "kernel/table.h"
#include "kernel/transpose8.h"

// Lanes 0…7 and 8…15 of a panel, with the masks of the lanes that are written.
struct lanes {
	__mmask8 low, high;
	__m512d low_squares, high_squares;
};

static struct lanes lanes_begin(const ls_panel *p)
{
	uint32_t mask = (UINT32_C(1) << p->w) - 1;
	struct lanes l = {(__mmask8)mask, (__mmask8)(mask >> 8), _mm512_setzero_pd(), _mm512_setzero_pd()};
	if (p->squares) {
		l.low_squares = _mm512_maskz_loadu_pd(l.low, p->squares);
		l.high_squares = _mm512_maskz_loadu_pd(l.high, p->squares + 8);
	}
	return l;
}

static void lanes_end(const struct lanes *l, const ls_panel *p)
{
	if (!p->squares)
		return;
	_mm512_mask_storeu_pd(p->squares, l->low, l->low_squares);
	_mm512_mask_storeu_pd(p->squares + 8, l->high, l->high_squares);
}

// Masked stores are several times as slow as plain ones on some processors.
static inline __attribute__((always_inline)) void store(double *dst, __mmask8 mask, __m512d x)
{
	if (mask == 0xff)
		_mm512_storeu_pd(dst, x);
	else
		_mm512_mask_storeu_pd(dst, mask, x);
}

static inline __attribute__((always_inline)) void put_low(struct lanes *l, double *dst, __m256 v)
{
	__m512d x = _mm512_cvtps_pd(v);
	store(dst, l->low, x);
	l->low_squares = _mm512_fmadd_pd(x, x, l->low_squares);
}

static inline __attribute__((always_inline)) void put_high(struct lanes *l, double *dst, __m256 v)
{
	__m512d x = _mm512_cvtps_pd(v);
	store(dst + 8, l->high, x);
	l->high_squares = _mm512_fmadd_pd(x, x, l->high_squares);
}

static inline __attribute__((always_inline)) void put(struct lanes *l, double *dst, __m512 v)
{
	put_low(l, dst, _mm512_castps512_ps256(v));
	if (l->high)
		put_high(l, dst, _mm512_extractf32x8_ps(v, 1));
}

static void copy(const ls_panel *p, const float *src, int64_t stride)
{
	struct lanes l = lanes_begin(p);
	__mmask16 mask = (__mmask16)((UINT32_C(1) << p->n) - 1);
	double *dst = p->dst;
	for (int64_t k = 0; k < p->k; k++, src += stride, dst += p->ld)
		put(&l, dst, _mm512_maskz_loadu_ps(mask, src));
	lanes_end(&l, p);
}

// Eight rows, of which all but the first `w` are ignored.
static inline __attribute__((always_inline)) __m512d turn(const ls_panel *p, const float *const *row, int w,
                                                          double *dst, __mmask8 mask, __m512d squares)
{
	__m256 v[8];
	for (int64_t k = 0; k < p->k; k += 8) {
		int left = p->k - k < 8 ? (int)(p->k - k) : 8;
		__mmask8 have = (__mmask8)((1u << left) - 1);
#pragma GCC unroll 8
		for (int r = 0; r < 8; r++)
			v[r] = _mm256_maskz_loadu_ps(have, row[r < w ? r : 0] + k);
		transpose8(v);
#pragma GCC unroll 8
		for (int i = 0; i < 8; i++) {
			if (i >= left)
				break;
			__m512d x = _mm512_cvtps_pd(v[i]);
			store(dst + (k + i) * p->ld, mask, x);
			squares = _mm512_fmadd_pd(x, x, squares);
		}
	}
	return squares;
}

static void transpose(const ls_panel *p, const float *const *row)
{
	struct lanes l = lanes_begin(p);
	l.low_squares = turn(p, row, p->w, p->dst, l.low, l.low_squares);
	if (l.high)
		l.high_squares = turn(p, row + 8, p->w - 8, (double *)p->dst + 8, l.high, l.high_squares);
	lanes_end(&l, p);
}

static void expand(const ls_panel *p, const float *x, const ls_patch_plan *plan)
{
	struct lanes l = lanes_begin(p);
	double *dst = p->dst;
	int64_t slot = 0;
	uintptr_t base = (uintptr_t)x; // lane 0 may lie before the tensor; only lanes of the mask are read
	for (int64_t k = 0; k < p->k; k++, dst += p->ld) {
		__m512 v = _mm512_setzero_ps();
		for (int32_t e = plan->start[slot]; e < plan->start[slot + 1]; e++) {
			const ls_tap *tap = &plan->tap[e];
			const void *from = (const void *)(base + (uintptr_t)(tap->offset * (int64_t)sizeof(float)));
			v = _mm512_mask_loadu_ps(v, (__mmask16)tap->mask, from);
		}
		put(&l, dst, v);
		if (++slot == plan->slots) {
			slot = 0;
			base += (uintptr_t)plan->plane * sizeof(float);
		}
	}
	lanes_end(&l, p);
}

void ls_kernel__pack_avx512(ls_kernel_table *t)
{
	t->wide = (ls_packers){sizeof(double), LS_PANEL_LANES, copy, transpose, expand};
}

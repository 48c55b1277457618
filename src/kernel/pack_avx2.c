#include "kernel/table.h"
#include "kernel/transpose8.h"

// Panels of this table have at most eight lanes: two registers of FP64, with the masks of the lanes that are written.
struct lanes {
	__m256i low, high;
	__m256d low_squares, high_squares;
};

static __m256i mask64(int lanes)
{
	return _mm256_cmpgt_epi64(_mm256_set1_epi64x(lanes), _mm256_setr_epi64x(0, 1, 2, 3));
}

static __m256i mask32(int lanes)
{
	return _mm256_cmpgt_epi32(_mm256_set1_epi32(lanes), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}

static struct lanes lanes_begin(const ls_panel *p)
{
	struct lanes l = {mask64(p->w), mask64(p->w - 4), _mm256_setzero_pd(), _mm256_setzero_pd()};
	if (p->squares) {
		l.low_squares = _mm256_maskload_pd(p->squares, l.low);
		l.high_squares = _mm256_maskload_pd(p->squares + 4, l.high);
	}
	return l;
}

static void lanes_end(const struct lanes *l, const ls_panel *p)
{
	if (!p->squares)
		return;
	_mm256_maskstore_pd(p->squares, l->low, l->low_squares);
	_mm256_maskstore_pd(p->squares + 4, l->high, l->high_squares);
}

static inline __attribute__((always_inline)) void put(struct lanes *l, const ls_panel *p, int64_t k, __m256 v)
{
	__m256d a = _mm256_cvtps_pd(_mm256_castps256_ps128(v)), b = _mm256_cvtps_pd(_mm256_extractf128_ps(v, 1));
	double *dst = (double *)p->dst + k * p->ld;
	if (p->w == 8) { // masked stores are slow on some processors
		_mm256_storeu_pd(dst, a);
		_mm256_storeu_pd(dst + 4, b);
	} else {
		_mm256_maskstore_pd(dst, l->low, a);
		_mm256_maskstore_pd(dst + 4, l->high, b);
	}
	l->low_squares = _mm256_fmadd_pd(a, a, l->low_squares);
	l->high_squares = _mm256_fmadd_pd(b, b, l->high_squares);
}

static void copy(const ls_panel *p, const float *src, int64_t stride)
{
	struct lanes l = lanes_begin(p);
	__m256i mask = mask32(p->n);
	for (int64_t k = 0; k < p->k; k++, src += stride)
		put(&l, p, k, _mm256_maskload_ps(src, mask));
	lanes_end(&l, p);
}

static void transpose(const ls_panel *p, const float *const *row)
{
	struct lanes l = lanes_begin(p);
	__m256 v[8];
	for (int64_t k = 0; k < p->k; k += 8) {
		int left = p->k - k < 8 ? (int)(p->k - k) : 8;
		__m256i have = mask32(left);
#pragma GCC unroll 8
		for (int r = 0; r < 8; r++) {
			const float *from = row[r < p->w ? r : 0] + k;
			v[r] = left == 8 ? _mm256_loadu_ps(from) : _mm256_maskload_ps(from, have);
		}
		transpose8(v);
#pragma GCC unroll 8
		for (int i = 0; i < 8; i++) {
			if (i >= left)
				break;
			put(&l, p, k + i, v[i]);
		}
	}
	lanes_end(&l, p);
}

static void expand(const ls_panel *p, const float *x, const ls_patch_plan *plan)
{
	const __m256i bit = _mm256_setr_epi32(1, 2, 4, 8, 16, 32, 64, 128);
	struct lanes l = lanes_begin(p);
	int64_t slot = 0;
	uintptr_t base = (uintptr_t)x; // lane 0 may lie before the tensor; only lanes of the mask are read
	for (int64_t k = 0; k < p->k; k++) {
		__m256 v = _mm256_setzero_ps();
		for (int32_t e = plan->start[slot]; e < plan->start[slot + 1]; e++) {
			const ls_tap *tap = &plan->tap[e];
			const float *from = (const float *)(base + (uintptr_t)(tap->offset * (int64_t)sizeof(float)));
			__m256i mask = _mm256_cmpeq_epi32(_mm256_and_si256(_mm256_set1_epi32((int)tap->mask), bit), bit);
			v = _mm256_or_ps(v, _mm256_maskload_ps(from, mask)); // each lane has one tap at most
		}
		put(&l, p, k, v);
		if (++slot == plan->slots) {
			slot = 0;
			base += (uintptr_t)plan->plane * sizeof(float);
		}
	}
	lanes_end(&l, p);
}

void ls_kernel__pack_avx2(ls_kernel_table *t)
{
	t->wide = (ls_packers){sizeof(double), 8, copy, transpose, expand};
}

// Panels of FP32, sixteen lanes at a time.
#include "kernel/table.h"
#include "kernel/transpose8.h"

// A store of all sixteen lanes: those beyond w are overwritten by the next term's, or are spill.
static inline __attribute__((always_inline)) void store(const ls_panel *p, float *dst, __m512 v)
{
	if (p->w > LS_PACK_SPILL)
		_mm512_storeu_ps(dst, v);
	else
		_mm256_storeu_ps(dst, _mm512_castps512_ps256(v));
}

static void copy(const ls_panel *p, const float *src, int64_t stride)
{
	__mmask16 mask = (__mmask16)((UINT32_C(1) << p->n) - 1);
	float *dst = p->dst;
	for (int64_t k = 0; k < p->k; k++, src += stride, dst += p->ld)
		store(p, dst, _mm512_maskz_loadu_ps(mask, src));
}

// Eight terms of rows first … first+7, those from w on being ignored.
static inline __attribute__((always_inline)) void load(__m256 v[8], const ls_panel *p, const float *const *row, int first,
                                                       int64_t k, __mmask8 have)
{
#pragma GCC unroll 8
	for (int r = 0; r < 8; r++)
		v[r] = _mm256_maskz_loadu_ps(have, row[first + r < p->w ? first + r : 0] + k);
	transpose8(v);
}

static void transpose(const ls_panel *p, const float *const *row)
{
	bool high = p->w > LS_PACK_SPILL;
	__m256 a[8], b[8];
	float *dst = p->dst;
	for (int64_t k = 0; k < p->k; k += 8) {
		int left = p->k - k < 8 ? (int)(p->k - k) : 8;
		__mmask8 have = (__mmask8)((1u << left) - 1);
		load(a, p, row, 0, k, have);
		if (high)
			load(b, p, row, 8, k, have);
#pragma GCC unroll 8
		for (int i = 0; i < 8; i++, dst += p->ld) {
			if (i >= left)
				break;
			_mm256_storeu_ps(dst, a[i]);
			if (high)
				_mm256_storeu_ps(dst + 8, b[i]);
		}
	}
}

static void expand(const ls_panel *p, const float *x, const ls_patch_plan *plan)
{
	float *dst = p->dst;
	int64_t slot = 0;
	uintptr_t base = (uintptr_t)x; // lane 0 may lie before the tensor; only lanes of the mask are read
	for (int64_t k = 0; k < p->k; k++, dst += p->ld) {
		__m512 v = _mm512_setzero_ps();
		for (int32_t e = plan->start[slot]; e < plan->start[slot + 1]; e++) {
			const ls_tap *tap = &plan->tap[e];
			const void *from = (const void *)(base + (uintptr_t)(tap->offset * (int64_t)sizeof(float)));
			v = _mm512_mask_loadu_ps(v, (__mmask16)tap->mask, from);
		}
		store(p, dst, v);
		if (++slot == plan->slots) {
			slot = 0;
			base += (uintptr_t)plan->plane * sizeof(float);
		}
	}
}

void ls_kernel__pack32_avx512(ls_kernel_table *t)
{
	t->narrow = (ls_packers){sizeof(float), LS_PANEL_LANES, copy, transpose, expand};
}

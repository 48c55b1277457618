// Panels of FP32, eight lanes at a time: those beyond w are overwritten by the next term's, or are spill.
#include "kernel/table.h"
#include "kernel/transpose8.h"

static __m256i mask_of(int lanes)
{
	return _mm256_cmpgt_epi32(_mm256_set1_epi32(lanes), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}

static void copy(const ls_panel *p, const float *src, int64_t stride)
{
	__m256i mask = mask_of(p->n);
	float *dst = p->dst;
	for (int64_t k = 0; k < p->k; k++, src += stride, dst += p->ld)
		_mm256_storeu_ps(dst, _mm256_maskload_ps(src, mask));
}

static void transpose(const ls_panel *p, const float *const *row)
{
	__m256 v[8];
	float *dst = p->dst;
	for (int64_t k = 0; k < p->k; k += 8) {
		int left = p->k - k < 8 ? (int)(p->k - k) : 8;
		__m256i have = mask_of(left);
#pragma GCC unroll 8
		for (int r = 0; r < 8; r++) {
			const float *from = row[r < p->w ? r : 0] + k;
			v[r] = left == 8 ? _mm256_loadu_ps(from) : _mm256_maskload_ps(from, have);
		}
		transpose8(v);
#pragma GCC unroll 8
		for (int i = 0; i < 8; i++, dst += p->ld) {
			if (i >= left)
				break;
			_mm256_storeu_ps(dst, v[i]);
		}
	}
}

static void expand(const ls_panel *p, const float *x, const ls_patch_plan *plan)
{
	const __m256i bit = _mm256_setr_epi32(1, 2, 4, 8, 16, 32, 64, 128);
	float *dst = p->dst;
	int64_t slot = 0;
	uintptr_t base = (uintptr_t)x; // lane 0 may lie before the tensor; only lanes of the mask are read
	for (int64_t k = 0; k < p->k; k++, dst += p->ld) {
		__m256 v = _mm256_setzero_ps();
		for (int32_t e = plan->start[slot]; e < plan->start[slot + 1]; e++) {
			const ls_tap *tap = &plan->tap[e];
			const float *from = (const float *)(base + (uintptr_t)(tap->offset * (int64_t)sizeof(float)));
			__m256i mask = _mm256_cmpeq_epi32(_mm256_and_si256(_mm256_set1_epi32((int)tap->mask), bit), bit);
			v = _mm256_or_ps(v, _mm256_maskload_ps(from, mask)); // each lane has one tap at most
		}
		_mm256_storeu_ps(dst, v);
		if (++slot == plan->slots) {
			slot = 0;
			base += (uintptr_t)plan->plane * sizeof(float);
		}
	}
}

void ls_kernel__pack32_avx2(ls_kernel_table *t)
{
	t->narrow = (ls_packers){sizeof(float), 8, copy, transpose, expand};
}

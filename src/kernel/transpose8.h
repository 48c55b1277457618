/* An 8 × 8 block of FP32 turned in registers: v[r] holds row r on entry and, on return, element r of every row. */
#ifndef LS_KERNEL_TRANSPOSE8_H
#define LS_KERNEL_TRANSPOSE8_H

#include <immintrin.h>

static inline __attribute__((always_inline)) void transpose8(__m256 v[8])
{
	__m256 a[8], b[8];
	for (int i = 0; i < 8; i += 2) { // pairs of rows interleaved
		a[i] = _mm256_unpacklo_ps(v[i], v[i + 1]);
		a[i + 1] = _mm256_unpackhi_ps(v[i], v[i + 1]);
	}
	for (int i = 0; i < 8; i += 4) { // quarters: four rows of one column in each 128-bit half
		b[i] = _mm256_shuffle_ps(a[i], a[i + 2], 0x44);
		b[i + 1] = _mm256_shuffle_ps(a[i], a[i + 2], 0xee);
		b[i + 2] = _mm256_shuffle_ps(a[i + 1], a[i + 3], 0x44);
		b[i + 3] = _mm256_shuffle_ps(a[i + 1], a[i + 3], 0xee);
	}
	for (int i = 0; i < 4; i++) { // halves: columns 0…3 come from the low ones, 4…7 from the high ones
		v[i] = _mm256_permute2f128_ps(b[i], b[i + 4], 0x20);
		v[i + 4] = _mm256_permute2f128_ps(b[i], b[i + 4], 0x31);
	}
}

#endif

/* The words that vectors state by a generator (tests/vectors/README.md). */
#ifndef LS_TEST_NUM_GEN_H
#define LS_TEST_NUM_GEN_H

#include "base/vectors.h"

#include <lockstep/num.h>

static inline uint32_t gen_number(uint32_t seed, uint64_t step, uint64_t index)
{
	return ls_random_u32(&(ls_stream){seed, LS_PURPOSE_TEST, step}, index);
}

static inline uint32_t gen_word(uint32_t w, int64_t low, int64_t span, int bits)
{
	uint32_t field = (uint32_t)(low + (int64_t)(w >> 23 & 255) % span);
	return (w & UINT32_C(0x80000000)) | field << 23 | ((w & UINT32_C(0x7fffff)) & ~((UINT32_C(1) << (LS_GRID_MAX - bits)) - 1));
}

/* Number i of the generator whose three words begin at `word`, on the 32-bit grid. */
static inline float gen_at(const vectors *v, int word, int64_t i)
{
	uint32_t w = gen_number((uint32_t)vectors_int(v, word), 0, (uint64_t)i);
	return ls_f32_bits(gen_word(w, vectors_int(v, word + 1), vectors_int(v, word + 2), LS_GRID_MAX));
}

#endif

/* Two SHA-256 messages at once on the processor's SHA instructions. Compiled for them, run only where sha256.c found
 * them and saw this file agree with libcrypto.
 *
 * One message is a chain: each sha256rnds2 waits for the one before, so the unit idles most of the time. Two chains
 * fill it (measured on a Zen 4: one stream 1.83 GB/s, two 3.50, three 3.60, four 3.01, for which registers no longer
 * suffice). Leaves of chunks and nodes of one level are independent messages of one length, which is all this takes.
 *
 * The instructions keep the state as (A, B, E, F) and (C, D, G, H), highest lane first. */
#include "commit/sha256.h"

#include <immintrin.h>

static const uint32_t K[64] __attribute__((aligned(16))) = {
	0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5, 0xd807aa98, 0x12835b01, 0x243185be,
	0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174, 0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa,
	0x5cb0a9dc, 0x76f988da, 0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967, 0x27b70a85,
	0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85, 0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3,
	0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070, 0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f,
	0x682e6ff3, 0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

/* Bytes: where the next pair of chunks lies. The two streams jump too often for the processor to foresee it: states that do
 * not fit into its caches took a fifth longer. Reading ahead of the end touches nothing. */
#define AHEAD 2048

typedef struct stream {
	__m128i abef, cdgh;
	__m128i w[4]; // the last 16 words of the message schedule
} stream;

/* Big-endian words of the message to lanes, and back. */
static inline __m128i swap(__m128i words)
{
	return _mm_shuffle_epi8(words, _mm_set_epi64x(0x0c0d0e0f08090a0b, 0x0405060700010203));
}

/* Rounds 4g to 4g+3. */
static inline void four_rounds(stream *s, int g, const uint8_t *block)
{
	__m128i x, *w = s->w;
	if (g < 4) {
		w[g] = swap(_mm_loadu_si128((const __m128i *)(block + 16 * g)));
	} else {
		x = _mm_add_epi32(_mm_sha256msg1_epu32(w[g & 3], w[(g + 1) & 3]), _mm_alignr_epi8(w[(g + 3) & 3], w[(g + 2) & 3], 4));
		w[g & 3] = _mm_sha256msg2_epu32(x, w[(g + 3) & 3]);
	}
	x = _mm_add_epi32(w[g & 3], _mm_load_si128((const __m128i *)(K + 4 * g)));
	s->cdgh = _mm_sha256rnds2_epu32(s->cdgh, s->abef, x);
	s->abef = _mm_sha256rnds2_epu32(s->abef, s->cdgh, _mm_shuffle_epi32(x, 0x0e));
}

static inline void two_blocks(stream *s, stream *t, const uint8_t *a, const uint8_t *b)
{
	const stream s0 = *s, t0 = *t;
#pragma GCC unroll 16
	for (int g = 0; g < 16; g++) {
		four_rounds(s, g, a);
		four_rounds(t, g, b);
	}
	s->abef = _mm_add_epi32(s->abef, s0.abef);
	s->cdgh = _mm_add_epi32(s->cdgh, s0.cdgh);
	t->abef = _mm_add_epi32(t->abef, t0.abef);
	t->cdgh = _mm_add_epi32(t->cdgh, t0.cdgh);
}

static inline stream start(void)
{
	stream s = {.abef = _mm_set_epi32(0x6a09e667, (int)0xbb67ae85, 0x510e527f, (int)0x9b05688c),
	            .cdgh = _mm_set_epi32(0x3c6ef372, (int)0xa54ff53a, 0x1f83d9ab, 0x5be0cd19)};
	return s;
}

static inline void finish(ls_hash *out, const stream *s)
{
	__m128i abcd = _mm_unpackhi_epi64(s->cdgh, s->abef); // lanes D C B A, lowest first
	__m128i efgh = _mm_unpacklo_epi64(s->cdgh, s->abef);
	_mm_storeu_si128((__m128i *)out->byte, swap(_mm_shuffle_epi32(abcd, 0x1b)));
	_mm_storeu_si128((__m128i *)(out->byte + 16), swap(_mm_shuffle_epi32(efgh, 0x1b)));
}

void ls_commit__sha256_two_shani(ls_hash *a, ls_hash *b, const ls_commit__blocks *parts, int count)
{
	stream s = start(), t = start();
	for (int i = 0; i < count; i++)
		for (size_t block = 0; block < parts[i].blocks; block++) {
			_mm_prefetch((const char *)parts[i].a + 64 * block + AHEAD, _MM_HINT_T0);
			_mm_prefetch((const char *)parts[i].b + 64 * block + AHEAD, _MM_HINT_T0);
			two_blocks(&s, &t, parts[i].a + 64 * block, parts[i].b + 64 * block);
		}
	finish(a, &s);
	finish(b, &t);
}

/* Sample order: a keyed bijection of 0…n−1, so that one position costs a few Philox blocks and nothing is stored.
 *
 * A balanced Feistel network permutes the numbers of 2h bits, h the least with 2^2h ≥ n (at least 1). A result ≥ n goes
 * through again until one is < n (cycle walking): still a bijection, since each number below n is on a cycle that
 * returns below n. 2^2h < 4n for n > 1, so fewer than four passes are expected.
 *
 *   x = left·2^h + right; round i = 0…5: (left, right) ← (right, left xor (F_i(right) mod 2^h))
 *   F_i(v) = word 0 of Philox with key (seed, LS_PURPOSE_ORDER), counter (v, i, epoch low, epoch high)
 *
 * Six rounds: with four, a Feistel network on random functions is known to look like a random permutation only up to
 * about 2^(h/2) looked-up positions, and a whole epoch looks up all of them; from five or six on the bound is near 2^h.
 */
#include <lockstep/num.h>

#define FEISTEL_ROUNDS 6

static int half_bits(uint64_t n)
{
	int bits = n > 1 ? 64 - __builtin_clzll(n - 1) : 1;
	return (bits + 1) / 2;
}

static uint64_t permute(uint64_t x, int half, uint32_t seed, uint64_t epoch)
{
	uint32_t key[2] = {seed, LS_PURPOSE_ORDER}, mask = UINT32_MAX >> (32 - half);
	uint32_t left = (uint32_t)(x >> half), right = (uint32_t)x & mask;
	for (uint32_t round = 0; round < FEISTEL_ROUNDS; round++) {
		uint32_t counter[4] = {right, round, (uint32_t)epoch, (uint32_t)(epoch >> 32)}, out[4];
		ls_philox(out, counter, key);
		out[0] = left ^ (out[0] & mask);
		left = right;
		right = out[0];
	}
	return (uint64_t)left << half | right;
}

uint64_t ls_shuffle(uint32_t seed, uint64_t epoch, uint64_t position, uint64_t n)
{
	int half = half_bits(n);
	uint64_t x = n ? position % n : 0; /* from ≥ n a walk need not come back below n */
	if (n <= 1)
		return 0;
	do
		x = permute(x, half, seed, epoch);
	while (x >= n);
	return x;
}

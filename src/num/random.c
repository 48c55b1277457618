#include <lockstep/num.h>

#define PHILOX_ROUNDS 10

void ls_philox(uint32_t out[4], const uint32_t counter[4], const uint32_t key[2])
{
	uint32_t c0 = counter[0], c1 = counter[1], c2 = counter[2], c3 = counter[3], k0 = key[0], k1 = key[1];
	for (int round = 0; round < PHILOX_ROUNDS; round++) {
		uint64_t p = UINT64_C(0xd2511f53) * c0, q = UINT64_C(0xcd9e8d57) * c2;
		c0 = (uint32_t)(q >> 32) ^ c1 ^ k0;
		c1 = (uint32_t)q;
		c2 = (uint32_t)(p >> 32) ^ c3 ^ k1;
		c3 = (uint32_t)p;
		k0 += UINT32_C(0x9e3779b9);
		k1 += UINT32_C(0xbb67ae85);
	}
	out[0] = c0;
	out[1] = c1;
	out[2] = c2;
	out[3] = c3;
}

uint32_t ls_random_u32(const ls_stream *stream, uint64_t index)
{
	uint64_t block = index / 4;
	uint32_t counter[4] = {(uint32_t)block, (uint32_t)(block >> 32), (uint32_t)stream->step,
	                       (uint32_t)(stream->step >> 32)};
	uint32_t key[2] = {stream->seed, stream->purpose}, out[4];
	ls_philox(out, counter, key);
	return out[index % 4];
}

uint32_t ls_random_below(const ls_stream *stream, uint64_t index, uint32_t n)
{
	return (uint32_t)((uint64_t)ls_random_u32(stream, index) * n >> 32);
}

double ls_random_uniform(const ls_stream *stream, uint64_t index)
{
	return (ls_random_u32(stream, index) + 0.5) * 0x1p-32; /* 33 bits: exact */
}

/* u1 may round to 1; the logarithm is then 0 and so is the normal, as +0. */
double ls_random_normal(const ls_stream *stream, uint64_t index)
{
	double radius = ls_sqrt(-2.0 * ls_log_f64((float)ls_random_uniform(stream, 2 * index)));
	return radius * ls_cospi(2.0 * ls_random_uniform(stream, 2 * index + 1)) + 0.0;
}

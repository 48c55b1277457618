/* Panels of FP64 and FP32, eight lanes at a time. A panel is read in one of two ways. By rows, where lanes lie in few runs
 * side by side: for every term a run is loaded at its lanes. By terms: eight terms of every row are loaded, and a block of 8 × 8 is
 * transposed.
 */
#include "kernel/table.h"
#include "kernel/transpose8.h"

enum { LANES = 8, HALF = LANES / 2 };
#define INLINE static inline __attribute__((always_inline))

static __m256i mask64(int lanes)
{
	return _mm256_cmpgt_epi64(_mm256_set1_epi64x(lanes), _mm256_setr_epi64x(0, 1, 2, 3));
}

static __m256i mask32(int lanes)
{
	return _mm256_cmpgt_epi32(_mm256_set1_epi32(lanes), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}

// ---- where terms go; `wide` is a constant in every call ----

struct sink {
	const ls_panel *p;
	__m256d low, high;  // sums of squares of lanes 0…3 and 4…7
	int64_t exact;      // from this term on, nothing may be written behind lane w
	uint8_t *nonzero;   // which lanes of a term are
};

// Masked stores are slow on some processors. Where panels lie one behind the other, what is written behind a term's lanes is
// overwritten by the next one's, up to the last few.
static int64_t first_exact(const ls_panel *p, int64_t terms)
{
	int reach = (LANES + p->w - 1) / p->w;
	if (p->w == LANES)
		return terms;
	return p->ld == p->w && terms >= reach ? terms + 1 - reach : 0;
}

INLINE void sink_begin(const bool wide, struct sink *s, const ls_panel *p, int64_t terms, uint8_t *nonzero)
{
	s->p = p;
	s->exact = first_exact(p, terms);
	s->nonzero = nonzero;
	s->low = s->high = _mm256_setzero_pd();
	if (wide && p->squares) {
		s->low = _mm256_maskload_pd(p->squares, mask64(p->w));
		s->high = _mm256_maskload_pd(p->squares + HALF, mask64(p->w - HALF));
	}
}

INLINE void put_wide(struct sink *s, int64_t k, __m256 v)
{
	const ls_panel *p = s->p;
	double *dst = (double *)p->dst + k * p->ld;
	__m256d low = _mm256_cvtps_pd(_mm256_castps256_ps128(v)), high = _mm256_cvtps_pd(_mm256_extractf128_ps(v, 1));
	if (k < s->exact) {
		_mm256_storeu_pd(dst, low);
		_mm256_storeu_pd(dst + HALF, high);
	} else {
		_mm256_maskstore_pd(dst, mask64(p->w), low);
		_mm256_maskstore_pd(dst + HALF, mask64(p->w - HALF), high);
	}
	if (p->squares) {
		s->low = _mm256_fmadd_pd(low, low, s->low);
		s->high = _mm256_fmadd_pd(high, high, s->high);
	}
	if (p->support)
		s->nonzero[k] = (uint8_t)_mm256_movemask_ps(_mm256_cmp_ps(v, _mm256_setzero_ps(), _CMP_NEQ_UQ));
}

INLINE void put_narrow(struct sink *s, int64_t k, __m256 v)
{
	float *dst = (float *)s->p->dst + k * s->p->ld;
	if (k < s->exact)
		_mm256_storeu_ps(dst, v);
	else
		_mm256_maskstore_ps(dst, mask32(s->p->w), v);
}

INLINE void put(const bool wide, struct sink *s, int64_t k, __m256 v)
{
	if (wide)
		put_wide(s, k, v);
	else
		put_narrow(s, k, v);
}

// Bit r of nonzero[k] becomes bit k of row r's words.
static void turn_support(const ls_panel *p, uint8_t *nonzero, int64_t terms)
{
	for (int64_t k = terms; k % 64; k++)
		nonzero[k] = 0;
	for (int64_t k = 0; k < terms; k += 64) {
		__m256i first = _mm256_loadu_si256((const void *)(nonzero + k)), second = _mm256_loadu_si256((const void *)(nonzero + k + 32));
		for (int r = 0; r < p->n; r++) {
			__m128i to_top = _mm_cvtsi32_si128(LANES - 1 - r); // of its byte, where movemask looks
			uint32_t low = (uint32_t)_mm256_movemask_epi8(_mm256_sll_epi16(first, to_top));
			uint32_t high = (uint32_t)_mm256_movemask_epi8(_mm256_sll_epi16(second, to_top));
			p->support[k / 64 * p->stride + r] = (uint64_t)high << 32 | low;
		}
	}
}

INLINE void sink_end(const bool wide, struct sink *s, int64_t terms)
{
	if (wide && s->p->squares) {
		_mm256_maskstore_pd(s->p->squares, mask64(s->p->w), s->low);
		_mm256_maskstore_pd(s->p->squares + HALF, mask64(s->p->w - HALF), s->high);
	}
	if (wide && s->p->support)
		turn_support(s->p, s->nonzero, terms);
}

// ---- by rows ----

// Lanes that lie side by side; `offset` is where lane 0 would.
struct run {
	__m256i lanes;
	int64_t offset;
};

static int find_runs(const int64_t *row, int n, struct run *out)
{
	int count = 0;
	for (int lane = 0, end; lane < n; lane = end) {
		for (end = lane + 1; end < n && row[end] == row[end - 1] + 1; end++)
			;
		out[count].lanes = _mm256_andnot_si256(mask32(lane), mask32(end));
		out[count++].offset = row[lane] - lane;
	}
	return count;
}

// Lane 0 may lie before the tensor; only lanes of the mask are read.
INLINE __m256 read_run(const struct run *run, const float *x, int64_t offset)
{
	uintptr_t at = (uintptr_t)x + (uintptr_t)(run->offset + offset) * sizeof *x;
	return _mm256_maskload_ps((const float *)at, run->lanes);
}

INLINE void by_rows(const bool wide, struct sink *s, const float *x, const ls_terms *terms, const struct run *run, int count)
{
	for (int64_t k = 0; k < terms->count; k++) {
		__m256 v = read_run(&run[0], x, terms->offset[k]);
		for (int i = 1; i < count; i++)
			v = _mm256_or_ps(v, read_run(&run[i], x, terms->offset[k]));
		put(wide, s, k, v);
	}
}

// ---- by terms ----

// Eight terms, of which there are `have`, of one row.
INLINE __m256 read_group(const float *x, const int64_t *offset, ls_group group, int have)
{
	float v[LS_GROUP_TERMS] = {0};
	if (group == LS_GROUP_RUN && have == LS_GROUP_TERMS)
		return _mm256_loadu_ps(x + offset[0]);
	if (group == LS_GROUP_RUN)
		return _mm256_maskload_ps(x + offset[0], mask32(have));
	if (group == LS_GROUP_HALVES)
		return _mm256_insertf128_ps(_mm256_castps128_ps256(_mm_loadu_ps(x + offset[0])), _mm_loadu_ps(x + offset[4]), 1);
	for (int i = 0; i < have; i++)
		v[i] = x[offset[i]];
	return _mm256_loadu_ps(v);
}

INLINE void by_terms(const bool wide, struct sink *s, const float *x, const int64_t *row, const ls_terms *terms)
{
	for (int64_t k = 0; k < terms->count; k += LS_GROUP_TERMS) {
		int have = terms->count - k < LS_GROUP_TERMS ? (int)(terms->count - k) : LS_GROUP_TERMS;
		ls_group group = (ls_group)terms->group[k / LS_GROUP_TERMS];
		__m256 v[8];
#pragma GCC unroll 8
		for (int r = 0; r < 8; r++)
			v[r] = r < s->p->n ? read_group(x + row[r], terms->offset + k, group, have) : _mm256_setzero_ps();
		transpose8(v);
#pragma GCC unroll 8
		for (int i = 0; i < 8; i++) {
			if (i >= have)
				break;
			put(wide, s, k + i, v[i]);
		}
	}
}

INLINE void pack(const bool wide, const ls_panel *p, const float *x, const int64_t *row, const ls_terms *terms)
{
	struct run run[LANES] = {{_mm256_setzero_si256(), 0}};
	uint8_t nonzero[LS_BLOCK_TERMS];
	struct sink s;
	int count = find_runs(row, p->n, run);
	sink_begin(wide, &s, p, terms->count, nonzero);
	if (count && 2 * count <= terms->cost)
		by_rows(wide, &s, x, terms, run, count);
	else
		by_terms(wide, &s, x, row, terms);
	sink_end(wide, &s, terms->count);
}

static void pack_wide(const ls_panel *p, const float *x, const int64_t *row, const ls_terms *terms)
{
	pack(true, p, x, row, terms);
}

static void pack_narrow(const ls_panel *p, const float *x, const int64_t *row, const ls_terms *terms)
{
	pack(false, p, x, row, terms);
}

void ls_kernel__pack_avx2(ls_kernel_table *t)
{
	t->wide = (ls_packers){sizeof(double), LANES, pack_wide};
	t->narrow = (ls_packers){sizeof(float), LANES, pack_narrow};
}

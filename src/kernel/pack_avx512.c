/* Panels of FP64 and FP32, sixteen lanes at a time. A panel is read in one of two ways, whichever takes fewer instructions.
 * By rows: the lanes' offsets fall into a few windows of at most 32 numbers; for every term a window is loaded and permuted into
 * its lanes. By terms: eight terms of every row are loaded, and blocks of 8 × 8 are transposed.
 */
#include "kernel/table.h"
#include "kernel/transpose8.h"

enum { LANES = LS_PANEL_LANES, HALF = LANES / 2, WINDOW = 2 * LANES, LINE = 16, AHEAD = 2 * LINE }; // in numbers
#define INLINE static inline __attribute__((always_inline))

// ---- where terms go; `wide` and `half` are constants in every call ----

struct sink {
	const ls_panel *p;
	__m512d squares[2]; // sums of lanes 0…7 and 8…15
	int64_t exact[2];   // from this term on, nothing may be written behind lane w
	__mmask16 lanes;    // w of them
	uint8_t *nonzero;   // which lanes of a term are, lanes 0…7 and 8…15 in turn
};

/* Masked stores are many times as slow as plain ones on some processors. Where panels lie one behind the other, what is written
 * behind a term's lanes is overwritten by the next one's, up to the last few: lanes 8…15 are written no later than lanes 0…7 of the
 * next term. */
static int64_t first_exact(const ls_panel *p, int64_t terms)
{
	int whole = p->w > HALF ? LANES : HALF, reach = (whole + p->w - 1) / p->w;
	if (p->w == whole)
		return terms;
	return p->ld == p->w && terms >= reach ? terms + 1 - reach : 0;
}

INLINE void sink_begin(const bool wide, struct sink *s, const ls_panel *p, int64_t terms, uint8_t *nonzero)
{
	s->p = p;
	s->nonzero = nonzero;
	s->exact[0] = p->w > HALF ? terms : first_exact(p, terms);
	s->exact[1] = first_exact(p, terms);
	s->lanes = (__mmask16)((UINT32_C(1) << p->w) - 1);
	s->squares[0] = s->squares[1] = _mm512_setzero_pd();
	if (wide && p->squares) {
		s->squares[0] = _mm512_maskz_loadu_pd((__mmask8)s->lanes, p->squares);
		s->squares[1] = _mm512_maskz_loadu_pd((__mmask8)(s->lanes >> HALF), p->squares + HALF);
	}
}

INLINE void put_half(const bool wide, const int half, struct sink *s, int64_t k, __m256 v)
{
	const ls_panel *p = s->p;
	int64_t at = k * p->ld + half * HALF;
	__mmask8 lanes = (__mmask8)(s->lanes >> (half * HALF));
	__m512d x = _mm512_cvtps_pd(v);
	if (!wide && k < s->exact[half])
		_mm256_storeu_ps((float *)p->dst + at, v);
	else if (!wide)
		_mm256_mask_storeu_ps((float *)p->dst + at, lanes, v);
	else if (k < s->exact[half])
		_mm512_storeu_pd((double *)p->dst + at, x);
	else
		_mm512_mask_storeu_pd((double *)p->dst + at, lanes, x);
	if (wide && p->squares)
		s->squares[half] = _mm512_fmadd_pd(x, x, s->squares[half]);
	if (wide && p->support)
		s->nonzero[2 * k + half] = _mm256_cmp_ps_mask(v, _mm256_setzero_ps(), _CMP_NEQ_UQ);
}

INLINE void put(const bool wide, struct sink *s, int64_t k, __m512 v)
{
	put_half(wide, 0, s, k, _mm512_castps512_ps256(v));
	if (s->p->w > HALF)
		put_half(wide, 1, s, k, _mm512_extractf32x8_ps(v, 1));
}

// Lane r's bit of term k becomes bit k of row r's words.
static void turn_support(const ls_panel *p, uint8_t *nonzero, int64_t terms)
{
	for (int64_t k = terms; k % 64; k++)
		nonzero[2 * k] = nonzero[2 * k + 1] = 0;
	for (int64_t k = 0; k < terms; k += 64) {
		__m512i first = _mm512_loadu_si512(nonzero + 2 * k), second = _mm512_loadu_si512(nonzero + 2 * k + 64);
		for (int r = 0; r < p->n; r++) {
			__m512i bit = _mm512_set1_epi16((short)(1 << r));
			uint64_t low = _mm512_test_epi16_mask(first, bit), high = _mm512_test_epi16_mask(second, bit);
			p->support[k / 64 * p->stride + r] = high << 32 | low;
		}
	}
}

INLINE void sink_end(const bool wide, struct sink *s, int64_t terms)
{
	if (wide && s->p->squares) {
		_mm512_mask_storeu_pd(s->p->squares, (__mmask8)s->lanes, s->squares[0]);
		_mm512_mask_storeu_pd(s->p->squares + HALF, (__mmask8)(s->lanes >> HALF), s->squares[1]);
	}
	if (wide && s->p->support)
		turn_support(s->p, s->nonzero, terms);
}

// ---- by rows ----

// Lanes that lie within a window, which begins at `offset`.
struct window {
	__m512i index;         // of each lane's number in the window
	int64_t offset;
	__mmask16 lanes;
	__mmask16 first, rest; // numbers that are needed of the two halves
	bool plain;            // lane r is number r
};

static struct window make_window(const int64_t *row, int lane, int end, int64_t least)
{
	struct window w = {.offset = least, .lanes = (__mmask16)((UINT32_C(1) << end) - (UINT32_C(1) << lane)), .plain = true};
	int32_t index[LANES] = {0};
	uint32_t numbers = 0;
	for (int r = lane; r < end; r++) {
		index[r] = (int32_t)(row[r] - least);
		numbers |= UINT32_C(1) << index[r];
		w.plain &= index[r] == r;
	}
	w.index = _mm512_loadu_si512(index);
	w.first = (__mmask16)numbers;
	w.rest = (__mmask16)(numbers >> LANES);
	return w;
}

static int find_windows(const int64_t *row, int n, struct window *out)
{
	int count = 0;
	for (int lane = 0, end; lane < n; lane = end) {
		int64_t least = row[lane], most = least;
		for (end = lane + 1; end < n; end++) {
			int64_t low = row[end] < least ? row[end] : least, high = row[end] > most ? row[end] : most;
			if (high - low >= WINDOW)
				break;
			least = low;
			most = high;
		}
		out[count++] = make_window(row, lane, end, least);
	}
	return count;
}

static int cost_of_windows(const struct window *window, int count)
{
	int cost = 0;
	for (int i = 0; i < count; i++)
		cost += window[i].plain ? 1 : window[i].rest ? 4 : 3;
	return cost;
}

INLINE __m512 read_window(const struct window *w, const float *x)
{
	__m512 v = _mm512_maskz_loadu_ps(w->first, x + w->offset);
	if (w->rest) // well predicted: it is the same for all terms
		return _mm512_maskz_permutex2var_ps(w->lanes, v, w->index, _mm512_maskz_loadu_ps(w->rest, x + w->offset + LANES));
	return _mm512_maskz_permutexvar_ps(w->lanes, w->index, v);
}

// `count` is a constant in most calls.
INLINE void read_windows(const bool wide, struct sink *s, const float *x, const ls_terms *terms, const struct window *window,
                         const int count)
{
	int64_t end = window[count - 1].offset + WINDOW; // about where the next panel begins
	for (int64_t k = 0; k < terms->count; k++) {
		const float *at = x + terms->offset[k];
		__m512 v = read_window(&window[0], at);
		_mm_prefetch((const char *)(at + end), _MM_HINT_T0);
		for (int i = 1; i < count; i++)
			v = _mm512_or_ps(v, read_window(&window[i], at));
		put(wide, s, k, v);
	}
}

INLINE void by_rows(const bool wide, struct sink *s, const float *x, const ls_terms *terms, const struct window *window, int count)
{
	if (count == 1 && window->plain)
		for (int64_t k = 0; k < terms->count; k++) {
			const float *at = x + window->offset + terms->offset[k];
			_mm_prefetch((const char *)(at + LANES), _MM_HINT_T0); // the next panel's; terms are often whole pages apart
			put(wide, s, k, _mm512_maskz_loadu_ps(window->lanes, at));
		}
	else if (count == 1)
		read_windows(wide, s, x, terms, window, 1);
	else if (count == 2)
		read_windows(wide, s, x, terms, window, 2);
	else
		read_windows(wide, s, x, terms, window, count);
}

// ---- by terms ----

// Which numbers behind the first a group reads, and each term's among them; 0 for terms that there are not.
INLINE uint32_t find_index(const int64_t *offset, int have, __m512i *index)
{
	__m512i at = _mm512_maskz_loadu_epi64((__mmask8)((1u << have) - 1), offset);
	at = _mm512_maskz_sub_epi64((__mmask8)((1u << have) - 1), at, _mm512_set1_epi64(offset[0]));
	*index = _mm512_zextsi256_si512(_mm512_cvtepi64_epi32(at));
	return (uint32_t)_mm512_reduce_or_epi64(_mm512_sllv_epi64(_mm512_set1_epi64(1), at));
}

static __m256 read_scattered(const float *x, const int64_t *offset, int have)
{
	float v[LS_GROUP_TERMS] = {0};
	for (int i = 0; i < have; i++)
		v[i] = x[offset[i]];
	return _mm256_loadu_ps(v);
}

// Eight terms, of which there are `have`, of eight rows.
INLINE void read_eight(__m256 v[8], const float *x, const int64_t *row, const int64_t *offset, ls_group group, int have)
{
#define EACH_ROW(value) _Pragma("GCC unroll 8") for (int r = 0; r < 8; r++) { const float *at = x + row[r]; v[r] = (value); }
	__m512i index;
	uint32_t numbers;
	__mmask16 first, rest;
	switch (group) {
	case LS_GROUP_RUN:
		numbers = (UINT32_C(1) << have) - 1;
		EACH_ROW(_mm256_maskz_loadu_ps((__mmask8)numbers, at + offset[0]))
		break;
	case LS_GROUP_NEAR:
		numbers = find_index(offset, have, &index);
		first = (__mmask16)numbers;
		EACH_ROW(_mm512_castps512_ps256(_mm512_permutexvar_ps(index, _mm512_maskz_loadu_ps(first, at + offset[0]))))
		break;
	case LS_GROUP_WIDE:
		numbers = find_index(offset, have, &index);
		first = (__mmask16)numbers;
		rest = (__mmask16)(numbers >> LANES);
		EACH_ROW(_mm512_castps512_ps256(_mm512_permutex2var_ps(_mm512_maskz_loadu_ps(first, at + offset[0]), index,
		                                                       _mm512_maskz_loadu_ps(rest, at + offset[0] + LANES))))
		break;
	case LS_GROUP_HALVES:
		EACH_ROW(_mm256_insertf128_ps(_mm256_castps128_ps256(_mm_loadu_ps(at + offset[0])), _mm_loadu_ps(at + offset[4]), 1))
		break;
	default:
		EACH_ROW(read_scattered(at, offset, have))
		break;
	}
#undef EACH_ROW
	transpose8(v);
}

// Lanes 8·half … 8·half+7, for all terms: as many rows as a set of the first cache has lines, should rows be whole pages apart.
INLINE void by_terms(const bool wide, const int half, struct sink *s, const float *x, const int64_t *rows, const ls_terms *terms)
{
	int n = s->p->n - half * HALF;
	__mmask8 lanes;
	int64_t row[HALF];
	if (n <= 0) { // no row lies here, so there is no address that may be read
		for (int64_t k = 0; k < terms->count; k++)
			put_half(wide, half, s, k, _mm256_setzero_ps());
		return;
	}
	lanes = n >= HALF ? 0xff : (__mmask8)((1u << n) - 1);
	for (int r = 0; r < HALF; r++)
		row[r] = rows[r < n ? half * HALF + r : 0];
	for (int64_t k = 0; k < terms->count; k += LS_GROUP_TERMS) {
		int have = terms->count - k < LS_GROUP_TERMS ? (int)(terms->count - k) : LS_GROUP_TERMS;
		__m256 v[8];
		if (k % LINE == 0 && k + AHEAD < terms->count)
			for (int r = 0; r < HALF; r++)
				_mm_prefetch((const char *)(x + row[r] + terms->offset[k + AHEAD]), _MM_HINT_T0);
		read_eight(v, x, row, terms->offset + k, (ls_group)terms->group[k / LS_GROUP_TERMS], have);
#pragma GCC unroll 8
		for (int i = 0; i < 8; i++) {
			if (i >= have)
				break;
			put_half(wide, half, s, k + i, _mm256_maskz_mov_ps(lanes, v[i]));
		}
	}
}

INLINE void pack(const bool wide, const ls_panel *p, const float *x, const int64_t *row, const ls_terms *terms)
{
	struct window window[LANES];
	uint8_t nonzero[2 * LS_BLOCK_TERMS];
	struct sink s;
	int count = find_windows(row, p->n, window);
	sink_begin(wide, &s, p, terms->count, nonzero);
	if (count && cost_of_windows(window, count) <= terms->cost * (p->n > HALF ? 2 : 1)) {
		by_rows(wide, &s, x, terms, window, count);
	} else {
		if (p->w > HALF)
			by_terms(wide, 1, &s, x, row, terms);
		by_terms(wide, 0, &s, x, row, terms);
	}
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

void ls_kernel__pack_avx512(ls_kernel_table *t)
{
	t->wide = (ls_packers){sizeof(double), LANES, pack_wide};
	t->narrow = (ls_packers){sizeof(float), LANES, pack_narrow};
}

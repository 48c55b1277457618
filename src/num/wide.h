/* Arithmetic on ls_wide, the 704-bit fixed point that holds E and S. Callers keep values below 2^703; 2^21 terms with a
 * 63-bit depth, scaled by 2^10, stay below 2^650 units. */
#ifndef LOCKSTEP_NUM_WIDE_H
#define LOCKSTEP_NUM_WIDE_H

#include <lockstep/num.h>

#define LS_WIDE_BITS (64 * LS_WIDE_LIMBS)

/* The bit that weighs 2^0. */
#define LS_WIDE_ONE 298

/* ⌈terms/32⌉; terms ≥ 0. */
static inline int64_t ls_num__chunks(int64_t terms)
{
	return (terms + LS_CHUNK_TERMS - 1) / LS_CHUNK_TERMS;
}

/* low + 2^64·high = a·b */
static inline uint64_t ls_num__mul_u64(uint64_t a, uint64_t b, uint64_t *high)
{
	uint64_t al = (uint32_t)a, ah = a >> 32, bl = (uint32_t)b, bh = b >> 32;
	uint64_t ll = al * bl, lh = al * bh, hl = ah * bl;
	uint64_t middle = (ll >> 32) + (uint32_t)lh + (uint32_t)hl;
	*high = ah * bh + (lh >> 32) + (hl >> 32) + (middle >> 32);
	return (middle << 32) | (uint32_t)ll;
}

/* w += (low + 2^64·high)·2^(64·at). Almost always touches two limbs; the loop is the rare carry. */
static inline void ls_num__wide_add_at(ls_wide *w, uint64_t low, uint64_t high, int at)
{
	uint64_t carry, sum = w->limb[at] + low;
	carry = sum < low;
	w->limb[at] = sum;
	if (at + 1 >= LS_WIDE_LIMBS)
		return;
	sum = w->limb[at + 1] + carry;
	carry = sum < carry;
	w->limb[at + 1] = sum + high;
	carry += w->limb[at + 1] < high;
	for (int i = at + 2; carry && i < LS_WIDE_LIMBS; i++) {
		w->limb[i] += carry;
		carry = w->limb[i] < carry;
	}
}

/* w −= (low + 2^64·high)·2^(64·at), modulo 2^704. */
static inline void ls_num__wide_sub_at(ls_wide *w, uint64_t low, uint64_t high, int at)
{
	uint64_t before = w->limb[at], borrow = before < low;
	w->limb[at] = before - low;
	if (at + 1 >= LS_WIDE_LIMBS)
		return;
	before = w->limb[at + 1];
	w->limb[at + 1] = before - high - borrow;
	borrow = before < high || before - high < borrow;
	for (int i = at + 2; borrow && i < LS_WIDE_LIMBS; i++) {
		before = w->limb[i];
		w->limb[i] = before - borrow;
		borrow = before < borrow;
	}
}

/* m·2^shift; 0 ≤ shift < LS_WIDE_BITS, bits beyond the top are lost. */
ls_wide ls_num__wide_from(uint64_t m, int shift);
bool ls_num__wide_negative(const ls_wide *w);
void ls_num__wide_negate(ls_wide *w);
void ls_num__wide_abs(ls_wide *w);
void ls_num__wide_add(ls_wide *w, const ls_wide *v);
void ls_num__wide_sub(ls_wide *w, const ls_wide *v);
/* Unsigned: −1, 0, 1. */
int ls_num__wide_compare(const ls_wide *a, const ls_wide *b);
/* Index of the highest set bit of an unsigned value; −1 for zero. */
int ls_num__wide_top(const ls_wide *w);
/* 0 ≤ shift < LS_WIDE_BITS */
void ls_num__wide_shift_left(ls_wide *w, int shift);
void ls_num__wide_multiply(ls_wide *w, uint64_t factor);
/* The 64 bits from bit `from` upwards, zeros beyond the top. */
uint64_t ls_num__wide_extract(const ls_wide *w, int from);
bool ls_num__wide_bit(const ls_wide *w, int at);
/* True iff a bit below bit `at` is set. */
bool ls_num__wide_any_below(const ls_wide *w, int at);

#endif

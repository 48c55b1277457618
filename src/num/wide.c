#include "num/wide.h"

ls_wide ls_num__wide_from(uint64_t m, int shift)
{
	ls_wide w = {{0}};
	int at = shift >> 6, by = shift & 63;
	w.limb[at] = m << by;
	if (by && at + 1 < LS_WIDE_LIMBS)
		w.limb[at + 1] = m >> (64 - by);
	return w;
}

bool ls_num__wide_negative(const ls_wide *w)
{
	return w->limb[LS_WIDE_LIMBS - 1] >> 63;
}

void ls_num__wide_negate(ls_wide *w)
{
	uint64_t carry = 1;
	for (int i = 0; i < LS_WIDE_LIMBS; i++) {
		w->limb[i] = ~w->limb[i] + carry;
		carry = carry && w->limb[i] == 0;
	}
}

void ls_num__wide_abs(ls_wide *w)
{
	if (ls_num__wide_negative(w))
		ls_num__wide_negate(w);
}

void ls_num__wide_add(ls_wide *w, const ls_wide *v)
{
	for (int i = 0; i < LS_WIDE_LIMBS; i++)
		ls_num__wide_add_at(w, v->limb[i], 0, i);
}

void ls_num__wide_sub(ls_wide *w, const ls_wide *v)
{
	for (int i = 0; i < LS_WIDE_LIMBS; i++)
		ls_num__wide_sub_at(w, v->limb[i], 0, i);
}

int ls_num__wide_compare(const ls_wide *a, const ls_wide *b)
{
	for (int i = LS_WIDE_LIMBS - 1; i >= 0; i--) {
		if (a->limb[i] != b->limb[i])
			return a->limb[i] < b->limb[i] ? -1 : 1;
	}
	return 0;
}

int ls_num__wide_top(const ls_wide *w)
{
	for (int i = LS_WIDE_LIMBS - 1; i >= 0; i--) {
		if (w->limb[i])
			return 64 * i + 63 - __builtin_clzll(w->limb[i]);
	}
	return -1;
}

void ls_num__wide_shift_left(ls_wide *w, int shift)
{
	int whole = shift >> 6, by = shift & 63;
	for (int i = LS_WIDE_LIMBS - 1; i >= 0; i--) {
		uint64_t here = i >= whole ? w->limb[i - whole] : 0;
		uint64_t below = i > whole ? w->limb[i - whole - 1] : 0;
		w->limb[i] = by ? here << by | below >> (64 - by) : here;
	}
}

void ls_num__wide_multiply(ls_wide *w, uint64_t factor)
{
	uint64_t carry = 0;
	for (int i = 0; i < LS_WIDE_LIMBS; i++) {
		uint64_t high, low = ls_num__mul_u64(w->limb[i], factor, &high);
		w->limb[i] = low + carry;
		carry = high + (w->limb[i] < carry);
	}
}

uint64_t ls_num__wide_extract(const ls_wide *w, int from)
{
	int at = from >> 6, by = from & 63;
	uint64_t low = at < LS_WIDE_LIMBS ? w->limb[at] >> by : 0;
	uint64_t high = by && at + 1 < LS_WIDE_LIMBS ? w->limb[at + 1] << (64 - by) : 0;
	return low | high;
}

bool ls_num__wide_bit(const ls_wide *w, int at)
{
	return w->limb[at >> 6] >> (at & 63) & 1;
}

bool ls_num__wide_any_below(const ls_wide *w, int at)
{
	int whole = at >> 6, by = at & 63;
	for (int i = 0; i < whole; i++) {
		if (w->limb[i])
			return true;
	}
	return by && (w->limb[whole] << (64 - by)) != 0;
}

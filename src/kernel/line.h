/* Copying and clearing a few numbers. */
#ifndef LS_KERNEL_LINE_H
#define LS_KERNEL_LINE_H

#include <stdint.h>
#include <string.h>

// Lines are short (a row of an image), where a call to memcpy costs more than the copy: whole pieces, the last of which
// overlaps the one before.
static inline void ls_line_copy(float *dst, const float *src, int64_t n)
{
	enum { WIDE = 8, NARROW = 4 };
	if (n >= WIDE) {
		for (int64_t i = 0; i + WIDE < n; i += WIDE)
			memcpy(dst + i, src + i, WIDE * sizeof *dst);
		memcpy(dst + n - WIDE, src + n - WIDE, WIDE * sizeof *dst);
	} else if (n >= NARROW) {
		memcpy(dst, src, NARROW * sizeof *dst);
		memcpy(dst + n - NARROW, src + n - NARROW, NARROW * sizeof *dst);
	} else {
		for (int64_t i = 0; i < n; i++)
			dst[i] = src[i];
	}
}

static inline void ls_line_clear(float *dst, int64_t n)
{
	for (int64_t i = 0; i < n; i++)
		dst[i] = 0;
}

#endif

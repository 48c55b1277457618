// The floating-point control word of this thread. Libraries change it (fast-math start-up code sets FTZ and DAZ), and
// then every subnormal result differs from everybody else's.
#include <lockstep/platform.h>

#if defined(__x86_64__) || defined(__SSE2__)

#include <xmmintrin.h>

bool ls_platform_control_ok(void)
{
	const unsigned flush_to_zero = 1u << 15, rounding = 3u << 13, denormals_are_zero = 1u << 6;
	return !(_mm_getcsr() & (flush_to_zero | rounding | denormals_are_zero));
}

#elif defined(__aarch64__)

bool ls_platform_control_ok(void)
{
	// FZ flushes to zero, RMode is the rounding mode; AH and FIZ are newer ways to treat subnormals otherwise
	const uint64_t fz = UINT64_C(1) << 24, rmode = UINT64_C(3) << 22, ah = 2, fiz = 1;
	uint64_t fpcr;
	__asm__ volatile("mrs %0, fpcr" : "=r"(fpcr));
	return !(fpcr & (fz | rmode | ah | fiz));
}

#else

// No known control word: look at what arithmetic does.
bool ls_platform_control_ok(void)
{
	volatile double one = 1, ulp = 0x1p-52, smallest = 0x1p-1022;
	volatile float smallest32 = 0x1p-126f;
	bool nearest = one + ulp / 2 == one && one + ulp * 0.75 > one && -one - ulp * 0.75 < -one;
	return nearest && smallest / 2 > 0 && smallest32 / 2 > 0;
}

#endif

#include <lockstep/base.h>

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void *ls_alloc(size_t count, size_t size)
{
	size_t bytes;
	void *p;
	if (__builtin_mul_overflow(count, size, &bytes) || bytes > SIZE_MAX / 2)
		return NULL;
	bytes = (bytes + 63) / 64 * 64; // aligned_alloc wants a multiple of the alignment
	p = aligned_alloc(64, bytes ? bytes : 64);
	if (p)
		memset(p, 0, bytes ? bytes : 64);
	return p;
}

void ls_free(void *p)
{
	free(p);
}

char *ls_strdup(const char *s)
{
	size_t len = strlen(s) + 1;
	char *copy = ls_alloc(len, 1);
	if (copy)
		memcpy(copy, s, len);
	return copy;
}

uint64_t ls_memory_bytes(void)
{
	long pages = sysconf(_SC_PHYS_PAGES), size = sysconf(_SC_PAGESIZE);
	return pages > 0 && size > 0 ? (uint64_t)pages * (uint64_t)size : UINT64_MAX;
}

#include <lockstep/program.h>

#include <stdio.h>

int64_t ls_shape_count(const ls_shape *shape)
{
	int64_t count = 1;
	for (int i = 0; i < shape->rank; i++)
		count *= shape->dim[i];
	return count;
}

bool ls_shape_equal(const ls_shape *a, const ls_shape *b)
{
	if (a->rank != b->rank)
		return false;
	for (int i = 0; i < a->rank; i++)
		if (a->dim[i] != b->dim[i])
			return false;
	return true;
}

void ls_shape_text(char *out, size_t out_size, const ls_shape *shape)
{
	size_t used = (size_t)snprintf(out, out_size, "(");
	for (int i = 0; i < shape->rank && used < out_size; i++)
		used += (size_t)snprintf(out + used, out_size - used, "%s%lld", i ? ", " : "", (long long)shape->dim[i]);
	if (used < out_size)
		snprintf(out + used, out_size - used, ")");
}

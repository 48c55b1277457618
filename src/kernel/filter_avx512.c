#define LANES 8
#include "kernel/filter_body.h"

const ls_filter_kernel *ls_kernel__filters_avx512(void)
{
	return filters_here;
}

#define LANES 4
#include "kernel/filter_body.h"

const ls_filter_kernel *ls_kernel__filters_avx2(void)
{
	return filters_here;
}

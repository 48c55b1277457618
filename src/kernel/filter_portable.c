#define LANES 2
#include "kernel/filter_body.h"

const ls_filter_kernel *ls_kernel__filters_portable(void)
{
	return filters_here;
}

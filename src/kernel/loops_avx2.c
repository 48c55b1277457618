#include "kernel/loops_body.h"

const ls_loops *ls_kernel__loops_avx2(void)
{
	return &loops_here;
}

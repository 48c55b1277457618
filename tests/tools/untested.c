/* lockstep without a platform's self-test, which is nearly all of a short run's time, and minutes under emulation. The build puts
 * this in the place of ls_platform_selftest (--wrap); scripts/foreign runs the real one first, once. */
#include <lockstep/platform.h>

ls_status __wrap_ls_platform_selftest(ls_platform *platform, bool *passed, ls_check_fn report, void *context, ls_error *err);

ls_status __wrap_ls_platform_selftest(ls_platform *platform, bool *passed, ls_check_fn report, void *context, ls_error *err)
{
	*passed = true;
	return LS_OK;
}

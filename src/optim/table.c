#include "optim/optim.h"

static const ls_optim_def *const table[] = {
	&ls_optim__sgd,
};

ls_status ls_optim_find(const ls_optim_def **out, const ls_optim_options *options, ls_error *err)
{
	const ls_schedule *s = &options->schedule;
	*out = NULL;
	if (options->version != LS_OPTIM_OPTIONS_VERSION)
		return ls_error_set(err, LS_ERR_USAGE, "optimizer options of version %d", options->version);
	for (size_t i = 0; i < sizeof table / sizeof *table; i++)
		if (!strcmp(table[i]->name, options->name))
			*out = table[i];
	if (!*out)
		return ls_error_set(err, LS_ERR_NOT_FOUND, "optimizer.name: found '%s', expected sgd", options->name);
	if (s->warmup >= s->steps)
		return ls_error_set(err, LS_ERR_INPUT,
		                    "schedule.warmup: found %lld, expected fewer than the run's %lld steps\n  hint: shorten the warm-up",
		                    (long long)s->warmup, (long long)s->steps);
	return LS_OK;
}

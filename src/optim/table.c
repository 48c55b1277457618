#include "optim/optim.h"

static const ls_optim_def *const table[] = {
	&ls_optim__adam,
	&ls_optim__adamw,
	&ls_optim__sgd,
};

/* An option that the optimizer does not read must keep its default: otherwise two jobs of one meaning would have two ids. */
static ls_status check_options(const ls_optim_options *o, ls_error *err)
{
	const ls_optim_options fallback = LS_OPTIM_OPTIONS_INIT;
	bool sgd = !strcmp(o->name, "sgd");
	const struct {
		const char *name;
		bool given;
	} option[] = {
		{"momentum", !sgd && o->momentum > 0},
		{"nesterov", !sgd && o->nesterov},
		{"beta1", sgd && memcmp(&o->beta1, &fallback.beta1, sizeof o->beta1)},
		{"beta2", sgd && memcmp(&o->beta2, &fallback.beta2, sizeof o->beta2)},
		{"epsilon", sgd && memcmp(&o->epsilon, &fallback.epsilon, sizeof o->epsilon)},
	};
	for (size_t i = 0; i < sizeof option / sizeof *option; i++)
		if (option[i].given)
			return ls_error_set(err, LS_ERR_INPUT, "optimizer.%s: found a value, expected none: %s does not read it\n  hint: remove it",
			                    option[i].name, o->name);
	return LS_OK;
}

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
		return ls_error_set(err, LS_ERR_NOT_FOUND, "optimizer.name: found '%s', expected adam, adamw or sgd", options->name);
	if (check_options(options, err) != LS_OK)
		return LS_ERR_INPUT;
	if (s->warmup >= s->steps)
		return ls_error_set(err, LS_ERR_INPUT,
		                    "schedule.warmup: found %lld, expected fewer than the run's %lld steps\n  hint: shorten the warm-up",
		                    (long long)s->warmup, (long long)s->steps);
	return LS_OK;
}

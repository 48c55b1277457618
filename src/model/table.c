#include "model/net.h"

static const ls_model_def *const table[] = {
	&ls_model__logreg,
	&ls_model__mlp,
	&ls_model__lenet5,
	&ls_model__vgg11,
	&ls_model__vgg16,
	&ls_model__resnet18,
	&ls_model__resnet50,
};

const ls_model_def *ls_model__find(const char *arch, ls_error *err)
{
	for (size_t i = 0; i < sizeof table / sizeof *table; i++)
		if (!strcmp(table[i]->name, arch))
			return table[i];
	ls_error_set(err, LS_ERR_NOT_FOUND, "model.arch: found '%s', expected logreg, mlp, lenet5, vgg11, vgg16, resnet18 or resnet50",
	             arch);
	return NULL;
}

ls_status ls_model_check(const char *arch, ls_error *err)
{
	return ls_model__find(arch, err) ? LS_OK : LS_ERR_NOT_FOUND;
}

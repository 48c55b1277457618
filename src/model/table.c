#include "model/net.h"

#include <stdio.h>

static const ls_model_def *const table[] = {
	&ls_model__logreg,
	&ls_model__mlp,
	&ls_model__lenet5,
	&ls_model__vgg11,
	&ls_model__vgg16,
	&ls_model__resnet18,
	&ls_model__resnet50,
};
enum { COUNT = sizeof table / sizeof *table, LIST_MAX = 512 };

const ls_model_def *ls_model__find(const char *arch, ls_error *err)
{
	char list[LIST_MAX];
	ls_buf names;
	for (size_t i = 0; i < COUNT; i++)
		if (!strcmp(table[i]->name, arch))
			return table[i];
	ls_buf_init(&names, LIST_MAX);
	for (size_t i = 0; i < COUNT; i++)
		ls_buf_printf(&names, "%s%s", i == 0 ? "" : i + 1 < COUNT ? ", " : " or ", table[i]->name);
	snprintf(list, sizeof list, "%.*s", (int)names.len, names.len ? (const char *)names.data : "");
	ls_buf_free(&names);
	ls_error_set(err, LS_ERR_NOT_FOUND, "model.arch: found '%s', expected %s", arch, list);
	return NULL;
}

ls_status ls_model_check(const char *arch, ls_error *err)
{
	return ls_model__find(arch, err) ? LS_OK : LS_ERR_NOT_FOUND;
}

const char *ls_model_name(size_t index)
{
	return index < COUNT ? table[index]->name : NULL;
}

const char *ls_model_text(size_t index)
{
	return index < COUNT ? table[index]->text : NULL;
}

#include "cli/cli.h"

#include <stdio.h>

/* In the order in which a person meets them; `lockstep help` prints it. */
static const ls_cli_command *const commands[] = {
	&ls_cli__init,   &ls_cli__plan,      &ls_cli__train, &ls_cli__audit, &ls_cli__diff, &ls_cli__inspect,
	&ls_cli__verify, &ls_cli__eval,      &ls_cli__sample, &ls_cli__export, &ls_cli__report, &ls_cli__platforms, &ls_cli__bench, &ls_cli__calibrate,
	&ls_cli__serve, &ls_cli__dispute, &ls_cli__judge, &ls_cli__keygen, &ls_cli__sign, &ls_cli__help,
};

#define COMMANDS (sizeof commands / sizeof *commands)

const ls_cli_command *ls_cli__at(size_t index)
{
	return index < COMMANDS ? commands[index] : NULL;
}

static void complain(const char *name, ls_error *err)
{
	const char *names[COMMANDS + 1] = {NULL}, *near;
	char hint[96];
	for (size_t i = 0; i < COMMANDS; i++)
		names[i] = commands[i]->name;
	near = ls_cli__nearest(name, names);
	if (near)
		snprintf(hint, sizeof hint, "did you mean %s?", near);
	else
		snprintf(hint, sizeof hint, "lockstep help lists the commands");
	ls_cli__usage(err, name, "an unknown command", "a command", hint);
}

const ls_cli_command *ls_cli__find(const char *name, ls_error *err)
{
	for (size_t i = 0; i < COMMANDS; i++)
		if (!strcmp(commands[i]->name, name))
			return commands[i];
	complain(name, err);
	return NULL;
}

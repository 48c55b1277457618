#include "cli/cli.h"

static ls_status run(ls_cli *cli, const ls_cli_args *args, int *code, ls_error *err)
{
	const ls_cli_command *command;
	if (args->operands == 0) {
		ls_cli__print_overview(cli);
		return LS_OK;
	}
	command = ls_cli__find(args->operand[0], err);
	if (!command)
		return LS_ERR_USAGE;
	ls_cli__print_help(cli, command);
	return LS_OK;
}

const ls_cli_command ls_cli__help = {
	.name = "help",
	.operands = "[COMMAND]",
	.operands_max = 1,
	.summary = "list the commands, or describe one",
	.run = run,
};

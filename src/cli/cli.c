/* From the words of a command line to one command and its exit code. */
#include "cli/cli.h"

#include <stdio.h>
#include <unistd.h>

/* Found before anything is parsed, so that a complaint about the command line is JSON, too. */
static bool asks_for_json(int argc, char **argv)
{
	for (int i = 1; i < argc && strcmp(argv[i], "--"); i++)
		if (!strcmp(argv[i], "--json"))
			return true;
	return false;
}

static bool is_one_of(const char *word, const char *a, const char *b)
{
	return !strcmp(word, a) || !strcmp(word, b);
}

static int print_version(const ls_cli *cli)
{
	if (cli->json) {
		json_t *object = json_object();
		ls_cli__put_text(object, "version", LS_CLI__VERSION);
		ls_cli__put_uint(object, "specification", LS_JOB_VERSION);
		ls_cli__emit(object);
	} else {
		printf("lockstep %s (specification %u)\n", LS_CLI__VERSION, LS_JOB_VERSION);
	}
	return LS_CLI__DONE;
}

static int run_command(ls_cli *cli, const ls_cli_command *command, int argc, char **argv)
{
	ls_error err = LS_ERROR_INIT;
	ls_cli_args args;
	int code = LS_CLI__DONE;
	ls_status status = ls_cli__parse(&args, command, argc, argv, &err);
	if (status == LS_OK && args.help)
		ls_cli__print_help(cli, command);
	else if (status == LS_OK)
		status = command->run(cli, &args, &code, &err);
	if (status != LS_OK) {
		err.status = status;
		code = ls_cli__fail(cli, &err);
	}
	ls_cli__args_free(&args);
	return code;
}

/* A first word that is an option: --help, --version, or --json before the command. */
static int run_words(ls_cli *cli, int argc, char **argv)
{
	ls_error err = LS_ERROR_INIT;
	const ls_cli_command *command;
	int at = 1;
	while (at < argc && !strcmp(argv[at], "--json"))
		at++;
	if (at == argc) {
		ls_cli__usage(&err, "command line", "no command", "a command", "lockstep help lists the commands");
		return ls_cli__fail(cli, &err);
	}
	if (is_one_of(argv[at], "--version", "-V"))
		return print_version(cli);
	if (is_one_of(argv[at], "--help", "-h")) {
		ls_cli__print_overview(cli);
		return LS_CLI__DONE;
	}
	command = ls_cli__find(argv[at], &err);
	return command ? run_command(cli, command, argc - at - 1, argv + at + 1) : ls_cli__fail(cli, &err);
}

int ls_cli__main(int argc, char **argv, bool (*stop)(void *context), void *stop_context)
{
	ls_cli cli = {.json = asks_for_json(argc, argv), .terminal = isatty(2) == 1, .stop = stop, .stop_context = stop_context};
	int code = run_words(&cli, argc, argv);
	/* A result that nobody can read was not delivered. */
	if (fflush(stdout) != 0 || ferror(stdout)) {
		ls_cli__note("lockstep: standard output: could not be written\n  hint: is the disk full, or the pipe closed?\n");
		return LS_CLI__UNFINISHED;
	}
	return code;
}

/* Internal to src/cli: lockstep verify of a single file. */
#ifndef LS_CLI_VERIFY_FILE_H
#define LS_CLI_VERIFY_FILE_H

#include "cli/cli.h"

/* Operand 0 is a file; --key and --subject as in cmd_verify.c. */
ls_status ls_cli__verify_file(ls_cli *cli, const ls_cli_args *args, int *code, ls_error *err);

#endif

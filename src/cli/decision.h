/* Internal to src/cli: how the end of a dispute is told. */
#ifndef LS_CLI_DECISION_H
#define LS_CLI_DECISION_H

#include "cli/cli.h"

#include <lockstep/game.h>

/* Text or JSON; `file`, `bytes` and `seconds` are the evidence's and what it took. */
void ls_cli__report_decision(const ls_cli *cli, const ls_decision *d, const char *file, size_t bytes, double seconds);

#endif

#include "cli/decision.h"

static const ls_cli_option options[] = {{.name = NULL}};

static ls_status run(ls_cli *cli, const ls_cli_args *args, int *code, ls_error *err)
{
	uint8_t *bytes = NULL;
	size_t len;
	double start;
	ls_decision decision;
	ls_status status;
	LS_TRY(ls_file_read(&bytes, &len, args->operand[0], LS_EVIDENCE_BYTES_MAX, err));
	start = ls_clock_seconds();
	LS_TRY(ls_judge(bytes, len, &decision, err));
	*code = LS_CLI__OTHER_VERDICT; // a dispute has no verdict under which all is well
	ls_cli__report_decision(cli, &decision, args->operand[0], len, ls_clock_seconds() - start);
done:
	ls_free(bytes);
	return status;
}

const ls_cli_command ls_cli__judge = {
	.name = "judge",
	.operands = "EVIDENCE",
	.operands_min = 1,
	.operands_max = 1,
	.summary = "decide a dispute from its evidence file alone",
	.details = "Needs neither data nor model. Exits with 1: whatever the verdict, trainer and auditor do not agree.",
	.options = options,
	.run = run,
};

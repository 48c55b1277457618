#include "cli/cli.h"

#include <stdio.h>

#define PLATFORMS_MAX 4
#define ROUNDS_MAX 1000

static const ls_cli_option options[] = {
	{.name = "platform", .argument = "P,Q", .help = "platforms to compare; the first one writes the rounding log", .fallback = "native"},
	{.name = "rounds", .argument = "N", .help = "timed steps of each kind", .fallback = "15"},
	{.name = "seconds", .argument = "S", .help = "stop after so long, with the rounds made by then", .fallback = "45"},
	{.name = "clock", .argument = "wall|cpu", .help = "time that passes, or that this process computes (on one thread only)", .fallback = "wall"},
	{.name = "also", .argument = "MODES", .help = "time steps in these modes besides: exact, pinned", .fallback_text = "none"},
	LS_CLI__OPTION_THREADS,
	LS_CLI__OPTION_DATA,
	LS_CLI__OPTION_SET,
	{.name = NULL},
};

/* What is measured without a JOB. */
static const char builtin[] =
	"lockstep: 1\n"
	"name: bench-lenet5\n"
	"model: {arch: lenet5, classes: 10}\n"
	"data: {format: idx, path: fashion-mnist}\n"
	"train: {steps: 1000, batch: 64}\n"
	"optimizer: {name: sgd, lr: 0.02, momentum: 0.9}\n";

/* What is timed. EXACT and PINNED only where they were asked for. */
enum { PLAIN, RECORD, FOLLOW, EXACT, PINNED, KINDS };

static const ls_rounding rounding_of[KINDS] = {LS_ROUNDING_PLAIN, LS_ROUNDING_RECORD, LS_ROUNDING_FOLLOW, LS_ROUNDING_EXACT,
                                               LS_ROUNDING_PINNED};

struct entrant {
	ls_platform *platform;
	ls_cli_lane lane[KINDS];
	double seconds[KINDS + 1][ROUNDS_MAX]; /* the last row: the state root */
	double median[KINDS + 1];
	uint64_t log_bytes; /* over all rounds */
	bool reproduced;    /* its replay of the first entrant's log gave the first entrant's state */
};

struct bench {
	ls_cli_session session;
	struct entrant *entrant;
	int entrants;
	uint64_t rounds; /* made */
	double limit;    /* seconds */
	double (*clock)(void);
	bool timed[KINDS];
};

/* ---- opening ---- */

static ls_status open_job(struct bench *b, const ls_cli_args *args, ls_error *err)
{
	if (args->operands)
		return ls_cli__open_job(&b->session, args, err);
	return ls_job_parse(&b->session.job, "built-in job", builtin, sizeof builtin - 1, args->repeated, args->repeats, err);
}

static ls_status choose_clock(struct bench *b, const ls_cli_args *args, ls_error *err)
{
	const char *name = ls_cli__value(args, "clock");
	bool cpu = strcmp(name, "cpu") == 0;
	if (!cpu && strcmp(name, "wall") != 0)
		return ls_cli__usage(err, "--clock", name, "wall or cpu", NULL);
	b->clock = cpu ? ls_cpu_seconds : ls_clock_seconds;
	return LS_OK;
}

static ls_status choose_kinds(struct bench *b, const ls_cli_args *args, ls_error *err)
{
	const char *also = ls_cli__value(args, "also");
	b->timed[PLAIN] = b->timed[RECORD] = b->timed[FOLLOW] = true;
	if (!also)
		return LS_OK;
	b->timed[EXACT] = !strcmp(also, "exact") || !strcmp(also, "exact,pinned");
	b->timed[PINNED] = !strcmp(also, "pinned") || !strcmp(also, "exact,pinned");
	if (!b->timed[EXACT] && !b->timed[PINNED])
		return ls_cli__usage(err, "--also", also, "exact, pinned, or exact,pinned", NULL);
	return LS_OK;
}

static ls_status open_entrant(struct bench *b, const ls_cli_args *args, const char *name, size_t len, ls_error *err)
{
	struct entrant *e = &b->entrant[b->entrants];
	char text[64];
	ls_status status;
	if (b->entrants == PLATFORMS_MAX || len == 0 || len >= sizeof text)
		return ls_cli__usage(err, "--platform", name[0] ? name : "nothing", "one to four names joined by commas", NULL);
	memcpy(text, name, len);
	text[len] = 0;
	LS_TRY(ls_cli__open_platform_named(&e->platform, args, text, err));
	b->entrants++;
	for (int kind = 0; kind < KINDS; kind++)
		if (b->timed[kind])
			LS_TRY(ls_cli__lane_open(&e->lane[kind], b->session.plan, e->platform, rounding_of[kind], err));
done:
	return status;
}

static ls_status open_entrants(struct bench *b, const ls_cli_args *args, ls_error *err)
{
	const char *names = ls_cli__value(args, "platform");
	ls_cli_lane *lanes[PLATFORMS_MAX * KINDS];
	int lane_count = 0;
	ls_status status;
	b->entrant = ls_alloc(PLATFORMS_MAX, sizeof *b->entrant);
	if (!b->entrant)
		return ls_error_set(err, LS_ERR_NOMEM, "out of memory");
	for (;;) {
		size_t len = strcspn(names, ",");
		LS_TRY(open_entrant(b, args, names, len, err));
		if (!names[len])
			break;
		names += len + 1;
	}
	for (int i = 0; i < b->entrants * KINDS; i++)
		if (b->timed[i % KINDS])
			lanes[lane_count++] = &b->entrant[i / KINDS].lane[i % KINDS];
	LS_TRY(ls_cli__lanes_init(lanes, lane_count, b->session.plan, b->entrant[0].platform, err));
done:
	return status;
}

static void close_bench(struct bench *b)
{
	for (int i = 0; b->entrant && i < PLATFORMS_MAX; i++) {
		for (int kind = 0; kind < KINDS; kind++)
			ls_cli__lane_close(&b->entrant[i].lane[kind]);
		ls_platform_free(b->entrant[i].platform);
	}
	ls_free(b->entrant);
	ls_cli__close(&b->session);
}

/* ---- measuring ---- */

/* Kinds and platforms take turns within a round, so that whatever slows the machine down slows all of them. */
static ls_status one_round(struct bench *b, uint64_t step, bool timed, ls_error *err)
{
	ls_step_log *log = &b->entrant[0].lane[RECORD].log;
	uint64_t at = timed ? b->rounds : 0, bytes;
	ls_status status = LS_OK;
	ls_hash root;
	for (int i = 0; i < b->entrants; i++) {
		struct entrant *e = &b->entrant[i];
		double start;
		LS_TRY(ls_cli__lane_step(&e->lane[PLAIN], step, NULL, b->clock, &e->seconds[PLAIN][at], err));
		LS_TRY(ls_cli__lane_step(&e->lane[RECORD], step, &e->lane[RECORD].log, b->clock, &e->seconds[RECORD][at], err));
		LS_TRY(ls_cli__lane_step(&e->lane[FOLLOW], step, log, b->clock, &e->seconds[FOLLOW][at], err));
		for (int kind = EXACT; kind <= PINNED; kind++)
			if (b->timed[kind])
				LS_TRY(ls_cli__lane_step(&e->lane[kind], step, NULL, b->clock, &e->seconds[kind][at], err));
		start = b->clock();
		LS_TRY(ls_exec_state_root(e->lane[RECORD].exec, &root, err));
		e->seconds[KINDS][at] = b->clock() - start;
		LS_TRY(ls_cli__lane_log_bytes(&e->lane[RECORD], step, &bytes, err));
		e->log_bytes += timed ? bytes : 0;
	}
	b->rounds += timed;
done:
	return status;
}

static ls_status compare_states(struct bench *b, ls_error *err)
{
	ls_hash trained, replayed;
	ls_status status;
	LS_TRY(ls_exec_state_root(b->entrant[0].lane[RECORD].exec, &trained, err));
	for (int i = 0; i < b->entrants; i++) {
		LS_TRY(ls_exec_state_root(b->entrant[i].lane[FOLLOW].exec, &replayed, err));
		b->entrant[i].reproduced = ls_hash_equal(&trained, &replayed);
	}
done:
	return status;
}

static ls_status measure(struct bench *b, const ls_cli *cli, uint64_t rounds, ls_error *err)
{
	double end = ls_clock_seconds() + b->limit;
	ls_status status;
	LS_TRY(one_round(b, 1, false, err)); // warms caches and sizes buffers
	while (b->rounds < rounds && (b->rounds == 0 || ls_clock_seconds() < end) && !(cli->stop && cli->stop(cli->stop_context)))
		LS_TRY(one_round(b, b->rounds + 2, true, err));
	if (!b->rounds) {
		status = ls_error_set(err, LS_ERR_USAGE, "stopped before the first round");
		goto done;
	}
	for (int i = 0; i < b->entrants; i++)
		for (int kind = 0; kind <= KINDS; kind++)
			if (kind == KINDS || b->timed[kind])
				b->entrant[i].median[kind] = ls_cli__median(b->entrant[i].seconds[kind], b->rounds);
	LS_TRY(compare_states(b, err));
done:
	return status;
}

/* ---- what is derived ---- */

static ls_op_stats totals(const struct entrant *e, int kind)
{
	ls_exec *exec = e->lane[kind].exec;
	ls_op_stats sum = {0};
	for (int op = 0; op < ls_program_ops(ls_exec_program(exec)); op++) {
		const ls_op_stats *s = ls_exec_stats(exec, op);
		sum.elements += s->elements;
		sum.ambiguous += s->ambiguous;
		sum.corrections += s->corrections;
		sum.exact += s->exact;
		sum.seconds += s->seconds;
	}
	return sum;
}

static double ratio(double a, double b)
{
	return b > 0 ? a / b : 0;
}

static double log_per_step(const struct bench *b, const struct entrant *e)
{
	return ratio((double)e->log_bytes, (double)b->rounds);
}

/* The warm-up round is among the elements, but not among the bytes. */
static double bits_per_element(const struct bench *b, const struct entrant *e)
{
	ls_op_stats sum = totals(e, RECORD);
	return ratio(8 * log_per_step(b, e) * (double)(b->rounds + 1), (double)sum.elements);
}

/* 10⁹ multiplications and additions a second; 0 for an op that is no product. */
static double gflops(const struct bench *b, const ls_program *program, int op, double seconds)
{
	const ls_op_def *def = ls_op_find(ls_program_op(program, op)->kind);
	ls_product product;
	if (def->class != LS_OP_PRODUCT)
		return 0;
	def->product(program, ls_program_op(program, op), &product);
	return ratio(2e-9 * (double)product.rows * (double)product.columns * (double)product.terms * (double)(b->rounds + 1), seconds);
}

static const char *name_of(const ls_program *program, int op)
{
	const ls_op *record = ls_program_op(program, op);
	return record->output_count ? ls_program_value(program, record->outputs[0])->name : record->kind;
}

/* ---- JSON ---- */

static json_t *ops_json(const struct bench *b, const struct entrant *e)
{
	ls_exec *exec = e->lane[RECORD].exec;
	const ls_program *program = ls_exec_program(exec);
	double all = totals(e, RECORD).seconds;
	json_t *list = json_array();
	for (int op = 0; op < ls_program_ops(program); op++) {
		const ls_op_stats *s = ls_exec_stats(exec, op);
		json_t *row = json_object();
		ls_cli__put_text(row, "op", name_of(program, op));
		ls_cli__put_text(row, "kind", ls_program_op(program, op)->kind);
		ls_cli__put_real(row, "seconds", s->seconds / (double)(b->rounds + 1));
		ls_cli__put_real(row, "share", ratio(s->seconds, all));
		ls_cli__put_real(row, "gflops", gflops(b, program, op, s->seconds));
		ls_cli__put_real(row, "ambiguous_share", ratio((double)s->ambiguous, (double)s->elements));
		json_array_append_new(list, row);
	}
	return list;
}

/* null where it was not measured. */
static void put_timed(const struct bench *b, json_t *row, const char *key, int kind, double value)
{
	if (b->timed[kind])
		ls_cli__put_real(row, key, value);
	else
		json_object_set_new(row, key, json_null());
}

static json_t *entrant_json(const struct bench *b, const struct entrant *e)
{
	ls_op_stats record = totals(e, RECORD), follow = totals(e, FOLLOW);
	json_t *row = json_object();
	ls_cli__put_text(row, "platform", ls_platform_describe(e->platform));
	ls_cli__put_real(row, "plain_seconds", e->median[PLAIN]);
	ls_cli__put_real(row, "logged_seconds", e->median[RECORD]);
	ls_cli__put_real(row, "audit_seconds", e->median[FOLLOW]);
	ls_cli__put_real(row, "state_root_seconds", e->median[KINDS]);
	ls_cli__put_real(row, "logged_ratio", ratio(e->median[RECORD], e->median[PLAIN]));
	ls_cli__put_real(row, "audit_ratio", ratio(e->median[FOLLOW], e->median[PLAIN]));
	put_timed(b, row, "exact_seconds", EXACT, e->median[EXACT]);
	put_timed(b, row, "exact_ratio", EXACT, ratio(e->median[EXACT], e->median[PLAIN]));
	put_timed(b, row, "pinned_seconds", PINNED, e->median[PINNED]);
	put_timed(b, row, "pinned_ratio", PINNED, ratio(e->median[PINNED], e->median[PLAIN]));
	ls_cli__put_real(row, "log_bytes_per_step", log_per_step(b, e));
	ls_cli__put_real(row, "bits_per_element", bits_per_element(b, e));
	ls_cli__put_real(row, "ambiguous_share", ratio((double)record.ambiguous, (double)record.elements));
	ls_cli__put_uint(row, "corrections", follow.corrections);
	ls_cli__put_bool(row, "reproduced", e->reproduced);
	json_object_set_new(row, "ops", ops_json(b, e));
	return row;
}

static void print_json(const struct bench *b)
{
	json_t *object = json_object(), *list = json_array();
	for (int i = 0; i < b->entrants; i++)
		json_array_append_new(list, entrant_json(b, &b->entrant[i]));
	ls_cli__put_text(object, "name", ls_plan_spec(b->session.plan)->name);
	ls_cli__put_text(object, "arch", ls_plan_spec(b->session.plan)->model.arch);
	ls_cli__put_uint(object, "batch", ls_plan_spec(b->session.plan)->train.batch);
	ls_cli__put_uint(object, "threads", (uint64_t)ls_pool_threads(ls_platform_pool(b->entrant[0].platform)));
	ls_cli__put_uint(object, "rounds", b->rounds);
	json_object_set_new(object, "platforms", list);
	ls_cli__emit(object);
}

/* ---- text ---- */

static void print_entrant(const ls_cli *cli, const struct bench *b, const struct entrant *e)
{
	char plain[LS_CLI__AMOUNT_SIZE], record[LS_CLI__AMOUNT_SIZE], follow[LS_CLI__AMOUNT_SIZE], root[LS_CLI__AMOUNT_SIZE];
	ls_cli__say(cli, "%-22s %9s %9s %6.3f %9s %6.3f %9s\n", ls_platform_describe(e->platform),
	            ls_cli__seconds_text(plain, e->median[PLAIN]), ls_cli__seconds_text(record, e->median[RECORD]),
	            ratio(e->median[RECORD], e->median[PLAIN]), ls_cli__seconds_text(follow, e->median[FOLLOW]),
	            ratio(e->median[FOLLOW], e->median[PLAIN]), ls_cli__seconds_text(root, e->median[KINDS]));
}

static void print_also(const ls_cli *cli, const struct bench *b, const struct entrant *e)
{
	char seconds[LS_CLI__AMOUNT_SIZE];
	ls_cli__say(cli, "%-22s", ls_platform_describe(e->platform));
	for (int kind = EXACT; kind <= PINNED; kind++)
		if (b->timed[kind])
			ls_cli__say(cli, " %9s %6.3f", ls_cli__seconds_text(seconds, e->median[kind]), ratio(e->median[kind], e->median[PLAIN]));
	ls_cli__say(cli, "\n");
}

static void print_log(const ls_cli *cli, const struct bench *b, const struct entrant *e)
{
	ls_op_stats record = totals(e, RECORD), follow = totals(e, FOLLOW);
	ls_cli__say(cli, "%-22s %9.0f %9.4f %9.5f %% %11llu  %s\n", ls_platform_describe(e->platform), log_per_step(b, e),
	            bits_per_element(b, e), 100 * ratio((double)record.ambiguous, (double)record.elements),
	            (unsigned long long)follow.corrections, e->reproduced ? "yes" : "NO");
}

static void print_ops(const ls_cli *cli, const struct bench *b, const struct entrant *e)
{
	ls_exec *exec = e->lane[RECORD].exec;
	const ls_program *program = ls_exec_program(exec);
	double all = totals(e, RECORD).seconds;
	ls_cli__say(cli, "\nlogged step on %s\n%-24s %-20s %9s %7s %9s\n", ls_platform_describe(e->platform), "op", "kind", "time",
	            "share", "GFLOP/s");
	for (int op = 0; op < ls_program_ops(program); op++) {
		double seconds = ls_exec_stats(exec, op)->seconds, rate = gflops(b, program, op, seconds);
		char time[LS_CLI__AMOUNT_SIZE], speed[32] = "";
		if (rate > 0)
			snprintf(speed, sizeof speed, " %9.2f", rate);
		ls_cli__seconds_text(time, seconds / (double)(b->rounds + 1));
		ls_cli__say(cli, "%-24s %-20s %9s %5.1f %%%s\n", name_of(program, op), ls_program_op(program, op)->kind, time,
		            100 * ratio(seconds, all), speed);
	}
}

static void print_text(const ls_cli *cli, const struct bench *b)
{
	const ls_job_spec *spec = ls_plan_spec(b->session.plan);
	ls_cli__say(cli, "%s: %s, batch %llu, %d threads, medians of %llu rounds\n\n", spec->name, spec->model.arch,
	            (unsigned long long)spec->train.batch, ls_pool_threads(ls_platform_pool(b->entrant[0].platform)),
	            (unsigned long long)b->rounds);
	ls_cli__say(cli, "%-22s %9s %9s %6s %9s %6s %9s\n", "seconds a step", "plain", "logged", "ratio", "audit", "ratio", "root");
	for (int i = 0; i < b->entrants; i++)
		print_entrant(cli, b, &b->entrant[i]);
	if (b->timed[EXACT] || b->timed[PINNED]) {
		ls_cli__say(cli, "\n%-22s%s%s\n", "other modes, / plain", b->timed[EXACT] ? "     exact  ratio" : "", b->timed[PINNED] ? "    pinned  ratio" : "");
		for (int i = 0; i < b->entrants; i++)
			print_also(cli, b, &b->entrant[i]);
	}
	ls_cli__say(cli, "\n%-22s %9s %9s %11s %11s  %s\n", "rounding log", "byte/step", "bit/elem", "ambiguous", "corrections", "reproduced");
	for (int i = 0; i < b->entrants; i++)
		print_log(cli, b, &b->entrant[i]);
	for (int i = 0; i < b->entrants; i++)
		print_ops(cli, b, &b->entrant[i]);
}

static bool all_reproduced(const struct bench *b)
{
	for (int i = 0; i < b->entrants; i++)
		if (!b->entrant[i].reproduced)
			return false;
	return true;
}

static ls_status run(ls_cli *cli, const ls_cli_args *args, int *code, ls_error *err)
{
	struct bench b = {0};
	uint64_t rounds, seconds;
	ls_status status;
	LS_TRY(ls_cli__number(args, "rounds", 1, ROUNDS_MAX, 15, &rounds, err));
	LS_TRY(ls_cli__number(args, "seconds", 1, 86400, 45, &seconds, err));
	b.limit = (double)seconds;
	LS_TRY(choose_clock(&b, args, err));
	LS_TRY(choose_kinds(&b, args, err));
	LS_TRY(open_job(&b, args, err));
	LS_TRY(ls_cli__open_plan(&b.session, args, b.session.job, false, err));
	LS_TRY(open_entrants(&b, args, err));
	LS_TRY(measure(&b, cli, rounds, err));
	*code = all_reproduced(&b) ? LS_CLI__DONE : LS_CLI__OTHER_VERDICT;
	if (cli->json)
		print_json(&b);
	else
		print_text(cli, &b);
done:
	close_bench(&b);
	return status;
}

const ls_cli_command ls_cli__bench = {
	.name = "bench",
	.operands = "[JOB]",
	.operands_max = 1,
	.summary = "time plain, logged and replayed steps side by side, op by op",
	.details = "Without JOB a LeNet-5 on Fashion-MNIST is measured. Every platform replays the first one's rounding log.",
	.options = options,
	.run = run,
};

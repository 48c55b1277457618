#include "cli/cli.h"

#include <stdio.h>

#define PLATFORMS_MAX 4
#define ROUNDS_MAX 1000

static const ls_cli_option options[] = {
	{.name = "platform", .argument = "P,Q", .help = "platforms to compare; the first one writes the rounding log", .fallback = "native"},
	{.name = "rounds", .argument = "N", .help = "timed steps of each kind", .fallback = "15"},
	{.name = "seconds", .argument = "S", .help = "stop after so long, with the rounds made by then", .fallback = "45"},
	{.name = "clock", .argument = "wall|cpu", .help = "time that passes, or that this process computes (on one thread only)", .fallback = "wall"},
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

/* Kinds of step, in the order of their turns: an audit reads the log that the logged step before it wrote. */
enum { PLAIN, EXACT, LOGGED, AUDIT, PINNED, KINDS };
static const struct kind {
	const char *name;
	ls_rounding rounding;
	bool compared; /* must lead every platform to the first one's state */
} kinds[KINDS] = {
	[PLAIN] = {"plain", LS_ROUNDING_PLAIN, false},
	[EXACT] = {"exact", LS_ROUNDING_EXACT, true},
	[LOGGED] = {"logged", LS_ROUNDING_RECORD, false},
	[AUDIT] = {"audit", LS_ROUNDING_FOLLOW, true},
	[PINNED] = {"pinned", LS_ROUNDING_PINNED, true},
};

struct entrant {
	ls_platform *platform;
	ls_cli_lane lane[KINDS];
	double seconds[KINDS + 1][ROUNDS_MAX]; /* the last row: the state root */
	double median[KINDS + 1];
	uint64_t log_bytes; /* over all rounds */
	uint64_t *op_bytes; /* of them the coded entries of each op */
	bool reproduced;    /* it came to the first entrant's states, in logged by the first one's log */
};

struct bench {
	ls_cli_session session;
	struct entrant *entrant;
	int entrants;
	uint64_t rounds; /* made */
	double limit;    /* seconds */
	double (*clock)(void);
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
		LS_TRY(ls_cli__lane_open(&e->lane[kind], b->session.plan, e->platform, kinds[kind].rounding, err));
	e->op_bytes = ls_alloc((size_t)ls_program_ops(ls_exec_program(e->lane[LOGGED].exec)), sizeof *e->op_bytes);
	if (!e->op_bytes)
		status = ls_error_set(err, LS_ERR_NOMEM, "out of memory");
done:
	return status;
}

static ls_status open_entrants(struct bench *b, const ls_cli_args *args, ls_error *err)
{
	const char *names = ls_cli__value(args, "platform");
	ls_cli_lane *lanes[PLATFORMS_MAX * KINDS];
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
		lanes[i] = &b->entrant[i / KINDS].lane[i % KINDS];
	LS_TRY(ls_cli__lanes_init(lanes, b->entrants * KINDS, b->session.plan, b->entrant[0].platform, err));
done:
	return status;
}

static void close_bench(struct bench *b)
{
	for (int i = 0; b->entrant && i < PLATFORMS_MAX; i++) {
		for (int kind = 0; kind < KINDS; kind++)
			ls_cli__lane_close(&b->entrant[i].lane[kind]);
		ls_platform_free(b->entrant[i].platform);
		ls_free(b->entrant[i].op_bytes);
	}
	ls_free(b->entrant);
	ls_cli__close(&b->session);
}

/* ---- measuring ---- */

/* The log of which a lane's step writes or reads; NULL where there is none. */
static ls_step_log *log_of(struct bench *b, struct entrant *e, int kind)
{
	return kind == LOGGED ? &e->lane[LOGGED].log : kind == AUDIT ? &b->entrant[0].lane[LOGGED].log : NULL;
}

static ls_status count_log(struct entrant *e, uint64_t step, ls_error *err)
{
	int ops = ls_program_ops(ls_exec_program(e->lane[LOGGED].exec));
	uint64_t bytes;
	ls_status status;
	LS_TRY(ls_cli__lane_log_bytes(&e->lane[LOGGED], step, &bytes, err));
	e->log_bytes += bytes;
	for (int op = 0; op < ops; op++) {
		LS_TRY(ls_cli__lane_op_bytes(&e->lane[LOGGED], op, &bytes, err));
		e->op_bytes[op] += bytes;
	}
done:
	return status;
}

/* Kinds and platforms take turns within a round, so that whatever slows the machine down slows all of them. */
static ls_status one_round(struct bench *b, uint64_t step, bool timed, ls_error *err)
{
	uint64_t at = timed ? b->rounds : 0;
	ls_status status = LS_OK;
	ls_hash root;
	for (int i = 0; i < b->entrants; i++) {
		struct entrant *e = &b->entrant[i];
		double start;
		for (int kind = 0; kind < KINDS; kind++)
			LS_TRY(ls_cli__lane_step(&e->lane[kind], step, log_of(b, e, kind), b->clock, &e->seconds[kind][at], err));
		start = b->clock();
		LS_TRY(ls_exec_state_root(e->lane[LOGGED].exec, &root, err));
		e->seconds[KINDS][at] = b->clock() - start;
		if (timed)
			LS_TRY(count_log(e, step, err));
	}
	b->rounds += timed;
done:
	return status;
}

/* An audit is held to the trainer's state, everything else to the first entrant's of its kind. */
static ls_status compare_states(struct bench *b, ls_error *err)
{
	ls_hash expected, found;
	ls_status status = LS_OK;
	for (int i = 0; i < b->entrants; i++)
		b->entrant[i].reproduced = true;
	for (int kind = 0; kind < KINDS; kind++) {
		if (!kinds[kind].compared)
			continue;
		LS_TRY(ls_exec_state_root(b->entrant[0].lane[kind == AUDIT ? LOGGED : kind].exec, &expected, err));
		for (int i = 0; i < b->entrants; i++) {
			LS_TRY(ls_exec_state_root(b->entrant[i].lane[kind].exec, &found, err));
			b->entrant[i].reproduced &= ls_hash_equal(&expected, &found);
		}
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
	ls_op_stats sum = totals(e, LOGGED);
	return ratio(8 * log_per_step(b, e) * (double)(b->rounds + 1), (double)sum.elements);
}

/* Bits of coded entries for each element of an op. */
static double op_bits(const struct bench *b, const struct entrant *e, int op)
{
	double elements = (double)ls_exec_stats(e->lane[LOGGED].exec, op)->elements / (double)(b->rounds + 1);
	return ratio(8 * (double)e->op_bytes[op] / (double)b->rounds, elements);
}

/* The op whose entries take most bits for each element, of those with a full frame of elements; −1 where there is none:
 * for a handful of elements the one byte that says how many entries there are is all that would be measured. */
static int worst_op(const struct bench *b, const struct entrant *e)
{
	ls_exec *exec = e->lane[LOGGED].exec;
	int worst = -1;
	for (int op = 0; op < ls_program_ops(ls_exec_program(exec)); op++)
		if (ls_exec_stats(exec, op)->elements >= LS_FRAME_ELEMENTS * (b->rounds + 1) &&
		    (worst < 0 || op_bits(b, e, op) > op_bits(b, e, worst)))
			worst = op;
	return worst;
}

/* Multiplications and additions of an op; 0 for one that is no product. */
static double flops(const ls_program *program, int op)
{
	const ls_op_def *def = ls_op_find(ls_program_op(program, op)->kind);
	ls_product product;
	if (def->class != LS_OP_PRODUCT)
		return 0;
	def->product(program, ls_program_op(program, op), &product);
	return 2 * (double)product.rows * (double)product.columns * (double)product.terms;
}

/* What one step of a kind spends in an op, on average. */
static double op_seconds(const struct bench *b, const struct entrant *e, int kind, int op)
{
	return ls_exec_stats(e->lane[kind].exec, op)->seconds / (double)(b->rounds + 1);
}

static const char *name_of(const ls_program *program, int op)
{
	const ls_op *record = ls_program_op(program, op);
	return record->output_count ? ls_program_value(program, record->outputs[0])->name : record->kind;
}

/* ---- JSON ---- */

static json_t *ops_json(const struct bench *b, const struct entrant *e)
{
	ls_exec *exec = e->lane[LOGGED].exec;
	const ls_program *program = ls_exec_program(exec);
	json_t *list = json_array();
	for (int op = 0; op < ls_program_ops(program); op++) {
		const ls_op_stats *s = ls_exec_stats(exec, op);
		json_t *row = json_object(), *seconds = json_object();
		ls_cli__put_text(row, "op", name_of(program, op));
		ls_cli__put_text(row, "kind", ls_program_op(program, op)->kind);
		for (int kind = 0; kind < KINDS; kind++)
			ls_cli__put_real(seconds, kinds[kind].name, op_seconds(b, e, kind, op));
		json_object_set_new(row, "seconds", seconds);
		ls_cli__put_real(row, "flops", flops(program, op));
		ls_cli__put_real(row, "ambiguous_share", ratio((double)s->ambiguous, (double)s->elements));
		ls_cli__put_real(row, "bits_per_element", op_bits(b, e, op));
		json_array_append_new(list, row);
	}
	return list;
}

static json_t *entrant_json(const struct bench *b, const struct entrant *e)
{
	ls_op_stats logged = totals(e, LOGGED), audit = totals(e, AUDIT);
	int worst = worst_op(b, e);
	json_t *row = json_object();
	ls_cli__put_text(row, "platform", ls_platform_describe(e->platform));
	for (int kind = 0; kind < KINDS; kind++) {
		char key[32];
		snprintf(key, sizeof key, "%s_seconds", kinds[kind].name);
		ls_cli__put_real(row, key, e->median[kind]);
		snprintf(key, sizeof key, "%s_ratio", kinds[kind].name);
		ls_cli__put_real(row, key, ratio(e->median[kind], e->median[PLAIN]));
	}
	ls_cli__put_real(row, "state_root_seconds", e->median[KINDS]);
	ls_cli__put_real(row, "log_bytes_per_step", log_per_step(b, e));
	ls_cli__put_real(row, "bits_per_element", bits_per_element(b, e));
	ls_cli__put_real(row, "worst_bits_per_element", worst < 0 ? 0 : op_bits(b, e, worst));
	ls_cli__put_text(row, "worst_op", worst < 0 ? "" : name_of(ls_exec_program(e->lane[LOGGED].exec), worst));
	ls_cli__put_real(row, "ambiguous_share", ratio((double)logged.ambiguous, (double)logged.elements));
	ls_cli__put_uint(row, "corrections", audit.corrections);
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

static void print_times(const ls_cli *cli, const struct bench *b)
{
	char time[LS_CLI__AMOUNT_SIZE];
	ls_cli__say(cli, "%-22s", "seconds a step");
	for (int kind = 0; kind < KINDS; kind++)
		ls_cli__say(cli, kind == PLAIN ? " %9s" : " %9s  ratio", kinds[kind].name);
	ls_cli__say(cli, " %9s\n", "root");
	for (int i = 0; i < b->entrants; i++) {
		const struct entrant *e = &b->entrant[i];
		ls_cli__say(cli, "%-22s", ls_platform_describe(e->platform));
		for (int kind = 0; kind < KINDS; kind++) {
			ls_cli__say(cli, " %9s", ls_cli__seconds_text(time, e->median[kind]));
			if (kind != PLAIN)
				ls_cli__say(cli, " %6.3f", ratio(e->median[kind], e->median[PLAIN]));
		}
		ls_cli__say(cli, " %9s\n", ls_cli__seconds_text(time, e->median[KINDS]));
	}
}

static void print_log(const ls_cli *cli, const struct bench *b, const struct entrant *e)
{
	ls_op_stats logged = totals(e, LOGGED), audit = totals(e, AUDIT);
	int worst = worst_op(b, e);
	ls_cli__say(cli, "%-22s %9.0f %9.4f %9.4f %9.5f %% %11llu  %s\n", ls_platform_describe(e->platform), log_per_step(b, e),
	            bits_per_element(b, e), worst < 0 ? 0 : op_bits(b, e, worst),
	            100 * ratio((double)logged.ambiguous, (double)logged.elements), (unsigned long long)audit.corrections,
	            e->reproduced ? "yes" : "NO");
}

static void print_ops(const ls_cli *cli, const struct bench *b, const struct entrant *e)
{
	const ls_program *program = ls_exec_program(e->lane[LOGGED].exec);
	double all = totals(e, LOGGED).seconds / (double)(b->rounds + 1);
	ls_cli__say(cli, "\nlogged step on %s\n%-24s %-20s %9s %7s %9s %9s\n", ls_platform_describe(e->platform), "op", "kind", "time",
	            "share", "GFLOP/s", "bit/elem");
	for (int op = 0; op < ls_program_ops(program); op++) {
		double seconds = op_seconds(b, e, LOGGED, op), count = flops(program, op);
		char time[LS_CLI__AMOUNT_SIZE];
		ls_cli__say(cli, "%-24s %-20s %9s %5.1f %%", name_of(program, op), ls_program_op(program, op)->kind,
		            ls_cli__seconds_text(time, seconds), 100 * ratio(seconds, all));
		if (count > 0)
			ls_cli__say(cli, " %9.2f %9.4f", 1e-9 * ratio(count, seconds), op_bits(b, e, op));
		ls_cli__say(cli, "\n");
	}
}

static void print_text(const ls_cli *cli, const struct bench *b)
{
	const ls_job_spec *spec = ls_plan_spec(b->session.plan);
	ls_cli__say(cli, "%s: %s, batch %llu, %d threads, medians of %llu rounds\n\n", spec->name, spec->model.arch,
	            (unsigned long long)spec->train.batch, ls_pool_threads(ls_platform_pool(b->entrant[0].platform)),
	            (unsigned long long)b->rounds);
	print_times(cli, b);
	ls_cli__say(cli, "\n%-22s %9s %9s %9s %11s %11s  %s\n", "rounding log", "byte/step", "bit/elem", "worst op", "ambiguous",
	            "corrections", "reproduced");
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
	.summary = "time the modes' steps side by side, op by op",
	.details = "Without JOB a LeNet-5 on Fashion-MNIST is measured. The job's own mode does not matter: all take turns. Every platform\n"
	           "replays the first one's rounding log.",
	.options = options,
	.run = run,
};

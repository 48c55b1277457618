#include "cli/cli.h"

#define MEASURED_STEPS 3
#define SNAPSHOTS_KEPT 4          /* step 0, the end, and last:2 */
#define LEAF_AND_METRICS 256      /* bytes of a step beside its rounding log, about */
#define TYPICAL_BITS 0.02         /* of rounding log per element, where nothing was measured */

static const ls_cli_option options[] = {
	{.name = "output", .argument = "FILE", .help = "write the bytes that the client signs", .brief = 'o'},
	{.name = "measure", .help = "run three steps, so that time and rounding log are measured"},
	{.name = "trainer", .argument = "FILE", .help = "public key of the trainer that the job is given to"},
	{.name = "referee", .argument = "FILE", .help = "public key of who decides disputes"},
	LS_CLI__OPTION_PLATFORM,
	LS_CLI__OPTION_THREADS,
	LS_CLI__OPTION_DATA,
	LS_CLI__OPTION_SET,
	{.name = NULL},
};

struct estimate {
	ls_plan_cost cost;
	int64_t values; /* bytes under the memory plan */
	double memory, disk, disk_most;
	double log_per_step; /* bytes */
	bool measured;
	double step_seconds;
};

static bool is_logged(const ls_job_plan *plan)
{
	return ls_job_keeps_log(ls_plan_spec(plan));
}

/* Nothing is computed here, so a platform of any kind will do. */
static ls_status find_memory(struct estimate *e, const ls_job_plan *plan, ls_error *err)
{
	ls_platform *platform = NULL;
	ls_cli_lane lane = {0};
	int64_t unplanned;
	ls_status status;
	LS_TRY(ls_platform_open(&platform, "naive", NULL, err));
	LS_TRY(ls_cli__lane_open(&lane, plan, platform, LS_ROUNDING_PLAIN, err));
	ls_exec_memory(lane.exec, &e->values, &unplanned);
done:
	ls_cli__lane_close(&lane);
	ls_platform_free(platform);
	return status;
}

static ls_status time_steps(struct estimate *e, const ls_job_plan *plan, ls_platform *platform, ls_error *err)
{
	ls_rounding rounding = ls_replay_rounding(ls_plan_spec(plan), false);
	double seconds[MEASURED_STEPS];
	ls_cli_lane lane = {0}, *lanes = &lane;
	uint64_t bytes = 0;
	ls_status status;
	LS_TRY(ls_cli__lane_open(&lane, plan, platform, rounding, err));
	LS_TRY(ls_cli__lanes_init(&lanes, 1, plan, platform, err));
	for (uint64_t step = 1; step <= MEASURED_STEPS; step++)
		LS_TRY(ls_cli__lane_step(&lane, step, &lane.log, ls_clock_seconds, &seconds[step - 1], err));
	if (is_logged(plan))
		LS_TRY(ls_cli__lane_log_bytes(&lane, MEASURED_STEPS, &bytes, err));
	e->log_per_step = (double)bytes;
	e->step_seconds = ls_cli__median(seconds, MEASURED_STEPS);
	e->measured = true;
done:
	ls_cli__lane_close(&lane);
	return status;
}

static ls_status estimate(struct estimate *e, ls_cli_session *s, const ls_cli_args *args, ls_error *err)
{
	double steps = (double)ls_plan_binding(s->plan)->steps;
	int64_t shape[3];
	ls_status status;
	ls_plan_estimate(s->plan, &e->cost);
	ls_dataset_shape(ls_plan_data(s->plan), shape);
	LS_TRY(find_memory(e, s->plan, err));
	e->log_per_step = is_logged(s->plan) ? (double)e->cost.elements * TYPICAL_BITS / 8 : 0;
	if (ls_cli__given(args, "measure")) {
		LS_TRY(ls_cli__open_platform(s, args, err));
		LS_TRY(time_steps(e, s->plan, s->platform, err));
	}
	e->memory = (double)e->values + (double)e->cost.state_bytes +
	            (double)ls_dataset_count(ls_plan_data(s->plan)) * (double)(shape[0] * shape[1] * shape[2] + 1);
	e->disk = SNAPSHOTS_KEPT * (double)e->cost.state_bytes + steps * (LEAF_AND_METRICS + e->log_per_step);
	e->disk_most = e->disk + steps * ((is_logged(s->plan) ? (double)e->cost.dense_log_bytes : 0) - e->log_per_step);
done:
	return status;
}

static json_t *to_json(const struct estimate *e, const ls_job_plan *plan)
{
	const ls_job_binding *b = ls_plan_binding(plan);
	ls_hash program, init, data, import;
	json_t *object = json_object();
	memcpy(program.byte, b->program, sizeof program.byte);
	memcpy(init.byte, b->init, sizeof init.byte);
	memcpy(data.byte, b->data, sizeof data.byte);
	memcpy(import.byte, b->import, sizeof import.byte);
	ls_cli__put_hash(object, "job", ls_plan_job_id(plan));
	ls_cli__put_text(object, "name", ls_plan_spec(plan)->name);
	ls_cli__put_text(object, "arch", ls_plan_spec(plan)->model.arch);
	ls_cli__put_text(object, "mode", ls_cli__mode_text(ls_plan_spec(plan)));
	ls_cli__put_hash(object, "program", &program);
	ls_cli__put_hash(object, "init", &init);
	ls_cli__put_hash(object, "data", &data);
	ls_cli__put_hash(object, "import", ls_plan_imports(plan) ? &import : NULL);
	ls_cli__put_text(object, "data_path", ls_plan_data_path(plan));
	ls_cli__put_uint(object, "samples", b->samples);
	ls_cli__put_uint(object, "steps", b->steps);
	ls_cli__put_uint(object, "batch", ls_plan_spec(plan)->train.batch);
	ls_cli__put_uint(object, "parameters", (uint64_t)e->cost.parameters);
	ls_cli__put_uint(object, "ops", (uint64_t)e->cost.ops);
	ls_cli__put_uint(object, "products", (uint64_t)e->cost.products);
	ls_cli__put_uint(object, "elements_per_step", (uint64_t)e->cost.elements);
	ls_cli__put_real(object, "terms_per_step", e->cost.product_terms);
	ls_cli__put_uint(object, "state_bytes", (uint64_t)e->cost.state_bytes);
	ls_cli__put_real(object, "memory_bytes", e->memory);
	ls_cli__put_real(object, "disk_bytes", e->disk);
	ls_cli__put_real(object, "disk_bytes_most", e->disk_most);
	ls_cli__put_real(object, "log_bytes_per_step", e->log_per_step);
	ls_cli__put_bool(object, "measured", e->measured);
	json_object_set_new(object, "seconds_per_step", e->measured ? json_real(e->step_seconds) : json_null());
	json_object_set_new(object, "seconds", e->measured ? json_real(e->step_seconds * (double)b->steps) : json_null());
	return object;
}

static void print_digests(const ls_cli *cli, const ls_job_plan *plan)
{
	const ls_job_binding *b = ls_plan_binding(plan);
	char job[LS_HASH_HEX_SIZE], program[LS_HASH_HEX_SIZE], init[LS_HASH_HEX_SIZE], data[LS_HASH_HEX_SIZE];
	ls_hash_hex(job, ls_plan_job_id(plan));
	ls_hex(program, b->program, sizeof b->program);
	ls_hex(init, b->init, sizeof b->init);
	ls_hex(data, b->data, sizeof b->data);
	ls_cli__say(cli, "name        %s (%s, %s)\njob         %s\nprogram     %s\ninit        %s\ndata        %s\n", ls_plan_spec(plan)->name,
	            ls_plan_spec(plan)->model.arch, ls_cli__mode_text(ls_plan_spec(plan)), job, program, init, data);
	if (!ls_plan_imports(plan))
		return;
	ls_hex(data, b->import, sizeof b->import);
	ls_cli__say(cli, "import      %s\n", data);
}

static void print_text(const ls_cli *cli, const struct estimate *e, const ls_cli_session *s)
{
	const ls_job_binding *b = ls_plan_binding(s->plan);
	char one[LS_CLI__AMOUNT_SIZE], two[LS_CLI__AMOUNT_SIZE];
	print_digests(cli, s->plan);
	ls_cli__say(cli, "steps       %llu of %llu samples each, from %llu samples\n", (unsigned long long)b->steps,
	            (unsigned long long)ls_plan_spec(s->plan)->train.batch, (unsigned long long)b->samples);
	ls_cli__say(cli, "parameters  %lld\nstep        %d ops, %d of them products with %.3g terms and %lld elements\n",
	            (long long)e->cost.parameters, e->cost.ops, e->cost.products, e->cost.product_terms, (long long)e->cost.elements);
	ls_cli__say(cli, "memory      about %s\n", ls_cli__bytes_text(one, e->memory));
	ls_cli__say(cli, "disk        about %s, at most %s\n", ls_cli__bytes_text(one, e->disk), ls_cli__bytes_text(two, e->disk_most));
	if (e->measured)
		ls_cli__say(cli, "time        about %s, %s a step on %s\n", ls_cli__seconds_text(one, e->step_seconds * (double)b->steps),
		            ls_cli__seconds_text(two, e->step_seconds), ls_platform_describe(s->platform));
	else
		ls_cli__say(cli, "time        not measured: --measure runs three steps\n");
}

static ls_status open_plan(ls_cli_session *s, const ls_cli_args *args, ls_error *err)
{
	const char *trainer_path = ls_cli__value(args, "trainer"), *referee_path = ls_cli__value(args, "referee");
	uint8_t trainer[LS_KEY_BYTES], referee[LS_KEY_BYTES];
	ls_cli_keys keys = {trainer_path ? trainer : NULL, referee_path ? referee : NULL};
	ls_status status = LS_OK;
	if (trainer_path)
		LS_TRY(ls_public_key_read(trainer, trainer_path, err));
	if (referee_path)
		LS_TRY(ls_public_key_read(referee, referee_path, err));
	LS_TRY(ls_cli__open_plan_keyed(s, args, s->job, false, &keys, err));
done:
	return status;
}

static ls_status run(ls_cli *cli, const ls_cli_args *args, int *code, ls_error *err)
{
	const char *path = ls_cli__value(args, "output");
	ls_cli_session s = {0};
	struct estimate e = {0};
	const uint8_t *bytes;
	size_t len;
	ls_status status;
	LS_TRY(ls_cli__open_job(&s, args, err));
	LS_TRY(open_plan(&s, args, err));
	LS_TRY(estimate(&e, &s, args, err));
	bytes = ls_plan_bytes(s.plan, &len);
	if (path)
		LS_TRY(ls_file_write(path, bytes, len, err));
	if (cli->json)
		ls_cli__emit(to_json(&e, s.plan));
	else
		print_text(cli, &e, &s);
	if (path)
		ls_cli__say(cli, "wrote       %s, %zu bytes to sign\n", path, len);
done:
	ls_cli__close(&s);
	return status;
}

const ls_cli_command ls_cli__plan = {
	.name = "plan",
	.operands = "JOB",
	.operands_min = 1,
	.operands_max = 1,
	.summary = "check a job and say what it comes to: id, steps, memory, disk, time",
	.options = options,
	.run = run,
};

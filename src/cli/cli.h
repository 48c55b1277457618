/* Internal to src/cli: the command line. A command is one file cmd_VERB.c that defines one ls_cli_command, named in the
 * list of table.c. Options are rows of a table, from which parsing, complaints and --help follow.
 *
 * Texts for people and the result go to stdout, everything else to stderr. With --json every line of stdout is one
 * complete JSON object, the last of which is the result or {"error", "status"}.
 */
#ifndef LS_CLI_H
#define LS_CLI_H

#include <lockstep/audit.h>

#include <jansson.h>

#define LS_CLI__VERSION "0.1.0"

/* Exit codes. */
enum { LS_CLI__DONE = 0, LS_CLI__OTHER_VERDICT = 1, LS_CLI__USAGE = 2, LS_CLI__UNFINISHED = 3 };

typedef struct ls_cli {
	bool json;
	bool terminal; /* stderr is one: bars may be drawn */
	/* True once the person asked to stop (SIGINT, SIGTERM). */
	bool (*stop)(void *context);
	void *stop_context;
} ls_cli;

/* ---- commands and their options ---- */

#define LS_CLI__OPTIONS_MAX 20
#define LS_CLI__POSITIONALS_MAX 64

typedef struct ls_cli_option {
	const char *name;     /* without dashes; NULL ends a table */
	const char *argument; /* what stands for the value in help; NULL: a flag */
	const char *help;
	const char *fallback; /* the value where the option is not given; NULL: none */
	const char *fallback_text; /* how help states a default that is worked out; NULL: as `fallback` */
	bool repeats;         /* may be given several times */
	bool later;           /* known, refused by this version, absent from help */
	char brief;           /* one-letter form, or 0 */
} ls_cli_option;

struct ls_cli_args;

typedef struct ls_cli_command {
	const char *name;
	const char *operands; /* "RUN RUN" in help; NULL: none */
	int operands_min, operands_max;
	const char *summary; /* one line */
	const char *details; /* further lines of --help; may be NULL */
	const ls_cli_option *options;
	/* Prints its result. `*code` is LS_CLI__DONE or LS_CLI__OTHER_VERDICT; it counts where LS_OK is returned. */
	ls_status (*run)(ls_cli *cli, const struct ls_cli_args *args, int *code, ls_error *err);
} ls_cli_command;

typedef struct ls_cli_args {
	const ls_cli_command *command;
	const char *operand[LS_CLI__POSITIONALS_MAX];
	int operands;
	const char *value[LS_CLI__OPTIONS_MAX]; /* by row; the last one given, "" for a flag, NULL where not given */
	const char **repeated; /* values of the option that repeats, in order; a command has at most one such */
	size_t repeats;
	bool help;
} ls_cli_args;

extern const ls_cli_command ls_cli__audit, ls_cli__bench, ls_cli__calibrate, ls_cli__diff, ls_cli__dispute, ls_cli__eval, ls_cli__export,
	ls_cli__help, ls_cli__init, ls_cli__inspect, ls_cli__judge, ls_cli__keygen, ls_cli__plan, ls_cli__platforms, ls_cli__report, ls_cli__sample, ls_cli__serve, ls_cli__sign,
	ls_cli__train, ls_cli__verify;

/* The command of that name; NULL with LS_ERR_USAGE and the nearest name in `err` otherwise. */
const ls_cli_command *ls_cli__find(const char *name, ls_error *err);
/* index ≥ count gives NULL. */
const ls_cli_command *ls_cli__at(size_t index);

/* Runs the command line. `stop` is polled by long commands. Returns the exit code. */
int ls_cli__main(int argc, char **argv, bool (*stop)(void *context), void *stop_context);

/* argv[0] is the first word after the command's name. Release with ls_cli__args_free, also after a failure. */
ls_status ls_cli__parse(ls_cli_args *out, const ls_cli_command *command, int argc, char **argv, ls_error *err);
void ls_cli__args_free(ls_cli_args *args);
/* The option's value or default; NULL where there is neither. A flag's value is "". */
const char *ls_cli__value(const ls_cli_args *args, const char *option);
bool ls_cli__given(const ls_cli_args *args, const char *option);
/* Whole decimal number in [min, max], LS_ERR_USAGE otherwise; `fallback` where the option has no value. */
ls_status ls_cli__number(const ls_cli_args *args, const char *option, uint64_t min, uint64_t max, uint64_t fallback,
                         uint64_t *out, ls_error *err);
bool ls_cli__parse_number(const char *text, size_t len, uint64_t max, uint64_t *out);
void ls_cli__print_help(ls_cli *cli, const ls_cli_command *command);
void ls_cli__print_overview(ls_cli *cli);
/* Complaint about the command line. */
ls_status ls_cli__usage(ls_error *err, const char *place, const char *found, const char *expected, const char *hint);
/* Of `names` (NULL-terminated) the one with the fewest edits from `name`; NULL where none is near. */
const char *ls_cli__nearest(const char *name, const char *const *names);

/* ---- output ---- */

/* Prints the object as one line and releases it. */
void ls_cli__emit(json_t *object);
/* Text for people; nothing under --json. */
void ls_cli__say(const ls_cli *cli, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* A line on stderr for people. */
void ls_cli__note(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Reports a failure both ways and returns the exit code that belongs to its status. */
int ls_cli__fail(const ls_cli *cli, const ls_error *err);
int ls_cli__exit_code(ls_status status);
/* The verdict of a command that only meant to read a run. */
void ls_cli__report_damage(const ls_cli *cli, const ls_damage *damage);

/* Members of a JSON object. Bytes that are no UTF-8 become '?'; numbers that JSON lacks become null. */
void ls_cli__put_text(json_t *object, const char *key, const char *text); /* NULL: null */
void ls_cli__put_uint(json_t *object, const char *key, uint64_t value);
void ls_cli__put_step(json_t *object, const char *key, bool known, uint64_t step); /* not known: null */
void ls_cli__put_real(json_t *object, const char *key, double value);
void ls_cli__put_bool(json_t *object, const char *key, bool value);
void ls_cli__put_hash(json_t *object, const char *key, const ls_hash *hash); /* NULL: null */

/* Member `stages`: null in other modes than exact. */
void ls_cli__put_stages(json_t *object, uint32_t mode, const ls_stages *stages);
/* "; of 900 elements of products 3 were certified, 2 computed exactly", or nothing in other modes. */
#define LS_CLI__STAGES_SIZE 160
const char *ls_cli__stages_text(char out[LS_CLI__STAGES_SIZE], uint32_t mode, const ls_stages *stages);

#define LS_CLI__AMOUNT_SIZE 32
/* "1.5 MB", "230 bytes"; "1.4 s", "2 h 10 min". */
const char *ls_cli__bytes_text(char out[LS_CLI__AMOUNT_SIZE], double bytes);
const char *ls_cli__seconds_text(char out[LS_CLI__AMOUNT_SIZE], double seconds);
const char *ls_cli__mode_text(const ls_job_spec *spec);
/* " (uncertified)" behind the mode of a job whose thresholds are empirical, else nothing. */
const char *ls_cli__uncertified_text(const ls_job_spec *spec);

/* ---- progress ---- */

typedef struct ls_cli_progress {
	const ls_cli *cli;
	const char *verb;
	uint64_t total; /* number of the last step */
	uint64_t steps; /* seen */
	double started, shown;
	bool drawn;
} ls_cli_progress;

void ls_cli__progress_start(ls_cli_progress *p, const ls_cli *cli, const char *verb, uint64_t total);
/* An ls_step_fn and a `stop`, both on an ls_cli_progress. */
void ls_cli__progress_step(void *progress, const ls_metrics *metrics);
bool ls_cli__progress_stop(void *progress);
/* Removes the bar. */
void ls_cli__progress_end(ls_cli_progress *p);

/* ---- what several commands open ---- */

struct ls_remote;

typedef struct ls_cli_session {
	ls_run *run;
	struct ls_remote *remote; /* where the run is served, if it is */
	ls_job *job;
	ls_job_plan *plan;
	ls_platform *platform;
} ls_cli_session;

/* Rows that several commands share. */
#define LS_CLI__OPTION_SET                                                                                             \
	{.name = "set", .argument = "KEY=VALUE", .help = "override a field of the job (a new job, a new id); repeatable", .repeats = true}
#define LS_CLI__OPTION_DATA                                                                                            \
	{.name = "data", .argument = "DIR", .help = "where the data lies", .fallback_text = "data.path of the job"}
#define LS_CLI__OPTION_PLATFORM                                                                                        \
	{.name = "platform", .argument = "P", .help = "what computes: see lockstep platforms", .fallback = "native"}
#define LS_CLI__OPTION_THREADS                                                                                         \
	{.name = "threads", .argument = "N", .help = "threads that compute", .fallback_text = "the processors at hand"}

/* Reads the job named by operand 0 under --set. */
ls_status ls_cli__open_job(ls_cli_session *s, const ls_cli_args *args, ls_error *err);
/* Plans `job` with the data of --data. */
ls_status ls_cli__open_plan(ls_cli_session *s, const ls_cli_args *args, const ls_job *job, bool eval, ls_error *err);
/* Public keys that a job is to name, or NULL. */
typedef struct ls_cli_keys {
	const uint8_t *trainer, *referee;
} ls_cli_keys;
ls_status ls_cli__open_plan_keyed(ls_cli_session *s, const ls_cli_args *args, const ls_job *job, bool eval, const ls_cli_keys *keys,
                                  ls_error *err);
/* Opens --platform with --threads and lets it pass its self-test: LS_ERR_NONCONFORMING names the check that failed. */
ls_status ls_cli__open_platform(ls_cli_session *s, const ls_cli_args *args, ls_error *err);
/* LS_ERR_USAGE with the names there are, where `name` is none of them. */
ls_status ls_cli__check_platform_name(const char *name, ls_error *err);
/* ls_cli__open_platform by name. */
ls_status ls_cli__open_platform_named(ls_platform **out, const ls_cli_args *args, const char *name, ls_error *err);
/* Opens operand `index` as a run. Damage is left to the caller, `s->run` may then be NULL. */
ls_status ls_cli__open_run(ls_cli_session *s, const ls_cli_args *args, int index, ls_damage *damage, ls_error *err);
/* The same where the operand may also be the address of a served run, which needs the command's options --ca and --timeout; with
 * `live` it is opened as far as its newest head goes, and is NULL without damage where there is none yet. */
ls_status ls_cli__open_run_anywhere(ls_cli_session *s, const ls_cli_args *args, int index, bool live, ls_damage *damage, ls_error *err);
#define LS_CLI__OPTIONS_REMOTE                                                                                         \
	{.name = "ca", .argument = "FILE", .help = "of a served run: the certificates (PEM) to trust", .fallback_text = "the system's"}, \
	{.name = "timeout", .argument = "SECONDS", .help = "of a served run: how long the server may be silent", .fallback = "15"}
/* Reads the newest snapshot of a run into the executor of its step program; `*step` says which. One that does not verify is
 * damage. */
ls_status ls_cli__load_last(const ls_run *run, ls_exec *exec, uint64_t *step, ls_damage *damage, ls_error *err);
void ls_cli__close(ls_cli_session *s);

/* ---- measuring steps in memory, without a run directory ---- */

/* An executor of the plan's step program with all it borrows; release with ls_cli__lane_close. */
typedef struct ls_cli_lane {
	const ls_job_plan *plan;
	ls_hasher *hasher;
	ls_exec *exec;
	ls_step_log log; /* written under RECORD */
	ls_buf coded;    /* scratch of ls_cli__lane_log_bytes */
} ls_cli_lane;

ls_status ls_cli__lane_open(ls_cli_lane *out, const ls_job_plan *plan, ls_platform *platform, ls_rounding rounding, ls_error *err);
void ls_cli__lane_close(ls_cli_lane *lane);
/* Makes step 0's state, on `platform`, in each of the lanes. */
ls_status ls_cli__lanes_init(ls_cli_lane *const *lanes, int count, const ls_job_plan *plan, ls_platform *platform, ls_error *err);
/* One step without state root; `log` is written or read as the lane's rounding says. `*seconds` is its time by `clock`. */
ls_status ls_cli__lane_step(ls_cli_lane *lane, uint64_t step, ls_step_log *log, double (*clock)(void), double *seconds,
                            ls_error *err);
/* Bytes that the lane's log of `step` takes in a run. */
ls_status ls_cli__lane_log_bytes(ls_cli_lane *lane, uint64_t step, uint64_t *bytes, ls_error *err);
/* Of them what the coded entries of one op take, counted as if its last frame were a full one. */
ls_status ls_cli__lane_op_bytes(ls_cli_lane *lane, int op, uint64_t *bytes, ls_error *err);
/* Sorts. Of an even number the lower one of the two in the middle; count ≥ 1. */
double ls_cli__median(double *value, size_t count);
#endif

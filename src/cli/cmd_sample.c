#include "cli/cli.h"

#include <lockstep/tokenizer.h>

#include <stdio.h>
#include <stdlib.h>

#define TOKENS_MAX 1000000
#define PROMPT_MAX ((size_t)1 << 20) /* bytes */
#define TEXT_MAX ((size_t)64 << 20)  /* bytes written under --json */
#define TEMPERATURE_MAX 100

static const ls_cli_option options[] = {
	{.name = "prompt", .argument = "TEXT", .help = "what the text begins with", .fallback_text = "the end of a text before it"},
	{.name = "tokens", .argument = "N", .help = "write at most so many tokens", .fallback = "200"},
	{.name = "temperature", .argument = "T", .help = "below 1 keeps to likely tokens, 0 takes the likeliest", .fallback = "1"},
	{.name = "top-k", .argument = "K", .help = "only the K likeliest tokens; 0: all", .fallback = "0"},
	{.name = "seed", .argument = "S", .help = "another one gives another text", .fallback = "1"},
	{.name = "vocab", .argument = "DIR", .help = "vocab.json and merges.txt", .fallback_text = "data.vocab of the job"},
	LS_CLI__OPTION_PLATFORM,
	LS_CLI__OPTION_THREADS,
	{.name = NULL},
};

typedef struct writer {
	const ls_cli *cli;
	const ls_tokenizer *tokenizer;
	ls_buf text;
	uint64_t tokens, step;
} writer;

static bool write_token(void *context, int32_t token)
{
	writer *w = context;
	size_t len;
	const uint8_t *bytes = ls_tokenizer_token(w->tokenizer, token, &len);
	w->tokens++;
	if (w->cli->json) {
		ls_buf_bytes(&w->text, bytes, len);
	} else {
		fwrite(bytes, 1, len, stdout);
		fflush(stdout);
	}
	return !w->cli->stop(w->cli->stop_context);
}

/* That of the job, or GPT-2's where the tokens were made elsewhere. */
static ls_status open_tokenizer(ls_tokenizer **out, const ls_cli_session *s, const ls_cli_args *args, ls_error *err)
{
	const ls_job_spec *spec = ls_plan_spec(s->plan);
	const char *folder = ls_cli__value(args, "vocab");
	char path[LS_PATH_MAX];
	ls_status status;
	if (!folder && !ls_data_format_is_tokens(spec->data.format))
		return ls_error_set(err, LS_ERR_INPUT, "%s: found data.format %s, expected a model of text", spec->name, spec->data.format);
	if (!folder && !strcmp(spec->data.format, "text") && spec->data.tokenizer == LS_JOB_BYTES)
		return ls_tokenizer_open(out, "bytes", NULL, err);
	if (!folder && !spec->data.vocab[0])
		return ls_cli__usage(err, "--vocab", "none", "the folder of vocab.json and merges.txt", "the job names none");
	if (!folder) {
		LS_TRY(ls_plan_vocab_path(s->plan, path, err));
		folder = path;
	}
	status = ls_tokenizer_open(out, "gpt2", folder, err);
done:
	return status;
}

static ls_status read_temperature(const ls_cli_args *args, double *out, ls_error *err)
{
	const char *text = ls_cli__value(args, "temperature");
	char *end;
	*out = strtod(text, &end);
	if (end == text || *end || !(*out >= 0 && *out <= TEMPERATURE_MAX))
		return ls_cli__usage(err, "--temperature", text, "a number from 0 to 100", NULL);
	return LS_OK;
}

static ls_status read_options(ls_sample_options *o, const ls_cli_args *args, ls_error *err)
{
	ls_status status;
	uint64_t tokens, top_k, seed;
	LS_TRY(ls_cli__number(args, "tokens", 1, TOKENS_MAX, 0, &tokens, err));
	LS_TRY(ls_cli__number(args, "top-k", 0, LS_TOKENIZER_VOCAB_MAX, 0, &top_k, err));
	LS_TRY(ls_cli__number(args, "seed", 0, UINT32_MAX, 0, &seed, err));
	LS_TRY(read_temperature(args, &o->temperature, err));
	o->tokens = (int64_t)tokens;
	o->top_k = (int64_t)top_k;
	o->seed = (uint32_t)seed;
done:
	return status;
}

/* Without a prompt the text begins as one does in a collection: behind the end of another, or of a line. */
static ls_status encode_prompt(const ls_tokenizer *t, const char *prompt, ls_buf *tokens, ls_error *err)
{
	if (prompt && prompt[0])
		return ls_tokenizer_encode(t, prompt, strlen(prompt), tokens, err);
	if (ls_tokenizer_end_of_text(t) < 0)
		return ls_tokenizer_encode(t, "\n", 1, tokens, err);
	ls_buf_u16(tokens, (uint16_t)ls_tokenizer_end_of_text(t));
	return tokens->status;
}

static ls_status to_numbers(const ls_buf *tokens, uint16_t **out, size_t *count, ls_error *err)
{
	*count = tokens->len / 2;
	*out = ls_alloc(*count, sizeof **out);
	if (!*out)
		return ls_error_set(err, LS_ERR_NOMEM, "no memory for a prompt of %zu tokens", *count);
	for (size_t i = 0; i < *count; i++)
		(*out)[i] = (uint16_t)(tokens->data[2 * i] | tokens->data[2 * i + 1] << 8);
	return LS_OK;
}

/* As in export: the snapshot is read into the state of an executor that cannot execute. */
static ls_status load(ls_exec **exec, ls_hasher **hasher, ls_cli_session *s, const ls_cli_args *args, uint64_t *step,
                      ls_damage *damage, ls_error *err)
{
	ls_exec_options o = LS_EXEC_OPTIONS_INIT;
	ls_status status;
	LS_TRY(ls_cli__open_platform(s, args, err));
	LS_TRY(ls_hasher_open(hasher, ls_pool_threads(ls_platform_pool(s->platform)), err));
	o.program = ls_model_step(ls_plan_model(s->plan));
	o.platform = s->platform;
	o.hasher = *hasher;
	o.state_only = true;
	LS_TRY(ls_exec_open(exec, &o, err));
	LS_TRY(ls_cli__load_last(s->run, *exec, step, damage, err));
done:
	return status;
}

static ls_status sample(writer *w, ls_cli_session *s, const ls_cli_args *args, ls_damage *damage, ls_error *err)
{
	ls_sample_options o = LS_SAMPLE_OPTIONS_INIT;
	const char *prompt = ls_cli__value(args, "prompt");
	ls_tokenizer *tokenizer = NULL;
	ls_hasher *hasher = NULL;
	ls_exec *exec = NULL;
	uint16_t *numbers = NULL;
	ls_status status;
	ls_buf tokens;
	ls_buf_init(&tokens, 2 * PROMPT_MAX);
	LS_TRY(read_options(&o, args, err));
	LS_TRY(ls_plan_open_offline(&s->plan, ls_run_job(s->run), ls_run_binding(s->run), err));
	LS_TRY(open_tokenizer(&tokenizer, s, args, err));
	LS_TRY(encode_prompt(tokenizer, prompt, &tokens, err));
	LS_TRY(to_numbers(&tokens, &numbers, &o.count, err));
	LS_TRY(load(&exec, &hasher, s, args, &w->step, damage, err));
	if (damage->found)
		goto done;
	o.prompt = numbers;
	o.vocabulary = ls_tokenizer_size(tokenizer);
	o.end = ls_tokenizer_end_of_text(tokenizer);
	o.on_token = write_token;
	o.context = w;
	w->tokenizer = tokenizer;
	if (prompt && w->cli->json)
		ls_buf_bytes(&w->text, prompt, strlen(prompt));
	else if (prompt)
		fputs(prompt, stdout);
	LS_TRY(ls_sample(s->plan, s->platform, exec, &o, err));
done:
	ls_exec_free(exec);
	ls_hasher_free(hasher);
	ls_tokenizer_free(tokenizer);
	ls_free(numbers);
	ls_buf_free(&tokens);
	return status;
}

static ls_status print_result(writer *w, ls_error *err)
{
	json_t *object;
	ls_cli__say(w->cli, "\n");
	if (!w->cli->json)
		return LS_OK;
	ls_buf_u8(&w->text, 0);
	if (w->text.status != LS_OK)
		return ls_error_set(err, w->text.status, "the text is too long to be put into JSON");
	object = json_object();
	ls_cli__put_text(object, "text", (const char *)w->text.data);
	ls_cli__put_uint(object, "tokens", w->tokens);
	ls_cli__put_uint(object, "step", w->step);
	ls_cli__emit(object);
	return LS_OK;
}

static ls_status run(ls_cli *cli, const ls_cli_args *args, int *code, ls_error *err)
{
	ls_cli_session s = {0};
	writer w = {.cli = cli};
	ls_damage damage;
	ls_status status;
	ls_buf_init(&w.text, TEXT_MAX);
	LS_TRY(ls_cli__open_run(&s, args, 0, &damage, err));
	if (!damage.found)
		LS_TRY(sample(&w, &s, args, &damage, err));
	*code = damage.found ? LS_CLI__OTHER_VERDICT : LS_CLI__DONE;
	if (damage.found)
		ls_cli__report_damage(cli, &damage);
	else
		status = print_result(&w, err);
done:
	ls_buf_free(&w.text);
	ls_cli__close(&s);
	return status;
}

const ls_cli_command ls_cli__sample = {
	.name = "sample",
	.operands = "RUN",
	.operands_min = 1,
	.operands_max = 1,
	.summary = "let the model of a run's last snapshot write a text",
	.details = "The snapshot is checked against the run's leaf. Products are rounded exactly, or as mode pinned does: the same seed\n"
	           "gives the same text on every platform.",
	.options = options,
	.run = run,
};

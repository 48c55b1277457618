/* The one parser of options: --name VALUE, --name=VALUE, -x VALUE; -- ends them. */
#include "cli/cli.h"

#include <stdio.h>

/* Every command has these. */
static const ls_cli_option common[] = {
	{.name = "json", .help = "print JSON objects, one a line, the last being the result"},
	{.name = "help", .help = "print this text", .brief = 'h'},
	{.name = NULL},
};

ls_status ls_cli__usage(ls_error *err, const char *place, const char *found, const char *expected, const char *hint)
{
	ls_error_input(err, place, NULL, found, expected, hint);
	if (err)
		err->status = LS_ERR_USAGE;
	return LS_ERR_USAGE;
}

/* ---- the nearest word ---- */

const char *ls_cli__nearest(const char *name, const char *const *names)
{
	const char *best = NULL;
	size_t least = strlen(name) / 2 + 1; // further away than half a word is no likeness
	for (size_t i = 0; names[i]; i++) {
		size_t n = ls_edit_distance(name, names[i]);
		if (n < least) {
			least = n;
			best = names[i];
		}
	}
	return best;
}

/* ---- parsing ---- */

struct parser {
	ls_cli_args *out;
	int argc, at;
	char **argv;
	ls_error *err;
};

static const ls_cli_option *row_of(const ls_cli_option *table, const char *name, size_t len)
{
	for (const ls_cli_option *o = table; o && o->name; o++)
		if (strlen(o->name) == len && !memcmp(o->name, name, len))
			return o;
	return NULL;
}

static const ls_cli_option *row_of_brief(const ls_cli_option *table, char brief)
{
	for (const ls_cli_option *o = table; o && o->name; o++)
		if (o->brief == brief)
			return o;
	return NULL;
}

static size_t add_names(const char **names, size_t count, const ls_cli_option *table)
{
	for (const ls_cli_option *o = table; o && o->name; o++)
		if (!o->later)
			names[count++] = o->name;
	return count;
}

static ls_status unknown_option(struct parser *p, const char *word, size_t len)
{
	const char *names[LS_CLI__OPTIONS_MAX + 4] = {NULL}, *near;
	const ls_cli_command *command = p->out->command;
	char shown[64], hint[96];
	add_names(names, add_names(names, 0, command->options), common);
	snprintf(shown, sizeof shown, "%.*s", (int)len, word);
	near = ls_cli__nearest(shown + (len > 2 ? 2 : 0), names);
	if (near)
		snprintf(hint, sizeof hint, "did you mean --%s?", near);
	else
		snprintf(hint, sizeof hint, "lockstep %s --help lists the options", command->name);
	return ls_cli__usage(p->err, shown, "an unknown option", "an option of this command", hint);
}

static ls_status store(struct parser *p, const ls_cli_option *o, const char *value)
{
	ls_cli_args *out = p->out;
	size_t row = (size_t)(o - out->command->options);
	char place[64];
	if (out->value[row] && !o->repeats) {
		snprintf(place, sizeof place, "--%s", o->name);
		return ls_cli__usage(p->err, place, "the option twice", "it once", NULL);
	}
	out->value[row] = value;
	if (o->repeats)
		out->repeated[out->repeats++] = value;
	return LS_OK;
}

/* What follows an option that takes a value. A word that looks like an option must be joined by '='. */
static ls_status take_value(struct parser *p, const ls_cli_option *o, const char *joined, const char **value)
{
	char place[64], hint[96];
	snprintf(place, sizeof place, "--%s", o->name);
	*value = joined ? joined : "";
	if (!o->argument)
		return joined ? ls_cli__usage(p->err, place, "a value", "none", NULL) : LS_OK;
	if (joined)
		return LS_OK;
	if (p->at == p->argc || !strncmp(p->argv[p->at], "--", 2)) {
		snprintf(hint, sizeof hint, "write --%s=%s", o->name, o->argument);
		return ls_cli__usage(p->err, place, p->at == p->argc ? "nothing after it" : "another option after it", o->argument, hint);
	}
	*value = p->argv[p->at++];
	return LS_OK;
}

static ls_status take_option(struct parser *p, const char *word)
{
	const char *equals = strchr(word, '=');
	size_t len = equals ? (size_t)(equals - word) : strlen(word);
	const ls_cli_option *own, *shared, *o;
	bool is_long = !strncmp(word, "--", 2), is_brief = !is_long && strlen(word) == 2;
	const char *value, *joined = is_long && equals ? equals + 1 : NULL;
	ls_status status;
	own = is_long ? row_of(p->out->command->options, word + 2, len - 2)
	      : is_brief ? row_of_brief(p->out->command->options, word[1]) : NULL;
	shared = is_long ? row_of(common, word + 2, len - 2) : is_brief ? row_of_brief(common, word[1]) : NULL;
	o = own ? own : shared;
	if (!o)
		return unknown_option(p, word, len);
	if (o->later)
		return ls_cli__usage(p->err, word, "an option that is not in this version", "one of this version", o->help);
	status = take_value(p, o, joined, &value);
	if (status != LS_OK)
		return status;
	if (own)
		return store(p, own, value);
	p->out->help = p->out->help || shared->brief == 'h';
	return LS_OK;
}

static ls_status take_operand(struct parser *p, const char *word)
{
	char expected[96];
	if (p->out->operands == p->out->command->operands_max) {
		snprintf(expected, sizeof expected, "%s", p->out->command->operands ? p->out->command->operands : "options only");
		return ls_cli__usage(p->err, p->out->command->name, word, expected, NULL);
	}
	p->out->operand[p->out->operands++] = word;
	return LS_OK;
}

static ls_status check_operands(struct parser *p)
{
	const ls_cli_command *command = p->out->command;
	char found[32], hint[96];
	if (p->out->help || p->out->operands >= command->operands_min)
		return LS_OK;
	snprintf(found, sizeof found, p->out->operands ? "only %d operand" : "no operand", p->out->operands);
	snprintf(hint, sizeof hint, "lockstep %s --help says how it is used", command->name);
	return ls_cli__usage(p->err, command->name, found, command->operands, hint);
}

ls_status ls_cli__parse(ls_cli_args *out, const ls_cli_command *command, int argc, char **argv, ls_error *err)
{
	struct parser p = {.out = out, .argc = argc, .argv = argv, .err = err};
	bool options_ended = false;
	ls_status status = LS_OK;
	*out = (ls_cli_args){.command = command};
	out->repeated = ls_alloc((size_t)argc + 1, sizeof *out->repeated);
	if (!out->repeated)
		return ls_error_set(err, LS_ERR_NOMEM, "out of memory");
	while (p.at < argc) {
		const char *word = argv[p.at++];
		bool option = !options_ended && word[0] == '-' && word[1];
		if (option && !strcmp(word, "--"))
			options_ended = true;
		else
			LS_TRY(option ? take_option(&p, word) : take_operand(&p, word));
	}
	LS_TRY(check_operands(&p));
done:
	return status;
}

void ls_cli__args_free(ls_cli_args *args)
{
	ls_free(args->repeated);
	args->repeated = NULL;
}

/* ---- values ---- */

static const ls_cli_option *own_row(const ls_cli_args *args, const char *option)
{
	return row_of(args->command->options, option, strlen(option));
}

bool ls_cli__given(const ls_cli_args *args, const char *option)
{
	const ls_cli_option *o = own_row(args, option);
	return o && args->value[o - args->command->options];
}

const char *ls_cli__value(const ls_cli_args *args, const char *option)
{
	const ls_cli_option *o = own_row(args, option);
	const char *value = o ? args->value[o - args->command->options] : NULL;
	return value ? value : o ? o->fallback : NULL;
}

bool ls_cli__parse_number(const char *text, size_t len, uint64_t max, uint64_t *out)
{
	uint64_t n = 0;
	if (len == 0)
		return false;
	for (size_t i = 0; i < len; i++) {
		uint64_t digit = (uint64_t)(unsigned char)text[i] - '0';
		if (digit > 9 || n > (max - digit) / 10)
			return false;
		n = 10 * n + digit;
	}
	*out = n;
	return n <= max;
}

ls_status ls_cli__number(const ls_cli_args *args, const char *option, uint64_t min, uint64_t max, uint64_t fallback,
                         uint64_t *out, ls_error *err)
{
	const char *text = ls_cli__value(args, option);
	char place[64], expected[96];
	*out = fallback;
	if (!text || (ls_cli__parse_number(text, strlen(text), max, out) && *out >= min))
		return LS_OK;
	snprintf(place, sizeof place, "--%s", option);
	snprintf(expected, sizeof expected, "a whole number from %llu to %llu", (unsigned long long)min, (unsigned long long)max);
	return ls_cli__usage(err, place, text[0] ? text : "nothing", expected, NULL);
}

/* ---- help ---- */

static void print_option(const ls_cli_option *o)
{
	char left[48], brief[8] = "";
	const char *fallback = o->fallback_text ? o->fallback_text : o->fallback;
	if (o->brief)
		snprintf(brief, sizeof brief, "-%c, ", o->brief);
	snprintf(left, sizeof left, "%s--%s%s%s", brief, o->name, o->argument ? " " : "", o->argument ? o->argument : "");
	printf("  %-24s %s%s%s%s\n", left, o->help, fallback ? " (default: " : "", fallback ? fallback : "", fallback ? ")" : "");
}

static void print_table(const ls_cli_option *table)
{
	for (const ls_cli_option *o = table; o && o->name; o++)
		if (!o->later)
			print_option(o);
}

static json_t *options_json(const ls_cli_option *table, json_t *list)
{
	for (const ls_cli_option *o = table; o && o->name; o++) {
		json_t *row = json_object();
		ls_cli__put_text(row, "name", o->name);
		ls_cli__put_text(row, "argument", o->argument);
		ls_cli__put_text(row, "help", o->help);
		ls_cli__put_text(row, "default", o->fallback_text ? o->fallback_text : o->fallback);
		if (o->later)
			json_decref(row);
		else
			json_array_append_new(list, row);
	}
	return list;
}

static void help_json(const ls_cli_command *command)
{
	json_t *object = json_object(), *list = json_array();
	ls_cli__put_text(object, "command", command->name);
	ls_cli__put_text(object, "operands", command->operands);
	ls_cli__put_text(object, "summary", command->summary);
	json_object_set_new(object, "options", options_json(common, options_json(command->options, list)));
	ls_cli__emit(object);
}

void ls_cli__print_help(ls_cli *cli, const ls_cli_command *command)
{
	if (cli->json) {
		help_json(command);
		return;
	}
	printf("usage: lockstep %s%s%s [options]\n\n%s\n", command->name, command->operands ? " " : "",
	       command->operands ? command->operands : "", command->summary);
	if (command->details)
		printf("\n%s\n", command->details);
	printf("\noptions:\n");
	print_table(command->options);
	print_table(common);
}

static void overview_json(void)
{
	json_t *object = json_object(), *list = json_array();
	for (size_t i = 0; ls_cli__at(i); i++) {
		json_t *row = json_object();
		ls_cli__put_text(row, "name", ls_cli__at(i)->name);
		ls_cli__put_text(row, "summary", ls_cli__at(i)->summary);
		json_array_append_new(list, row);
	}
	json_object_set_new(object, "commands", list);
	ls_cli__emit(object);
}

void ls_cli__print_overview(ls_cli *cli)
{
	if (cli->json) {
		overview_json();
		return;
	}
	printf("Lockstep trains neural networks so that others can train them again and get the same bits.\n\n"
	       "usage: lockstep COMMAND [options]\n\n");
	for (size_t i = 0; ls_cli__at(i); i++)
		printf("  %-10s %s\n", ls_cli__at(i)->name, ls_cli__at(i)->summary);
	printf("\nlockstep COMMAND --help describes one command; lockstep --version names this version.\n"
	       "Exit codes: 0 done or match; 1 any other verdict; 2 bad usage or input; 3 could not finish.\n");
}

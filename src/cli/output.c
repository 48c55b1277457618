/* What is printed, and how: text for people, JSON for programs. */
#include "cli/cli.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

void ls_cli__emit(json_t *object)
{
	char *line = object ? json_dumps(object, JSON_REAL_PRECISION(17)) : NULL;
	printf("%s\n", line ? line : "{\"error\": \"out of memory\", \"status\": \"out of memory\"}");
	free(line);
	json_decref(object);
}

void ls_cli__say(const ls_cli *cli, const char *format, ...)
{
	va_list args;
	if (cli->json)
		return;
	va_start(args, format);
	vprintf(format, args);
	va_end(args);
}

void ls_cli__note(const char *format, ...)
{
	va_list args;
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
}

int ls_cli__exit_code(ls_status status)
{
	switch (status) {
	case LS_OK: return LS_CLI__DONE;
	case LS_ERR_USAGE:
	case LS_ERR_INPUT:
	case LS_ERR_LIMIT:
	case LS_ERR_EXISTS:
	case LS_ERR_NOT_FOUND: return LS_CLI__USAGE;
	case LS_ERR_IO:
	case LS_ERR_FULL:
	case LS_ERR_NOMEM:
	case LS_ERR_UNSUPPORTED:
	case LS_ERR_NONCONFORMING:
	case LS_ERR_INTERNAL: return LS_CLI__UNFINISHED;
	}
	return LS_CLI__UNFINISHED;
}

int ls_cli__fail(const ls_cli *cli, const ls_error *err)
{
	const char *text = err->text[0] ? err->text : ls_status_text(err->status);
	if (cli->json) {
		json_t *object = json_object();
		ls_cli__put_text(object, "error", text);
		ls_cli__put_text(object, "status", ls_status_text(err->status));
		ls_cli__put_uint(object, "exit", (uint64_t)ls_cli__exit_code(err->status));
		ls_cli__emit(object);
	}
	ls_cli__note("lockstep: %s\n", text);
	return ls_cli__exit_code(err->status);
}

/* ---- members of a JSON object ---- */

/* Paths are bytes; what is no UTF-8 is made ASCII, so that a line is always whole. */
static json_t *ascii_of(const char *text)
{
	char *copy = ls_strdup(text);
	json_t *value;
	for (char *p = copy; p && *p; p++)
		if ((unsigned char)*p >= 0x80)
			*p = '?';
	value = copy ? json_string(copy) : NULL;
	ls_free(copy);
	return value;
}

void ls_cli__put_text(json_t *object, const char *key, const char *text)
{
	json_t *value = text ? json_string(text) : json_null();
	json_object_set_new(object, key, value ? value : ascii_of(text));
}

void ls_cli__put_uint(json_t *object, const char *key, uint64_t value)
{
	json_object_set_new(object, key, json_integer((json_int_t)value));
}

void ls_cli__put_step(json_t *object, const char *key, bool known, uint64_t step)
{
	json_object_set_new(object, key, known ? json_integer((json_int_t)step) : json_null());
}

void ls_cli__put_real(json_t *object, const char *key, double value)
{
	json_t *real = json_real(value);
	json_object_set_new(object, key, real ? real : json_null());
}

void ls_cli__put_bool(json_t *object, const char *key, bool value)
{
	json_object_set_new(object, key, json_boolean(value));
}

void ls_cli__put_hash(json_t *object, const char *key, const ls_hash *hash)
{
	char hex[LS_HASH_HEX_SIZE];
	if (hash)
		ls_hash_hex(hex, hash);
	ls_cli__put_text(object, key, hash ? hex : NULL);
}

void ls_cli__report_damage(const ls_cli *cli, const ls_damage *damage)
{
	json_t *object;
	ls_cli__say(cli, "damaged: %s: %s\nnext: lockstep verify checks the whole run\n", damage->file, damage->text);
	if (!cli->json)
		return;
	object = json_object();
	ls_cli__put_text(object, "verdict", "damaged");
	ls_cli__put_text(object, "file", damage->file);
	ls_cli__put_step(object, "step", damage->step > 0, damage->step);
	ls_cli__put_text(object, "text", damage->text);
	ls_cli__emit(object);
}

/* ---- amounts ---- */

const char *ls_cli__bytes_text(char out[LS_CLI__AMOUNT_SIZE], double bytes)
{
	static const char *const unit[] = {"bytes", "kB", "MB", "GB", "TB", "PB"};
	size_t u = 0;
	for (; bytes >= 999.5 && u + 1 < sizeof unit / sizeof *unit; u++)
		bytes /= 1000;
	snprintf(out, LS_CLI__AMOUNT_SIZE, u && bytes < 99.5 ? "%.1f %s" : "%.0f %s", bytes, unit[u]);
	return out;
}

const char *ls_cli__seconds_text(char out[LS_CLI__AMOUNT_SIZE], double seconds)
{
	unsigned long long whole = seconds >= 0 && seconds < 1e15 ? (unsigned long long)(seconds + 0.5) : 0;
	if (seconds < 0.00995)
		snprintf(out, LS_CLI__AMOUNT_SIZE, "%.3f ms", 1000 * seconds);
	else if (seconds < 0.0995)
		snprintf(out, LS_CLI__AMOUNT_SIZE, "%.1f ms", 1000 * seconds);
	else if (seconds < 99.5)
		snprintf(out, LS_CLI__AMOUNT_SIZE, "%.1f s", seconds);
	else if (whole < 3600)
		snprintf(out, LS_CLI__AMOUNT_SIZE, "%llu min %llu s", whole / 60, whole % 60);
	else
		snprintf(out, LS_CLI__AMOUNT_SIZE, "%llu h %llu min", whole / 3600, whole % 3600 / 60);
	return out;
}

const char *ls_cli__uncertified_text(const ls_job_spec *spec)
{
	return ls_job_uncertified(spec) ? " (uncertified)" : "";
}

const char *ls_cli__mode_text(const ls_job_spec *spec)
{
	switch (spec->arithmetic.mode) {
	case LS_JOB_LOGGED: return "logged";
	case LS_JOB_PLAIN: return "plain";
	case LS_JOB_EXACT: return "exact";
	case LS_JOB_PINNED: return "pinned";
	}
	return "unknown";
}

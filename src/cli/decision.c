#include "cli/decision.h"

#include <stdio.h>

/* "0x3f800000 (1)" */
static void word_text(char out[48], uint32_t word)
{
	snprintf(out, 48, "0x%08x (%.9g)", word, (double)ls_f32_bits(word));
}

static json_t *to_json(const ls_decision *d, const char *file, size_t bytes, double seconds)
{
	json_t *object = json_object();
	ls_cli__put_text(object, "verdict", ls_ruling_text(d->ruling));
	ls_cli__put_text(object, "text", d->reason);
	ls_cli__put_hash(object, "job", &d->job);
	ls_cli__put_hash(object, "run", &d->run);
	json_object_set_new(object, "step", d->step == UINT64_MAX ? json_null() : json_integer((json_int_t)d->step));
	json_object_set_new(object, "op", d->op == UINT32_MAX ? json_null() : json_integer((json_int_t)d->op));
	ls_cli__put_text(object, "kind", d->kind[0] ? d->kind : NULL);
	ls_cli__put_text(object, "value", d->name[0] ? d->name : NULL);
	json_object_set_new(object, "element", d->element < 0 ? json_null() : json_integer((json_int_t)d->element));
	json_object_set_new(object, "trainer_word", d->has_words ? json_integer((json_int_t)d->trainer_word) : json_null());
	json_object_set_new(object, "auditor_word", d->has_words ? json_integer((json_int_t)d->auditor_word) : json_null());
	json_object_set_new(object, "admissible_word", d->has_words ? json_integer((json_int_t)d->admissible_word) : json_null());
	ls_cli__put_bool(object, "trainer_signed", d->trainer_signed);
	ls_cli__put_bool(object, "auditor_signed", d->auditor_signed);
	ls_cli__put_bool(object, "refereed", d->refereed);
	ls_cli__put_text(object, "file", file);
	ls_cli__put_uint(object, "bytes", bytes);
	ls_cli__put_real(object, "seconds", seconds);
	return object;
}

static const char *next_of(const ls_decision *d)
{
	if (d->ruling == LS_RULING_EVIDENCE_INVALID)
		return "ask for the evidence again: this file shows nothing";
	if (d->ruling == LS_RULING_UNDECIDED)
		return "let the players go on, or find another way: this file blames nobody";
	if (!d->trainer_signed || !d->auditor_signed)
		return "know that a side without a key did not sign: whoever made the file could have spoken for it";
	return "keep the file: lockstep judge decides it again anywhere, without data, model or engine";
}

void ls_cli__report_decision(const ls_cli *cli, const ls_decision *d, const char *file, size_t bytes, double seconds)
{
	char trainer[48], auditor[48], admissible[48], size[LS_CLI__AMOUNT_SIZE], time[LS_CLI__AMOUNT_SIZE];
	if (cli->json) {
		ls_cli__emit(to_json(d, file, bytes, seconds));
		return;
	}
	ls_cli__say(cli, "%s: %s\n", ls_ruling_text(d->ruling), d->reason);
	if (d->step != UINT64_MAX)
		ls_cli__say(cli, "  step      %llu\n", (unsigned long long)d->step);
	if (d->op != UINT32_MAX)
		ls_cli__say(cli, "  op        %u (%s '%s')\n", d->op, d->kind, d->name);
	if (d->element >= 0)
		ls_cli__say(cli, "  element   %lld\n", (long long)d->element);
	if (d->has_words) {
		word_text(trainer, d->trainer_word);
		word_text(auditor, d->auditor_word);
		ls_cli__say(cli, "  trainer   %s\n  auditor   %s\n", trainer, auditor);
	}
	if (d->has_words && d->ruling <= LS_RULING_BOTH_WRONG) {
		word_text(admissible, d->admissible_word);
		ls_cli__say(cli, "  admits    %s\n", admissible);
	}
	ls_cli__say(cli, "  evidence  %s, %s, in %s\nnext: %s\n", file, ls_cli__bytes_text(size, (double)bytes),
	            ls_cli__seconds_text(time, seconds), next_of(d));
}

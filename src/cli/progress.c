/* Progress on stderr: a bar on a terminal, elsewhere a line every ten seconds at most. */
#include "cli/cli.h"

#include <stdio.h>

#define BAR_WIDTH 24
#define BAR_SECONDS 0.1
#define LINE_SECONDS 10.0

void ls_cli__progress_start(ls_cli_progress *p, const ls_cli *cli, const char *verb, uint64_t total)
{
	double now = ls_clock_seconds();
	*p = (ls_cli_progress){.cli = cli, .verb = verb, .total = total, .started = now, .shown = now};
}

static void draw(ls_cli_progress *p, const ls_metrics *m, double now)
{
	char bar[BAR_WIDTH + 1], eta[LS_CLI__AMOUNT_SIZE];
	uint64_t total = p->total ? p->total : m->step;
	uint64_t left = total > m->step ? total - m->step : 0;
	double rate = now > p->started ? (double)p->steps / (now - p->started) : 0;
	for (uint64_t i = 0; i < BAR_WIDTH; i++)
		bar[i] = i * total < m->step * BAR_WIDTH ? '#' : '.';
	bar[BAR_WIDTH] = 0;
	ls_cli__seconds_text(eta, rate > 0 ? (double)left / rate : 0);
	if (p->cli->terminal)
		ls_cli__note("\r%s [%s] step %llu of %llu, loss %.4f, %.1f steps/s, %s left\033[K", p->verb, bar,
		             (unsigned long long)m->step, (unsigned long long)total, (double)m->loss, rate, eta);
	else
		ls_cli__note("%s: step %llu of %llu, loss %.4f, %.1f steps/s, %s left\n", p->verb, (unsigned long long)m->step,
		             (unsigned long long)total, (double)m->loss, rate, eta);
	p->drawn = p->cli->terminal;
	p->shown = now;
}

void ls_cli__progress_step(void *progress, const ls_metrics *metrics)
{
	ls_cli_progress *p = progress;
	double now = ls_clock_seconds();
	p->steps++;
	if (now - p->shown >= (p->cli->terminal ? BAR_SECONDS : LINE_SECONDS))
		draw(p, metrics, now);
}

bool ls_cli__progress_stop(void *progress)
{
	const ls_cli *cli = ((const ls_cli_progress *)progress)->cli;
	return cli->stop && cli->stop(cli->stop_context);
}

void ls_cli__progress_end(ls_cli_progress *p)
{
	if (p->drawn)
		ls_cli__note("\r\033[K");
	p->drawn = false;
}

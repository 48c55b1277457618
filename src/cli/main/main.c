/* The program. All it adds to src/cli is the one piece of state that a process must have: whether it was asked to stop. */
#include "cli/cli.h"

#include <signal.h>
#include <stdlib.h>

/* Written by the handler, read between steps; nothing else in Lockstep changes after start-up. */
static volatile sig_atomic_t stop_asked;

static void ask_to_stop(int signal_number)
{
	stop_asked = 1;
}

static bool stop_was_asked(void *context)
{
	return stop_asked != 0;
}

/* The first signal asks; the second one finds the system's own action again and ends the process. */
static void install_handlers(void)
{
	struct sigaction action = {.sa_handler = ask_to_stop, .sa_flags = SA_RESETHAND | SA_RESTART};
	sigemptyset(&action.sa_mask);
	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
}

int main(int argc, char **argv)
{
	install_handlers();
	return ls_cli__main(argc, argv, stop_was_asked, NULL);
}

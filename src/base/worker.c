#include <lockstep/base.h>

#include <pthread.h>

struct ls_worker {
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	void (*fn)(void *context); // the task in progress; NULL where there is none
	void *context;
	bool quit;
};

static void *worker_main(void *arg)
{
	ls_worker *w = arg;
	pthread_mutex_lock(&w->lock);
	for (;;) {
		while (!w->quit && !w->fn)
			pthread_cond_wait(&w->changed, &w->lock);
		if (!w->fn)
			break;
		pthread_mutex_unlock(&w->lock);
		w->fn(w->context);
		pthread_mutex_lock(&w->lock);
		w->fn = NULL;
		pthread_cond_broadcast(&w->changed);
	}
	pthread_mutex_unlock(&w->lock);
	return NULL;
}

ls_status ls_worker_open(ls_worker **out, ls_error *err)
{
	ls_worker *w = ls_alloc(1, sizeof *w);
	*out = NULL;
	if (!w)
		return ls_error_set(err, LS_ERR_NOMEM, "no memory for a thread");
	pthread_mutex_init(&w->lock, NULL);
	pthread_cond_init(&w->changed, NULL);
	if (pthread_create(&w->thread, NULL, worker_main, w)) {
		pthread_cond_destroy(&w->changed);
		pthread_mutex_destroy(&w->lock);
		ls_free(w);
		return ls_error_set(err, LS_ERR_NOMEM, "no memory to start a thread");
	}
	*out = w;
	return LS_OK;
}

void ls_worker_start(ls_worker *w, void (*fn)(void *context), void *context)
{
	pthread_mutex_lock(&w->lock);
	while (w->fn)
		pthread_cond_wait(&w->changed, &w->lock);
	w->fn = fn;
	w->context = context;
	pthread_cond_broadcast(&w->changed);
	pthread_mutex_unlock(&w->lock);
}

void ls_worker_wait(ls_worker *w)
{
	pthread_mutex_lock(&w->lock);
	while (w->fn)
		pthread_cond_wait(&w->changed, &w->lock);
	pthread_mutex_unlock(&w->lock);
}

bool ls_worker_busy(ls_worker *w)
{
	bool busy;
	pthread_mutex_lock(&w->lock);
	busy = w->fn != NULL;
	pthread_mutex_unlock(&w->lock);
	return busy;
}

void ls_worker_free(ls_worker *w)
{
	if (!w)
		return;
	pthread_mutex_lock(&w->lock);
	w->quit = true;
	pthread_cond_broadcast(&w->changed);
	pthread_mutex_unlock(&w->lock);
	pthread_join(w->thread, NULL);
	pthread_cond_destroy(&w->changed);
	pthread_mutex_destroy(&w->lock);
	ls_free(w);
}

#include <lockstep/base.h>

#include <pthread.h>

struct ls_pool {
	int threads, started;
	pthread_t *thread;
	pthread_mutex_t lock;
	pthread_cond_t wake, idle;
	// the job in progress, under lock except `next`
	ls_task_fn fn;
	void *context;
	int64_t count, next;
	uint64_t turn; // counts jobs, so that a sleeper knows a new one
	int busy, next_worker;
	bool quit;
};

static void work(ls_pool *p, ls_task_fn fn, void *context, int64_t count, int worker)
{
	for (;;) {
		int64_t i = __atomic_fetch_add(&p->next, 1, __ATOMIC_RELAXED);
		if (i >= count)
			return;
		fn(context, i, worker);
	}
}

static void *worker_main(void *arg)
{
	ls_pool *p = arg;
	uint64_t seen = 0;
	int worker;
	pthread_mutex_lock(&p->lock);
	worker = ++p->next_worker;
	for (;;) {
		while (!p->quit && p->turn == seen)
			pthread_cond_wait(&p->wake, &p->lock);
		if (p->quit)
			break;
		seen = p->turn;
		ls_task_fn fn = p->fn;
		void *context = p->context;
		int64_t count = p->count;
		pthread_mutex_unlock(&p->lock);
		work(p, fn, context, count, worker);
		pthread_mutex_lock(&p->lock);
		if (--p->busy == 0)
			pthread_cond_signal(&p->idle);
	}
	pthread_mutex_unlock(&p->lock);
	return NULL;
}

ls_status ls_pool_open(ls_pool **out, int threads, ls_error *err)
{
	ls_pool *p;
	*out = NULL;
	if (threads < 1 || threads > LS_POOL_THREADS_MAX)
		return ls_error_set(err, LS_ERR_USAGE, "threads: found %d, expected 1 to 1024", threads);
	p = ls_alloc(1, sizeof *p);
	if (!p || !(p->thread = ls_alloc((size_t)threads, sizeof *p->thread))) {
		ls_free(p);
		return ls_error_set(err, LS_ERR_NOMEM, "out of memory for %d threads", threads);
	}
	p->threads = threads;
	pthread_mutex_init(&p->lock, NULL);
	pthread_cond_init(&p->wake, NULL);
	pthread_cond_init(&p->idle, NULL);
	for (; p->started < threads - 1; p->started++)
		if (pthread_create(&p->thread[p->started], NULL, worker_main, p)) {
			ls_pool_free(p);
			return ls_error_set(err, LS_ERR_NOMEM, "could not start thread %d of %d", p->started + 2, threads);
		}
	*out = p;
	return LS_OK;
}

void ls_pool_free(ls_pool *p)
{
	if (!p)
		return;
	pthread_mutex_lock(&p->lock);
	p->quit = true;
	pthread_cond_broadcast(&p->wake);
	pthread_mutex_unlock(&p->lock);
	for (int i = 0; i < p->started; i++)
		pthread_join(p->thread[i], NULL);
	pthread_cond_destroy(&p->wake);
	pthread_cond_destroy(&p->idle);
	pthread_mutex_destroy(&p->lock);
	ls_free(p->thread);
	ls_free(p);
}

int ls_pool_threads(const ls_pool *p)
{
	return p ? p->threads : 1;
}

void ls_pool_run(ls_pool *p, int64_t count, ls_task_fn fn, void *context)
{
	if (!p || p->threads == 1 || count < 2) {
		for (int64_t i = 0; i < count; i++)
			fn(context, i, 0);
		return;
	}
	pthread_mutex_lock(&p->lock);
	p->fn = fn;
	p->context = context;
	p->count = count;
	__atomic_store_n(&p->next, 0, __ATOMIC_RELAXED);
	p->busy = p->threads - 1;
	p->turn++;
	pthread_cond_broadcast(&p->wake);
	pthread_mutex_unlock(&p->lock);
	work(p, fn, context, count, 0);
	pthread_mutex_lock(&p->lock);
	while (p->busy)
		pthread_cond_wait(&p->idle, &p->lock);
	pthread_mutex_unlock(&p->lock);
}

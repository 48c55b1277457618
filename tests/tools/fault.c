/* A library to preload (LD_PRELOAD) that lets a program meet a fault at its n-th call that changes files, or at its n-th
 * allocation. Only calls on files below LS_FAULT_UNDER count: write, pwrite, fsync, fdatasync, rename, ftruncate, open for
 * writing, unlink, mkdir, link.
 *
 *   LS_FAULT_AT=N         which call, from 1; 0 or unset: none
 *   LS_FAULT_DO=…         kill    SIGKILL instead of the call
 *                         torn    the same, after half of a write
 *                         after   SIGKILL right after the call
 *                         power   SIGKILL instead of the call, and what was never synced is lost (below)
 *                         zeros   the same, but lost bytes are there as zeros
 *                         short   a write that writes half, and says so; other calls go on
 *                         ENOSPC, EIO   the call fails
 *   LS_FAULT_FOREVER=1    every later call fails, too (with ENOSPC and EIO)
 *   LS_FAULT_ALLOC=N      the N-th malloc, calloc, realloc or aligned_alloc gives NULL
 *   LS_FAULT_LEAK=N       each write to a file `leaves` keeps N bytes of memory for ever
 *   LS_FAULT_REPORT=FILE  at the end "CALLS ALLOCATIONS\n" are written there
 *
 * Loss of power is played as: bytes that no fsync or fdatasync followed are cut off (or become zeros); a rename whose folder was
 * not synced afterwards is taken back; an unlink whose folder was not synced is undone.
 */
#undef _FILE_OFFSET_BITS // so that open and open64 are two names, as for the programs this is loaded into
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { FILES_MAX = 256, PENDING_MAX = 512 };

static struct {
	char path[PATH_MAX];
	off_t synced;
} file[FILES_MAX]; // by descriptor: how much of it is on the disk

static struct {
	bool used;
	char now[PATH_MAX + 32], before[PATH_MAX]; // undone by rename(now, before)
} pending[PENDING_MAX];

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
/* Held by every call that counts while it is at work, and by a loss of power alone: nothing comes to the disk behind it. */
static pthread_rwlock_t power = PTHREAD_RWLOCK_WRITER_NONRECURSIVE_INITIALIZER_NP;
static _Thread_local bool at_work;
static long calls, allocations, leak, fault_at, fault_alloc; // allocations count from the program's start on
static const char *under, *what;
static bool forever;

static long number(const char *name)
{
	const char *text = getenv(name);
	return text ? strtol(text, NULL, 10) : 0;
}

__attribute__((constructor)) static void read_options(void)
{
	under = getenv("LS_FAULT_UNDER");
	what = getenv("LS_FAULT_DO");
	forever = getenv("LS_FAULT_FOREVER") != NULL;
	fault_at = number("LS_FAULT_AT");
	allocations = 0;
	fault_alloc = number("LS_FAULT_ALLOC");
	leak = number("LS_FAULT_LEAK");
}

__attribute__((destructor)) static void report(void)
{
	const char *path = getenv("LS_FAULT_REPORT");
	char text[64];
	int fd = path ? (int)syscall(SYS_openat, AT_FDCWD, path, O_WRONLY | O_CREAT | O_TRUNC, 0644) : -1;
	if (fd < 0)
		return;
	int len = snprintf(text, sizeof text, "%ld %ld\n", calls, allocations);
	syscall(SYS_write, fd, text, (size_t)len);
	syscall(SYS_close, fd);
}

static bool is_under(const char *path)
{
	char full[2 * PATH_MAX], cwd[PATH_MAX];
	if (!under)
		return false;
	if (path[0] != '/' && getcwd(cwd, sizeof cwd)) {
		snprintf(full, sizeof full, "%s/%s", cwd, path);
		path = full;
	}
	return !strncmp(path, under, strlen(under));
}

static bool path_of(int fd, char out[PATH_MAX])
{
	char link[64];
	ssize_t n;
	snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
	n = readlink(link, out, PATH_MAX - 1);
	out[n > 0 ? n : 0] = 0;
	return n > 0 && is_under(out);
}

/* ---- loss of power ---- */

static void lose_power(bool zeros)
{
	for (int fd = 0; fd < FILES_MAX; fd++) {
		struct stat st;
		if (!file[fd].path[0] || stat(file[fd].path, &st) || st.st_size <= file[fd].synced)
			continue;
		syscall(SYS_truncate, file[fd].path, file[fd].synced);
		if (zeros)
			syscall(SYS_truncate, file[fd].path, st.st_size);
	}
	for (int i = PENDING_MAX; i-- > 0;)
		if (pending[i].used)
			syscall(SYS_rename, pending[i].now, pending[i].before);
}

static void remember(const char *now, const char *before)
{
	for (int i = 0; i < PENDING_MAX; i++)
		if (!pending[i].used) {
			pending[i].used = true;
			snprintf(pending[i].now, sizeof pending[i].now, "%s", now);
			snprintf(pending[i].before, sizeof pending[i].before, "%s", before);
			return;
		}
}

/* A synced folder: what was renamed within it, or removed from it, stays so. */
static void folder_synced(const char *folder)
{
	size_t len = strlen(folder);
	for (int i = 0; i < PENDING_MAX; i++)
		if (pending[i].used && !strncmp(pending[i].before, folder, len) && pending[i].before[len] == '/' &&
		    !strchr(pending[i].before + len + 1, '/')) {
			pending[i].used = false;
			if (strstr(pending[i].now, ".removed-"))
				syscall(SYS_unlink, pending[i].now);
		}
}

static void die(void)
{
	syscall(SYS_kill, getpid(), SIGKILL);
	for (;;)
		pause();
}

/* ---- deciding ---- */

enum decision { GO_ON, HALF, FAIL, AFTER };

static long finish(enum decision d, long result)
{
	int error = errno;
	if (d == AFTER)
		die();
	if (at_work)
		pthread_rwlock_unlock(&power);
	at_work = false;
	errno = error;
	return result;
}

/* Counts a call on a path that counts. Dies here where that is what it comes to. `writes`: it can be done in part. */
static enum decision decide(const char *name, bool writes)
{
	long n;
	pthread_rwlock_rdlock(&power);
	at_work = true;
	n = __atomic_add_fetch(&calls, 1, __ATOMIC_RELAXED);
	if (!fault_at || !what || n < fault_at || (n > fault_at && !forever))
		return GO_ON;
	if (!strcmp(what, "kill") || (!strcmp(what, "torn") && !writes))
		die();
	if (!strcmp(what, "power") || !strcmp(what, "zeros")) {
		pthread_rwlock_unlock(&power);
		pthread_rwlock_wrlock(&power);
		lose_power(!strcmp(what, "zeros"));
		die();
	}
	if (!strcmp(what, "after"))
		return AFTER;
	if (!strcmp(what, "short") || !strcmp(what, "torn"))
		return writes ? HALF : GO_ON;
	finish(GO_ON, 0);
	errno = !strcmp(what, "ENOSPC") ? ENOSPC : EIO;
	return FAIL;
}

/* ---- the calls ---- */

static void leak_for(const char *path)
{
	size_t len = strlen(path);
	char *kept = leak && len > 7 && !strcmp(path + len - 7, "/leaves") ? malloc((size_t)leak) : NULL;
	if (kept)
		memset(kept, 1, (size_t)leak);
	__asm__ volatile("" : : "r"(kept) : "memory"); // or the compiler would see that nobody reads it
}

static ssize_t any_write(int fd, const void *data, size_t len, off_t at, bool positioned)
{
	char path[PATH_MAX];
	enum decision d = GO_ON;
	if (len && path_of(fd, path)) {
		d = decide("write", true);
		leak_for(path);
	}
	if (d == FAIL)
		return -1;
	if (d == HALF)
		len = (len + 1) / 2;
	ssize_t n = positioned ? syscall(SYS_pwrite64, fd, data, len, at) : syscall(SYS_write, fd, data, len);
	if (d == HALF && !strcmp(what, "torn"))
		die();
	return finish(d, n);
}

ssize_t write(int fd, const void *data, size_t len)
{
	return any_write(fd, data, len, 0, false);
}

ssize_t pwrite(int fd, const void *data, size_t len, off_t at)
{
	return any_write(fd, data, len, at, true);
}

ssize_t pwrite64(int fd, const void *data, size_t len, off_t at)
{
	return any_write(fd, data, len, at, true);
}

static int any_sync(int fd, long number)
{
	char path[PATH_MAX];
	struct stat st;
	enum decision d = GO_ON;
	long result;
	if (!path_of(fd, path))
		return (int)syscall(number, fd);
	d = decide("sync", false);
	if (d == FAIL)
		return -1;
	result = syscall(number, fd);
	pthread_mutex_lock(&lock);
	if (result == 0 && fstat(fd, &st) == 0 && S_ISDIR(st.st_mode))
		folder_synced(path);
	else if (result == 0 && fd < FILES_MAX)
		file[fd].synced = st.st_size;
	pthread_mutex_unlock(&lock);
	return (int)finish(d, result);
}

int fsync(int fd)
{
	return any_sync(fd, SYS_fsync);
}

int fdatasync(int fd)
{
	return any_sync(fd, SYS_fdatasync);
}

static int any_truncate(int fd, off_t size)
{
	char path[PATH_MAX];
	enum decision d = path_of(fd, path) ? decide("ftruncate", false) : GO_ON;
	if (d == FAIL)
		return -1;
	long result = syscall(SYS_ftruncate, fd, size);
	if (fd < FILES_MAX && file[fd].synced > size)
		file[fd].synced = size;
	return (int)finish(d, result);
}

int ftruncate(int fd, off_t size)
{
	return any_truncate(fd, size);
}

int ftruncate64(int fd, off_t size)
{
	return any_truncate(fd, size);
}

static int any_open(const char *path, int flags, mode_t mode)
{
	bool counts = (flags & O_ACCMODE) != O_RDONLY && is_under(path);
	enum decision d = counts ? decide("open", false) : GO_ON;
	struct stat st;
	if (d == FAIL)
		return -1;
	int fd = (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
	if (counts && fd >= 0 && fd < FILES_MAX && fstat(fd, &st) == 0) {
		path_of(fd, file[fd].path);
		file[fd].synced = st.st_size; // what an earlier process left is as it is
	} else if (fd >= 0 && fd < FILES_MAX) {
		file[fd].path[0] = 0;
	}
	return (int)finish(d, fd);
}

static mode_t mode_of(int flags, va_list args)
{
	return flags & (O_CREAT | O_TMPFILE) ? va_arg(args, mode_t) : 0;
}

int open(const char *path, int flags, ...)
{
	va_list args;
	va_start(args, flags);
	mode_t mode = mode_of(flags, args);
	va_end(args);
	return any_open(path, flags, mode);
}

int open64(const char *path, int flags, ...)
{
	va_list args;
	va_start(args, flags);
	mode_t mode = mode_of(flags, args);
	va_end(args);
	return any_open(path, flags, mode);
}

int close(int fd)
{
	if (fd >= 0 && fd < FILES_MAX)
		file[fd].path[0] = 0; // a file that was closed without a sync keeps its bytes here: the kinder case
	return (int)syscall(SYS_close, fd);
}

static bool loses_power(void)
{
	return what && (!strcmp(what, "power") || !strcmp(what, "zeros"));
}

int rename(const char *from, const char *to)
{
	bool fresh = access(to, F_OK) != 0;
	enum decision d = is_under(to) ? decide("rename", false) : GO_ON;
	if (d == FAIL)
		return -1;
	long result = syscall(SYS_rename, from, to);
	if (result == 0 && fresh && is_under(to) && loses_power())
		remember(to, from);
	for (int fd = 0; fd < FILES_MAX && result == 0; fd++)
		if (file[fd].path[0] && is_under(to) && strstr(file[fd].path, from))
			snprintf(file[fd].path, PATH_MAX, "%s", to);
	return (int)finish(d, result);
}

int unlink(const char *path)
{
	static int removed;
	char kept[PATH_MAX + 32];
	long result;
	enum decision d = is_under(path) && access(path, F_OK) == 0 ? decide("unlink", false) : GO_ON;
	if (d == FAIL)
		return -1;
	snprintf(kept, sizeof kept, "%s.removed-%d", path, removed++);
	if (is_under(path) && loses_power() && !strstr(path, ".tmp") && syscall(SYS_rename, path, kept) == 0) {
		remember(kept, path);
		return (int)finish(d, 0);
	}
	result = syscall(SYS_unlink, path);
	return (int)finish(d, result);
}

int mkdir(const char *path, mode_t mode)
{
	enum decision d = is_under(path) ? decide("mkdir", false) : GO_ON;
	if (d == FAIL)
		return -1;
	return (int)finish(d, syscall(SYS_mkdir, path, mode));
}

/* ---- allocations ---- */

extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *old, size_t size);
extern void *__libc_memalign(size_t alignment, size_t size);

static bool fails(void)
{
	long n = __atomic_add_fetch(&allocations, 1, __ATOMIC_RELAXED);
	if (n != fault_alloc)
		return false;
	errno = ENOMEM;
	return true;
}

void *malloc(size_t size)
{
	return fails() ? NULL : __libc_malloc(size);
}

void *calloc(size_t count, size_t size)
{
	return fails() ? NULL : __libc_calloc(count, size);
}

void *realloc(void *old, size_t size)
{
	return fails() ? NULL : __libc_realloc(old, size);
}

void *aligned_alloc(size_t alignment, size_t size)
{
	return fails() ? NULL : __libc_memalign(alignment, size);
}

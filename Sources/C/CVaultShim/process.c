/* Support for programs that fork and programs with threads. */
#define _GNU_SOURCE
#include "vault_shim.h"
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

/* The kernel zeroes this page in every child, however it was forked. */
static _Atomic(_Atomic uint64_t *) page;
/* The target of `page` if there is no such page (before Linux 4.14, or if memory is exhausted), in which case the process id is
   used instead. */
static _Atomic uint64_t no_page;
/* The last number assigned in this line of processes; a child inherits it from its parent. */
static _Atomic uint64_t last_process;

static _Atomic uint64_t *find_page(void) {
    const size_t size = (size_t)sysconf(_SC_PAGESIZE);
    _Atomic uint64_t *expected = NULL, *new = &no_page;
    void *mapped = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (mapped != MAP_FAILED && madvise(mapped, size, MADV_WIPEONFORK) == 0) new = mapped;
    if (!atomic_compare_exchange_strong(&page, &expected, new)) new = expected;
    if (mapped != MAP_FAILED && new != mapped) munmap(mapped, size);
    return new;
}

uint64_t vault_process(void) {
    _Atomic uint64_t *number = atomic_load_explicit(&page, memory_order_acquire);
    if (number == NULL) number = find_page();
    if (number == &no_page) return (uint64_t)getpid();
    uint64_t found = atomic_load_explicit(number, memory_order_relaxed);
    if (found != 0) return found;
    uint64_t new = atomic_fetch_add(&last_process, 1) + 1;
    return atomic_compare_exchange_strong(number, &found, new) ? new : found;
}

uint64_t vault_thread(void) {
    static _Atomic uint64_t last_thread;
    static _Thread_local uint64_t thread;
    if (thread == 0) thread = atomic_fetch_add_explicit(&last_thread, 1, memory_order_relaxed) + 1;
    return thread;
}

/* Counts the processors in the kernel's mask, which is set by taskset and containers. The mask holds at most 1024; callers never need more. */
int vault_processors(void) {
    cpu_set_t set;
    return sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
}

int vault_child_has_ended(pid_t child) {
    siginfo_t info = {0};
    if (waitid(P_PID, (id_t)child, &info, WEXITED | WNOHANG | WNOWAIT) != 0) return errno != EINTR;
    return info.si_pid == child;
}

struct waiting {
    pthread_mutex_t lock;
    pthread_cond_t change;
    int may_end;
};

static void *wait_for_others(void *argument) {
    struct waiting *all = argument;
    pthread_mutex_lock(&all->lock);
    while (!all->may_end) pthread_cond_wait(&all->change, &all->lock);
    pthread_mutex_unlock(&all->lock);
    return NULL;
}

unsigned int vault_possible_threads(unsigned int wanted) {
    enum { most = 256 };
    struct waiting all = {.lock = PTHREAD_MUTEX_INITIALIZER, .change = PTHREAD_COND_INITIALIZER, .may_end = 0};
    pthread_t threads[most];
    unsigned int count = 0;
    if (wanted < 2 || wanted > most) return 1;
    while (count < wanted && pthread_create(&threads[count], NULL, wait_for_others, &all) == 0) count++;
    pthread_mutex_lock(&all.lock);
    all.may_end = 1;
    pthread_cond_broadcast(&all.change);
    pthread_mutex_unlock(&all.lock);
    for (unsigned int i = 0; i < count; i++) pthread_join(threads[i], NULL);
    return count == wanted ? wanted : 1;
}

static pthread_mutex_t memory = PTHREAD_MUTEX_INITIALIZER;

void vault_memory_lock(void) { pthread_mutex_lock(&memory); }
void vault_memory_unlock(void) { pthread_mutex_unlock(&memory); }

int vault_memory_has(size_t size) {
    /* malloc is not used here: it may reuse freed blocks, but libsodium must map new pages. */
    void *found = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (found == MAP_FAILED) return 0;
    munmap(found, size);
    return 1;
}

/* The Swift runtime has locks, for example on its type tables. If a thread holds one during a fork, it stays locked in the child. Only a thread
   inside the library can hold one, so a fork waits until there is no such thread. */
static pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t gate_change = PTHREAD_COND_INITIALIZER;
static unsigned int inside, forking;
static _Thread_local unsigned int depth;
/* The cancellation state to restore after fork(), which is not a cancellation point, although the wait below is one. */
static _Thread_local int cancelling;

void vault_enter(void) {
    int before;
    if (depth++ > 0) return;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
    pthread_mutex_lock(&gate);
    while (forking > 0) pthread_cond_wait(&gate_change, &gate);
    inside++;
    pthread_mutex_unlock(&gate);
    pthread_setcancelstate(before, NULL);
}

static void go_out(void) {
    pthread_mutex_lock(&gate);
    if (--inside <= 1 && forking > 0) pthread_cond_broadcast(&gate_change);
    pthread_mutex_unlock(&gate);
}

void vault_leave(void) {
    if (--depth == 0) go_out();
}

unsigned int vault_step_out(void) {
    unsigned int entered = depth;
    depth = 0;
    if (entered > 0) go_out();
    return entered;
}

/* Does not wait for a fork that is itself waiting, because that fork may be waiting for a thread that waits for this one. */
void vault_step_in(unsigned int entered) {
    if (entered == 0) return;
    pthread_mutex_lock(&gate);
    inside++;
    pthread_mutex_unlock(&gate);
    depth = entered;
}

static void before_fork(void) {
    /* A signal handler that forks may have interrupted a call of this thread. */
    const unsigned int own = depth > 0;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancelling);
    pthread_mutex_lock(&gate);
    forking++;
    while (inside > own) pthread_cond_wait(&gate_change, &gate);
    vault_memory_lock();
}

static void in_parent(void) {
    vault_memory_unlock();
    forking--;
    pthread_cond_broadcast(&gate_change);
    pthread_mutex_unlock(&gate);
    pthread_setcancelstate(cancelling, NULL);
}

/* In the child, the mutexes are held by a thread with a different id, and no other thread is inside the library. */
static void in_child(void) {
    memory = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
    gate = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
    gate_change = (pthread_cond_t)PTHREAD_COND_INITIALIZER;
    inside = depth > 0;
    forking = 0;
    pthread_setcancelstate(cancelling, NULL);
}

__attribute__((constructor)) static void survive_forks(void) { pthread_atfork(before_fork, in_parent, in_child); }

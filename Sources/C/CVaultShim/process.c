/* What must hold in programs that fork and that have threads. */
#define _GNU_SOURCE
#include "vault_shim.h"
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

/* The kernel zeroes this page in every child, however it was forked. */
static _Atomic(_Atomic uint64_t *) page;
/* What `page` points to where there is no such page (before Linux 4.14, or without memory): the process id has to do then. */
static _Atomic uint64_t no_page;
/* The last number given in this line of processes; a child inherits its parent's. */
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

static pthread_mutex_t memory = PTHREAD_MUTEX_INITIALIZER;

void vault_memory_lock(void) { pthread_mutex_lock(&memory); }
void vault_memory_unlock(void) { pthread_mutex_unlock(&memory); }

int vault_memory_has(size_t size) {
    /* Through a volatile pointer: a compiler leaves out what is freed without being used, and assumes that it was there. */
    static void *(*const volatile allocate)(size_t) = malloc;
    void *found = allocate(size);
    free(found);
    return found != NULL;
}

/* The Swift runtime has locks, on its tables of types for one. If a thread holds one during a fork, it stays locked in the
 * child. Only a thread inside the library can hold one, so a fork waits until there is none. */
static pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t gate_change = PTHREAD_COND_INITIALIZER;
static unsigned int inside, forking;
static _Thread_local unsigned int depth;
/* What fork() restores: it is no cancellation point, and the wait below would be one. */
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

/* Does not wait for a fork that is itself waiting: it may be waiting for a thread that waits for this one. */
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

/* In the child, mutexes are held by a thread that has another id there, and no other thread is inside. */
static void in_child(void) {
    memory = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
    gate = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
    gate_change = (pthread_cond_t)PTHREAD_COND_INITIALIZER;
    inside = depth > 0;
    forking = 0;
    pthread_setcancelstate(cancelling, NULL);
}

__attribute__((constructor)) static void survive_forks(void) { pthread_atfork(before_fork, in_parent, in_child); }

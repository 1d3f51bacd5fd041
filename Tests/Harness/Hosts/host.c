/* A host of the C library: threads that share a vault, fork, are interrupted by signals, open and close, and meet limits, at random.
 *
 * Usage: host FOLDER OPERATIONS SEED. Each thread has keys of its own and remembers what was acknowledged for each; a change that failed must not
 * have been made, and none may be lost. Says what is wrong, one line each, and "operations N". */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <vaultfmt.h>

enum { THREADS = 4, KEYS = 24 };

static char path[4096];
static vaultfmt_vault *shared;
static _Atomic long operations_left;
static _Atomic long done[8];
static const char *const kinds[] = {"changes", "transactions", "rolled back", "forks", "openings", "listings", "compactions", "limits"};
static _Atomic int wrongs;
/* While it is not 0, opening files may fail. */
static _Atomic int limited;
static struct rlimit usual;

struct worker {
    pthread_t thread;
    int number;
    unsigned int seed;
    /* What was acknowledged; 0 for no item. */
    long known[KEYS];
    long next;
};

static void wrong(const char *format, ...) {
    va_list arguments;
    if (atomic_fetch_add(&wrongs, 1) > 20) return;
    va_start(arguments, format);
    vprintf(format, arguments);
    va_end(arguments);
    printf("\n");
    fflush(stdout);
}

static int below(struct worker *worker, int limit) { return rand_r(&worker->seed) % limit; }

static vaultfmt_key key_of(const struct worker *worker, int index, char account[32]) {
    snprintf(account, 32, "%d-%d", worker->number, index);
    return vaultfmt_generic_password("host", account);
}

static vaultfmt_status try_open(vaultfmt_vault **vault) {
    static const uint8_t key[32] = {9, 8, 7};
    vaultfmt_factors factors = VAULTFMT_FACTORS_INIT;
    vaultfmt_open_options options = VAULTFMT_OPEN_OPTIONS_INIT;
    factors.raw_key.data = key;
    factors.raw_key.size = sizeof key;
    options.writable = 1;
    options.lock_wait = 60000;
    return vaultfmt_open(path, &factors, &options, vault);
}

/* 1 where it was acknowledged; a failure is only right where files cannot be opened. */
static int is_done(vaultfmt_status status, const char *what) {
    if (status == VAULTFMT_OK) return 1;
    if (!(status == VAULTFMT_IO && limited)) wrong("%s: %s: %s", what, vaultfmt_status_name(status), vaultfmt_error_text());
    return 0;
}

static void text_of(long value, char text[64]) { snprintf(text, 64, "value %ld", value); }

static vaultfmt_status set(vaultfmt_vault *vault, const struct worker *worker, int index, long value) {
    char account[32], text[64];
    vaultfmt_key key = key_of(worker, index, account);
    if (value == 0) return vaultfmt_remove(vault, &key);
    text_of(value, text);
    return vaultfmt_set(vault, &key, vaultfmt_text(text), NULL);
}

static void compare(vaultfmt_vault *vault, const struct worker *worker, int index, const char *when) {
    char account[32], text[64] = "";
    vaultfmt_key key = key_of(worker, index, account);
    const vaultfmt_item *item;
    vaultfmt_status status = vaultfmt_get(vault, &key, &item);
    long value = worker->known[index];
    if (value != 0) text_of(value, text);
    if (status != (value == 0 ? VAULTFMT_NO_SUCH_ITEM : VAULTFMT_OK))
        wrong("%s: %s is %s: %s", when, account, vaultfmt_status_name(status), vaultfmt_error_text());
    else if (value != 0 && (item->secret.size != strlen(text) || memcmp(item->secret.data, text, item->secret.size) != 0))
        wrong("%s: %s is '%.*s', not '%s'", when, account, (int)item->secret.size, (const char *)item->secret.data, text);
    vaultfmt_item_free(item);
}

static void change(struct worker *worker, vaultfmt_vault *vault) {
    int index = below(worker, KEYS);
    long value = worker->known[index] != 0 && below(worker, 5) == 0 ? 0 : ++worker->next;
    if (is_done(set(vault, worker, index, value), "a change")) worker->known[index] = value;
    compare(vault, worker, index, "after a change");
}

/* What another opening has changed is seen by a handle from its next change or refresh on. */
static void see_others(vaultfmt_vault *vault) {
    while (!is_done(vaultfmt_refresh(vault), "refreshing") && limited) usleep(500);
}

static void child_uses_parents(vaultfmt_vault *vault, const struct worker *worker, int index, long value) {
    vaultfmt_vault *own = NULL;
    char account[32];
    vaultfmt_key key = key_of(worker, index, account);
    const vaultfmt_item *item;
    int code = 0;
    /* One that waits for ever is ended, and told of. */
    signal(SIGALRM, SIG_DFL);
    alarm(600);
    setrlimit(RLIMIT_NOFILE, &usual);
    if (set(vault, worker, index, 1) != VAULTFMT_OTHER_PROCESS || vaultfmt_get(vault, &key, &item) != VAULTFMT_OTHER_PROCESS ||
        vaultfmt_commit(vault) != VAULTFMT_OTHER_PROCESS || vaultfmt_rollback(vault) != VAULTFMT_OTHER_PROCESS)
        code = 2;
    vaultfmt_close(vault);
    if (value != 0) {
        vaultfmt_status status = try_open(&own);
        if (status == VAULTFMT_OK) status = set(own, worker, index, value);
        vaultfmt_close(own);
        if (status != VAULTFMT_OK) code = 3;
    }
    _exit(code);
}

/* A child uses what it inherited, closes it, opens the vault itself and changes it; within a transaction, it only does the former. */
static void fork_child(struct worker *worker, vaultfmt_vault *vault, int is_within) {
    int index = below(worker, KEYS);
    long value = is_within ? 0 : ++worker->next;
    int status = 0;
    pid_t child = fork();
    if (child == 0) child_uses_parents(vault, worker, index, value);
    if (child < 0) return wrong("cannot fork");
    while (waitpid(child, &status, 0) < 0) continue;
    if (status == 0) {
        if (value == 0) return;
        worker->known[index] = value;
        see_others(vault);
    } else {
        wrong("a child ended with %s %d", WIFSIGNALED(status) ? "signal" : "code", WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
    }
}

static void transact(struct worker *worker, vaultfmt_vault *vault, int is_kept) {
    long before[KEYS];
    int count = 1 + below(worker, 4);
    memcpy(before, worker->known, sizeof before);
    if (!is_done(vaultfmt_begin(vault), "begin")) return;
    while (count-- > 0) {
        int index = below(worker, KEYS);
        long value = ++worker->next;
        if (is_done(set(vault, worker, index, value), "a change in a transaction")) worker->known[index] = value;
        compare(vault, worker, index, "in a transaction");
        if (below(worker, 12) == 0) fork_child(worker, vault, 1);
    }
    if (is_kept && is_done(vaultfmt_commit(vault), "commit")) return;
    if (!is_kept) is_done(vaultfmt_rollback(vault), "rollback");
    memcpy(worker->known, before, sizeof before);
    compare(vault, worker, below(worker, KEYS), "after a transaction");
}

static void open_and_close(struct worker *worker, vaultfmt_vault *vault) {
    vaultfmt_vault *own;
    if (!is_done(try_open(&own), "opening")) return;
    compare(own, worker, below(worker, KEYS), "through another opening");
    if (below(worker, 2) == 0) change(worker, own);
    /* One that is open is rolled back. */
    if (below(worker, 3) == 0 && vaultfmt_begin(own) == VAULTFMT_OK) set(own, worker, 0, 1);
    vaultfmt_close(own);
    see_others(vault);
}

static void list(struct worker *worker, vaultfmt_vault *vault) {
    vaultfmt_cursor *cursor;
    const vaultfmt_item *item;
    char own[16];
    int expected = 0, found = 0, index;
    for (index = 0; index < KEYS; index++) expected += worker->known[index] != 0;
    snprintf(own, sizeof own, "%d-", worker->number);
    if (!is_done(vaultfmt_items(vault, NULL, &cursor), "listing")) return;
    while (is_done(vaultfmt_cursor_next(cursor, &item), "the next item") && item != NULL) {
        found += item->key.account.size > strlen(own) && memcmp(item->key.account.data, own, strlen(own)) == 0;
        vaultfmt_item_free(item);
    }
    vaultfmt_cursor_close(cursor);
    if (found != expected) wrong("thread %d has %d items, not %d", worker->number, found, expected);
}

/* Leaves the process a few descriptors for a moment, or none. */
static void limit(struct worker *worker, vaultfmt_vault *vault) {
    struct rlimit low = usual;
    static pthread_mutex_t one = PTHREAD_MUTEX_INITIALIZER;
    int spare;
    pthread_mutex_lock(&one);
    spare = dup(1);
    low.rlim_cur = (rlim_t)spare + (rlim_t)below(worker, 4);
    close(spare);
    atomic_fetch_add(&limited, 1);
    setrlimit(RLIMIT_NOFILE, &low);
    is_done(vaultfmt_compact(vault, NULL, NULL), "compacting with few descriptors");
    change(worker, vault);
    setrlimit(RLIMIT_NOFILE, &usual);
    pthread_mutex_unlock(&one);
    /* Others may still be within what has failed. */
    usleep(2000);
    atomic_fetch_sub(&limited, 1);
}

static void step(struct worker *worker, vaultfmt_vault *vault) {
    int choice = below(worker, 100), kind;
    if (choice < 50) kind = 0, change(worker, vault);
    else if (choice < 66) kind = 1, transact(worker, vault, 1);
    else if (choice < 74) kind = 2, transact(worker, vault, 0);
    else if (choice < 81) kind = 3, fork_child(worker, vault, 0);
    else if (choice < 90) kind = 4, open_and_close(worker, vault);
    else if (choice < 97) kind = 5, list(worker, vault);
    else if (choice < 98) kind = 6, is_done(vaultfmt_compact(vault, NULL, NULL), "compacting");
    else kind = 7, limit(worker, vault);
    atomic_fetch_add(&done[kind], 1);
}

static void *work(void *context) {
    struct worker *worker = context;
    while (atomic_fetch_sub(&operations_left, 1) > 0 && wrongs == 0) {
        vaultfmt_vault *own = NULL;
        /* A handle of its own now and then, as tasks have. */
        if (below(worker, 4) == 0 && vaultfmt_share(shared, &own) != VAULTFMT_OK) wrong("sharing: %s", vaultfmt_error_text());
        step(worker, own != NULL ? own : shared);
        vaultfmt_close(own);
    }
    return NULL;
}

static void ignore(int number) { (void)number; }

static void check_all(const struct worker *workers) {
    vaultfmt_vault *vault;
    const vaultfmt_report *report;
    int number, index;
    if (!is_done(try_open(&vault), "opening at the end")) return;
    for (number = 0; number < THREADS; number++)
        for (index = 0; index < KEYS; index++) compare(vault, &workers[number], index, "at the end");
    if (is_done(vaultfmt_verify(vault, &report), "verifying") && !report->is_sound) wrong("the file is not sound");
    vaultfmt_report_free(report);
    vaultfmt_close(vault);
}

int main(int argc, char **argv) {
    static struct worker workers[THREADS];
    static const uint8_t key[32] = {9, 8, 7};
    struct sigaction action = {.sa_handler = ignore};
    struct itimerval timer = {{0, 1700}, {0, 1700}}, none = {{0, 0}, {0, 0}};
    vaultfmt_factors factors = VAULTFMT_FACTORS_INIT;
    vaultfmt_create_options options = VAULTFMT_CREATE_OPTIONS_INIT;
    long operations;
    int number, kind;
    if (argc != 4) return 2;
    snprintf(path, sizeof path, "%s/host.vault", argv[1]);
    getrlimit(RLIMIT_NOFILE, &usual);
    operations = atol(argv[2]);
    operations_left = operations;
    factors.raw_key.data = key;
    factors.raw_key.size = sizeof key;
    options.lock_wait = 60000;
    if (vaultfmt_create(path, &factors, &options, &shared) != VAULTFMT_OK) {
        printf("creating: %s\n", vaultfmt_error_text());
        return 1;
    }
    sigaction(SIGALRM, &action, NULL);
    setitimer(ITIMER_REAL, &timer, NULL);
    for (number = 0; number < THREADS; number++) {
        workers[number].number = number;
        workers[number].seed = (unsigned int)atol(argv[3]) * 7 + (unsigned int)number;
        pthread_create(&workers[number].thread, NULL, work, &workers[number]);
    }
    for (number = 0; number < THREADS; number++) pthread_join(workers[number].thread, NULL);
    setitimer(ITIMER_REAL, &none, NULL);
    vaultfmt_close(shared);
    check_all(workers);
    printf("operations %ld in C:", operations);
    for (kind = 0; kind < 8; kind++) printf(" %ld %s%s", done[kind], kinds[kind], kind < 7 ? "," : "\n");
    return 0;
}

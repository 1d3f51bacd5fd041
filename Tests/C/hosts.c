/* Hosts that fork, have threads, close descriptors, are interrupted and run out of memory. D1, C2, C3, C4, C6, C7, C9, H9 and H12 are defects that trials of 0.1.0 found. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "check.h"

/* Runs it in a child, and tells whether it ended well within ten minutes. Failures in the child are told and counted here. */
static void in_child(void (*body)(vaultfmt_vault *), vaultfmt_vault *vault) {
    int status = -1;
    pid_t child = fork();
    if (child == 0) {
        alarm(600);
        failures = 0;
        body(vault);
        fflush(stderr);
        _exit(failures == 0 ? 0 : 1);
    }
    CHECK(child > 0 && waitpid(child, &status, 0) == child && status == 0);
}

static void *on_thread(void *(*body)(void *), void *context, size_t stack) {
    pthread_t thread;
    pthread_attr_t attributes;
    void *result = NULL;
    pthread_attr_init(&attributes);
    if (stack > 0) CHECK(pthread_attr_setstacksize(&attributes, stack) == 0);
    CHECK(pthread_create(&thread, &attributes, body, context) == 0);
    pthread_attr_destroy(&attributes);
    pthread_join(thread, &result);
    return result;
}

static vaultfmt_vault *open_with_wait(const char *name, int64_t milliseconds) {
    vaultfmt_factors factors = raw_key();
    vaultfmt_open_options options = VAULTFMT_OPEN_OPTIONS_INIT;
    vaultfmt_vault *vault;
    options.writable = 1;
    options.lock_wait = milliseconds;
    REQUIRE(vaultfmt_open(file_in_folder(name), &factors, &options, &vault));
    return vault;
}

static double seconds(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

/* ---- C2, C3: what a child inherits ---- */

static vaultfmt_cursor *inherited_cursor;
static const vaultfmt_item *inherited_item;

static int32_t take_nothing(void *context, const vaultfmt_item *item) {
    (void)context, (void)item;
    return 0;
}

static void use_everything(vaultfmt_vault *vault) {
    vaultfmt_key key = vaultfmt_generic_password("s", "1");
    vaultfmt_factors factors = raw_key();
    vaultfmt_details details = VAULTFMT_DETAILS_INIT;
    const vaultfmt_item *item;
    const vaultfmt_slots *slots;
    const vaultfmt_report *report;
    vaultfmt_cursor *cursor;
    vaultfmt_vault *own;
    vaultfmt_info info;
    vaultfmt_statistics statistics;
    uint8_t id[16] = {0};
    vaultfmt_bytes group = vaultfmt_text("group");
    vaultfmt_earlier_id earlier = {1, 1, {NULL, 0}};
    const vaultfmt_earlier_values *values;
    const vaultfmt_earlier_value *old;
    const vaultfmt_value *value;
    info.struct_size = sizeof info;
    statistics.struct_size = sizeof statistics;
    EXPECT(VAULTFMT_OTHER_PROCESS, vaultfmt_find(vault, &key, &item));
    EXPECT(VAULTFMT_OTHER_PROCESS, vaultfmt_get(vault, &key, &item));
    EXPECT(VAULTFMT_OTHER_PROCESS, vaultfmt_add(vault, &key, vaultfmt_text("x"), NULL));
    EXPECT(VAULTFMT_OTHER_PROCESS, vaultfmt_set(vault, &key, vaultfmt_text("x"), NULL));
    EXPECT(VAULTFMT_OTHER_PROCESS, vaultfmt_update(vault, &key, &details));
    EXPECT(VAULTFMT_OTHER_PROCESS, vaultfmt_move(vault, &key, &key));
    EXPECT(VAULTFMT_OTHER_PROCESS, vaultfmt_remove(vault, &key));
    EXPECT(VAULTFMT_OTHER_PROCESS, vaultfmt_begin(vault));
    EXPECT(VAULTFMT_OTHER_PROCESS, vaultfmt_commit(vault));
    EXPECT(VAULTFMT_OTHER_PROCESS, vaultfmt_rollback(vault));
    EXPECT(VAULTFMT_OTHER_PROCESS, vaultfmt_share(vault, &own));
    EXPECT(VAULTFMT_OTHER_PROCESS, vaultfmt_refresh(vault));
    EXPECT(VAULTFMT_OTHER_PROCESS, vaultfmt_lock(vault));
    EXPECT(VAULTFMT_OTHER_PROCESS, vaultfmt_unlock(vault, &factors, NULL));
    EXPECT(VAULTFMT_OTHER_PROCESS, vaultfmt_keep_unlocked(vault, 1));
    EXPECT(VAULTFMT_OTHER_PROCESS, vaultfmt_get_info(vault, &info));
    EXPECT(VAULTFMT_OTHER_PROCESS, vaultfmt_get_anchor(vault, &value));
    EXPECT(VAULTFMT_OTHER_PROCESS, vaultfmt_get_statistics(vault, &statistics));
    EXPECT(VAULTFMT_OTHER_PROCESS, vaultfmt_items(vault, NULL, &cursor));
    EXPECT(VAULTFMT_OTHER_PROCESS, vaultfmt_each_secret(vault, NULL, take_nothing, NULL));
    EXPECT(VAULTFMT_OTHER_PROCESS, vaultfmt_cursor_next(inherited_cursor, &item));
    EXPECT(VAULTFMT_OTHER_PROCESS, vaultfmt_get_slots(vault, &slots));
    EXPECT(VAULTFMT_OTHER_PROCESS, vaultfmt_slot_add(vault, &factors, NULL, id, NULL));
    EXPECT(VAULTFMT_OTHER_PROCESS, vaultfmt_slot_remove(vault, id, NULL));
    EXPECT(VAULTFMT_OTHER_PROCESS, vaultfmt_slot_change(vault, NULL, &factors, NULL, NULL));
    EXPECT(VAULTFMT_OTHER_PROCESS, vaultfmt_slot_rename(vault, id, vaultfmt_text("x")));
    EXPECT(VAULTFMT_OTHER_PROCESS, vaultfmt_rotate(vault, &factors, 1, NULL, 0, NULL));
    EXPECT(VAULTFMT_OTHER_PROCESS, vaultfmt_slot_grant(vault, id, &group, 1, NULL));
    EXPECT(VAULTFMT_OTHER_PROCESS, vaultfmt_get_attribute(vault, &key, group, &value));
    EXPECT(VAULTFMT_OTHER_PROCESS, vaultfmt_get_earlier_values(vault, &key, &values));
    EXPECT(VAULTFMT_OTHER_PROCESS, vaultfmt_get_earlier_value(vault, &key, &earlier, &old));
    EXPECT(VAULTFMT_OTHER_PROCESS, vaultfmt_get_earlier_attribute(vault, &key, &earlier, group, &value));
    EXPECT(VAULTFMT_OTHER_PROCESS, vaultfmt_restore(vault, &key, &earlier));
    EXPECT(VAULTFMT_OTHER_PROCESS, vaultfmt_forget(vault, &key, NULL, 0, NULL));
    EXPECT(VAULTFMT_OTHER_PROCESS, vaultfmt_add_earlier_values(vault, &key, NULL, 0, NULL));
    EXPECT(VAULTFMT_OTHER_PROCESS, vaultfmt_keep_versions(vault, 1));
    EXPECT(VAULTFMT_OTHER_PROCESS, vaultfmt_repair(vault, &value));
    EXPECT(VAULTFMT_OTHER_PROCESS, vaultfmt_compact(vault, NULL, NULL));
    EXPECT(VAULTFMT_OTHER_PROCESS, vaultfmt_verify(vault, &report));
    CHECK(strcmp(vaultfmt_status_name(VAULTFMT_OTHER_PROCESS), "other-process") == 0);
    /* What was returned before is the child's own. */
    CHECK(is_text(inherited_item->secret, "one"));
    vaultfmt_item_free(inherited_item);
    vaultfmt_cursor_close(inherited_cursor);
    vaultfmt_close(vault);
}

static void open_for_itself(vaultfmt_vault *vault) {
    (void)vault;
    vaultfmt_vault *own = open_to_write("hosts.vault");
    CHECK(has_secret(own, "s", "1", "one"));
    REQUIRE(put(own, "s", "child", "two"));
    vaultfmt_close(own);
}

static void leave_a_transaction(vaultfmt_vault *vault) {
    EXPECT(VAULTFMT_OTHER_PROCESS, put(vault, "s", "never", "x"));
    EXPECT(VAULTFMT_OTHER_PROCESS, vaultfmt_rollback(vault));
    vaultfmt_close(vault);
}

static void what_a_child_inherits(void) {
    vaultfmt_vault *vault = create("hosts.vault");
    vaultfmt_vault *other = open_with_wait("hosts.vault", 20);
    vaultfmt_key key = vaultfmt_generic_password("s", "1");
    const vaultfmt_report *report;
    REQUIRE(put(vault, "s", "1", "one"));
    REQUIRE(vaultfmt_get(vault, &key, &inherited_item));
    REQUIRE(vaultfmt_items(vault, NULL, &inherited_cursor));
    in_child(use_everything, vault);
    in_child(open_for_itself, vault);
    vaultfmt_item_free(inherited_item);
    vaultfmt_cursor_close(inherited_cursor);

    REQUIRE(vaultfmt_begin(vault));
    REQUIRE(put(vault, "s", "parent", "three"));
    in_child(leave_a_transaction, vault);
    EXPECT(VAULTFMT_BUSY, put(other, "s", "other", "x"));
    REQUIRE(vaultfmt_commit(vault));
    REQUIRE(put(other, "s", "other", "four"));
    REQUIRE(vaultfmt_refresh(vault));
    CHECK(has_secret(vault, "s", "child", "two") && has_secret(vault, "s", "parent", "three") && has_secret(vault, "s", "other", "four"));
    CHECK(count(vault, NULL) == 4);
    REQUIRE(vaultfmt_verify(vault, &report));
    CHECK(report->is_sound);
    vaultfmt_report_free(report);
    vaultfmt_close(other);
    vaultfmt_close(vault);
}

/* ---- C4: forks of a host with threads ---- */

static volatile int is_done;

static void *open_and_close(void *context) {
    vaultfmt_factors factors = raw_key();
    size_t failed = 0;
    (void)context;
    while (!is_done) {
        vaultfmt_vault *vault;
        vaultfmt_key key = vaultfmt_generic_password("s", "1");
        const vaultfmt_item *item;
        if (vaultfmt_open(file_in_folder("hosts.vault"), &factors, NULL, &vault) != VAULTFMT_OK) failed++;
        if (vaultfmt_get(vault, &key, &item) != VAULTFMT_OK) failed++;
        vaultfmt_item_free(item);
        vaultfmt_close(vault);
    }
    return (void *)failed;
}

static void forks_with_threads(int rounds) {
    pthread_t threads[3];
    void *failed;
    int index;
    is_done = 0;
    for (index = 0; index < 3; index++) CHECK(pthread_create(&threads[index], NULL, open_and_close, NULL) == 0);
    for (index = 0; index < rounds; index++) in_child(open_for_itself, NULL);
    is_done = 1;
    for (index = 0; index < 3; index++) {
        pthread_join(threads[index], &failed);
        CHECK(failed == NULL);
    }
}

/* ---- C6, C7, H9: threads ---- */

static void *begin_and_die(void *context) {
    REQUIRE(vaultfmt_begin(context));
    REQUIRE(put(context, "s", "never", "x"));
    return NULL;
}

/* New threads are given the pthread_t of those that died. */
static void *wait_in_vain(void *context) {
    vaultfmt_info info;
    double start = seconds();
    info.struct_size = sizeof info;
    EXPECT(VAULTFMT_BUSY, put(context, "s", "lost", "x"));
    EXPECT(VAULTFMT_BUSY, vaultfmt_begin(context));
    EXPECT(VAULTFMT_BUSY, vaultfmt_get_info(context, &info));
    CHECK(seconds() - start < 600);
    return NULL;
}

static void *commit(void *context) {
    EXPECT(VAULTFMT_OK, vaultfmt_commit(context));
    EXPECT(VAULTFMT_INVALID_ARGUMENT, vaultfmt_commit(context));
    return NULL;
}

static void transactions_of_dead_threads(void) {
    vaultfmt_vault *vault, *task, *other;
    vaultfmt_close(create("dead.vault"));
    vault = open_with_wait("dead.vault", 20);
    on_thread(begin_and_die, vault, 0);
    on_thread(wait_in_vain, vault, 0);
    wait_in_vain(vault);
    EXPECT(VAULTFMT_OK, vaultfmt_rollback(vault));
    CHECK(has_secret(vault, "s", "never", ""));

    /* Any thread may commit, too. */
    REQUIRE(vaultfmt_begin(vault));
    REQUIRE(put(vault, "s", "kept", "1"));
    on_thread(commit, vault, 0);
    EXPECT(VAULTFMT_INVALID_ARGUMENT, vaultfmt_rollback(vault));
    CHECK(has_secret(vault, "s", "kept", "1"));

    /* Tasks that share a thread have a handle each. */
    REQUIRE(vaultfmt_share(vault, &task));
    REQUIRE(vaultfmt_share(task, &other));
    REQUIRE(vaultfmt_begin(task));
    REQUIRE(put(task, "s", "task", "1"));
    EXPECT(VAULTFMT_INVALID_ARGUMENT, put(vault, "s", "joined", "1"));
    EXPECT(VAULTFMT_INVALID_ARGUMENT, vaultfmt_begin(other));
    EXPECT(VAULTFMT_INVALID_ARGUMENT, vaultfmt_commit(other));
    EXPECT(VAULTFMT_INVALID_ARGUMENT, vaultfmt_rollback(vault));
    vaultfmt_close(vault);
    REQUIRE(put(task, "s", "task", "2"));
    REQUIRE(vaultfmt_commit(task));
    CHECK(has_secret(other, "s", "task", "2") && has_secret(other, "s", "joined", ""));
    /* Closing a handle rolls its own transaction back, and no other. */
    REQUIRE(vaultfmt_begin(other));
    REQUIRE(put(other, "s", "other", "1"));
    vaultfmt_close(task);
    CHECK(has_secret(other, "s", "other", "1"));
    vaultfmt_close(other);

    vault = open_with_wait("dead.vault", 20);
    CHECK(count(vault, NULL) == 2);
    on_thread(begin_and_die, vault, 0);
    vaultfmt_close(vault);
    vault = open_with_wait("dead.vault", 20);
    REQUIRE(put(vault, "s", "last", "1"));
    CHECK(count(vault, NULL) == 3);
    vaultfmt_close(vault);
}

struct reading {
    vaultfmt_cursor *cursor;
    size_t items;
};

static void *read_on(void *context) {
    struct reading *reading = context;
    for (;;) {
        const vaultfmt_item *item;
        vaultfmt_status status = vaultfmt_cursor_next(reading->cursor, &item);
        if (status == VAULTFMT_INVALID_ARGUMENT) {
            sched_yield();
            continue;
        }
        if (status != VAULTFMT_OK || item == NULL) return (void *)(size_t)status;
        reading->items++;
        vaultfmt_item_free(item);
    }
}

static void one_cursor_for_several_threads(void) {
    vaultfmt_vault *vault = create("cursor.vault");
    struct reading readings[3];
    pthread_t threads[3];
    vaultfmt_cursor *cursor;
    void *status;
    size_t items = 0;
    char name[16];
    int index;
    REQUIRE(vaultfmt_begin(vault));
    for (index = 0; index < 1000; index++) {
        snprintf(name, sizeof name, "%d", index);
        REQUIRE(put(vault, "s", name, "x"));
    }
    REQUIRE(vaultfmt_commit(vault));
    REQUIRE(vaultfmt_items(vault, NULL, &cursor));
    for (index = 0; index < 3; index++) {
        readings[index].cursor = cursor;
        readings[index].items = 0;
        CHECK(pthread_create(&threads[index], NULL, read_on, &readings[index]) == 0);
    }
    for (index = 0; index < 3; index++) {
        pthread_join(threads[index], &status);
        CHECK(status == NULL);
        items += readings[index].items;
    }
    CHECK(items == 1000);
    vaultfmt_cursor_close(cursor);
    vaultfmt_close(vault);
}

/* ---- D1: a host that has closed its standard descriptors ---- */

static int closed_ones;

/* Whether what the host prints to the descriptors that it closed gets nowhere. */
static void print_to_nobody(void) {
    int number;
    for (number = 0; number < 3; number++) {
        if ((closed_ones >> number & 1) == 0) continue;
        CHECK(write(number, "a warning\n", 10) == -1 && errno == EBADF);
        CHECK(fcntl(number, F_GETFD) == -1);
    }
}

static int32_t print_meanwhile(void *context, const vaultfmt_item *item) {
    (void)context, (void)item;
    print_to_nobody();
    return 0;
}

static void close_and_work(vaultfmt_vault *vault) {
    vaultfmt_factors factors = raw_key();
    vaultfmt_local_options local = VAULTFMT_LOCAL_OPTIONS_INIT;
    const vaultfmt_report *report;
    vaultfmt_vault *own;
    char name[32];
    int number;
    (void)vault;
    for (number = 0; number < 3; number++) {
        if (closed_ones >> number & 1) close(number);
    }
    snprintf(name, sizeof name, "closed-%d.vault", closed_ones);
    local.state_folder = file_in_folder("closed");
    REQUIRE(vaultfmt_local_create(file_in_folder(name), &factors, NULL, &local, &own));
    print_to_nobody();
    REQUIRE(vaultfmt_begin(own));
    REQUIRE(put(own, "s", "1", "one"));
    print_to_nobody();
    REQUIRE(vaultfmt_commit(own));
    print_to_nobody();
    REQUIRE(vaultfmt_each_secret(own, NULL, print_meanwhile, NULL));
    REQUIRE(vaultfmt_compact(own, NULL, NULL));
    print_to_nobody();
    REQUIRE(vaultfmt_rotate(own, &factors, 1, NULL, 0, NULL));
    print_to_nobody();
    vaultfmt_close(own);
    REQUIRE(vaultfmt_local_open(file_in_folder(name), &factors, NULL, &local, &own));
    print_to_nobody();
    CHECK(has_secret(own, "s", "1", "one"));
    REQUIRE(vaultfmt_verify(own, &report));
    CHECK(report->is_sound);
    vaultfmt_report_free(report);
    vaultfmt_close(own);
}

static void closed_descriptors(void) {
    /* Every subset of them. */
    for (closed_ones = 0; closed_ones < 8; closed_ones++) in_child(close_and_work, NULL);
}

/* ---- C9, H12: interruptions and limits ---- */

static void *set_for_ever(void *context) {
    while (put(context, "s", "cancelled", "x") == VAULTFMT_OK) pthread_testcancel();
    return NULL;
}

static void cancelled_threads(void) {
    vaultfmt_vault *vault = create("cancel.vault");
    int round;
    for (round = 0; round < 20; round++) {
        pthread_t thread;
        void *result;
        CHECK(pthread_create(&thread, NULL, set_for_ever, vault) == 0);
        usleep(3000);
        pthread_cancel(thread);
        pthread_join(thread, &result);
        CHECK(result == PTHREAD_CANCELED);
        EXPECT(VAULTFMT_OK, put(vault, "s", "after", "y"));
    }
    CHECK(has_secret(vault, "s", "after", "y"));
    vaultfmt_close(vault);
}

static void ignore(int number) { (void)number; }

static void a_storm_of_signals(void) {
    struct sigaction action = {.sa_handler = ignore}, old;
    struct itimerval timer = {{0, 500}, {0, 500}}, none = {{0, 0}, {0, 0}};
    vaultfmt_vault *vault = create("signals.vault");
    vaultfmt_vault *other = open_with_wait("signals.vault", 300);
    int round;
    double start;
    char name[16];
    sigaction(SIGALRM, &action, &old);
    setitimer(ITIMER_REAL, &timer, NULL);
    for (round = 0; round < 50; round++) {
        snprintf(name, sizeof name, "%d", round);
        EXPECT(VAULTFMT_OK, put(vault, "s", name, name));
        CHECK(has_secret(vault, "s", name, name));
    }
    /* The wait is a time, not a number of sleeps, which signals end early. */
    REQUIRE(vaultfmt_begin(vault));
    start = seconds();
    EXPECT(VAULTFMT_BUSY, put(other, "s", "never", "x"));
    CHECK(seconds() - start >= 0.29);
    REQUIRE(vaultfmt_rollback(vault));
    setitimer(ITIMER_REAL, &none, NULL);
    sigaction(SIGALRM, &old, NULL);
    CHECK(count(vault, NULL) == 50);
    vaultfmt_close(other);
    vaultfmt_close(vault);
}

static void *work_on_a_small_stack(void *context) {
    vaultfmt_vault *vault = open_to_write("stack.vault");
    vaultfmt_factors factors = raw_key();
    static uint8_t large[2 << 20];
    vaultfmt_key key = vaultfmt_generic_password("s", "large");
    vaultfmt_bytes bytes = {large, sizeof large};
    char name[16];
    int index;
    (void)context;
    REQUIRE(vaultfmt_begin(vault));
    for (index = 0; index < 500; index++) {
        snprintf(name, sizeof name, "%d", index);
        REQUIRE(put(vault, "s", name, name));
    }
    REQUIRE(vaultfmt_set(vault, &key, bytes, NULL));
    REQUIRE(vaultfmt_commit(vault));
    CHECK(count(vault, NULL) == 501);
    REQUIRE(vaultfmt_each_secret(vault, NULL, take_nothing, NULL));
    REQUIRE(vaultfmt_compact(vault, NULL, NULL));
    REQUIRE(vaultfmt_rotate(vault, &factors, 1, NULL, 0, NULL));
    vaultfmt_close(vault);
    return NULL;
}

static void run_out_of_memory(vaultfmt_vault *vault) {
    static uint8_t large[16 << 20];
    vaultfmt_key key = vaultfmt_generic_password("s", "large");
    vaultfmt_bytes bytes = {large, sizeof large};
    struct rlimit limit = {RLIM_INFINITY, RLIM_INFINITY};
    const vaultfmt_item *item;
    vaultfmt_vault *own;
    int refused = 0;
    long pages = 0, room;
    (void)vault;
    own = open_to_write("memory.vault");
    REQUIRE(vaultfmt_set(own, &key, bytes, NULL));
    for (room = 4 << 20; room < 64 << 20; room += 5 << 20) {
        FILE *file = fopen("/proc/self/statm", "r");
        vaultfmt_status status;
        if (file == NULL || fscanf(file, "%ld", &pages) != 1) abort();
        fclose(file);
        limit.rlim_cur = (rlim_t)(pages * sysconf(_SC_PAGESIZE) + room);
        setrlimit(RLIMIT_AS, &limit);
        status = vaultfmt_get(own, &key, &item);
        CHECK(status == VAULTFMT_OK || status == VAULTFMT_OUT_OF_MEMORY);
        refused += status == VAULTFMT_OUT_OF_MEMORY;
        vaultfmt_item_free(item);
        status = vaultfmt_set(own, &key, bytes, NULL);
        CHECK(status == VAULTFMT_OK || status == VAULTFMT_OUT_OF_MEMORY);
        refused += status == VAULTFMT_OUT_OF_MEMORY;
    }
    CHECK(refused > 3);
    /* What is small goes on. */
    REQUIRE(put(own, "s", "small", "x"));
    CHECK(has_secret(own, "s", "small", "x"));
    limit.rlim_cur = RLIM_INFINITY;
    setrlimit(RLIMIT_AS, &limit);
    REQUIRE(vaultfmt_get(own, &key, &item));
    CHECK(item->secret.size == sizeof large);
    vaultfmt_item_free(item);
    vaultfmt_close(own);
}

void test_hosts(void) {
    /* It has its own allocator, and one thread at a time. */
    int is_watched = getenv("LD_PRELOAD") != NULL && strstr(getenv("LD_PRELOAD"), "vgpreload") != NULL;
    what_a_child_inherits();
    forks_with_threads(is_watched ? 3 : 100);
    transactions_of_dead_threads();
    one_cursor_for_several_threads();
    if (!is_watched) {
        /* A thread that is cancelled leaves its stack to the system, with all that Swift's runtime has there. */
        cancelled_threads();
        vaultfmt_close(create("stack.vault"));
        on_thread(work_on_a_small_stack, NULL, 256 << 10);
        vaultfmt_close(create("memory.vault"));
        in_child(run_out_of_memory, NULL);
    }
    closed_descriptors();
    a_storm_of_signals();
}

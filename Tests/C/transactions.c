/* Transactions, and several threads on one handle. */
#include <pthread.h>
#include <unistd.h>

#include "check.h"

static void together(vaultfmt_vault *vault) {
    vaultfmt_vault *other = open_to_write("transactions.vault");
    vaultfmt_key key = vaultfmt_generic_password("s", "1");
    vaultfmt_key renamed = vaultfmt_generic_password("s", "2");
    vaultfmt_info info, after;
    info.struct_size = after.struct_size = sizeof info;
    REQUIRE(vaultfmt_get_info(vault, &info));

    REQUIRE(vaultfmt_begin(vault));
    EXPECT(VAULTFMT_OK, put(vault, "s", "1", "one"));
    CHECK(has_secret(vault, "s", "1", "one"));
    EXPECT(VAULTFMT_OK, vaultfmt_move(vault, &key, &renamed));
    CHECK(has_secret(vault, "s", "1", "") && has_secret(vault, "s", "2", "one"));
    EXPECT(VAULTFMT_DUPLICATE_ITEM, vaultfmt_add(vault, &renamed, vaultfmt_text("x"), NULL));
    EXPECT(VAULTFMT_NO_SUCH_ITEM, vaultfmt_remove(vault, &key));
    CHECK(has_secret(other, "s", "2", ""));
    EXPECT(VAULTFMT_OK, vaultfmt_commit(vault));
    REQUIRE(vaultfmt_get_info(vault, &after));
    CHECK(after.generation == info.generation + 1);
    REQUIRE(vaultfmt_refresh(other));
    CHECK(has_secret(other, "s", "2", "one"));

    REQUIRE(vaultfmt_begin(vault));
    EXPECT(VAULTFMT_OK, vaultfmt_remove(vault, &renamed));
    CHECK(has_secret(vault, "s", "2", ""));
    EXPECT(VAULTFMT_OK, vaultfmt_rollback(vault));
    CHECK(has_secret(vault, "s", "2", "one"));

    /* A transaction that is open is rolled back when its vault is closed, and does not hold up others. */
    REQUIRE(vaultfmt_begin(other));
    EXPECT(VAULTFMT_OK, put(other, "s", "3", "never"));
    vaultfmt_close(other);
    EXPECT(VAULTFMT_OK, put(vault, "s", "4", "four"));
    CHECK(has_secret(vault, "s", "3", ""));
}

static void what_is_refused(vaultfmt_vault *vault) {
    vaultfmt_cursor *cursor = (vaultfmt_cursor *)1;
    vaultfmt_info info;
    vaultfmt_open_options options = VAULTFMT_OPEN_OPTIONS_INIT;
    vaultfmt_factors factors = raw_key();
    vaultfmt_vault *other;
    info.struct_size = sizeof info;
    EXPECT(VAULTFMT_INVALID_ARGUMENT, vaultfmt_commit(vault));
    EXPECT(VAULTFMT_INVALID_ARGUMENT, vaultfmt_rollback(vault));
    REQUIRE(vaultfmt_begin(vault));
    EXPECT(VAULTFMT_INVALID_ARGUMENT, vaultfmt_begin(vault));
    EXPECT(VAULTFMT_INVALID_ARGUMENT, vaultfmt_refresh(vault));
    EXPECT(VAULTFMT_INVALID_ARGUMENT, vaultfmt_lock(vault));
    EXPECT(VAULTFMT_INVALID_ARGUMENT, vaultfmt_get_info(vault, &info));
    CHECK(info.struct_size == sizeof info && info.generation == 0);
    EXPECT(VAULTFMT_INVALID_ARGUMENT, vaultfmt_items(vault, NULL, &cursor));
    CHECK(cursor == NULL);
    EXPECT(VAULTFMT_INVALID_ARGUMENT, vaultfmt_compact(vault, NULL, NULL));

    /* Another opening of the file cannot write meanwhile. */
    options.writable = 1;
    options.lock_wait = 20;
    REQUIRE(vaultfmt_open(file_in_folder("transactions.vault"), &factors, &options, &other));
    EXPECT(VAULTFMT_BUSY, vaultfmt_begin(other));
    EXPECT(VAULTFMT_BUSY, put(other, "s", "5", "five"));
    EXPECT(VAULTFMT_OK, vaultfmt_commit(vault));
    EXPECT(VAULTFMT_OK, put(other, "s", "5", "five"));
    vaultfmt_close(other);

    REQUIRE(vaultfmt_open(file_in_folder("transactions.vault"), &factors, NULL, &other));
    EXPECT(VAULTFMT_READ_ONLY, vaultfmt_begin(other));
    EXPECT(VAULTFMT_READ_ONLY, put(other, "s", "6", "six"));
    EXPECT(VAULTFMT_INVALID_ARGUMENT, vaultfmt_rollback(other));
    vaultfmt_close(other);
}

void test_transactions(void) {
    vaultfmt_vault *vault = create("transactions.vault");
    together(vault);
    what_is_refused(vault);
    vaultfmt_close(vault);
}

struct worker {
    pthread_t thread;
    vaultfmt_vault *vault;
    int number;
    int failures;
};

/* Counts up a number that all threads count up: no step of it may be lost. */
static void *count_up(void *context) {
    struct worker *worker = context;
    vaultfmt_key key = vaultfmt_generic_password("counter", "");
    int step;
    for (step = 0; step < 10; step++) {
        const vaultfmt_item *item;
        char text[16] = "0", own[32];
        if (vaultfmt_begin(worker->vault) != VAULTFMT_OK) worker->failures++;
        if (vaultfmt_get(worker->vault, &key, &item) == VAULTFMT_OK) {
            memcpy(text, item->secret.data, item->secret.size);
            text[item->secret.size] = 0;
        }
        vaultfmt_item_free(item);
        snprintf(text, sizeof text, "%d", atoi(text) + 1);
        if (vaultfmt_set(worker->vault, &key, vaultfmt_text(text), NULL) != VAULTFMT_OK) worker->failures++;
        if (vaultfmt_commit(worker->vault) != VAULTFMT_OK) worker->failures++;
        snprintf(own, sizeof own, "%d-%d", worker->number, step);
        if (put(worker->vault, "own", own, own) != VAULTFMT_OK) worker->failures++;
        if (!has_secret(worker->vault, "own", own, own)) worker->failures++;
        /* Errors are each thread's own. */
        if (put(NULL, "", "", "") != VAULTFMT_INVALID_ARGUMENT || strcmp(vaultfmt_error_text(), "vault is NULL") != 0) worker->failures++;
    }
    return NULL;
}

static void *roll_back_a_transaction_of_another(void *context) {
    struct worker *worker = context;
    if (vaultfmt_rollback(worker->vault) != VAULTFMT_OK) worker->failures++;
    if (vaultfmt_rollback(worker->vault) != VAULTFMT_INVALID_ARGUMENT) worker->failures++;
    return NULL;
}

void test_threads(void) {
    struct worker workers[4];
    struct worker stranger;
    vaultfmt_vault *vaults[2];
    vaultfmt_query query = VAULTFMT_QUERY_INIT;
    int index;
    vaults[0] = create("threads.vault");
    vaults[1] = open_to_write("threads.vault");
    for (index = 0; index < 4; index++) {
        /* Two on one handle, two on another. */
        workers[index].vault = vaults[index / 2];
        workers[index].number = index;
        workers[index].failures = 0;
        CHECK(pthread_create(&workers[index].thread, NULL, count_up, &workers[index]) == 0);
    }
    for (index = 0; index < 4; index++) {
        pthread_join(workers[index].thread, NULL);
        CHECK(workers[index].failures == 0);
    }
    REQUIRE(vaultfmt_refresh(vaults[0]));
    CHECK(has_secret(vaults[0], "counter", "", "40"));
    query.service = vaultfmt_text("own");
    CHECK(count(vaults[0], &query) == 40);

    REQUIRE(vaultfmt_begin(vaults[0]));
    REQUIRE(put(vaults[0], "rolled", "back", "yes"));
    stranger.vault = vaults[0];
    stranger.failures = 0;
    CHECK(pthread_create(&stranger.thread, NULL, roll_back_a_transaction_of_another, &stranger) == 0);
    pthread_join(stranger.thread, NULL);
    CHECK(stranger.failures == 0);
    EXPECT(VAULTFMT_INVALID_ARGUMENT, vaultfmt_commit(vaults[0]));
    CHECK(has_secret(vaults[0], "rolled", "back", ""));
    vaultfmt_close(vaults[0]);
    vaultfmt_close(vaults[1]);
}

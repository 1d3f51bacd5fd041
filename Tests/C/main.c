/* Runs the tests of the C interface in a folder that is given and must be empty. Says how many checks there were; 1 if one failed. */
#define _GNU_SOURCE
#include "check.h"

int checks;
int failures;
static const char *folder;

const char *file_in_folder(const char *name) {
    /* For each thread: tests of threads open files, too. */
    static _Thread_local char paths[8][1024];
    static _Thread_local int next;
    char *path = paths[next++ % 8];
    snprintf(path, sizeof paths[0], "%s/%s", folder, name);
    return path;
}

vaultfmt_factors raw_key(void) {
    static const uint8_t key[32] = {1, 2, 3, 4, 5, 6, 7, 8};
    vaultfmt_factors factors = VAULTFMT_FACTORS_INIT;
    factors.raw_key.data = key;
    factors.raw_key.size = sizeof key;
    return factors;
}

vaultfmt_factors passphrase(const char *text) {
    vaultfmt_factors factors = VAULTFMT_FACTORS_INIT;
    factors.passphrase = vaultfmt_text(text);
    return factors;
}

vaultfmt_create_options cheap(void) {
    vaultfmt_create_options options = VAULTFMT_CREATE_OPTIONS_INIT;
    options.kdf_memory = 8;
    options.kdf_passes = 1;
    options.kdf_lanes = 1;
    options.allow_weak_kdf = 1;
    return options;
}

vaultfmt_slot_options cheap_slot(const char *name) {
    vaultfmt_slot_options options = VAULTFMT_SLOT_OPTIONS_INIT;
    options.kdf_memory = 8;
    options.kdf_passes = 1;
    options.kdf_lanes = 1;
    options.allow_weak_kdf = 1;
    options.name = vaultfmt_text(name);
    return options;
}

vaultfmt_vault *create(const char *name) {
    vaultfmt_factors factors = raw_key();
    vaultfmt_vault *vault;
    REQUIRE(vaultfmt_create(file_in_folder(name), &factors, NULL, &vault));
    return vault;
}

vaultfmt_vault *open_to_write(const char *name) {
    vaultfmt_factors factors = raw_key();
    vaultfmt_open_options options = VAULTFMT_OPEN_OPTIONS_INIT;
    vaultfmt_vault *vault;
    options.writable = 1;
    REQUIRE(vaultfmt_open(file_in_folder(name), &factors, &options, &vault));
    return vault;
}

const vaultfmt_value *anchor_of(vaultfmt_vault *vault) {
    const vaultfmt_value *anchor;
    REQUIRE(vaultfmt_get_anchor(vault, &anchor));
    return anchor;
}

const char *as_string(const vaultfmt_value *value) { return (const char *)value->bytes.data; }

int is_text(vaultfmt_bytes bytes, const char *text) {
    return bytes.data != NULL && bytes.size == strlen(text) && memcmp(bytes.data, text, bytes.size) == 0;
}

int has_secret(vaultfmt_vault *vault, const char *service, const char *account, const char *secret) {
    vaultfmt_key key = vaultfmt_generic_password(service, account);
    const vaultfmt_item *item;
    vaultfmt_status status = vaultfmt_get(vault, &key, &item);
    int result = status == VAULTFMT_OK ? is_text(item->secret, secret) : status == VAULTFMT_NO_SUCH_ITEM && *secret == 0;
    vaultfmt_item_free(item);
    return result;
}

vaultfmt_status put(vaultfmt_vault *vault, const char *service, const char *account, const char *secret) {
    vaultfmt_key key = vaultfmt_generic_password(service, account);
    return vaultfmt_set(vault, &key, vaultfmt_text(secret), NULL);
}

size_t count(vaultfmt_vault *vault, const vaultfmt_query *query) {
    vaultfmt_cursor *cursor;
    const vaultfmt_item *item;
    size_t result = 0;
    REQUIRE(vaultfmt_items(vault, query, &cursor));
    for (;;) {
        REQUIRE(vaultfmt_cursor_next(cursor, &item));
        if (item == NULL) break;
        result++;
        vaultfmt_item_free(item);
    }
    vaultfmt_cursor_close(cursor);
    return result;
}

int main(int argc, char **argv) {
    /* Children that fork leaves hold what their parent had open, which looks like leaks: the tests of hosts can be run apart. */
    int others = argc < 3 || strcmp(argv[2], "others") == 0;
    int hosts = argc < 3 || strcmp(argv[2], "hosts") == 0;
    if (argc < 2 || argc > 3 || !(others || hosts)) {
        fprintf(stderr, "usage: %s FOLDER [hosts | others]\n", argv[0]);
        return 2;
    }
    folder = argv[1];
    /* What this machine remembers is the tests' own. */
    setenv("XDG_STATE_HOME", file_in_folder("state"), 1);
    if (hosts) test_hosts();
    if (!others) {
        printf("%d checks, %d failures\n", checks, failures);
        return failures == 0 ? 0 : 1;
    }
    test_library();
    test_opening();
    test_items();
    test_arguments();
    test_many_items();
    test_transactions();
    test_threads();
    test_slots();
    test_locking();
    test_maintenance();
    test_machines();
    test_earlier_values();
    test_merging();
    test_attributes();
    test_external_keys();
    test_a_later_version();
    printf("%d checks, %d failures\n", checks, failures);
    return failures == 0 ? 0 : 1;
}

/* What the tests of the C interface share. */
#ifndef CHECK_H
#define CHECK_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <vaultfmt.h>

extern int checks;
extern int failures;

/* Counts, and tells what is not so. */
#define CHECK(condition)                                                           \
    do {                                                                           \
        checks++;                                                                  \
        if (!(condition)) {                                                        \
            failures++;                                                            \
            fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition); \
        }                                                                          \
    } while (0)

/* The same for a status, with the library's words. */
#define EXPECT(status, call)                                                                                        \
    do {                                                                                                            \
        vaultfmt_status found = (call);                                                                             \
        checks++;                                                                                                   \
        if (found != (status)) {                                                                                    \
            failures++;                                                                                             \
            fprintf(stderr, "%s:%d: %s instead of %s (%s): %s\n", __FILE__, __LINE__, vaultfmt_status_name(found),   \
                    vaultfmt_status_name(status), vaultfmt_error_text(), #call);                                    \
        }                                                                                                           \
    } while (0)

/* Must be so, since what follows depends on it. */
#define REQUIRE(call)                                                                                                  \
    do {                                                                                                               \
        vaultfmt_status needed = (call);                                                                               \
        checks++;                                                                                                      \
        if (needed != VAULTFMT_OK) {                                                                                   \
            fprintf(stderr, "%s:%d: %s (%s): %s\n", __FILE__, __LINE__, vaultfmt_status_name(needed), vaultfmt_error_text(), #call); \
            exit(1);                                                                                                   \
        }                                                                                                              \
    } while (0)

/* A file of the test's folder; the text is valid until the eighth call after this one. */
const char *file_in_folder(const char *name);

/* Factors of a fixed raw key, which need no key derivation, and of a passphrase. */
vaultfmt_factors raw_key(void);
vaultfmt_factors passphrase(const char *text);

/* The cheapest key derivation there is. */
vaultfmt_create_options cheap(void);
vaultfmt_slot_options cheap_slot(const char *name);

/* Creates a vault with the raw key, or opens it to change it. */
vaultfmt_vault *create(const char *name);
vaultfmt_vault *open_to_write(const char *name);

/* Whether bytes are a C string's. */
int is_text(vaultfmt_bytes bytes, const char *text);

/* Whether a generic password has this secret; "" for an item that is not there. */
int has_secret(vaultfmt_vault *vault, const char *service, const char *account, const char *secret);

/* Sets a generic password. */
vaultfmt_status put(vaultfmt_vault *vault, const char *service, const char *account, const char *secret);

/* The anchor of a vault's state, to be freed with vaultfmt_value_free; and the C string that it is. */
const vaultfmt_value *anchor_of(vaultfmt_vault *vault);
const char *as_string(const vaultfmt_value *value);

/* How many items match; all of them for NULL. */
size_t count(vaultfmt_vault *vault, const vaultfmt_query *query);

void test_library(void);
void test_opening(void);
void test_items(void);
void test_arguments(void);
void test_many_items(void);
void test_transactions(void);
void test_threads(void);
void test_slots(void);
void test_locking(void);
void test_maintenance(void);
void test_hosts(void);
void test_machines(void);
void test_earlier_values(void);
void test_merging(void);
void test_attributes(void);
void test_external_keys(void);
void test_a_later_version(void);

#endif

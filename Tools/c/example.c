/* Keeps a password in a vault and reads it again. Build it with
 *     cc -Wall -o example example.c $(pkg-config --cflags --libs vaultfmt)
 */
#include <stdio.h>
#include <vaultfmt.h>

static int fail(const char *what) {
    fprintf(stderr, "%s: %s\n", what, vaultfmt_error_text());
    return 1;
}

int main(int argc, char **argv) {
    if (argc != 3) {
        fprintf(stderr, "usage: %s VAULT PASSPHRASE\n", argv[0]);
        return 2;
    }
    vaultfmt_factors factors = VAULTFMT_FACTORS_INIT;
    factors.passphrase = vaultfmt_text(argv[2]);

    vaultfmt_vault *vault;
    vaultfmt_status status = vaultfmt_create(argv[1], &factors, NULL, &vault);
    if (status == VAULTFMT_FILE_EXISTS) {
        vaultfmt_open_options options = VAULTFMT_OPEN_OPTIONS_INIT;
        options.writable = 1;
        status = vaultfmt_open(argv[1], &factors, &options, &vault);
    }
    vaultfmt_wipe(argv[2], factors.passphrase.size);
    if (status != VAULTFMT_OK) return fail(argv[1]);

    vaultfmt_key key = vaultfmt_generic_password("example.org", "ann");
    vaultfmt_attribute label = vaultfmt_text_attribute("label", "Example");
    vaultfmt_details details = VAULTFMT_DETAILS_INIT;
    details.attributes = &label;
    details.attribute_count = 1;
    if (vaultfmt_set(vault, &key, vaultfmt_text("s3cret"), &details) != VAULTFMT_OK) return fail("set");

    const vaultfmt_item *item;
    if (vaultfmt_get(vault, &key, &item) != VAULTFMT_OK) return fail("get");
    printf("the secret has %zu bytes\n", item->secret.size);
    vaultfmt_item_free(item);

    vaultfmt_cursor *cursor;
    if (vaultfmt_items(vault, NULL, &cursor) != VAULTFMT_OK) return fail("items");
    for (;;) {
        if (vaultfmt_cursor_next(cursor, &item) != VAULTFMT_OK) return fail("items");
        if (item == NULL) break;
        printf("%.*s %.*s\n", (int)item->key.service.size, item->key.service.data, (int)item->key.account.size, item->key.account.data);
        vaultfmt_item_free(item);
    }
    vaultfmt_cursor_close(cursor);
    vaultfmt_close(vault);
    return 0;
}

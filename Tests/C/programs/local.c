/* Uses the default vault as a host on this machine does, with the factors of the environment: `local get ACCOUNT` writes the secret of the service "program",
 * `local set ACCOUNT SECRET` replaces it. What is refused is a line on standard error and exit code 1.
 */
#include <stdio.h>
#include <string.h>
#include <vaultfmt.h>

static int fail(void) {
    fprintf(stderr, "%s\n", vaultfmt_error_text());
    return 1;
}

int main(int argc, char **argv) {
    vaultfmt_open_options options = VAULTFMT_OPEN_OPTIONS_INIT;
    vaultfmt_local_options local = VAULTFMT_LOCAL_OPTIONS_INIT;
    const vaultfmt_item *item;
    vaultfmt_vault *vault;
    int writes = argc == 4 && strcmp(argv[1], "set") == 0;
    if (!writes && !(argc == 3 && strcmp(argv[1], "get") == 0)) return 2;
    vaultfmt_key key = vaultfmt_generic_password("program", argv[2]);
    options.writable = (uint32_t)writes;
    if (vaultfmt_local_open(NULL, NULL, &options, &local, &vault) != VAULTFMT_OK) return fail();
    if (writes) {
        if (vaultfmt_set(vault, &key, vaultfmt_text(argv[3]), NULL) != VAULTFMT_OK) return fail();
    } else {
        if (vaultfmt_get(vault, &key, &item) != VAULTFMT_OK) return fail();
        fwrite(item->secret.data, 1, item->secret.size, stdout);
        vaultfmt_item_free(item);
    }
    vaultfmt_close(vault);
    return 0;
}

/* Writes what the C interface shows of a vault in the lines of Spec/vectors/README.md: vault, access, generation, chain; and of each item
 * its key, id, times, attributes and secret. Usage: dump VAULT, with a raw key in hexadecimal on standard input.
 */
#include <stdio.h>
#include <string.h>
#include <vaultfmt.h>

static void hex(const char *before, vaultfmt_bytes bytes, const char *after) {
    fputs(before, stdout);
    if (bytes.size == 0) putchar('-');
    for (size_t index = 0; index < bytes.size; index++) printf("%02x", bytes.data[index]);
    fputs(after, stdout);
}

static int32_t dump(void *context, const vaultfmt_item *item) {
    vaultfmt_bytes id = {item->id, sizeof item->id};
    (void)context;
    hex("item ", item->encoded_key, "\n");
    hex("id ", id, "\n");
    printf("times %lld %lld\n", (long long)item->created, (long long)item->modified);
    for (size_t index = 0; index < item->attribute_count; index++) {
        hex("attribute ", item->attributes[index].name, " ");
        hex("", item->attributes[index].value, "\n");
    }
    if (item->secret_status == VAULTFMT_OK) hex("secret ", item->secret, "\n");
    else puts(item->secret_status == VAULTFMT_DEVICE_BOUND ? "secret-unavailable device-bound" : "secret-unavailable no-key");
    return 0;
}

int main(int argc, char **argv) {
    uint8_t key[32];
    vaultfmt_factors factors = VAULTFMT_FACTORS_INIT;
    vaultfmt_vault *vault;
    vaultfmt_info info;
    for (size_t index = 0; index < sizeof key; index++) {
        unsigned byte;
        if (argc != 2 || scanf("%2x", &byte) != 1) return 2;
        key[index] = (uint8_t)byte;
    }
    factors.raw_key.data = key;
    factors.raw_key.size = sizeof key;
    info.struct_size = sizeof info;
    if (vaultfmt_open(argv[1], &factors, NULL, &vault) != VAULTFMT_OK || vaultfmt_get_info(vault, &info) != VAULTFMT_OK) {
        fprintf(stderr, "%s\n", vaultfmt_error_text());
        return 1;
    }
    vaultfmt_bytes id = {info.vault_id, sizeof info.vault_id};
    hex("vault ", id, "\n");
    printf("access %s\ngeneration %llu\nchain %s\n", info.is_owner ? "full" : "scoped", (unsigned long long)info.generation,
           strrchr(info.anchor, ':') + 1);
    if (vaultfmt_each_secret(vault, NULL, dump, NULL) != VAULTFMT_OK) {
        fprintf(stderr, "%s\n", vaultfmt_error_text());
        return 1;
    }
    vaultfmt_close(vault);
    return 0;
}

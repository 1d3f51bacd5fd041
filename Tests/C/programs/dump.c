/* Writes what the C interface shows of a vault in the lines of Spec/vectors/README.md: vault, access, owner,
 * generation, chain, rows; of each item its key, id, times, attributes and secret, without dots and records; and in one
 * line for each earlier value its field, dot and date, the attributes of a secret, and the value's bytes.
 * Usage: dump VAULT, with a raw key in hexadecimal on standard input.
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

/* Where a value is, as section 6.2 has it in an attribute's flags. */
static uint32_t place(uint32_t flags, size_t size) {
    if (size > 4096) return 0x20;
    return (flags & VAULTFMT_ATTRIBUTE_SEALED) != 0 || size > 256 ? 0x10 : 0;
}

static void dump_attribute(const vaultfmt_attribute *attribute, const vaultfmt_value *value, const char *end) {
    hex("attribute ", attribute->name, " ");
    printf("%u", (unsigned)(attribute->flags | place(attribute->flags, value->bytes.size)));
    hex(" ", value->bytes, end);
    vaultfmt_value_free(value);
}

/* One line for each earlier value, whatever follows its first line in a dump. */
static int32_t dump_earlier(vaultfmt_vault *vault, const vaultfmt_key *key) {
    const vaultfmt_earlier_values *values;
    if (vaultfmt_get_earlier_values(vault, key, &values) != VAULTFMT_OK) return 1;
    for (size_t index = 0; index < values->count; index++) {
        const vaultfmt_earlier_value *listed = values->values[index];
        const vaultfmt_earlier_value *opened;
        int is_secret = listed->id.attribute.data == NULL;
        if (vaultfmt_get_earlier_value(vault, key, &listed->id, &opened) != VAULTFMT_OK) return 1;
        hex(is_secret ? "value 0 " : "value 1 ", listed->id.attribute, " ");
        printf("%llu.%llu 2 %u %lld ", (unsigned long long)listed->id.revision, (unsigned long long)listed->id.replica,
               is_secret ? 0u : (unsigned)(listed->flags | place(listed->flags, opened->secret.size)),
               (long long)listed->replaced);
        for (size_t number = 0; number < listed->attribute_count; number++) {
            const vaultfmt_attribute *attribute = &listed->attributes[number];
            const vaultfmt_value *value;
            vaultfmt_status status = vaultfmt_get_earlier_attribute(vault, key, &listed->id, attribute->name, &value);
            if (status != VAULTFMT_OK || value == NULL) return 1;
            dump_attribute(attribute, value, " ");
        }
        hex(is_secret ? "secret " : "content ", opened->secret, "\n");
        vaultfmt_earlier_value_free(opened);
    }
    vaultfmt_earlier_values_free(values);
    return 0;
}

/* The rows that end an anchor, ID=REVISION with commas between them. */
static void dump_rows(const char *rows) {
    unsigned long long id, revision;
    int size;
    while (sscanf(rows, "%16llx%n", &id, &size) == 1) {
        int is_split = rows[size] == '!';
        rows += size + is_split;
        if (sscanf(rows, "=%llu%n", &revision, &size) != 1) return;
        printf("row %llu %llu%s\n", id, revision, is_split ? " split" : "");
        rows += size;
        if (*rows == ',') rows++;
    }
}

static int32_t dump(void *context, const vaultfmt_item *item) {
    vaultfmt_bytes id = {item->id, sizeof item->id};
    hex("item ", item->encoded_key, "\n");
    hex("id ", id, "\n");
    printf("times %lld %lld\n", (long long)item->created, (long long)item->modified);
    for (size_t index = 0; index < item->attribute_count; index++) {
        const vaultfmt_attribute *attribute = &item->attributes[index];
        const vaultfmt_value *value;
        if (vaultfmt_get_attribute(context, &item->key, attribute->name, &value) != VAULTFMT_OK) return 1;
        if (value == NULL) return 1;
        dump_attribute(attribute, value, "\n");
    }
    if (item->secret_status == VAULTFMT_OK) hex("secret ", item->secret, "\n");
    else if (item->secret_status == VAULTFMT_NO_SECRET) puts("secret-none");
    else puts(item->secret_status == VAULTFMT_DEVICE_BOUND ? "secret-unavailable device-bound" : "secret-unavailable no-key");
    return dump_earlier(context, &item->key);
}

int main(int argc, char **argv) {
    uint8_t key[32];
    vaultfmt_factors factors = VAULTFMT_FACTORS_INIT;
    vaultfmt_vault *vault;
    vaultfmt_info info;
    const vaultfmt_value *anchor;
    for (size_t index = 0; index < sizeof key; index++) {
        unsigned byte;
        if (argc != 2 || scanf("%2x", &byte) != 1) return 2;
        key[index] = (uint8_t)byte;
    }
    factors.raw_key.data = key;
    factors.raw_key.size = sizeof key;
    info.struct_size = sizeof info;
    if (vaultfmt_open(argv[1], &factors, NULL, &vault) != VAULTFMT_OK || vaultfmt_get_info(vault, &info) != VAULTFMT_OK
        || vaultfmt_get_anchor(vault, &anchor) != VAULTFMT_OK) {
        fprintf(stderr, "%s\n", vaultfmt_error_text());
        return 1;
    }
    vaultfmt_bytes id = {info.vault_id, sizeof info.vault_id};
    hex("vault ", id, "\n");
    /* An anchor has the chain value in its third part, and the rows in its last one. */
    const char *text = (const char *)anchor->bytes.data;
    const char *chain = strchr(strchr(text, ':') + 1, ':') + 1;
    vaultfmt_bytes owners = {info.owners, sizeof info.owners};
    printf("access %s\n", info.is_owner ? "full" : "scoped");
    hex("owner ", owners, "\n");
    printf("generation %llu\nchain %.64s\n", (unsigned long long)info.generation, chain);
    dump_rows(strrchr(text, ':') + 1);
    vaultfmt_value_free(anchor);
    if (vaultfmt_each_secret(vault, NULL, dump, vault) != VAULTFMT_OK) {
        fprintf(stderr, "%s\n", vaultfmt_error_text());
        return 1;
    }
    vaultfmt_close(vault);
    return 0;
}

/* Prints the secret of a generic password. The first line of standard input is the passphrase. Build it with
 *     cc -o example example.c $(pkg-config --cflags --libs vaultfmt-reader)
 */
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <vaultfmt_reader.h>

static int read_file(void *context, uint64_t offset, void *buffer, size_t count) {
    if (offset > LONG_MAX || fseek(context, (long)offset, SEEK_SET) != 0) return -1;
    return fread(buffer, 1, count, context) == count ? 0 : -1;
}

/* Reads an ASCII passphrase, which does not need normalisation; other passphrases must be in NFC (see vfr_factors). */
static int read_passphrase(char *line, int size) {
    if (fgets(line, size, stdin) == NULL) return -1;
    line[strcspn(line, "\n")] = 0;
    for (const char *c = line; *c != 0; c++) {
        if ((unsigned char)*c > 0x7F) return -1;
    }
    return 0;
}

static vfr_status print_secret(vfr_vault *vault, const char *service, const char *account) {
    static vfr_key key = {.class_number = 1, .field_count = 3};
    const char *const fields[] = {service, account, ""}; /* the last one is the access group, here the default group */
    for (size_t i = 0; i < 3; i++) {
        key.fields[i] = (vfr_field){.kind = VFR_FIELD_TEXT, .bytes = {(const uint8_t *)fields[i], strlen(fields[i])}};
    }
    vfr_bytes encoded;
    vfr_list *list = NULL;
    vfr_record *record = NULL;
    const vfr_entry *entry;
    vfr_status status = vfr_encode_key(&key, &encoded);
    if (status == VFR_OK) status = vfr_list_open(vault, &list);
    if (status == VFR_OK) status = vfr_list_find(list, encoded, &entry);
    if (status == VFR_OK && !entry->item.has_secret) status = VFR_NO_SECRET;
    if (status == VFR_OK) status = vfr_read_record(vault, &entry->item, &record);
    if (status == VFR_OK) {
        vfr_bytes secret = vfr_record_secret(record);
        fwrite(secret.data, 1, secret.length, stdout);
        putchar('\n');
    }
    vfr_record_close(record);
    vfr_list_close(list);
    return status;
}

int main(int argc, char **argv) {
    static char passphrase[1024];
    if (argc != 4) {
        fprintf(stderr, "usage: %s VAULT SERVICE ACCOUNT\n", argv[0]);
        return 2;
    }
    FILE *file = fopen(argv[1], "rb");
    long size = -1;
    if (file != NULL && fseek(file, 0, SEEK_END) == 0) size = ftell(file);
    if (size < 0) {
        perror(argv[1]);
        if (file != NULL) fclose(file);
        return 1;
    }
    if (read_passphrase(passphrase, sizeof passphrase) != 0) {
        fputs("no passphrase, or one that is not ASCII\n", stderr);
        return 2;
    }
    vfr_source source = {.context = file, .read = read_file, .size = (uint64_t)size};
    vfr_options options = {.budget = VFR_USUAL_BUDGET};
    vfr_factors factors = {.passphrase = {(const uint8_t *)passphrase, strlen(passphrase)}};
    vfr_vault *vault;
    vfr_status status = vfr_open(&source, &options, &factors, &vault, NULL);
    memset(passphrase, 0, sizeof passphrase);
    if (status == VFR_OK) {
        vfr_state state;
        vfr_get_state(vault, &state);
        if (state.tail != VFR_TAIL_NONE) fputs("warning: the file does not end with the state that is shown\n", stderr);
        status = print_secret(vault, argv[2], argv[3]);
    }
    if (status != VFR_OK) fprintf(stderr, "%s: %s\n", argv[1], vfr_status_name(status));
    vfr_close(vault);
    fclose(file);
    return status == VFR_OK ? 0 : 1;
}

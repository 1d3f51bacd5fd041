/* Opens a vault with the passphrase in a file, which must be in NFC, and prints how many items it lists: the work that a
 * page does until the list is shown. Usage: listing VAULT PASSPHRASE-FILE */
#include <stdio.h>
#include <string.h>
#include <vaultfmt_reader.h>

static int read_file(void *context, uint64_t offset, void *buffer, size_t count) {
    if (fseek(context, (long)offset, SEEK_SET) != 0) return -1;
    return fread(buffer, 1, count, context) == count ? 0 : -1;
}

static vfr_status count_items(vfr_vault *vault, unsigned long *count) {
    vfr_list *list;
    const vfr_entry *entry;
    vfr_status status = vfr_list_open(vault, &list);
    if (status != VFR_OK) return status;
    while ((status = vfr_list_next(list, &entry)) == VFR_OK) ++*count;
    vfr_list_close(list);
    return status == VFR_END ? VFR_OK : status;
}

int main(int argc, char **argv) {
    char passphrase[256];
    FILE *file = argc == 3 ? fopen(argv[1], "rb") : NULL, *typed = argc == 3 ? fopen(argv[2], "rb") : NULL;
    long size = -1;
    if (file != NULL && fseek(file, 0, SEEK_END) == 0) size = ftell(file);
    if (size < 0 || typed == NULL || fgets(passphrase, sizeof passphrase, typed) == NULL) {
        perror("listing");
        return 2;
    }
    passphrase[strcspn(passphrase, "\n")] = 0;
    vfr_source source = {.context = file, .read = read_file, .size = (uint64_t)size};
    vfr_options options = {.budget = VFR_USUAL_BUDGET};
    vfr_factors factors = {.passphrase = {(const uint8_t *)passphrase, strlen(passphrase)}};
    vfr_vault *vault;
    unsigned long count = 0;
    vfr_status status = vfr_open(&source, &options, &factors, &vault, NULL);
    if (status == VFR_OK) status = count_items(vault, &count);
    vfr_close(vault);
    printf("%s: %lu items\n", vfr_status_name(status), count);
    return status == VFR_OK ? 0 : 1;
}

/* Reads everything in a vector's vault over and over, each time with one allocation more before the first that fails.
 *
 *     memory VECTOR...
 *
 * Every run but the last must end in VFR_OUT_OF_BUDGET; whatever happens, all memory must come back, and wiped. The
 * last run also compares what is left to settle with what the items' entries say (section 6.4). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <vaultfmt_reader.h>

static void fail(const char *what) {
    fprintf(stderr, "memory: %s\n", what);
    exit(1);
}

/* ---- An allocator that fails when told to ---- */

typedef struct arena {
    size_t left;  /* allocations before the first that fails */
    size_t blocks, bytes, peak;
} arena;

static void *allocate(void *context, size_t size) {
    arena *a = context;
    if (a->left == 0) return NULL;
    a->left--;
    a->blocks++;
    a->bytes += size;
    if (a->bytes > a->peak) a->peak = a->bytes;
    return malloc(size);
}

static void release(void *context, void *memory, size_t size) {
    arena *a = context;
    const unsigned char *bytes = memory;
    for (size_t i = 0; i < size; i++) {
        if (bytes[i] != 0) fail("memory was released and not wiped");
    }
    a->blocks--;
    a->bytes -= size;
    free(memory);
}

/* ---- Reading everything ---- */

/* Returns a status that ends the run, or VFR_OK for one that a vector may have. */
static vfr_status unless_budget(vfr_status status) {
    return status == VFR_OUT_OF_BUDGET ? status : VFR_OK;
}

static vfr_status read_past(vfr_vault *vault, const vfr_item *item) {
    vfr_past *past;
    vfr_status status = vfr_read_past(vault, item, &past);
    if (status != VFR_OK) return unless_budget(status);
    for (size_t i = 0; i < vfr_value_count(past) && status == VFR_OK; i++) {
        vfr_record *record;
        status = unless_budget(vfr_read_value(past, i, &record));
        vfr_record_close(record);
    }
    vfr_role *roles = calloc(vfr_value_count(past), sizeof *roles);
    if (roles == NULL) fail("out of memory");
    if (status == VFR_OK) status = vfr_get_roles(past, item, roles);
    size_t settle = 0;
    for (size_t i = 0; i < vfr_value_count(past); i++) settle += roles[i] == VFR_ROLE_TO_SETTLE;
    bool agrees = (settle > 0) == item->to_settle;
    if (status == VFR_OK && !agrees) fail("another answer to what is left to settle than the entry's");
    free(roles);
    vfr_past_close(past);
    return status;
}

static vfr_status read_item(vfr_vault *vault, const vfr_item *item) {
    vfr_record *record;
    vfr_status status = unless_budget(vfr_read_record(vault, item, &record));
    vfr_record_close(record);
    for (size_t i = 0; i < item->attribute_count && status == VFR_OK; i++) {
        status = unless_budget(vfr_read_attribute(vault, item, i, &record));
        vfr_record_close(record);
    }
    return status == VFR_OK && item->has_past ? read_past(vault, item) : status;
}

static vfr_status read_all(vfr_vault *vault) {
    static vfr_slot_owner owner;
    vfr_settings settings;
    vfr_status status = vfr_read_vector(vault);
    vfr_get_settings(vault, &settings);
    for (size_t i = 0; i < settings.slots && status == VFR_OK; i++) {
        status = unless_budget(vfr_get_slot_owner(vault, i, &owner));
    }
    for (size_t i = 0; i < settings.hand_overs && status == VFR_OK; i++) {
        vfr_hand_over hand_over;
        status = vfr_read_hand_over(vault, i, &hand_over);
        vfr_release_hand_over(vault, &hand_over);
    }
    vfr_list *list = NULL;
    if (status == VFR_OK) status = vfr_list_open(vault, &list);
    while (status == VFR_OK) {
        const vfr_entry *entry;
        status = vfr_list_next(list, &entry);
        if (status == VFR_OK && entry->is_item) status = read_item(vault, &entry->item);
    }
    vfr_list_close(list);
    return status == VFR_END ? unless_budget(vfr_check_forgotten(vault)) : status;
}

/* ---- Vectors ---- */

static const char digits[] = "0123456789abcdef";

/* Decodes the hexadecimal digits that follow a key of the vector's header. */
static bool find_bytes(const char *header, const char *key, uint8_t *out, size_t count) {
    const char *at = strstr(header, key);
    if (at == NULL) return false;
    at += strlen(key);
    for (size_t i = 0; i < count; i++) {
        const char *high = strchr(digits, at[2 * i]), *low = strchr(digits, at[2 * i + 1]);
        if (high == NULL || low == NULL) return false;
        out[i] = (uint8_t)((high - digits) << 4 | (low - digits));
    }
    return true;
}

static void test(const char *path) {
    static char bytes[1 << 20];
    FILE *file = fopen(path, "rb");
    if (file == NULL) fail(path);
    size_t length = fread(bytes, 1, sizeof bytes, file);
    fclose(file);
    char *end = memchr(bytes, 0x89, length); /* a vault begins with it, and no header has it */
    uint8_t raw_key[32];
    if (end == NULL) fail(path);
    end[-1] = 0;
    if (!find_bytes(bytes, "\nraw-key: ", raw_key, sizeof raw_key)) fail(path);
    vfr_memory memory = {(const uint8_t *)end, length - (size_t)(end - bytes)};
    vfr_source source = vfr_memory_source(&memory);
    vfr_factors factors = {.raw_key = {raw_key, sizeof raw_key}};
    for (size_t n = 0;; n++) {
        arena a = {.left = n};
        vfr_vault *vault;
        vfr_options options = {.budget = (size_t)1 << 30, .allocator = {&a, allocate, release}};
        vfr_header *header;
        vfr_status status = vfr_header_open(&source, &options, &header, NULL);
        vfr_header_close(header);
        if (status == VFR_OK) status = vfr_open(&source, &options, &factors, &vault, NULL);
        else vault = NULL;
        if (status == VFR_OK) status = read_all(vault);
        vfr_close(vault);
        if (a.blocks != 0 || a.bytes != 0) fail("memory was not released");
        if (status == VFR_OK) {
            printf("memory: %s: %zu allocations, at most %zu bytes at a time\n", strrchr(path, '/') + 1, n, a.peak);
            return;
        }
        if (status != VFR_OUT_OF_BUDGET) {
            fprintf(stderr, "memory: %s with %zu allocations: %s\n", path, n, vfr_status_name(status));
            exit(1);
        }
    }
}

int main(int argc, char **argv) {
    for (int i = 1; i < argc; i++) test(argv[i]);
    return 0;
}

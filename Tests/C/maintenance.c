/* States, anchors, compaction, verification, and what a file shows without a key. */
#include "check.h"

static void copy(const char *from, const char *to) {
    char bytes[4096];
    size_t size;
    FILE *source = fopen(file_in_folder(from), "rb");
    FILE *target = fopen(file_in_folder(to), "wb");
    while ((size = fread(bytes, 1, sizeof bytes, source)) > 0) fwrite(bytes, 1, size, target);
    fclose(source);
    fclose(target);
}

static void anchors(void) {
    vaultfmt_vault *vault = create("anchors.vault");
    vaultfmt_factors factors = raw_key();
    vaultfmt_open_options options = VAULTFMT_OPEN_OPTIONS_INIT;
    vaultfmt_info old, new;
    int32_t verdict = 7;
    old.struct_size = new.struct_size = sizeof old;
    REQUIRE(vaultfmt_get_info(vault, &old));
    CHECK(strlen(old.fingerprint) == 32 && strlen(old.anchor) > 90 && old.tail == VAULTFMT_TAIL_CLEAN);
    copy("anchors.vault", "old.vault");
    REQUIRE(put(vault, "s", "a", "x"));
    REQUIRE(vaultfmt_get_info(vault, &new));
    CHECK(new.generation == old.generation + 1 && memcmp(new.vault_id, old.vault_id, 16) == 0);
    CHECK(strcmp(new.fingerprint, old.fingerprint) == 0 && strcmp(new.anchor, old.anchor) != 0);
    EXPECT(VAULTFMT_OK, vaultfmt_check_anchor(vault, old.anchor, &verdict));
    CHECK(verdict == VAULTFMT_DESCENDS);
    EXPECT(VAULTFMT_OK, vaultfmt_check_anchor(vault, new.anchor, &verdict));
    CHECK(verdict == VAULTFMT_SAME);
    EXPECT(VAULTFMT_INVALID_ARGUMENT, vaultfmt_check_anchor(vault, "no anchor", &verdict));
    vaultfmt_close(vault);

    options.anchor = new.anchor;
    EXPECT(VAULTFMT_OK, vaultfmt_open(file_in_folder("anchors.vault"), &factors, &options, &vault));
    vaultfmt_close(vault);
    EXPECT(VAULTFMT_ROLLED_BACK, vaultfmt_open(file_in_folder("old.vault"), &factors, &options, &vault));
    CHECK(vault == NULL);
    options.writable = 1;
    options.anchor = old.anchor;
    REQUIRE(vaultfmt_open(file_in_folder("old.vault"), &factors, &options, &vault));
    REQUIRE(put(vault, "s", "a", "y"));
    vaultfmt_close(vault);
    options.anchor = new.anchor;
    EXPECT(VAULTFMT_FORKED, vaultfmt_open(file_in_folder("old.vault"), &factors, &options, &vault));
}

static void damage(void) {
    vaultfmt_vault *vault = open_to_write("maintenance.vault");
    const vaultfmt_report *report;
    vaultfmt_statistics statistics;
    FILE *file;
    int byte;
    statistics.struct_size = sizeof statistics;
    REQUIRE(vaultfmt_verify(vault, &report));
    CHECK(report->is_sound == 1 && report->problem_count == 0 && report->listed_problems == 0);
    CHECK(report->items == 50 && report->objects > 50 && report->unopened == 0);
    vaultfmt_report_free(report);
    REQUIRE(vaultfmt_get_statistics(vault, &statistics));
    CHECK(statistics.items == 50 && statistics.tombstones == 0 && statistics.tree_height >= 1);
    CHECK(statistics.file_bytes >= statistics.live_bytes + statistics.dead_bytes - 64 && statistics.live_bytes > 0);

    /* One bit of the first record, which is not of the newest commit: that would be taken for incomplete. */
    REQUIRE(put(vault, "s", "the newest", "x"));
    file = fopen(file_in_folder("maintenance.vault"), "r+b");
    fseek(file, 4096 + 100, SEEK_SET);
    byte = fgetc(file);
    fseek(file, 4096 + 100, SEEK_SET);
    fputc(byte ^ 1, file);
    fclose(file);
    REQUIRE(vaultfmt_verify(vault, &report));
    CHECK(report->is_sound == 0 && report->problem_count >= 1 && report->listed_problems == report->problem_count);
    CHECK(report->problems[0].what.size > 10 && report->problems[0].has_offset == 1 && report->problems[0].offset == 4096);
    vaultfmt_report_free(report);
    vaultfmt_close(vault);
}

static int32_t nothing(void *context, const vaultfmt_item *item) {
    (void)context;
    (void)item;
    return 0;
}

void test_maintenance(void) {
    vaultfmt_vault *vault = create("maintenance.vault");
    const vaultfmt_inspection *inspection;
    uint64_t before = 0, after = 0, offset = 0;
    char account[16];
    int round, index;
    anchors();
    for (round = 0; round < 2; round++) {
        REQUIRE(vaultfmt_begin(vault));
        for (index = 0; index < 50; index++) {
            snprintf(account, sizeof account, "%d", index);
            REQUIRE(put(vault, "s", account, "a secret"));
        }
        REQUIRE(vaultfmt_commit(vault));
    }
    EXPECT(VAULTFMT_OK, vaultfmt_compact(vault, &before, &after));
    CHECK(after > 0 && before > after);
    vaultfmt_close(vault);

    REQUIRE(vaultfmt_inspect(file_in_folder("maintenance.vault"), &inspection));
    CHECK(inspection->format_version == 1 && inspection->header_bytes == 4096 && inspection->file_bytes == after);
    CHECK(inspection->slot_count == 1 && inspection->slots[0]->factors == VAULTFMT_FACTOR_RAW_KEY);
    CHECK(inspection->slots[0]->name.data == NULL && inspection->extension_count == 0);
    CHECK(inspection->object_type_count >= 4 && is_text(inspection->objects[0].type, "record"));
    CHECK(inspection->objects[0].count == 50 && inspection->tail == VAULTFMT_TAIL_CLEAN);
    vaultfmt_inspection_free(inspection);
    EXPECT(VAULTFMT_NO_SUCH_FILE, vaultfmt_inspect(file_in_folder("none.vault"), &inspection));
    CHECK(inspection == NULL);

    damage();
    vault = open_to_write("maintenance.vault");
    EXPECT(VAULTFMT_AUTHENTICATION_FAILED, vaultfmt_each_secret(vault, NULL, nothing, NULL));
    CHECK(vaultfmt_error_offset(&offset) == 1 && offset == 4096);
    CHECK(strstr(vaultfmt_error_text(), "damaged") != NULL);
    vaultfmt_close(vault);
}

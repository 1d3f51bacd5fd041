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
    const vaultfmt_value *before, *after, *none = (const vaultfmt_value *)1;
    char other[1024];
    int32_t verdict = 7;
    old.struct_size = new.struct_size = sizeof old;
    REQUIRE(vaultfmt_get_info(vault, &old));
    before = anchor_of(vault);
    /* Vault, generation, chain, owners, floor, and the row of the id under which it was made. */
    CHECK(before->bytes.size == strlen(as_string(before)) && strncmp(as_string(before) + 32, ":1:", 3) == 0);
    CHECK(strncmp(as_string(before) + 164, ":0:", 3) == 0 && as_string(before)[183] == '=');
    CHECK(strchr(as_string(before), ',') == NULL && old.kept_versions == 10);
    CHECK(old.tail == VAULTFMT_TAIL_CLEAN && old.tail_size == 0 && old.tail_generation == 0);
    copy("anchors.vault", "old.vault");
    REQUIRE(put(vault, "s", "a", "x"));
    REQUIRE(vaultfmt_get_info(vault, &new));
    after = anchor_of(vault);
    CHECK(new.generation == old.generation + 1 && memcmp(new.vault_id, old.vault_id, 16) == 0);
    CHECK(memcmp(new.owners, old.owners, sizeof new.owners) == 0 && strcmp(as_string(before), as_string(after)) != 0);
    EXPECT(VAULTFMT_OK, vaultfmt_check_anchor(vault, as_string(before), &verdict));
    CHECK(verdict == VAULTFMT_VERDICT_DESCENDS);
    EXPECT(VAULTFMT_OK, vaultfmt_check_anchor(vault, as_string(after), &verdict));
    CHECK(verdict == VAULTFMT_VERDICT_SAME);
    EXPECT(VAULTFMT_INVALID_ARGUMENT, vaultfmt_check_anchor(vault, "no anchor", &verdict));
    EXPECT(VAULTFMT_INVALID_ARGUMENT, vaultfmt_check_anchor(vault, NULL, &verdict));
    EXPECT(VAULTFMT_INVALID_ARGUMENT, vaultfmt_get_anchor(vault, NULL));
    EXPECT(VAULTFMT_INVALID_ARGUMENT, vaultfmt_get_anchor(NULL, &none));
    CHECK(none == NULL);
    /* The fourth of its parts is the owners' public key. */
    snprintf(other, sizeof other, "%s", as_string(after));
    other[163] = other[163] == '0' ? '1' : '0';
    EXPECT(VAULTFMT_OK, vaultfmt_check_anchor(vault, other, &verdict));
    CHECK(verdict == VAULTFMT_VERDICT_FOREIGN);
    vaultfmt_close(vault);
    options.anchor = other;
    EXPECT(VAULTFMT_FOREIGN_OWNER, vaultfmt_open(file_in_folder("anchors.vault"), &factors, &options, &vault));

    options.anchor = as_string(after);
    EXPECT(VAULTFMT_OK, vaultfmt_open(file_in_folder("anchors.vault"), &factors, &options, &vault));
    vaultfmt_close(vault);
    EXPECT(VAULTFMT_ROLLED_BACK, vaultfmt_open(file_in_folder("old.vault"), &factors, &options, &vault));
    CHECK(vault == NULL);
    options.writable = 1;
    options.anchor = as_string(before);
    REQUIRE(vaultfmt_open(file_in_folder("old.vault"), &factors, &options, &vault));
    REQUIRE(put(vault, "s", "a", "y"));
    vaultfmt_close(vault);
    options.anchor = as_string(after);
    EXPECT(VAULTFMT_FORKED, vaultfmt_open(file_in_folder("old.vault"), &factors, &options, &vault));
    vaultfmt_value_free(before);
    vaultfmt_value_free(after);
}

/* The owners' public key: the same for all slots, another for another vault. */
static void owners(void) {
    vaultfmt_vault *vault = create("owners.vault");
    vaultfmt_vault *stranger = create("stranger.vault");
    vaultfmt_factors factors = raw_key(), scoped = passphrase("scoped");
    vaultfmt_open_options options = VAULTFMT_OPEN_OPTIONS_INIT;
    vaultfmt_slot_options slot = cheap_slot("scoped");
    vaultfmt_info own, other;
    uint8_t id[16];
    own.struct_size = other.struct_size = sizeof own;
    slot.is_scoped = 1;
    REQUIRE(vaultfmt_slot_add(vault, &scoped, &slot, id, NULL));
    REQUIRE(vaultfmt_get_info(vault, &own));
    REQUIRE(vaultfmt_get_info(stranger, &other));
    CHECK(memcmp(own.owners, other.owners, sizeof own.owners) != 0);
    vaultfmt_close(vault);
    vaultfmt_close(stranger);

    options.owners.data = own.owners;
    options.owners.size = sizeof own.owners;
    REQUIRE(vaultfmt_open(file_in_folder("owners.vault"), &factors, &options, &vault));
    vaultfmt_close(vault);
    REQUIRE(vaultfmt_open(file_in_folder("owners.vault"), &scoped, &options, &vault));
    REQUIRE(vaultfmt_get_info(vault, &other));
    CHECK(other.is_owner == 0 && memcmp(own.owners, other.owners, sizeof own.owners) == 0);
    vaultfmt_close(vault);
    EXPECT(VAULTFMT_FOREIGN_OWNER, vaultfmt_open(file_in_folder("stranger.vault"), &factors, &options, &vault));
    CHECK(vault == NULL);
    options.owners.size = 31;
    EXPECT(VAULTFMT_INVALID_ARGUMENT, vaultfmt_open(file_in_folder("owners.vault"), &factors, &options, &vault));
    options.owners.data = NULL;
    EXPECT(VAULTFMT_INVALID_ARGUMENT, vaultfmt_open(file_in_folder("owners.vault"), &factors, &options, &vault));
}

static void append(const char *name, const uint8_t *bytes, size_t size) {
    FILE *file = fopen(file_in_folder(name), "ab");
    CHECK(file != NULL && fwrite(bytes, 1, size, file) == size);
    if (file != NULL) fclose(file);
}

/* The newest commit is there, and not what it appended: the one before is read, and the next writer keeps it aside. */
static void incomplete(void) {
    vaultfmt_vault *vault = open_to_write("tails.vault");
    vaultfmt_info info;
    unsigned long long lost;
    char path[1024];
    FILE *file;
    int byte;
    info.struct_size = sizeof info;
    REQUIRE(put(vault, "s", "d", "lost"));
    vaultfmt_close(vault);
    file = fopen(file_in_folder("tails.vault"), "r+b");
    fseek(file, -513, SEEK_END);
    byte = fgetc(file);
    fseek(file, -513, SEEK_END);
    fputc(byte ^ 1, file);
    fclose(file);
    vault = open_to_write("tails.vault");
    REQUIRE(vaultfmt_get_info(vault, &info));
    CHECK(info.tail == VAULTFMT_TAIL_INCOMPLETE && info.tail_generation == info.generation + 1 && info.tail_size == 0);
    CHECK(has_secret(vault, "s", "c", "z") && has_secret(vault, "s", "d", ""));
    EXPECT(VAULTFMT_OK, put(vault, "s", "d", "again"));
    lost = (unsigned long long)info.tail_generation;
    snprintf(path, sizeof path, "%s.incomplete-%llu", file_in_folder("tails.vault"), lost);
    file = fopen(path, "rb");
    CHECK(file != NULL);
    if (file != NULL) fclose(file);
    vaultfmt_close(vault);
}

/* A tail that is torn is cut off by the next writer; a damaged one is kept, and its repair copies it first. */
static void tails(void) {
    uint8_t head[512] = {'v', 'C', 'M', 'T', 0, 2};
    uint8_t copied[513];
    char path[1024];
    vaultfmt_vault *vault = create("tails.vault");
    const vaultfmt_value *kept = (const vaultfmt_value *)1;
    vaultfmt_info info;
    FILE *file;
    info.struct_size = sizeof info;
    REQUIRE(put(vault, "s", "a", "x"));
    EXPECT(VAULTFMT_OK, vaultfmt_repair(vault, &kept));
    CHECK(kept == NULL);
    EXPECT(VAULTFMT_INVALID_ARGUMENT, vaultfmt_repair(vault, NULL));
    vaultfmt_close(vault);

    memset(head + 8, 0x55, sizeof head - 8);
    append("tails.vault", head + 8, 100);
    vault = open_to_write("tails.vault");
    REQUIRE(vaultfmt_get_info(vault, &info));
    CHECK(info.tail == VAULTFMT_TAIL_TORN && info.tail_size == 100);
    EXPECT(VAULTFMT_OK, put(vault, "s", "b", "y"));
    vaultfmt_close(vault);

    append("tails.vault", head, sizeof head);
    vault = open_to_write("tails.vault");
    REQUIRE(vaultfmt_get_info(vault, &info));
    CHECK(info.tail == VAULTFMT_TAIL_DAMAGED && info.tail_size == sizeof head);
    CHECK(has_secret(vault, "s", "b", "y"));
    EXPECT(VAULTFMT_DAMAGED_TAIL, put(vault, "s", "c", "z"));
    EXPECT(VAULTFMT_OK, vaultfmt_repair(vault, &kept));
    if (kept != NULL) {
        unsigned long long next = (unsigned long long)info.generation + 1;
        snprintf(path, sizeof path, "%s.damaged-%llu", file_in_folder("tails.vault"), next);
        CHECK(is_text(kept->bytes, path));
        file = fopen(path, "rb");
        CHECK(file != NULL && fread(copied, 1, sizeof copied, file) == sizeof head);
        CHECK(memcmp(copied, head, sizeof head) == 0);
        if (file != NULL) fclose(file);
    } else {
        CHECK(kept != NULL);
    }
    vaultfmt_value_free(kept);
    REQUIRE(vaultfmt_get_info(vault, &info));
    CHECK(info.tail == VAULTFMT_TAIL_CLEAN);
    EXPECT(VAULTFMT_OK, put(vault, "s", "c", "z"));
    vaultfmt_close(vault);
    incomplete();
}

static void damage(void) {
    vaultfmt_vault *vault = open_to_write("maintenance.vault");
    const vaultfmt_report *report;
    vaultfmt_statistics statistics;
    uint64_t with_past;
    FILE *file;
    int byte;
    statistics.struct_size = sizeof statistics;
    REQUIRE(vaultfmt_verify(vault, &report));
    CHECK(report->is_sound == 1 && report->problem_count == 0 && report->listed_problems == 0);
    CHECK(report->items == 50 && report->objects > 50 && report->unopened == 0);
    CHECK(report->forgotten_values == 0);
    with_past = report->items_with_past;
    vaultfmt_report_free(report);
    REQUIRE(vaultfmt_get_statistics(vault, &statistics));
    CHECK(statistics.items == 50 && statistics.forgotten_values == 0 && statistics.replicas == 1 && statistics.tree_height >= 1);
    CHECK(statistics.items_with_past == 0 && statistics.kept_versions == 0 && with_past == 0);
    CHECK(statistics.file_bytes >= statistics.live_bytes + statistics.dead_bytes - 64 && statistics.live_bytes > 0);

    /* One bit of the first record, which is not of the newest commit: that would be taken for incomplete. */
    REQUIRE(put(vault, "s", "the newest", "x"));
    file = fopen(file_in_folder("maintenance.vault"), "r+b");
    fseek(file, 8192 + 100, SEEK_SET);
    byte = fgetc(file);
    fseek(file, 8192 + 100, SEEK_SET);
    fputc(byte ^ 1, file);
    fclose(file);
    REQUIRE(vaultfmt_verify(vault, &report));
    CHECK(report->is_sound == 0 && report->problem_count >= 1 && report->listed_problems == report->problem_count);
    CHECK(report->problems[0].what.size > 10);
    CHECK(report->problems[0].has_offset == 1 && report->problems[0].offset == 8192);
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
    owners();
    tails();
    /* So that the first record of the file is an item's. */
    REQUIRE(vaultfmt_keep_versions(vault, 0));
    for (round = 0; round < 2; round++) {
        REQUIRE(vaultfmt_begin(vault));
        for (index = 0; index < 50; index++) {
            snprintf(account, sizeof account, "%d", index);
            REQUIRE(put(vault, "s", account, round == 0 ? "a secret" : "another"));
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
    CHECK(inspection->slots[0]->kind == VAULTFMT_SLOT_FULL && inspection->slots[0]->is_known == 1);
    vaultfmt_inspection_free(inspection);
    EXPECT(VAULTFMT_NO_SUCH_FILE, vaultfmt_inspect(file_in_folder("none.vault"), &inspection));
    CHECK(inspection == NULL);

    damage();
    vault = open_to_write("maintenance.vault");
    EXPECT(VAULTFMT_AUTHENTICATION_FAILED, vaultfmt_each_secret(vault, NULL, nothing, NULL));
    CHECK(vaultfmt_error_offset(&offset) == 1 && offset == 8192);
    CHECK(strstr(vaultfmt_error_text(), "damaged") != NULL);
    vaultfmt_close(vault);
}

/* Copies that were changed independently: merged, rehearsed, refused, and their conflicts settled. */
#include "check.h"

static void copy_file(const char *from, const char *to) {
    static char bytes[1 << 20];
    FILE *file = fopen(file_in_folder(from), "rb");
    size_t size = file == NULL ? 0 : fread(bytes, 1, sizeof bytes, file);
    CHECK(size > 0 && size < sizeof bytes);
    if (file != NULL) fclose(file);
    file = fopen(file_in_folder(to), "wb");
    CHECK(file != NULL && fwrite(bytes, 1, size, file) == size);
    if (file != NULL) fclose(file);
}

static int names(const vaultfmt_key *key, const char *service) { return key != NULL && is_text(key->service, service); }

static void merged(vaultfmt_vault *ours, vaultfmt_vault *theirs) {
    vaultfmt_merge_options options = VAULTFMT_MERGE_OPTIONS_INIT;
    const vaultfmt_merge_report *report;
    options.is_rehearsal = 1;
    EXPECT(VAULTFMT_OK, vaultfmt_merge(ours, theirs, &options, &report));
    CHECK(report->outcome == VAULTFMT_MERGE_MERGED && report->is_rehearsal == 1 && report->added_count == 1);
    vaultfmt_merge_report_free(report);
    CHECK(has_secret(ours, "theirs", "", ""));

    EXPECT(VAULTFMT_OK, vaultfmt_merge(ours, theirs, NULL, &report));
    CHECK(report->outcome == VAULTFMT_MERGE_MERGED && report->is_rehearsal == 0);
    CHECK(report->has_conflicts == 1 && report->has_damage == 0);
    CHECK(report->added_count == 1 && names(report->added[0], "theirs"));
    CHECK(report->changed_count == 1 && names(report->changed[0], "both"));
    CHECK(report->removed_count == 1 && names(report->removed[0], "gone"));
    CHECK(report->supplemented_count == 0 && report->note_count == 1);
    if (report->note_count == 1) {
        CHECK(report->notes[0]->kind == VAULTFMT_NOTE_CONFLICT && names(report->notes[0]->key, "both"));
        CHECK(report->notes[0]->new_key == NULL && report->notes[0]->text.data == NULL);
    }
    vaultfmt_merge_report_free(report);
    CHECK(has_secret(ours, "theirs", "", "t") && has_secret(ours, "ours", "", "o") && has_secret(ours, "gone", "", ""));
    CHECK(has_secret(ours, "both", "", "from theirs"));

    EXPECT(VAULTFMT_OK, vaultfmt_merge(ours, theirs, NULL, &report));
    CHECK(report->outcome == VAULTFMT_MERGE_OURS && report->added_count == 0);
    vaultfmt_merge_report_free(report);
    EXPECT(VAULTFMT_READ_ONLY, vaultfmt_merge(theirs, ours, NULL, NULL));
}

static void settled(vaultfmt_vault *vault) {
    vaultfmt_key both = vaultfmt_generic_password("both", "");
    const vaultfmt_conflicts *conflicts;
    const vaultfmt_item *item;
    vaultfmt_conflict_id id, twice[2];
    const volatile uint8_t *secret;
    REQUIRE(vaultfmt_get_conflicts(vault, &conflicts));
    CHECK(conflicts->count == 1);
    if (conflicts->count != 1) exit(1);
    CHECK(names(&conflicts->conflicts[0]->key, "both") && conflicts->conflicts[0]->count == 1);
    CHECK(is_text(conflicts->conflicts[0]->place.group, ""));
    CHECK(conflicts->conflicts[0]->place.accessibility == VAULTFMT_WHEN_UNLOCKED);
    id = conflicts->conflicts[0]->values[0]->id;
    CHECK(id.field == VAULTFMT_FIELD_SECRET && id.attribute.data == NULL && id.revision > 0 && id.replica != 0);
    CHECK(is_text(conflicts->conflicts[0]->values[0]->value, "from ours"));
    CHECK(conflicts->conflicts[0]->values[0]->place == NULL && conflicts->conflicts[0]->values[0]->key == NULL);
    secret = conflicts->conflicts[0]->values[0]->value.data;
    vaultfmt_conflicts_free(conflicts);
    CHECK(secret[0] == 0 && secret[5] == 0);

    twice[0] = twice[1] = id;
    EXPECT(VAULTFMT_INVALID_ARGUMENT, vaultfmt_settle(vault, &both, twice, 2));
    id.revision++;
    EXPECT(VAULTFMT_NO_SUCH_ITEM, vaultfmt_settle(vault, &both, &id, 1));
    id.revision--;
    id.field = 9;
    EXPECT(VAULTFMT_INVALID_ARGUMENT, vaultfmt_settle(vault, &both, &id, 1));
    id.field = VAULTFMT_FIELD_SECRET;
    CHECK(has_secret(vault, "both", "", "from theirs"));
    /* In a transaction, with another change. */
    REQUIRE(vaultfmt_begin(vault));
    EXPECT(VAULTFMT_OK, vaultfmt_settle(vault, &both, &id, 1));
    REQUIRE(put(vault, "with it", "", "w"));
    REQUIRE(vaultfmt_commit(vault));
    CHECK(has_secret(vault, "both", "", "from ours") && has_secret(vault, "with it", "", "w"));
    REQUIRE(vaultfmt_get(vault, &both, &item));
    CHECK(item->needs_settling == 0 && item->has_past == 1);
    vaultfmt_item_free(item);
    REQUIRE(vaultfmt_get_conflicts(vault, &conflicts));
    CHECK(conflicts->count == 0);
    vaultfmt_conflicts_free(conflicts);
    EXPECT(VAULTFMT_OK, vaultfmt_settle(vault, &both, NULL, 0));
    EXPECT(VAULTFMT_NO_SUCH_ITEM, vaultfmt_settle(vault, &both, &id, 1));
}

/* A place of which a secret is not: what settles it is told. */
static void elsewhere(void) {
    vaultfmt_vault *ours = create("place.vault"), *theirs;
    vaultfmt_key private_key = vaultfmt_generic_password("p", ""), shared_key = private_key;
    const vaultfmt_conflicts *conflicts;
    private_key.group = vaultfmt_text("private");
    shared_key.group = vaultfmt_text("shared");
    REQUIRE(vaultfmt_add(ours, &private_key, vaultfmt_text("0"), NULL));
    copy_file("place.vault", "place.copy");
    REQUIRE(vaultfmt_set(ours, &private_key, vaultfmt_text("in private"), NULL));
    theirs = open_to_write("place.copy");
    REQUIRE(vaultfmt_move(theirs, &private_key, &shared_key));
    REQUIRE(vaultfmt_set(theirs, &shared_key, vaultfmt_text("in shared"), NULL));
    REQUIRE(vaultfmt_merge(ours, theirs, NULL, NULL));
    REQUIRE(vaultfmt_get_conflicts(ours, &conflicts));
    CHECK(conflicts->count == 1 && conflicts->conflicts[0]->count == 1);
    CHECK(is_text(conflicts->conflicts[0]->place.group, "shared"));
    CHECK(conflicts->conflicts[0]->values[0]->place != NULL);
    if (conflicts->conflicts[0]->values[0]->place != NULL) {
        CHECK(is_text(conflicts->conflicts[0]->values[0]->place->group, "private"));
    }
    vaultfmt_conflicts_free(conflicts);
    vaultfmt_close(ours);
    vaultfmt_close(theirs);
}

/* What was dropped on a machine comes back only if that is asked for. */
static void dropped(void) {
    vaultfmt_factors factors = raw_key();
    vaultfmt_open_options writing = VAULTFMT_OPEN_OPTIONS_INIT;
    vaultfmt_merge_options options = VAULTFMT_MERGE_OPTIONS_INIT;
    vaultfmt_vault *vault, *other;
    writing.writable = 1;
    REQUIRE(vaultfmt_local_create(file_in_folder("dropped.vault"), &factors, NULL, NULL, &vault));
    copy_file("dropped.vault", "dropped.old");
    REQUIRE(put(vault, "dropped", "", "d"));
    vaultfmt_close(vault);
    copy_file("dropped.vault", "dropped.new");
    copy_file("dropped.old", "dropped.vault");
    EXPECT(VAULTFMT_ROLLED_BACK, vaultfmt_local_open(file_in_folder("dropped.vault"), &factors, &writing, NULL, &vault));
    REQUIRE(vaultfmt_local_accept(file_in_folder("dropped.vault"), &factors, NULL, NULL));
    REQUIRE(vaultfmt_local_open(file_in_folder("dropped.vault"), &factors, &writing, NULL, &vault));
    REQUIRE(vaultfmt_open(file_in_folder("dropped.new"), &factors, NULL, &other));
    EXPECT(VAULTFMT_FORKED, vaultfmt_merge(vault, other, NULL, NULL));
    CHECK(has_secret(vault, "dropped", "", ""));
    options.takes_dropped = 1;
    EXPECT(VAULTFMT_OK, vaultfmt_merge(vault, other, &options, NULL));
    CHECK(has_secret(vault, "dropped", "", "d"));
    vaultfmt_close(vault);
    REQUIRE(vaultfmt_open(file_in_folder("dropped.vault"), &factors, &writing, &vault));
    EXPECT(VAULTFMT_INVALID_ARGUMENT, vaultfmt_merge(vault, other, &options, NULL));
    vaultfmt_close(vault);
    vaultfmt_close(other);
}

void test_merging(void) {
    vaultfmt_vault *ours = create("merging.vault"), *theirs, *stranger = create("merging.stranger");
    vaultfmt_merge_options options = VAULTFMT_MERGE_OPTIONS_INIT;
    const vaultfmt_merge_report *report = (const vaultfmt_merge_report *)1;
    vaultfmt_key gone = vaultfmt_generic_password("gone", "");
    vaultfmt_factors factors = raw_key();
    REQUIRE(put(ours, "both", "", "first"));
    REQUIRE(put(ours, "gone", "", "g"));
    copy_file("merging.vault", "merging.copy");
    REQUIRE(put(ours, "both", "", "from ours"));
    REQUIRE(put(ours, "ours", "", "o"));
    theirs = open_to_write("merging.copy");
    REQUIRE(put(theirs, "both", "", "from theirs"));
    REQUIRE(put(theirs, "theirs", "", "t"));
    REQUIRE(vaultfmt_remove(theirs, &gone));
    vaultfmt_close(theirs);
    REQUIRE(vaultfmt_open(file_in_folder("merging.copy"), &factors, NULL, &theirs));

    EXPECT(VAULTFMT_INVALID_ARGUMENT, vaultfmt_merge(ours, stranger, NULL, &report));
    CHECK(report == NULL);
    EXPECT(VAULTFMT_INVALID_ARGUMENT, vaultfmt_merge(ours, NULL, NULL, NULL));
    options.struct_size = 3;
    EXPECT(VAULTFMT_INVALID_ARGUMENT, vaultfmt_merge(ours, theirs, &options, NULL));
    REQUIRE(vaultfmt_begin(ours));
    EXPECT(VAULTFMT_INVALID_ARGUMENT, vaultfmt_merge(ours, theirs, NULL, NULL));
    REQUIRE(vaultfmt_rollback(ours));
    merged(ours, theirs);
    settled(ours);
    vaultfmt_close(ours);
    vaultfmt_close(theirs);
    vaultfmt_close(stranger);
    elsewhere();
    dropped();
}

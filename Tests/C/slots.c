/* Slots, rotation, locking, and items of one device only. */
#include "check.h"

static vaultfmt_status open_with(const char *text, vaultfmt_vault **vault) {
    vaultfmt_factors factors = passphrase(text);
    vaultfmt_open_options options = VAULTFMT_OPEN_OPTIONS_INIT;
    options.writable = 1;
    return vaultfmt_open(file_in_folder("slots.vault"), &factors, &options, vault);
}

static void scoped(void) {
    vaultfmt_vault *vault;
    const vaultfmt_slots *slots;
    const vaultfmt_item *item;
    vaultfmt_key key = vaultfmt_generic_password("s", "ci");
    vaultfmt_info info;
    info.struct_size = sizeof info;
    REQUIRE(open_with("scoped", &vault));
    REQUIRE(vaultfmt_get_info(vault, &info));
    CHECK(info.is_owner == 0 && info.is_writable == 1);
    REQUIRE(vaultfmt_get_slots(vault, &slots));
    CHECK(slots->count == 3 && slots->slots[0]->name.data == NULL && slots->slots[2]->groups == NULL);
    CHECK(slots->slots[2]->opened_this == 1 && slots->slots[2]->is_full == 0);
    vaultfmt_slots_free(slots);
    EXPECT(VAULTFMT_NOT_PERMITTED, put(vault, "s", "x", "x"));
    key.group = vaultfmt_text("ci");
    REQUIRE(vaultfmt_get(vault, &key, &item));
    CHECK(is_text(item->secret, "for ci"));
    vaultfmt_item_free(item);
    key = vaultfmt_generic_password("s", "own");
    EXPECT(VAULTFMT_NOT_PERMITTED, vaultfmt_get(vault, &key, &item));
    CHECK(item == NULL);
    REQUIRE(vaultfmt_find(vault, &key, &item));
    vaultfmt_item_free(item);
    vaultfmt_close(vault);
}

static void granted(vaultfmt_vault *vault, const uint8_t second[16], const uint8_t third[16]) {
    vaultfmt_bytes groups[2];
    const vaultfmt_slots *slots;
    const vaultfmt_slot_report *report = NULL;
    groups[0] = vaultfmt_text("ci");
    groups[1] = vaultfmt_text("made by granting");
    EXPECT(VAULTFMT_INVALID_ARGUMENT, vaultfmt_slot_grant(vault, second, groups, 1, NULL));
    EXPECT(VAULTFMT_INVALID_ARGUMENT, vaultfmt_slot_grant(vault, third, NULL, 1, NULL));
    EXPECT(VAULTFMT_INVALID_ARGUMENT, vaultfmt_slot_grant(vault, NULL, groups, 1, NULL));
    EXPECT(VAULTFMT_LIMIT_EXCEEDED, vaultfmt_slot_grant(vault, third, groups, SIZE_MAX, NULL));
    EXPECT(VAULTFMT_OK, vaultfmt_slot_grant(vault, third, groups, 2, &report));
    CHECK(report != NULL && memcmp(report->id, third, 16) == 0);
    vaultfmt_slot_report_free(report);
    REQUIRE(vaultfmt_get_slots(vault, &slots));
    CHECK(slots->slots[2]->group_count == 2);
    vaultfmt_slots_free(slots);
    EXPECT(VAULTFMT_OK, vaultfmt_slot_grant(vault, third, groups, 1, NULL));
}

static void changed(vaultfmt_vault *vault, const uint8_t second[16], const uint8_t third[16]) {
    vaultfmt_factors factors = passphrase("new");
    vaultfmt_slot_options options = cheap_slot(NULL);
    const vaultfmt_slots *slots;
    const vaultfmt_slot_report *report;
    vaultfmt_vault *other;
    uint8_t unknown[16] = {0};
    EXPECT(VAULTFMT_OK, vaultfmt_slot_change(vault, second, &factors, &options, &report));
    if (report != NULL) {
        CHECK(memcmp(report->id, second, 16) == 0 && report->dropped_count == 0 && report->kept_count == 0);
        REQUIRE(vaultfmt_slot_rename(vault, report->id, vaultfmt_text("renamed")));
    }
    vaultfmt_slot_report_free(report);
    EXPECT(VAULTFMT_NO_SLOT_OPENS, open_with("second", &other));
    EXPECT(VAULTFMT_OK, open_with("new", &other));
    vaultfmt_close(other);
    options.name = vaultfmt_text("a name");
    EXPECT(VAULTFMT_INVALID_ARGUMENT, vaultfmt_slot_change(vault, NULL, &factors, &options, NULL));
    EXPECT(VAULTFMT_NO_SUCH_SLOT, vaultfmt_slot_change(vault, unknown, &factors, NULL, &report));
    CHECK(report == NULL);
    EXPECT(VAULTFMT_NO_SUCH_SLOT, vaultfmt_slot_remove(vault, unknown, NULL));
    EXPECT(VAULTFMT_OK, vaultfmt_slot_remove(vault, third, &report));
    CHECK(report != NULL && memcmp(report->id, third, 16) == 0);
    vaultfmt_slot_report_free(report);
    EXPECT(VAULTFMT_NO_SLOT_OPENS, open_with("scoped", &other));
    REQUIRE(vaultfmt_get_slots(vault, &slots));
    CHECK(slots->count == 2);
    EXPECT(VAULTFMT_OK, vaultfmt_slot_remove(vault, slots->slots[0]->id, NULL));
    EXPECT(VAULTFMT_NO_SUCH_SLOT, vaultfmt_slot_remove(vault, slots->slots[0]->id, NULL));
    EXPECT(VAULTFMT_LAST_SLOT, vaultfmt_slot_remove(vault, second, NULL));
    vaultfmt_slots_free(slots);
}

static void rotated(void) {
    vaultfmt_vault *vault;
    vaultfmt_factors kept[2];
    vaultfmt_slot_options options = cheap_slot("to be dropped");
    const vaultfmt_slots *slots;
    uint8_t id[16];
    int32_t verdict = 7;
    const vaultfmt_slot_report *report = (const vaultfmt_slot_report *)1;
    vaultfmt_info before, after;
    const vaultfmt_value *anchor;
    REQUIRE(open_with("new", &vault));
    kept[0] = passphrase("dropped");
    REQUIRE(vaultfmt_slot_add(vault, &kept[0], &options, id, NULL));
    kept[0] = passphrase("new");
    kept[1] = passphrase("wrong");
    before.struct_size = after.struct_size = sizeof before;
    REQUIRE(vaultfmt_get_info(vault, &before));
    anchor = anchor_of(vault);
    EXPECT(VAULTFMT_NO_SLOT_OPENS, vaultfmt_rotate(vault, kept, 2, NULL, 0, &report));
    CHECK(report == NULL);
    EXPECT(VAULTFMT_LAST_SLOT, vaultfmt_rotate(vault, kept, 0, NULL, 0, NULL));
    EXPECT(VAULTFMT_INVALID_ARGUMENT, vaultfmt_rotate(vault, NULL, 1, NULL, 0, NULL));
    EXPECT(VAULTFMT_INVALID_ARGUMENT, vaultfmt_rotate(vault, kept, 1, NULL, 1, NULL));
    EXPECT(VAULTFMT_OK, vaultfmt_rotate(vault, kept, 1, NULL, 0, &report));
    CHECK(report != NULL && report->kept_count == 0 && report->dropped_count == 1);
    CHECK(memcmp(report->dropped[0]->id, id, 16) == 0 && is_text(report->dropped[0]->name, "to be dropped"));
    vaultfmt_slot_report_free(report);
    /* Another key, and an anchor of before leads to it. */
    REQUIRE(vaultfmt_get_info(vault, &after));
    CHECK(memcmp(before.owners, after.owners, sizeof before.owners) != 0);
    EXPECT(VAULTFMT_OK, vaultfmt_check_anchor(vault, as_string(anchor), &verdict));
    vaultfmt_value_free(anchor);
    CHECK(verdict == VAULTFMT_VERDICT_DESCENDS);
    REQUIRE(vaultfmt_get_slots(vault, &slots));
    CHECK(slots->count == 1 && is_text(slots->slots[0]->name, "renamed"));
    vaultfmt_slots_free(slots);
    CHECK(has_secret(vault, "s", "own", "mine"));
    vaultfmt_close(vault);
}

void test_slots(void) {
    vaultfmt_factors factors = passphrase("first");
    vaultfmt_create_options creating = cheap();
    vaultfmt_slot_options options = cheap_slot("second");
    vaultfmt_bytes groups[1];
    vaultfmt_vault *vault;
    vaultfmt_key key = vaultfmt_generic_password("s", "ci");
    const vaultfmt_slots *slots;
    const vaultfmt_slot_report *report;
    uint8_t second[16], third[16];
    creating.slot_name = vaultfmt_text("first");
    REQUIRE(vaultfmt_create(file_in_folder("slots.vault"), &factors, &creating, &vault));
    key.group = vaultfmt_text("ci");
    REQUIRE(vaultfmt_add(vault, &key, vaultfmt_text("for ci"), NULL));
    REQUIRE(put(vault, "s", "own", "mine"));

    factors = passphrase("second");
    options.group_count = 1;
    groups[0] = vaultfmt_text("ci");
    options.groups = groups;
    EXPECT(VAULTFMT_INVALID_ARGUMENT, vaultfmt_slot_add(vault, &factors, &options, second, NULL));
    options.group_count = 0;
    EXPECT(VAULTFMT_OK, vaultfmt_slot_add(vault, &factors, &options, second, NULL));
    factors = passphrase("scoped");
    options.group_count = 1;
    options.is_scoped = 1;
    options.name = vaultfmt_text("for machines");
    EXPECT(VAULTFMT_OK, vaultfmt_slot_add(vault, &factors, &options, third, &report));
    CHECK(report != NULL && memcmp(report->id, third, 16) == 0 && report->dropped_count == 0);
    vaultfmt_slot_report_free(report);
    EXPECT(VAULTFMT_OK, vaultfmt_slot_rename(vault, second, vaultfmt_text("renamed")));

    REQUIRE(vaultfmt_get_slots(vault, &slots));
    CHECK(slots->count == 3);
    CHECK(is_text(slots->slots[0]->name, "first") && slots->slots[0]->opened_this == 1 && slots->slots[0]->is_full == 1);
    CHECK(slots->slots[0]->factors == VAULTFMT_FACTOR_PASSPHRASE && slots->slots[0]->is_weak == 1);
    CHECK(slots->slots[0]->kdf_memory == 8 && slots->slots[0]->kdf_passes == 1 && slots->slots[0]->kdf_lanes == 1);
    CHECK(is_text(slots->slots[1]->name, "renamed") && memcmp(slots->slots[1]->id, second, 16) == 0);
    CHECK(slots->slots[0]->kind == VAULTFMT_SLOT_FULL && slots->slots[0]->is_known == 1);
    CHECK(slots->slots[0]->groups == NULL);
    CHECK(slots->slots[0]->provider.data == NULL && slots->slots[0]->revision > 0);
    CHECK(slots->slots[1]->revision > slots->slots[0]->revision);
    CHECK(slots->slots[2]->kind == VAULTFMT_SLOT_SCOPED && slots->slots[2]->is_known == 1);
    CHECK(slots->slots[2]->is_full == 0 && slots->slots[2]->group_count == 1 && is_text(slots->slots[2]->groups[0], "ci"));
    vaultfmt_slots_free(slots);
    granted(vault, second, third);

    scoped();
    changed(vault, second, third);
    vaultfmt_close(vault);
    rotated();
}

/* Where there is no kernel keyring, that is what is said. */
static void kept_open(void) {
    vaultfmt_vault *vault = open_to_write("locking.vault");
    vaultfmt_vault *second = (vaultfmt_vault *)1;
    static const uint8_t strangers[VAULTFMT_OWNERS_SIZE] = {1};
    vaultfmt_bytes owners = {strangers, sizeof strangers};
    vaultfmt_open_options options = VAULTFMT_OPEN_OPTIONS_INIT;
    const char *path = file_in_folder("locking.vault");
    vaultfmt_status status = vaultfmt_keep_unlocked(vault, 60);
    EXPECT(VAULTFMT_INVALID_ARGUMENT, vaultfmt_keep_unlocked(vault, 0));
    if (status == VAULTFMT_NO_KERNEL_KEYRING) {
        EXPECT(VAULTFMT_NO_KERNEL_KEYRING, vaultfmt_open_unlocked(path, NULL, &second));
        CHECK(second == NULL);
        fputs("no kernel keyring here: keeping a vault open was not tested\n", stderr);
    } else {
        EXPECT(VAULTFMT_OK, status);
        EXPECT(VAULTFMT_OK, vaultfmt_open_unlocked(path, NULL, &second));
        CHECK(has_secret(second, "s", "early", "wiped"));
        vaultfmt_close(second);
        options.owners = owners;
        EXPECT(VAULTFMT_FOREIGN_OWNER, vaultfmt_open_unlocked(path, &options, &second));
        CHECK(second == NULL);
        EXPECT(VAULTFMT_OK, vaultfmt_end_unlocked(path));
        EXPECT(VAULTFMT_NO_SLOT_OPENS, vaultfmt_open_unlocked(path, NULL, &second));
        EXPECT(VAULTFMT_OK, vaultfmt_end_unlocked(path));
    }
    vaultfmt_close(vault);
}

void test_locking(void) {
    uint8_t device[VAULTFMT_DEVICE_SIZE];
    vaultfmt_factors factors = raw_key();
    vaultfmt_create_options creating = VAULTFMT_CREATE_OPTIONS_INIT;
    vaultfmt_details details = VAULTFMT_DETAILS_INIT;
    vaultfmt_vault *vault;
    vaultfmt_key key = vaultfmt_generic_password("s", "late");
    const vaultfmt_item *item;
    vaultfmt_info info;
    info.struct_size = sizeof info;
    REQUIRE(vaultfmt_device_generate(device));
    creating.device.data = device;
    creating.device.size = sizeof device;
    REQUIRE(vaultfmt_create(file_in_folder("locking.vault"), &factors, &creating, &vault));
    details.accessibility = VAULTFMT_AFTER_FIRST_UNLOCK;
    REQUIRE(vaultfmt_add(vault, &key, vaultfmt_text("kept"), &details));
    REQUIRE(put(vault, "s", "early", "wiped"));
    key = vaultfmt_generic_password("s", "device");
    details.accessibility = VAULTFMT_WHEN_UNLOCKED_THIS_DEVICE_ONLY;
    REQUIRE(vaultfmt_add(vault, &key, vaultfmt_text("here only"), &details));

    EXPECT(VAULTFMT_OK, vaultfmt_lock(vault));
    REQUIRE(vaultfmt_get_info(vault, &info));
    CHECK(info.is_locked == 1);
    CHECK(has_secret(vault, "s", "late", "kept"));
    key = vaultfmt_generic_password("s", "early");
    EXPECT(VAULTFMT_LOCKED, vaultfmt_get(vault, &key, &item));
    EXPECT(VAULTFMT_LOCKED, put(vault, "s", "early", "x"));
    CHECK(count(vault, NULL) == 3);
    factors = passphrase("wrong");
    EXPECT(VAULTFMT_NO_SLOT_OPENS, vaultfmt_unlock(vault, &factors, NULL));
    factors = raw_key();
    EXPECT(VAULTFMT_OK, vaultfmt_unlock(vault, &factors, NULL));
    CHECK(has_secret(vault, "s", "early", "wiped") && has_secret(vault, "s", "device", "here only"));
    vaultfmt_close(vault);

    /* Without the device. */
    vault = open_to_write("locking.vault");
    key = vaultfmt_generic_password("s", "device");
    EXPECT(VAULTFMT_DEVICE_BOUND, vaultfmt_get(vault, &key, &item));
    REQUIRE(vaultfmt_find(vault, &key, &item));
    CHECK(item->is_device_bound == 1 && memcmp(item->device, device, 16) == 0);
    vaultfmt_item_free(item);
    vaultfmt_close(vault);
    kept_open();
}

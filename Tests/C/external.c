/* External keys: providers whose functions are the caller's; and what a later version of the format may leave. */
#include "check.h"

/* A token: its key for a slot is its secret, changed by the slot's parameters. Owners' data make keys without it. */
struct token {
    uint8_t secret[32];
    uint8_t wrapped;        /* how many keys it made */
    size_t asked;           /* for how many slots, the last time */
    size_t before;          /* wrong candidates before the right one */
    vaultfmt_status fails;
    const char *text;
    vaultfmt_vault *vault;  /* used within unwrap, which is refused */
};

static void derive(const uint8_t secret[32], uint8_t number, uint8_t key[32]) {
    int index;
    for (index = 0; index < 32; index++) key[index] = (uint8_t)(secret[index] ^ (number * 7 + index));
}

static vaultfmt_status make(const uint8_t secret[32], uint8_t number, vaultfmt_wrapped *wrapped) {
    vaultfmt_bytes parameters = {&number, 1};
    vaultfmt_bytes owners = {secret, 32};
    uint8_t key[32];
    vaultfmt_bytes bytes = {key, sizeof key};
    vaultfmt_status status;
    derive(secret, number, key);
    status = vaultfmt_wrapped_set(wrapped, parameters, owners, bytes);
    vaultfmt_wipe(key, sizeof key);
    return status;
}

static vaultfmt_status wrap(void *context, vaultfmt_wrapped *wrapped) {
    struct token *token = context;
    if (token->fails != VAULTFMT_OK) return vaultfmt_fail(token->fails, token->text);
    return make(token->secret, ++token->wrapped, wrapped);
}

static vaultfmt_status rewrap(void *context, vaultfmt_bytes owners_data, vaultfmt_wrapped *wrapped) {
    struct token *token = context;
    CHECK(owners_data.size == 32);
    return owners_data.size == 32 ? make(owners_data.data, ++token->wrapped, wrapped) : VAULTFMT_OK;
}

static vaultfmt_status unwrap(
    void *context, const vaultfmt_external_slot *slots, size_t count, vaultfmt_candidates *candidates) {
    struct token *token = context;
    vaultfmt_info info;
    size_t slot, wrong;
    info.struct_size = sizeof info;
    token->asked = count;
    if (token->fails != VAULTFMT_OK) return vaultfmt_fail(token->fails, token->text);
    for (slot = 0; slot < count; slot++) {
        uint8_t key[32];
        vaultfmt_bytes bytes = {key, sizeof key};
        memset(key, 0, sizeof key);
        for (wrong = 0; wrong < token->before; wrong++) {
            key[0] = (uint8_t)wrong;
            EXPECT(VAULTFMT_OK, vaultfmt_candidates_add(candidates, slot, bytes));
        }
        CHECK(slots[slot].parameters.size == 1);
        derive(token->secret, slots[slot].parameters.data[0], key);
        EXPECT(VAULTFMT_OK, vaultfmt_candidates_add(candidates, slot, bytes));
    }
    if (token->vault != NULL) EXPECT(VAULTFMT_INVALID_ARGUMENT, vaultfmt_get_info(token->vault, &info));
    return VAULTFMT_OK;
}

static vaultfmt_provider provider(struct token *token, uint8_t secret) {
    vaultfmt_provider result = VAULTFMT_PROVIDER_INIT;
    memset(token, 0, sizeof *token);
    memset(token->secret, secret, sizeof token->secret);
    result.name = "example.org/token";
    result.context = token;
    result.wrap = wrap;
    result.rewrap = rewrap;
    result.unwrap = unwrap;
    return result;
}

static vaultfmt_factors external(const vaultfmt_provider *provider, const char *text) {
    vaultfmt_factors factors = passphrase(text);
    factors.external = provider;
    return factors;
}

static vaultfmt_status opens(const vaultfmt_factors factors) {
    vaultfmt_vault *vault = (vaultfmt_vault *)1;
    vaultfmt_status status = vaultfmt_open(file_in_folder("external.vault"), &factors, NULL, &vault);
    CHECK((status == VAULTFMT_OK) == (vault != NULL));
    vaultfmt_close(vault);
    return status;
}

static void opened(vaultfmt_vault *vault) {
    struct token token, wrong, other;
    vaultfmt_provider right = provider(&token, 1), stranger = provider(&wrong, 9), elsewhere = provider(&other, 1);
    vaultfmt_factors factors = external(&right, "with a passphrase");
    vaultfmt_slot_options options = cheap_slot("both");
    const vaultfmt_slots *slots;
    uint8_t id[16];
    token.wrapped = 1;
    EXPECT(VAULTFMT_OK, opens(external(&right, NULL)));
    CHECK(token.asked == 1);
    EXPECT(VAULTFMT_NO_SLOT_OPENS, opens(external(&stranger, NULL)));
    elsewhere.name = "example.org/other";
    EXPECT(VAULTFMT_NO_SLOT_OPENS, opens(external(&elsewhere, NULL)));
    CHECK(other.asked == 0);
    elsewhere = right;
    elsewhere.unwrap = NULL;
    EXPECT(VAULTFMT_NO_SLOT_OPENS, opens(external(&elsewhere, NULL)));

    token.vault = vault;
    REQUIRE(vaultfmt_slot_add(vault, &factors, &options, id, NULL));
    factors = external(&right, NULL);
    /* Its key opens a slot already: it was found to be the same token. */
    EXPECT(VAULTFMT_INVALID_ARGUMENT, vaultfmt_slot_add(vault, &factors, NULL, id, NULL));
    token.vault = NULL;
    EXPECT(VAULTFMT_OK, opens(external(&right, "with a passphrase")));
    CHECK(token.asked == 1);
    EXPECT(VAULTFMT_NO_SLOT_OPENS, opens(external(&right, "with another")));
    EXPECT(VAULTFMT_NO_SLOT_OPENS, opens(external(&stranger, "with a passphrase")));
    EXPECT(VAULTFMT_NO_SLOT_OPENS, opens(passphrase("with a passphrase")));

    REQUIRE(vaultfmt_get_slots(vault, &slots));
    CHECK(slots->count == 2 && slots->slots[0]->opened_this == 1);
    CHECK(is_text(slots->slots[0]->provider, "example.org/token"));
    CHECK(slots->slots[0]->factors == VAULTFMT_FACTOR_EXTERNAL_KEY && slots->slots[0]->kdf_memory == 0);
    CHECK(slots->slots[1]->factors == (VAULTFMT_FACTOR_EXTERNAL_KEY | VAULTFMT_FACTOR_PASSPHRASE));
    CHECK(slots->slots[1]->kdf_memory == 8 && slots->slots[1]->is_known == 1 && slots->slots[1]->is_full == 1);
    vaultfmt_slots_free(slots);

    /* Unlocking, which asks for the slots that state exactly these factors. */
    REQUIRE(vaultfmt_lock(vault));
    factors = external(&stranger, NULL);
    EXPECT(VAULTFMT_NO_SLOT_OPENS, vaultfmt_unlock(vault, &factors, NULL));
    token.vault = vault;
    factors = external(&right, NULL);
    EXPECT(VAULTFMT_OK, vaultfmt_unlock(vault, &factors, NULL));
    /* A call of the provider's own that failed leaves no words behind. */
    CHECK(strcmp(vaultfmt_error_text(), "") == 0);
    token.vault = NULL;
}

/* Sixteen candidates of a slot count. */
static void candidates(void) {
    struct token token;
    vaultfmt_provider right = provider(&token, 1);
    token.before = 15;
    EXPECT(VAULTFMT_OK, opens(external(&right, NULL)));
    token.before = 16;
    EXPECT(VAULTFMT_NO_SLOT_OPENS, opens(external(&right, NULL)));
    token.before = 1000;
    EXPECT(VAULTFMT_NO_SLOT_OPENS, opens(external(&right, NULL)));
}

static void failing(vaultfmt_vault *vault) {
    struct token token;
    vaultfmt_provider right = provider(&token, 1);
    vaultfmt_factors factors = external(&right, "for a new slot");
    vaultfmt_slot_options options = cheap_slot("new");
    const vaultfmt_value *before, *after;
    uint8_t id[16];
    before = anchor_of(vault);
    token.fails = VAULTFMT_BUSY;
    token.text = "the token\nis in use";
    EXPECT(VAULTFMT_BUSY, opens(external(&right, NULL)));
    CHECK(strcmp(vaultfmt_error_text(), "") == 0);
    EXPECT(VAULTFMT_BUSY, vaultfmt_slot_add(vault, &factors, &options, id, NULL));
    CHECK(strcmp(vaultfmt_error_text(), "the token is in use") == 0);
    /* A number that is no status, and no words. */
    token.fails = 1000;
    token.text = NULL;
    EXPECT(VAULTFMT_IO, vaultfmt_slot_add(vault, &factors, &options, id, NULL));
    CHECK(strstr(vaultfmt_error_text(), "example.org/token") != NULL);
    token.fails = -1;
    token.text = "\xFF";
    EXPECT(VAULTFMT_IO, vaultfmt_slot_add(vault, &factors, &options, id, NULL));
    CHECK(vaultfmt_fail(VAULTFMT_LOCKED, "why") == VAULTFMT_LOCKED && strcmp(vaultfmt_error_text(), "why") == 0);
    after = anchor_of(vault);
    CHECK(strcmp(as_string(before), as_string(after)) == 0);
    vaultfmt_value_free(before);
    vaultfmt_value_free(after);
}

static vaultfmt_status sets_nothing(void *context, vaultfmt_wrapped *wrapped) {
    (void)context, (void)wrapped;
    return VAULTFMT_OK;
}

static vaultfmt_status sets_wrong_sizes(void *context, vaultfmt_wrapped *wrapped) {
    static uint8_t bytes[16385];
    vaultfmt_bytes small = {bytes, 1}, large = {bytes, sizeof bytes}, huge = {bytes, SIZE_MAX};
    vaultfmt_bytes none = {NULL, 0}, key = {bytes, 32};
    (void)context;
    EXPECT(VAULTFMT_LIMIT_EXCEEDED, vaultfmt_wrapped_set(wrapped, large, small, key));
    EXPECT(VAULTFMT_LIMIT_EXCEEDED, vaultfmt_wrapped_set(wrapped, small, large, key));
    EXPECT(VAULTFMT_LIMIT_EXCEEDED, vaultfmt_wrapped_set(wrapped, huge, small, key));
    EXPECT(VAULTFMT_INVALID_ARGUMENT, vaultfmt_wrapped_set(wrapped, small, small, none));
    EXPECT(VAULTFMT_INVALID_ARGUMENT, vaultfmt_wrapped_set(wrapped, small, small, huge));
    EXPECT(VAULTFMT_INVALID_ARGUMENT, vaultfmt_wrapped_set(NULL, small, small, key));
    key.size = 33;
    EXPECT(VAULTFMT_INVALID_ARGUMENT, vaultfmt_wrapped_set(wrapped, small, small, key));
    key.size = 31;
    return vaultfmt_wrapped_set(wrapped, none, none, key);
}

static vaultfmt_status adds_wrong_keys(
    void *context, const vaultfmt_external_slot *slots, size_t count, vaultfmt_candidates *candidates) {
    static uint8_t bytes[33];
    vaultfmt_bytes key = {bytes, 32}, none = {NULL, 0}, no_pointer = {NULL, 32};
    (void)context, (void)slots;
    EXPECT(VAULTFMT_INVALID_ARGUMENT, vaultfmt_candidates_add(candidates, count, key));
    EXPECT(VAULTFMT_INVALID_ARGUMENT, vaultfmt_candidates_add(candidates, SIZE_MAX, key));
    EXPECT(VAULTFMT_INVALID_ARGUMENT, vaultfmt_candidates_add(candidates, 0, none));
    EXPECT(VAULTFMT_INVALID_ARGUMENT, vaultfmt_candidates_add(candidates, 0, no_pointer));
    EXPECT(VAULTFMT_INVALID_ARGUMENT, vaultfmt_candidates_add(NULL, 0, key));
    key.size = 33;
    return vaultfmt_candidates_add(candidates, 0, key);
}

static void misused(vaultfmt_vault *vault) {
    static const char *const names[] = {"", "with space", "tab\t", "\xC3\xA4", "\xFF"};
    char long_name[66];
    struct token token;
    vaultfmt_provider good = provider(&token, 1), bad = good;
    vaultfmt_factors factors = external(&bad, "for a new slot");
    vaultfmt_slot_options options = cheap_slot("new");
    uint8_t id[16];
    size_t index;
    bad.wrap = sets_nothing;
    EXPECT(VAULTFMT_INVALID_ARGUMENT, vaultfmt_slot_add(vault, &factors, &options, id, NULL));
    CHECK(strcmp(vaultfmt_error_text(), "the provider \"example.org/token\" did not return a key") == 0);
    bad.wrap = NULL;
    EXPECT(VAULTFMT_INVALID_ARGUMENT, vaultfmt_slot_add(vault, &factors, &options, id, NULL));
    bad.wrap = sets_wrong_sizes;
    EXPECT(VAULTFMT_INVALID_ARGUMENT, vaultfmt_slot_add(vault, &factors, &options, id, NULL));
    CHECK(strstr(vaultfmt_error_text(), "not 31") != NULL);
    bad = good;
    bad.unwrap = adds_wrong_keys;
    EXPECT(VAULTFMT_INVALID_ARGUMENT, opens(external(&bad, NULL)));
    for (index = 0; index < sizeof names / sizeof names[0]; index++) {
        bad = good;
        bad.name = names[index];
        EXPECT(VAULTFMT_INVALID_ARGUMENT, opens(external(&bad, NULL)));
    }
    memset(long_name, 'x', sizeof long_name);
    long_name[65] = 0;
    bad.name = long_name;
    EXPECT(VAULTFMT_INVALID_ARGUMENT, opens(external(&bad, NULL)));
    bad.name = long_name + 1;
    EXPECT(VAULTFMT_NO_SLOT_OPENS, opens(external(&bad, NULL)));
    bad.name = NULL;
    EXPECT(VAULTFMT_INVALID_ARGUMENT, opens(external(&bad, NULL)));
    bad = good;
    bad.struct_size--;
    EXPECT(VAULTFMT_INVALID_ARGUMENT, opens(external(&bad, NULL)));
    bad = good;
    bad.reserved = 1;
    EXPECT(VAULTFMT_INVALID_ARGUMENT, opens(external(&bad, NULL)));
    factors = external(&good, NULL);
    factors.key_file = vaultfmt_text("a key file");
    EXPECT(VAULTFMT_INVALID_ARGUMENT, opens(factors));
    factors = raw_key();
    factors.external = &good;
    EXPECT(VAULTFMT_INVALID_ARGUMENT, opens(factors));
}

static void rotated(vaultfmt_vault *vault) {
    struct token token, second;
    vaultfmt_provider right = provider(&token, 1), other = provider(&second, 2), cannot;
    vaultfmt_factors kept[2], factors;
    vaultfmt_made_again again;
    vaultfmt_slot_options options = cheap_slot("a colleague");
    const vaultfmt_slot_report *report;
    const vaultfmt_slots *slots;
    memset(&again, 0, sizeof again);
    token.wrapped = 100;
    second.wrapped = 200;
    kept[0] = external(&right, NULL);
    kept[1] = external(&right, "with a passphrase");
    factors = external(&other, NULL);
    REQUIRE(vaultfmt_slot_add(vault, &factors, &options, again.id, NULL));

    /* The colleague's token is not here: only its provider can make the slot again. */
    EXPECT(VAULTFMT_INVALID_ARGUMENT, vaultfmt_rotate(vault, kept, 2, &again, 1, NULL));
    again.provider = &right;
    EXPECT(VAULTFMT_OK, vaultfmt_rotate(vault, kept, 2, &again, 1, &report));
    CHECK(report != NULL && report->dropped_count == 0);
    vaultfmt_slot_report_free(report);
    EXPECT(VAULTFMT_OK, opens(external(&right, NULL)));
    EXPECT(VAULTFMT_OK, opens(external(&right, "with a passphrase")));
    EXPECT(VAULTFMT_OK, opens(external(&other, NULL)));
    REQUIRE(vaultfmt_get_slots(vault, &slots));
    CHECK(slots->count == 3 && memcmp(slots->slots[2]->id, again.id, 16) == 0);
    CHECK(is_text(slots->slots[2]->name, "a colleague"));
    memcpy(again.id, slots->slots[1]->id, 16);
    EXPECT(VAULTFMT_INVALID_ARGUMENT, vaultfmt_rotate(vault, kept, 1, &again, 1, NULL));
    memcpy(again.id, slots->slots[2]->id, 16);
    vaultfmt_slots_free(slots);
    again.id[0] ^= 1;
    EXPECT(VAULTFMT_NO_SUCH_SLOT, vaultfmt_rotate(vault, kept, 2, &again, 1, NULL));
    again.id[0] ^= 1;

    /* Who cannot make it again loses it, and is told. */
    cannot = right;
    cannot.rewrap = NULL;
    again.provider = &cannot;
    EXPECT(VAULTFMT_OK, vaultfmt_rotate(vault, kept, 1, &again, 1, &report));
    CHECK(report != NULL && report->dropped_count == 2 && is_text(report->dropped[1]->name, "a colleague"));
    vaultfmt_slot_report_free(report);
    EXPECT(VAULTFMT_NO_SLOT_OPENS, opens(external(&other, NULL)));
    kept[0].external = &cannot;
    EXPECT(VAULTFMT_LAST_SLOT, vaultfmt_rotate(vault, kept, 1, NULL, 0, NULL));
    CHECK(has_secret(vault, "s", "a", "x"));
}

static void on_a_machine(void) {
    char folder[1024];
    struct token token;
    vaultfmt_provider right = provider(&token, 3);
    vaultfmt_factors factors = external(&right, NULL), raw = raw_key();
    vaultfmt_local_options local = VAULTFMT_LOCAL_OPTIONS_INIT;
    vaultfmt_slot_options options = cheap_slot(NULL);
    vaultfmt_open_options writing = VAULTFMT_OPEN_OPTIONS_INIT;
    const vaultfmt_slot_report *report;
    vaultfmt_vault *vault;
    const char *path = file_in_folder("external-local.vault");
    snprintf(folder, sizeof folder, "%s", file_in_folder("external-state"));
    local.state_folder = folder;
    REQUIRE(vaultfmt_local_create(path, &factors, NULL, &local, &vault));
    vaultfmt_close(vault);
    writing.writable = 1;
    REQUIRE(vaultfmt_local_open(path, &factors, &writing, &local, &vault));
    /* From the token to a raw key, and back. */
    REQUIRE(vaultfmt_slot_change(vault, NULL, &raw, NULL, NULL));
    REQUIRE(vaultfmt_slot_change(vault, NULL, &factors, &options, &report));
    CHECK(report != NULL && report->dropped_count == 0);
    vaultfmt_slot_report_free(report);
    vaultfmt_close(vault);
    REQUIRE(vaultfmt_local_open(path, &factors, NULL, &local, &vault));
    vaultfmt_close(vault);
    EXPECT(VAULTFMT_OK, vaultfmt_local_accept(path, &factors, NULL, &local));
    EXPECT(VAULTFMT_NO_SLOT_OPENS, vaultfmt_local_open(path, &raw, NULL, &local, &vault));
}

void test_external_keys(void) {
    struct token token;
    vaultfmt_provider right = provider(&token, 1);
    vaultfmt_factors factors = external(&right, NULL);
    vaultfmt_vault *vault;
    token.fails = VAULTFMT_BUSY;
    EXPECT(VAULTFMT_BUSY, vaultfmt_create(file_in_folder("external.vault"), &factors, NULL, &vault));
    token.fails = VAULTFMT_OK;
    REQUIRE(vaultfmt_create(file_in_folder("external.vault"), &factors, NULL, &vault));
    REQUIRE(put(vault, "s", "a", "x"));
    opened(vault);
    candidates();
    failing(vault);
    misused(vault);
    rotated(vault);
    vaultfmt_close(vault);
    on_a_machine();
}

/* An item of a class that format 1 does not define is listed, read, moved and removed, and not made. */
static void reserved_class(vaultfmt_vault *vault) {
    vaultfmt_bytes texts[17] = {{NULL, 0}};
    vaultfmt_bytes other = vaultfmt_text("moved");
    vaultfmt_query query = VAULTFMT_QUERY_INIT;
    vaultfmt_key key, moved;
    const vaultfmt_item *item;
    memset(&key, 0, sizeof key);
    texts[0] = vaultfmt_text("relying party");
    texts[1] = vaultfmt_text("Gr\xC3\xBC\xC3\x9F" "e");
    key.item_class = 17;
    key.group = vaultfmt_text("group");
    key.texts = texts;
    key.text_count = 2;
    query.item_class = 17;
    CHECK(count(vault, &query) == 1 && count(vault, NULL) == 2);
    REQUIRE(vaultfmt_get(vault, &key, &item));
    CHECK(is_text(item->secret, "of a later class") && item->key.item_class == 17 && item->key.text_count == 2);
    CHECK(is_text(item->key.texts[1], "Gr\xC3\xBC\xC3\x9F" "e") && is_text(item->key.group, "group"));
    /* The key that was returned is one to ask with. */
    moved = item->key;
    moved.texts = &other;
    moved.text_count = 1;
    EXPECT(VAULTFMT_OK, vaultfmt_move(vault, &item->key, &moved));
    EXPECT(VAULTFMT_INVALID_ARGUMENT, vaultfmt_set(vault, &item->key, vaultfmt_text("x"), NULL));
    vaultfmt_item_free(item);
    EXPECT(VAULTFMT_NO_SUCH_ITEM, vaultfmt_find(vault, &key, &item));
    moved = key;
    moved.texts = &other;
    moved.text_count = 1;
    EXPECT(VAULTFMT_OK, vaultfmt_remove(vault, &moved));
    CHECK(count(vault, &query) == 0);

    EXPECT(VAULTFMT_INVALID_ARGUMENT, vaultfmt_add(vault, &key, vaultfmt_text("x"), NULL));
    key.text_count = 16;
    EXPECT(VAULTFMT_INVALID_ARGUMENT, vaultfmt_find(vault, &key, &item));
    key.text_count = SIZE_MAX;
    EXPECT(VAULTFMT_LIMIT_EXCEEDED, vaultfmt_find(vault, &key, &item));
    key.text_count = 1;
    key.texts = NULL;
    EXPECT(VAULTFMT_INVALID_ARGUMENT, vaultfmt_find(vault, &key, &item));
    key.text_count = 0;
    key.service = vaultfmt_text("s");
    EXPECT(VAULTFMT_INVALID_ARGUMENT, vaultfmt_find(vault, &key, &item));
    key = vaultfmt_generic_password("s", "a");
    key.texts = texts;
    key.text_count = 1;
    EXPECT(VAULTFMT_INVALID_ARGUMENT, vaultfmt_find(vault, &key, &item));
}

/* Tests/C/programs/later.py made the vault: a slot of the raw key, and four that this version does not know. */
void test_a_later_version(void) {
    vaultfmt_factors factors = raw_key(), scoped = passphrase("scoped");
    vaultfmt_open_options writing = VAULTFMT_OPEN_OPTIONS_INIT;
    vaultfmt_slot_options options = cheap_slot("scoped");
    const vaultfmt_slot_report *report;
    const vaultfmt_inspection *inspection;
    const vaultfmt_slots *slots;
    vaultfmt_vault *vault;
    uint8_t id[16], opaque[16];
    size_t index;
    REQUIRE(vaultfmt_inspect(file_in_folder("later.vault"), &inspection));
    CHECK(inspection->slot_count == 5 && inspection->slots[0]->is_known == 1 && inspection->slots[1]->is_known == 0);
    vaultfmt_inspection_free(inspection);
    writing.writable = 1;
    REQUIRE(vaultfmt_open(file_in_folder("later.vault"), &factors, &writing, &vault));
    CHECK(has_secret(vault, "service", "account", "secret"));
    REQUIRE(vaultfmt_get_slots(vault, &slots));
    CHECK(slots->count == 5);
    for (index = 1; index < slots->count; index++) {
        const vaultfmt_slot *slot = slots->slots[index];
        CHECK(slot->is_known == 0 && slot->is_weak == 0 && slot->kdf_memory == 0 && slot->provider.data == NULL);
        CHECK(is_text(slot->name, "later") && slot->groups == NULL);
    }
    CHECK(slots->slots[1]->kind == VAULTFMT_SLOT_FULL && slots->slots[1]->is_full == 1);
    CHECK(slots->slots[1]->factors == 0x40);
    CHECK(slots->slots[2]->kind == 0x03 && slots->slots[2]->is_full == 0);
    CHECK(slots->slots[3]->kind == 0x83 && slots->slots[4]->kind == 0x04);
    memcpy(opaque, slots->slots[1]->id, 16);
    memcpy(id, slots->slots[4]->id, 16);
    vaultfmt_slots_free(slots);

    EXPECT(VAULTFMT_OK, vaultfmt_slot_rename(vault, opaque, vaultfmt_text("renamed")));
    EXPECT(VAULTFMT_INVALID_ARGUMENT, vaultfmt_slot_change(vault, opaque, &scoped, &options, NULL));
    EXPECT(VAULTFMT_INVALID_ARGUMENT, vaultfmt_slot_grant(vault, opaque, NULL, 0, NULL));
    REQUIRE(vaultfmt_compact(vault, NULL, NULL));
    reserved_class(vault);
    /* A new epoch: the slot whose kind depends on it goes, named. */
    options.is_scoped = 1;
    EXPECT(VAULTFMT_OK, vaultfmt_slot_add(vault, &scoped, &options, id, &report));
    CHECK(report != NULL && report->dropped_count == 1 && report->dropped[0]->kind == 0x83);
    vaultfmt_slot_report_free(report);
    REQUIRE(vaultfmt_get_slots(vault, &slots));
    CHECK(slots->count == 5 && memcmp(slots->slots[1]->id, opaque, 16) == 0);
    CHECK(is_text(slots->slots[1]->name, "renamed"));
    vaultfmt_slots_free(slots);
    EXPECT(VAULTFMT_OK, vaultfmt_slot_remove(vault, opaque, NULL));
    EXPECT(VAULTFMT_OK, vaultfmt_rotate(vault, &factors, 1, NULL, 0, &report));
    CHECK(report != NULL && report->dropped_count == 3);
    vaultfmt_slot_report_free(report);
    CHECK(has_secret(vault, "service", "account", "secret"));
    vaultfmt_close(vault);
}

/* Many items: cursors, filters, and reading every secret. */
#include "check.h"

static void filters(vaultfmt_vault *vault) {
    vaultfmt_query query = VAULTFMT_QUERY_INIT;
    vaultfmt_cursor *cursor = (vaultfmt_cursor *)1;
    CHECK(count(vault, NULL) == 303 && count(vault, &query) == 303);
    query.service = vaultfmt_text("service-1");
    CHECK(count(vault, &query) == 100);
    query.account = vaultfmt_text("account-42");
    CHECK(count(vault, &query) == 1);
    query = (vaultfmt_query)VAULTFMT_QUERY_INIT;
    query.item_class = VAULTFMT_INTERNET_PASSWORD;
    CHECK(count(vault, &query) == 3);
    query.port = 1;
    CHECK(count(vault, &query) == 1);
    query.port = 0;
    CHECK(count(vault, &query) == 0);
    query = (vaultfmt_query)VAULTFMT_QUERY_INIT;
    query.pattern = vaultfmt_text("ACCOUNT-99");
    CHECK(count(vault, &query) == 3);
    query.synchronizable = 1;
    CHECK(count(vault, &query) == 0);
    query = (vaultfmt_query)VAULTFMT_QUERY_INIT;
    query.group = vaultfmt_text("");
    query.accessibility = VAULTFMT_WHEN_UNLOCKED;
    CHECK(count(vault, &query) == 303);
    query.port = 1 + (int64_t)UINT32_MAX;
    EXPECT(VAULTFMT_INVALID_ARGUMENT, vaultfmt_items(vault, &query, &cursor));
    CHECK(cursor == NULL);
}

/* In the order of keys; goes on after the vault was closed, and does not see what was changed since. */
static void order(void) {
    vaultfmt_vault *vault = open_to_write("many.vault");
    vaultfmt_cursor *cursor;
    const vaultfmt_item *item;
    const vaultfmt_item *before = NULL;
    size_t number = 0;
    REQUIRE(vaultfmt_items(vault, NULL, &cursor));
    REQUIRE(put(vault, "service-0", "account-0-new", "later"));
    REQUIRE(vaultfmt_compact(vault, NULL, NULL));
    vaultfmt_close(vault);
    for (;;) {
        REQUIRE(vaultfmt_cursor_next(cursor, &item));
        if (item == NULL) break;
        number++;
        if (before != NULL) {
            size_t size = before->encoded_key.size < item->encoded_key.size ? before->encoded_key.size : item->encoded_key.size;
            CHECK(memcmp(before->encoded_key.data, item->encoded_key.data, size) < 0);
        }
        vaultfmt_item_free(before);
        before = item;
    }
    CHECK(number == 303);
    CHECK(before != NULL && is_text(before->key.server, "host"));
    vaultfmt_item_free(before);
    REQUIRE(vaultfmt_cursor_next(cursor, &item));
    CHECK(item == NULL);
    vaultfmt_cursor_close(cursor);
}

struct tally {
    vaultfmt_vault *vault;
    size_t items;
    size_t right;
    size_t most;
};

static int32_t look(void *context, const vaultfmt_item *item) {
    struct tally *tally = context;
    tally->items++;
    if (item->secret_status == VAULTFMT_OK && is_text(item->secret, "a secret")) tally->right++;
    /* The vault may be used meanwhile. */
    if (tally->items == 1) CHECK(count(tally->vault, NULL) == 304);
    return tally->items == tally->most;
}

void test_many_items(void) {
    vaultfmt_vault *vault = create("many.vault");
    vaultfmt_query query = VAULTFMT_QUERY_INIT;
    struct tally tally = {NULL, 0, 0, 0};
    char service[32], account[32];
    int index;
    REQUIRE(vaultfmt_begin(vault));
    for (index = 0; index < 300; index++) {
        snprintf(service, sizeof service, "service-%d", index % 3);
        snprintf(account, sizeof account, "account-%d", index / 3);
        REQUIRE(put(vault, service, account, "a secret"));
    }
    for (index = 0; index < 3; index++) {
        vaultfmt_key key = vaultfmt_internet_password("host", "someone", "ssh", (uint32_t)index + 1);
        REQUIRE(vaultfmt_add(vault, &key, vaultfmt_text("a secret"), NULL));
    }
    REQUIRE(vaultfmt_commit(vault));
    filters(vault);
    order();
    REQUIRE(vaultfmt_refresh(vault));

    tally.vault = vault;
    EXPECT(VAULTFMT_OK, vaultfmt_each_secret(vault, NULL, look, &tally));
    CHECK(tally.items == 304 && tally.right == 303);
    tally.items = 1;
    tally.right = 0;
    tally.most = 11;
    query.service = vaultfmt_text("service-2");
    EXPECT(VAULTFMT_OK, vaultfmt_each_secret(vault, &query, look, &tally));
    CHECK(tally.items == 11 && tally.right == 10);
    CHECK(strcmp(vaultfmt_error_text(), "") == 0);
    EXPECT(VAULTFMT_INVALID_ARGUMENT, vaultfmt_each_secret(vault, &query, NULL, NULL));
    vaultfmt_close(vault);
}

/* Opens a mutated vault with a raw key, and reads everything in it, as a page does: for libFuzzer (Tools/reader/fuzz).
 *
 * It calls page.h's functions, so that what writes their answers is tested too. */
#include <stdlib.h>
#include <string.h>

#include "../../Sources/C/VaultReader/page.h"

enum { OK = 0, ANCHOR = 72 + 17 };

static const uint8_t *bytes;
static size_t length;

int page_read(double offset, void *buffer, uint32_t count) {
    size_t start = (size_t)offset;
    if (start > length || count > length - start) abort(); /* the reader promises not to */
    if (count > 0) memcpy(buffer, bytes + start, count);
    return 0;
}

static void *copy(const void *from, uint32_t count) {
    void *memory = page_allocate(count);
    if (memory == NULL) abort();
    memcpy(memory, from, count);
    return memory;
}

/* Looks at every byte of an answer, for the sanitizer. */
static uint32_t touch(uint32_t status) {
    volatile uint8_t sum = 0;
    const uint8_t *answer = page_answer();
    for (uint32_t i = 0; i < page_answer_length(); i++) sum = (uint8_t)(sum + answer[i]);
    return status;
}

static uint32_t number(size_t at) {
    uint32_t value = 0;
    const uint8_t *answer = page_answer();
    for (size_t i = 0; i < 4; i++) value |= (uint32_t)answer[at + i] << (8 * i);
    return value;
}

static void read_past(void) {
    if (touch(page_past()) != OK) return;
    uint32_t count = number(0);
    (void)touch(page_roles());
    for (uint32_t i = 0; i < count; i++) {
        (void)touch(page_value(i));
        for (uint32_t j = 0; j < 3; j++) (void)touch(page_value_attribute(i, j));
    }
}

static void read_items(void) {
    if (page_list() != OK) return;
    for (size_t n = 0; touch(page_next()) == OK; n++) {
        if (page_answer()[0] == 0) continue;
        uint32_t size = number(1);
        if (n % 4 == 0) (void)touch(page_find(copy(page_answer() + 5, size), size));
        (void)touch(page_secret());
        for (uint32_t i = 0; i < 64 && touch(page_attribute(i)) != 15; i++) {} /* 15: VFR_NOT_FOUND */
        read_past();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    uint8_t raw_key[32], anchor[ANCHOR] = {1};
    for (uint8_t i = 0; i < sizeof raw_key; i++) raw_key[i] = i;
    bytes = data;
    length = size;
    if (touch(page_load((double)size)) == OK) {
        (void)page_give(PAGE_RAW_KEY, copy(raw_key, sizeof raw_key), sizeof raw_key);
        if (touch(page_open(0, 0, 0, 0)) == OK) {
            (void)touch(page_compare(copy(anchor, sizeof anchor), sizeof anchor));
            (void)touch(page_keyring());
            for (uint32_t i = 0; i < 3; i++) (void)touch(page_slot_owner(i));
            for (uint32_t i = 0; i < 3; i++) (void)touch(page_hand_over(i));
            if (size % 2 == 0) (void)touch(page_vector());
            read_items();
            (void)touch(page_check_forgotten());
        }
    }
    page_close();
    return 0;
}

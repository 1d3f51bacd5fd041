/* For the implementation of vaultfmt.h, and not installed: what vaultfmt_error_text gives, which each thread has of its own. */
#ifndef VAULTFMT_ERROR_H
#define VAULTFMT_ERROR_H
#include <stddef.h>
#include <stdint.h>

void vaultfmt_internal_clear_error(void);

/* Before and after each call: no error so far, and a thread that is cancelled goes on until the call returns, as what the call holds would never be
   given up otherwise. */
int vaultfmt_internal_begin(void);
void vaultfmt_internal_end(int cancel_state);

/* Keeps as much of the text, UTF-8, as fits. */
void vaultfmt_internal_set_error(const char *text, size_t size, int32_t has_offset, uint64_t offset);
#endif

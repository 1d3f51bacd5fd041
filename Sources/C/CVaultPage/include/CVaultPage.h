/* The page that opens a vault in a browser, as Tools/page/assemble makes it.
 *
 * A page is, one after the other: the first part; the vault's name, escaped for an HTML attribute in double quotes; the
 * second part; the vault's bytes in base64 without line breaks; the third part. In a page without a vault, the name and
 * the base64 are empty.
 */
#ifndef CVAULTPAGE_H
#define CVAULTPAGE_H

#include <stddef.h>

typedef struct vaultfmt_page_part {
    const char *bytes; /* UTF-8, static, not terminated */
    size_t length;
} vaultfmt_page_part;

vaultfmt_page_part vaultfmt_page_before_name(void);
vaultfmt_page_part vaultfmt_page_before_vault(void);
vaultfmt_page_part vaultfmt_page_after_vault(void);

#endif

// entitable/encryption: encrypts chosen properties before they leave the page.

export { EntityCipher, type EntityCipherOptions } from "./cipher.ts";
export { type EncryptedTable, encryptedTable } from "./encrypted-table.ts";

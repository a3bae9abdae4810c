// entitable/encryption: chosen properties are encrypted before they leave the page.

export { EntityCipher, type EntityCipherOptions } from "./cipher.ts";
export { type EncryptedTable, encryptedTable } from "./table.ts";

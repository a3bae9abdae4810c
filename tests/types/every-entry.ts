// Imports every entry of the package whose declarations need no other package.

export type * as core from "entitable";
export type * as bulk from "entitable/bulk";
export type * as dataTables from "entitable/data-tables";
export type * as devtools from "entitable/devtools";
export type * as encryption from "entitable/encryption";
export type * as explorer from "entitable/explorer";
export type * as keys from "entitable/keys";
export type * as largeValues from "entitable/large-values";
export type * as queue from "entitable/queue";
export type * as server from "entitable/server";
export type * as sync from "entitable/sync";
export type * as testing from "entitable/testing";

// Compares the odata template tag, connection strings and credentials of entitable/data-tables with
// the official ones.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import * as official from "@azure/data-tables";
import { dataTables as ours } from "./support/data-tables.ts";
import { refusalOf } from "./support/refusal.ts";

type Tag = typeof official.odata;

describe("odata has the official output", () => {
  const date = new Date("2024-01-02T03:04:05.678Z");
  const filters: [string, (odata: Tag) => string][] = [
    ["Name eq 'O''Neill'", (odata) => odata`Name eq ${"O'Neill"}`],
    ["Name eq 'O''Neill'", (odata) => odata`Name eq '${"O'Neill"}'`],
    ["Name eq ' O''Neill'", (odata) => odata`Name eq ' ${"O'Neill"}'`],
    ["a'' eq 1", (odata) => odata`${"a'"} eq 1`],
    ["a eq 1 and b eq 1.5", (odata) => odata`a eq ${1} and b eq ${1.5}`],
    ["a eq true", (odata) => odata`a eq ${true}`],
    ["a eq datetime'2024-01-02T03:04:05.678Z'", (odata) => odata`a eq ${date}`],
    ["a eq ''", (odata) => odata`a eq ${""}`],
    ["a eq '1'b''", (odata) => odata`a eq ${"1"}${"b'"}`],
    ["", (odata) => odata``],
  ];
  for (const [filter, write] of filters) {
    test(filter || "nothing", () => {
      assert.equal(write(official.odata), filter);
      assert.equal(write(ours.odata), filter);
    });
  }
});

describe("connection strings", () => {
  const account = "DefaultEndpointsProtocol=https;AccountName=acct;AccountKey=a2V5";
  const good: [string, string][] = [
    [`${account};EndpointSuffix=core.windows.net`, "https://acct.table.core.windows.net"],
    [`${account};TableEndpoint=https://t.example/acct/`, "https://t.example/acct"],
    [
      "defaultendpointsprotocol=http;ACCOUNTNAME=acct; accountkey=a2V5;endpointSuffix=x",
      "http://acct.table.x",
    ],
    [
      "TableEndpoint=https://acct.table.core.windows.net/;SharedAccessSignature=sv=1&sig=x%3D",
      "https://acct.table.core.windows.net?sv=1&sig=x%3D",
    ],
    ["UseDevelopmentStorage=true", "http://127.0.0.1:10002/devstoreaccount1"],
    [" usedevelopmentstorage=TRUE;", "http://127.0.0.1:10002/devstoreaccount1"],
  ];
  for (const [text, url] of good) {
    test(`${text} leads to ${url}`, () => {
      assert.equal(official.TableServiceClient.fromConnectionString(text).url, url);
      assert.equal(ours.TableServiceClient.fromConnectionString(text).url, url);
      assert.equal(ours.TableClient.fromConnectionString(text, "people").url, url);
    });
  }

  const bad = [
    `${account.replace("https", "ftp")};EndpointSuffix=core.windows.net`,
    account,
    account.replace("AccountName=acct", "TableEndpoint=https://t.example/acct"),
    `${account.replace("a2V5", "")};EndpointSuffix=core.windows.net`,
    "SharedAccessSignature=sv=1",
    "TableEndpoint=https://acct.table.core.windows.net",
    "TableEndpoint=https://t.example;SharedAccessSignature=sv=1",
    "TableEndpoint=nowhere;SharedAccessSignature=sv=1",
    "",
  ];
  for (const text of bad) {
    test(`"${text}" is rejected with the official message`, () => {
      const refusal = refusalOf(() => official.TableClient.fromConnectionString(text, "people"));
      assert.throws(() => ours.TableClient.fromConnectionString(text, "people"), refusal);
    });
  }
});

describe("credentials", () => {
  test("return what they hold, and can be updated", () => {
    const key = new ours.AzureNamedKeyCredential("a", "a2V5");
    key.update("b", "a2V6");
    assert.deepEqual([key.name, key.key], ["b", "a2V6"]);
    const sas = new ours.AzureSASCredential("sv=1");
    sas.update("sv=2");
    assert.equal(sas.signature, "sv=2");
  });

  test("that are empty are rejected with the official message", () => {
    type Entry = typeof official | typeof ours;
    const calls: ((entry: Entry) => unknown)[] = [
      (entry) => new entry.AzureNamedKeyCredential("", "a2V5"),
      (entry) => new entry.AzureNamedKeyCredential("a", ""),
      (entry) => new entry.AzureNamedKeyCredential("a", "a2V5").update("", "a2V5"),
      (entry) => new entry.AzureSASCredential(""),
      (entry) => new entry.AzureSASCredential("sv=1").update(""),
    ];
    for (const call of calls)
      assert.throws(
        () => call(ours),
        refusalOf(() => call(official)),
      );
  });
});

// Runs `entitable sync doctor` as a process, against `entitable serve`.

import assert from "node:assert/strict";
import { after, describe, test } from "node:test";
import * as util from "node:util";
import { generateAccountSas, generateTableSas } from "../../web/src/data-tables/sas.ts";
import { parseArguments } from "../../web/src/server/arguments.ts";
import { UsageError } from "../../web/src/server/usage-error.ts";
import { sasAdvice } from "../../web/src/sync-remote/sas-advice.ts";
import { checkDoctor, tablesOf } from "./support/doctor-process.ts";
import { emulatorKey, killAllServers, ServerProcess, start } from "./support/server-process.ts";

after(killAllServers);

const credential = { name: "devstoreaccount1", key: emulatorKey };
const permissions = { query: true, add: true, update: true, delete: true, write: true } as const;
const expiresOn = new Date("2100-01-01T00:00:00Z");
const sas = generateAccountSas(credential, { permissions, expiresOn });

describe("entitable sync doctor", () => {
  test("reports what a remote can do, and deletes its table", async () => {
    const served = await start(["--in-memory"]);
    const report = await checkDoctor(served.endpoint(), []);
    assert.match(report, /: entitable serve$/m);
    assert.match(report, /A filter by Timestamp works/);
    assert.match(report, /Rows are sorted/);
    assert.match(report, /A page has up to 1000 entities/);
    assert.match(report, /A batch of 101 operations is refused \(InvalidInput\)/);
    assert.match(report, /A page of https:\/\/app\.example can write/);
    assert.match(report, /methods GET,POST, allowed headers content-type,accept, exposed/);
    assert.match(report, /Permissions of a shared access signature: read, add, update, delete/);
    await served.signal("SIGTERM");
  });

  test("has no signature or key in its output, also if it fails", async () => {
    const served = await start(["--in-memory"]);
    const url = `${served.endpoint()}?${sas}`;
    const signature = new URLSearchParams(sas).get("sig") as string;
    const secrets = [emulatorKey, signature, encodeURIComponent(signature)];
    const json = await checkDoctor(url, ["--json"], secrets);
    assert.equal(JSON.parse(json).probe.profile.service, "entitable");
    assert.equal(JSON.parse(json).url, served.endpoint());
    const readOnly = generateTableSas("people", credential, { permissions: { query: true } });
    const sig = new URLSearchParams(readOnly).get("sig") as string;
    const failing = [
      [`${served.endpoint()}?${readOnly}`, /did not create a table: Authorization/],
      [`http://127.0.0.1:1/devstoreaccount1?${readOnly}`, /create a table: there was no answer/],
      [`${url}&sig=x`, /did not create a table: AuthenticationFailed/],
    ] as const;
    for (const [to, message] of failing) {
      const { code, err, out } = await new ServerProcess(["sync", "doctor", to], {}).ended;
      assert.equal(code, 1);
      assert.match(err, message);
      for (const secret of [...secrets, sig]) assert(!(err + out).includes(secret));
    }
    assert.deepEqual(await tablesOf(served.endpoint()), []);
    await served.signal("SIGTERM");
  });

  test("deletes its table if it is stopped", async () => {
    const served = await start(["--in-memory"]);
    const args = ["sync", "doctor", served.endpoint(), "--seconds", "60"];
    for (const signal of ["SIGINT", "SIGTERM"] as const) {
      const doctor = new ServerProcess(args, {});
      while ((await tablesOf(served.endpoint())).length === 0);
      const { code, out } = await doctor.signal(signal);
      assert.deepEqual([code, out], [130, ""]);
      assert.deepEqual(await tablesOf(served.endpoint()), []);
    }
    await served.signal("SIGTERM");
  });
});

describe("its command line", () => {
  const parse = (line: string, env = {}) => parseArguments(line.split(" "), util, { env });
  const normal = { json: false, origin: "https://app.example", seconds: 10, rows: 1000 };

  test("has a URL, and options", () => {
    const url = "https://a.table.core.windows.net/?sig=b";
    assert.deepEqual(parse(`sync doctor ${url}`, { AZURE_STORAGE_KEY: "k" }), {
      doctor: { ...normal, url, key: undefined },
    });
    const local = "http://127.0.0.1:10002/devstoreaccount1";
    const options = "--json --origin http://localhost:5173 --seconds 3 --rows 200";
    assert.deepEqual(parse(`sync doctor ${options} ${local}`), {
      doctor: {
        url: local,
        key: emulatorKey,
        json: true,
        origin: "http://localhost:5173",
        seconds: 3,
        rows: 200,
      },
    });
    const other = parse("sync doctor https://a.table.core.windows.net", { AZURE_STORAGE_KEY: "k" });
    assert.equal((other as { doctor: { key?: string } }).doctor.key, "k");
    assert.equal(parse("sync doctor --help"), "doctorHelp");
    assert.equal(parse("sync --help"), "syncHelp");
  });

  test("refuses what it does not know, without showing a URL", () => {
    for (const [line, message] of [
      ["sync doctor", /needs one URL/],
      ["sync doctor http://a/?sig=s http://b/", /needs one URL/],
      ["sync doctor a?sig=s", /must begin with http/],
      ["sync doctor http://a/ --port 1", /no option --port/],
      ["sync doctor http://a/ --json=1", /no option --json/],
      ["sync doctor http://a/ --rows", /--rows needs a value/],
      ["sync doctor http://a/ --rows 1", /--rows must be a number from 100/],
      ["sync doctor http://a/ --origin a", /--origin must be/],
      ["serve --json", /no option --json/],
    ] as const) {
      assert.throws(
        () => parse(line),
        (error) =>
          error instanceof UsageError &&
          message.test(error.message) &&
          !/sig=s/.test(error.message),
        line,
      );
    }
  });
});

test("the advice about a signature names what it lacks", () => {
  const has = (text: string) => sasAdvice(text).slice(1);
  assert.deepEqual(has(""), []);
  assert.deepEqual(has("sp=raud&sig=x"), ["This signature has them."]);
  assert.deepEqual(has("sp=rd&se=2030-01-01T00:00:00Z&spk=a&sig=x"), [
    "This signature lacks: add, update.",
    "It expires at 2030-01-01T00:00:00.000Z.",
    "It allows a range of keys only: other rows seem to be deleted.",
  ]);
  assert.deepEqual(has("si=p&sig=x"), ["This signature has the permissions of a stored policy."]);
});

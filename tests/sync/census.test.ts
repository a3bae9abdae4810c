// Tests what a census deletes, where one exact order of events matters.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { Puller } from "../../web/src/sync/puller.ts";
import { fill, key, type Scripted, scripted } from "./scripted.ts";

const names = ["1", "2", "3", "4"];

async function filled(): Promise<Scripted & { readonly puller: Puller }> {
  const world = await scripted();
  fill(world, names);
  return { ...world, puller: new Puller(world.context, world.requests) };
}

const suspects = ({ context }: Scripted) =>
  context.status.suspects.map(({ keys }) => keys.map((of) => of.slice(2)).join());
const localRows = ({ store }: Scripted) =>
  store
    .keys("rows")
    .map((of) => of.slice(2))
    .join();

/** Returns pages of one row. So many later pages fail. */
function inPages({ remote }: Scripted, failures: number): void {
  const { scan } = remote;
  let left = failures;
  remote.scan = async (request) => {
    const answer = await scan(request);
    if (answer.kind !== "page") return answer;
    const at = Number(request.token ?? 0);
    if (at > 0 && left-- > 0) return { kind: "tableMissing" };
    const isLast = at + 1 >= answer.rows.length;
    return {
      ...answer,
      rows: answer.rows.slice(at, at + 1),
      token: isLast ? undefined : `${at + 1}`,
    };
  };
}

describe("a census that is continued", () => {
  test("deletes what was missing before it was interrupted", async () => {
    const world = await filled();
    world.remote.rows.delete(key("1"));
    inPages(world, 1);
    await world.puller.census();
    const next = new Puller(world.context, world.requests); // of the next process
    await next.census();
    assert.equal(localRows(world), "2,3,4");
  });

  test("begins before the first of many missing rows", async () => {
    const world = await filled();
    for (const name of ["1", "2"]) world.remote.rows.delete(key(name));
    inPages(world, 1);
    await world.puller.census();
    const next = new Puller(world.context, world.requests);
    await next.census();
    await next.census();
    assert.equal(localRows(world), "3,4");
  });
});

describe("an application that is asked about deletes", () => {
  test("confirms what it was shown, not what is asked about since", async () => {
    const world = await filled();
    const { context, puller, remote } = world;
    for (const name of ["1", "2"]) remote.rows.delete(key(name));
    remote.isForbidden = (of) => of <= key("2");
    await puller.census();
    assert.deepEqual(suspects(world), ["1,2"]);
    const shown = context.status.suspects[0]?.id as string;
    remote.isForbidden = (of) => of <= key("3"); // 3 is not deleted
    await puller.census();
    assert.deepEqual(suspects(world), ["1,2,3"]);
    assert.equal(puller.deletes.confirm(shown), false);
    await puller.census();
    assert.equal(localRows(world), "1,2,3,4");
  });

  test("confirms for the next census, under an id that stays", async () => {
    const world = await filled();
    const { context, puller, remote } = world;
    remote.isForbidden = (of) => of <= key("2");
    await puller.census();
    const shown = context.status.suspects[0]?.id as string;
    await puller.census();
    assert.equal(puller.deletes.confirm(shown), true);
    assert.deepEqual(suspects(world), []);
    await puller.census();
    assert.equal(localRows(world), "3,4");
  });
});

describe("a mass delete", () => {
  test("is probed, and probed again before its rows are deleted", async () => {
    const world = await filled();
    const { puller, remote } = world;
    // The first census runs with a narrower credential; its first and last row are really deleted.
    remote.isForbidden = (of) => of <= key("3");
    for (const name of ["1", "3"]) remote.rows.delete(key(name));
    const { read } = remote;
    let reads = 0;
    remote.read = (of) => {
      reads += 1;
      if (reads === 1) remote.isForbidden = () => false;
      return read(of);
    };
    await puller.census();
    assert.equal(reads, 3);
    remote.read = read;
    remote.isForbidden = (of) => of <= key("3");
    await puller.census();
    assert.equal(localRows(world), "1,2,3,4");
    assert.deepEqual(suspects(world), ["1,2,3"]);
  });

  test("is carried out by the second census", async () => {
    const world = await filled();
    const { puller, remote } = world;
    for (const name of ["1", "2", "3"]) remote.rows.delete(key(name));
    await puller.census();
    assert.equal(localRows(world), "1,2,3,4");
    await puller.census();
    assert.equal(localRows(world), "4");
  });
});

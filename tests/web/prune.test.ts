// Tests which parts of Emscripten's generated JavaScript the build removes.

import assert from "node:assert/strict";
import { describe, test } from "node:test";

// A JavaScript file of the build, which has no type declarations.
const path = "../../bindings/prune-glue.mjs";
const { prune } = (await import(path)) as { prune(glue: string): string };

const members = (glue: string, object: string): string[] =>
  Object.keys(new Function(`${glue}; return ${object};`)() as object);

describe("pruning the generated JavaScript", () => {
  test("removes the file system methods that no reachable code mentions", () => {
    const glue = prune(
      `var FS={mount:function(){return FS.lookup()},lookup(){},lost(){return FS.lostToo()},lostToo:()=>1,root:null};
       var MEMFS={ops_table:null,node:{read(){}},mount(){return MEMFS.node.read()}};`,
    );
    assert.deepEqual(members(glue, "FS"), ["mount", "lookup", "root"]);
    assert.deepEqual(members(glue, "MEMFS"), ["ops_table", "node", "mount"]);
  });

  test("keeps names that occur in a string, and every other object", () => {
    const glue = prune(`var FS={byText(){},lost(){}};var name="byText";var Other={kept(){}};`);
    assert.deepEqual(members(glue, "FS"), ["byText"]);
    assert.deepEqual(members(glue, "Other"), ["kept"]);
  });

  test("removes the methods of objects in them", () => {
    const glue = prune(
      `var MEMFS={mount(){return MEMFS.node_ops.lookup()},node_ops:{lookup(){},lost(){}},stream_ops:{lostToo(){}}};`,
    );
    assert.deepEqual(members(glue, "MEMFS"), ["mount", "node_ops"]);
    assert.deepEqual(members(glue, "MEMFS.node_ops"), ["lookup"]);
  });

  test("keeps the operations of folders only, and makes no devices", () => {
    const folders = "{node:{lookup:MEMFS.node_ops.lookup},stream:{}}";
    const devices = "{node:{},stream:MEMFS.read}";
    const glue = prune(
      `var FS={mount(){FS.createDefaultDevices();return MEMFS.create()},createDefaultDevices(){}};
       var MEMFS={ops_table:null,create(){if(!MEMFS.ops_table){MEMFS.ops_table={dir:${folders},chrdev:${devices}}}return MEMFS.ops_table},node_ops:{lookup(){},mknod(){}},read(){}};`,
    );
    assert.deepEqual(members(glue, "FS"), ["mount"]);
    assert.deepEqual(members(glue, "MEMFS"), ["ops_table", "create", "node_ops"]);
    assert.deepEqual(members(glue, "FS.mount()"), ["dir"]);
    assert.deepEqual(members(glue, "FS.mount().dir.node"), ["lookup", "mknod"]);
  });

  test("handles getters and setters, and is idempotent", () => {
    const glue = prune(`var TTY={get lost(){return 1},set mount(value){},ttys:[]};`);
    assert.deepEqual(members(glue, "TTY"), ["mount", "ttys"]);
    assert.equal(prune(glue), glue);
  });

  test("removes standard streams and the exports for preloading files", () => {
    const glue = prune(
      `var FS={init(){},createPath(){}};if(!Module["noFSInit"]&&!FS.init.initialized)FS.init();Module["FS_createPath"]=FS.createPath;`,
    );
    assert.equal(glue, "var FS={};");
  });
});

// What the build takes out of Emscripten's glue.

import assert from "node:assert/strict";
import { describe, test } from "node:test";

const path = "../../bindings/prune.mjs"; // JavaScript of the build, which declares no types
const { prune } = (await import(path)) as { prune(glue: string): string };

const members = (glue: string, object: string): string[] =>
  Object.keys(new Function(`${glue}; return ${object};`)() as object);

describe("pruning the glue", () => {
  test("takes the methods of the file system that no code mentions which may run", () => {
    const glue = prune(
      `var FS={mount:function(){return FS.lookup()},lookup(){},lost(){return FS.lostToo()},lostToo:()=>1,root:null};
       var MEMFS={ops_table:null,node:{read(){}},mount(){return MEMFS.node.read()}};`,
    );
    assert.deepEqual(members(glue, "FS"), ["mount", "lookup", "root"]);
    assert.deepEqual(members(glue, "MEMFS"), ["ops_table", "node", "mount"]);
  });

  test("leaves what a text names, and every other object", () => {
    const glue = prune(`var FS={byText(){},lost(){}};var name="byText";var Other={kept(){}};`);
    assert.deepEqual(members(glue, "FS"), ["byText"]);
    assert.deepEqual(members(glue, "Other"), ["kept"]);
  });

  test("knows getters and setters, and comes to the same when it is done again", () => {
    const glue = prune(`var TTY={get lost(){return 1},set mount(value){},ttys:[]};`);
    assert.deepEqual(members(glue, "TTY"), ["mount", "ttys"]);
    assert.equal(prune(glue), glue);
  });

  test("takes standard streams, and names for those who preload files", () => {
    const glue = prune(
      `var FS={init(){},createPath(){}};if(!Module["noFSInit"]&&!FS.init.initialized)FS.init();Module["FS_createPath"]=FS.createPath;`,
    );
    assert.equal(glue, "var FS={};");
  });
});

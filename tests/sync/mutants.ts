// Faults that are put into the code of sync, to prove that the simulation finds them. Each mutant
// replaces texts of files; each text must occur exactly once.

export interface Mutant {
  readonly name: string;
  /** The invariants that the fault breaks. */
  readonly breaks: readonly string[];
  /** What the mutant does wrong. */
  readonly fault: string;
  readonly edits: readonly Edit[];
  /** A seed with which the simulation finds one of them. */
  readonly seed: number;
}

interface Edit {
  readonly file: string; // in web/src/sync, or in this folder
  readonly find: string;
  readonly replace: string;
}

const edit = (file: string, find: string, replace: string): Edit => ({ file, find, replace });

const mutant = (
  name: string,
  breaks: string,
  seed: number,
  fault: string,
  ...edits: Edit[]
): Mutant => ({
  name,
  breaks: breaks.split(" "),
  fault,
  edits,
  seed,
});

export const mutants: readonly Mutant[] = [
  // ---- Pushing
  mutant(
    "splits-groups",
    "I4",
    1,
    "A prefix ends within a group.",
    edit("freeze.ts", "groupsOf(input.ops)", "[...input.ops].map((op) => [op])"),
  ),
  mutant(
    "folds-after-a-try",
    "I2b I2c I3",
    3,
    "A push takes up operations that were added after its first try.",
    edit("plan-push.ts", "if (frozen !== undefined) return", "if (frozen?.upTo === -1) return"),
    edit("plan-push.ts", "push, isNew: true", "push, isNew: frozen === undefined"),
  ),
  mutant(
    "forgets-the-push",
    "I2b I3",
    1,
    "The frozen push is not stored.",
    edit("plan-push.ts", 'draft.put("pushes", partition, push);', ""),
    edit(
      "finish-push.ts",
      'if (draft.get("pushes", push.partition)?.token !== push.token) return;',
      "",
    ),
  ),
  mutant(
    "sends-before-stored",
    "I13",
    8,
    "A push is sent before it is stored.",
    edit("partition-pusher.ts", "await store.stored();", ""),
  ),
  mutant(
    "sends-again-without-a-claim",
    "I13",
    8,
    "A process that has lost the store sends its push again.",
    edit("partition-pusher.ts", "if (!isNew) {", "if (state.count < 0) {"),
  ),
  mutant(
    "sends-after-a-freeze",
    "I13",
    75,
    "The time to send a push begins when its claim is stored.",
    edit(
      "partition-pusher.ts",
      "state.sendBefore = beganAt + rules.sendWithinMs;",
      "state.sendBefore = this.#now() + rules.sendWithinMs;",
    ),
  ),
  mutant(
    "writes-blindly",
    "I17",
    1,
    "Updates and deletes send If-Match: *.",
    edit("weak-table.ts", "return row.etag === operation.etag", "return row.etag !== undefined"),
  ),
  // ---- Outcomes
  mutant(
    "ignores-ambiguity",
    "I2b I3",
    2,
    "A refusal counts as not applied, although an earlier try may have been applied.",
    edit("partition-pusher.ts", 'state.isAmbiguous ? "none" : "firstTry"', '"firstTry"'),
  ),
  mutant(
    "takes-errors-for-refusals",
    "I2b I3",
    2,
    "A lost answer counts as not applied.",
    edit(
      "answer.ts",
      'return { kind: "retry", afterMs: answer.retryAfterMs };',
      'return { kind: "readBack", isReceiptRefused: false };',
    ),
  ),
  mutant(
    "takes-busy-for-not-executed",
    "I2b I3",
    107,
    "429 and 503 with Retry-After count as not executed.",
    edit(
      "partition-pusher.ts",
      'const isOpen = ["applied", "retry", "rejected"].includes(decision.kind);',
      'const isOpen = decision.kind === "applied" || (decision.kind === "retry" && !decision.afterMs);',
    ),
  ),
  mutant(
    "forgets-a-try-that-could-not-be-stored",
    "I2b I3",
    11,
    "If the commit after an answer fails, the next try counts as the first.",
    edit("partition-pusher.ts", "if (state.isOpen) state.isAmbiguous = true;", ""),
  ),
  mutant(
    "takes-rejections-for-refusals",
    "I2b I3",
    92,
    "A push that was rejected as a whole counts as not executed.",
    edit(
      "partition-pusher.ts",
      'this.#readBack(state, "none", { isReceiptRefused',
      'this.#readBack(state, "firstTry", { isReceiptRefused',
    ),
  ),
  mutant(
    "sends-rejected-pushes-again",
    "I12",
    4,
    "A push that is rejected as a whole is sent again without end.",
    edit("partition-pusher.ts", "if (state.rejections > 1) {", "if (state.rejections > 1e9) {"),
  ),
  mutant(
    "does-not-halve-rejected-pushes",
    "I12",
    4,
    "A push that is rejected as a whole is frozen again with the same groups.",
    edit("partition-pusher.ts", "Math.max(1, Math.floor(groups / 2))", "groups"),
  ),
  mutant(
    "decides-too-early",
    "I2b I3 I4",
    1451,
    "The outcome is decided while a try may still arrive.",
    edit(
      "partition-pusher.ts",
      "const wasOver = state.isOver || this.#now() >= settledAt;",
      "const wasOver = true;",
    ),
  ),
  mutant(
    "resolves-what-two-moments-show",
    "I4",
    438,
    "A part of a group is sent again, on versions that the remote did not have at one moment.",
    edit("partition-pusher.ts", "isPartlyEqual(push, observations) &&", "push.upTo < 0 &&"),
    // The ETags of the equal members prevent it, too, under the policy local.
    edit(
      "conflict.ts",
      'if (policy === "local") for (const change of changes) keepLocal(log, change);',
      `if (policy === "local")
        for (const change of changes)
          isConflict(change) ? keepLocal(log, change) : keepRemote(log, push.upTo, change);`,
    ),
  ),
  mutant(
    "settles-equal-members-alone",
    "I4",
    471,
    "A member that the remote has leaves the outbox, although the others of its group stay.",
    edit(
      "conflict.ts",
      'if (!isConflict(change) || answer?.kind === "local") keepLocal(log, change);',
      `if (!isConflict(change)) keepRemote(log, upTo, change);
      else if (answer?.kind === "local") keepLocal(log, change);`,
    ),
  ),
  mutant(
    "leaves-out-undone-changes",
    "I4",
    31,
    "Entities with changes that were undone are not sent with the others of their groups.",
    edit(
      "freeze.ts",
      "(keys.has(member.key) && member.base.kind",
      "(keys.size < 0 && member.base.kind",
    ),
  ),
  mutant(
    "leaves-out-what-was-created",
    "I4",
    1382,
    "An entity that was created, and deleted again, is not sent with the others of its groups.",
    edit("freeze.ts", "this.groups > 0 && this.#leavesOut(added)", "added.size < 0"),
  ),
  mutant(
    "deletes-too-early",
    "I3 I4 I5",
    107,
    "A delete is sent while an insert of the same key may still arrive.",
    edit("plan-push.ts", "!isSettled && draft.get(", "key.length === 0 && draft.get("),
  ),
  mutant(
    "stores-receipt-early",
    "I3",
    1470,
    "The receipt's new ETag is stored before the push is settled.",
    edit(
      "partition-pusher.ts",
      "({ evidence, etag } = receipt);",
      `({ evidence, etag } = receipt);
      const { partition } = push;
      const early = { ...push, receipt: { etag } };
      await this.#context.store.transact((draft) => draft.put("pushes", partition, early));`,
    ),
  ),
  mutant(
    "creates-receipts-in-batches",
    "I2b I5",
    2996,
    "The first batch of a partition creates the receipt.",
    edit(
      "plan-push.ts",
      'hasReceipt ? draft.get("receipts", partition) : undefined;',
      'hasReceipt ? (draft.get("receipts", partition) ?? { etag: undefined }) : undefined;',
    ),
    edit(
      "receipt.ts",
      "if (row && row.etag === push.receipt?.etag)",
      "if (row?.etag === push.receipt?.etag)",
    ),
    edit(
      "receipt.ts",
      'return { kind: "open", etag: row.etag };',
      'return { kind: "open", etag: row?.etag };',
    ),
  ),
  mutant(
    "counts-pushes-in-receipts",
    "I2",
    4726,
    "A receipt has a number that counts, instead of a random token.",
    edit(
      "plan-push.ts",
      "const push = { partition, token, ",
      "const push = { partition, token: String(contents.upTo), ",
    ),
  ),
  mutant(
    "trusts-a-missing-receipt",
    "I2b I3",
    221,
    "A receipt that was deleted counts as proof that the push was not applied.",
    edit(
      "read-back.ts",
      "return { evidence: known, etag: found",
      'return { evidence: "receiptDead", etag: found',
    ),
  ),
  mutant(
    "forgets-the-only-try-with-its-receipt",
    "I2c",
    141,
    "If the receipt was deleted, the refusal of the only try does not count.",
    edit(
      "read-back.ts",
      "return { evidence: known, etag: found",
      'return { evidence: "none", etag: found',
    ),
  ),
  mutant(
    "takes-one-equal-row-for-evidence",
    "I2c",
    4,
    "A refused push of which one entity has the intended content is judged as if it was ambiguous.",
    edit(
      "outcome.ts",
      'if (evidence === "firstTry") return',
      'if (evidence === "firstTry" && !members.some((one) => showsIntention(one, rowOf(one)))) return',
    ),
  ),
  mutant(
    "judges-unsent-pushes",
    "I2c",
    7,
    "A push that was never sent is judged as if a try was not answered.",
    edit("partition-pusher.ts", 'readBack(state, "notSent")', 'readBack(state, "none")'),
  ),
  mutant(
    "parks-ambiguous-pushes",
    "I2b I3",
    722,
    "A permanent refusal parks a push of which an earlier try may have been applied.",
    edit("answer.ts", "if (isAmbiguous) return", "if (isReceiptRefused) return"),
  ),
  mutant(
    "deletes-too-early-after-a-crash",
    "I3 I4 I5",
    1538,
    "A new process does not wait for the inserts of the last one before a delete.",
    edit(
      "pusher.ts",
      "this.#settledAt = this.#now() + sendWithinMs + settleMs;",
      "this.#settledAt = this.#now();",
    ),
  ),
  // ---- Settling and conflicts
  mutant(
    "keeps-no-timestamp",
    "I6 I7",
    1,
    "The row of an acknowledged push has another Timestamp than the remote's.",
    edit(
      "finish-push.ts",
      "{ properties: intended, ...version }",
      "{ properties: intended, ...version, timestamp: 1n }",
    ),
  ),
  mutant(
    "rebases-on-newer-versions",
    "I1",
    31,
    "Later edits are based on a version that they were not made on.",
    edit(
      "settle.ts",
      "if (isLatest || areSameProperties(intended, row?.properties)) {",
      "if (upTo >= 0) {",
    ),
  ),
  mutant(
    "does-not-read-outdated-bases",
    "I12",
    13,
    "An entity whose Base is outdated is not read when no operations are left.",
    edit(
      "partition-log.ts",
      'if (view.get("bases", key)?.kind !== "outdated") return false;',
      "if (key.length > 0) return false;",
    ),
  ),
  mutant(
    "overtakes-parked-groups",
    "I1",
    8,
    "A group is sent before a parked group on which it depends.",
    edit("plan-push.ts", 'log.park(groups, "FollowsParked");', ""),
  ),
  mutant(
    "undoes-too-little",
    "I1",
    1,
    "A group that builds on a lost group is kept.",
    edit("groups.ts", "for (const op of group) keys.add(op.key);", ""),
  ),
  mutant(
    "acknowledges-over-edits",
    "I2",
    2,
    "An acknowledgement removes operations that are later than the push.",
    edit("settle.ts", "if (op.number <= upTo) log.drop(op, how);", "log.drop(op, how);"),
  ),
  mutant(
    "overlooks-later-edits",
    "I1",
    1,
    "An acknowledgement overlooks later operations of its keys.",
    edit("outbox-index.ts", "number > upTo", "number > upTo && upTo < 0"),
  ),
  mutant(
    "overlooks-new-edits",
    "I1",
    1,
    "Operations that were added since the last push are not noted.",
    edit(
      "outbox-index.ts",
      "this.#add(view, readOutbox(view, partition, { from: outboxKey(partition, this.#unread) }));",
      "",
    ),
  ),
  mutant(
    "clears-newer-marks",
    "I10 I12",
    132,
    "An older answer removes a newer mark.",
    edit("marks.ts", "mark.at <= sentAt || ", "mark.at >= 0 || "),
  ),
  mutant(
    "loses-silently",
    "I2",
    1,
    "A lost operation is not recorded.",
    edit(
      "partition-log.ts",
      'this.draft.put("lost", ',
      'if (op.number < 0) this.draft.put("lost", ',
    ),
  ),
  mutant(
    "loses-parts-of-groups",
    "I4",
    8,
    "Only the operations on conflicting keys lose.",
    edit("conflict.ts", "if (groups.has(op.group)) log", "if (keys.has(op.key)) log"),
  ),
  mutant(
    "merges-parts-of-groups",
    "I4",
    25,
    "Only the operations on contradicted entities lose.",
    edit(
      "merge.ts",
      "({ group }) => losing.has(group)",
      "({ group, key }) => losing.has(group) && remoteOf.has(key)",
    ),
  ),
  mutant(
    "keeps-whole-rows",
    "I4",
    7,
    "The policy local restores properties that the application did not write.",
    edit("conflict.ts", "if (isUnit && !areSameProperties", "if (!areSameProperties"),
  ),
  mutant(
    "compares-texts",
    "I6 I7",
    1,
    "Values are compared by their texts.",
    edit("value.ts", "|| canonical(a) === canonical(b)", ""),
  ),
  // ---- Pulling
  mutant(
    "pulls-over-edits",
    "I1",
    1,
    "A pull overwrites a dirty row.",
    edit("apply-answer.ts", "if (isDirty) {", "if (isDirty && sentAt < 0) {"),
  ),
  mutant(
    "applies-old-answers",
    "I8",
    22,
    "An answer overwrites what is newer than its request.",
    edit("apply-answer.ts", "if (draft.isTouchedSince(key, sentAt)) {", "if (sentAt < 0) {"),
  ),
  mutant(
    "does-not-mark-dirty-keys",
    "I10 I12",
    8,
    "News about a dirty key is forgotten.",
    edit(
      "apply-answer.ts",
      'markKey(draft, key);\n    return "marked";\n  }\n  const kept',
      'return "marked";\n  }\n  const kept',
    ),
  ),
  mutant(
    "keeps-rows-outside-the-filter",
    "I7",
    3,
    "A row that leaves the filter stays.",
    edit(
      "apply-answer.ts",
      "const kept = row && keeps(key, row.properties) ? row : undefined;",
      "const kept = row;",
    ),
    edit(
      "partition-log.ts",
      "const isKept = row !== undefined && this.keeps(key, row.properties);",
      "const isKept = row !== undefined;",
    ),
  ),
  mutant(
    "has-no-overlap",
    "I10",
    4,
    "A scan begins at its watermark.",
    edit(
      "watermark.ts",
      "undefined : watermark - ticks(overlapMs)",
      "undefined : watermark - ticks(overlapMs * 0)",
    ),
  ),
  mutant(
    "takes-the-newest-row-for-the-watermark",
    "I10",
    8,
    "The watermark is the newest Timestamp that the scan has seen.",
    edit("delta.ts", "  if (measured) {\n", "  {\n"),
    edit(
      "delta.ts",
      "beginningOfScan(row.timestamp, measured.beganAt, measured.now)",
      "row.timestamp",
    ),
  ),
  mutant(
    "takes-the-first-page-for-the-beginning",
    "I10",
    49,
    "The first watermark does not subtract the duration of the scan.",
    edit(
      "watermark.ts",
      "return newestOfPage - ticks(Math.ceil(Math.max(0, elapsed)));",
      "return newestOfPage + ticks(elapsed * 0);",
    ),
  ),
  mutant(
    "trusts-the-wall-clock",
    "I10",
    7,
    "The server's time advances with a clock that jumps.",
    edit(
      "watermark.ts",
      "Math.min(...elapsedMs(known.learnedAt, now))",
      "Math.max(...elapsedMs(known.learnedAt, now))",
    ),
  ),
  mutant(
    "takes-the-time-of-a-proxy",
    "I10",
    4,
    "The Date of a captive portal counts as the server's time.",
    edit("requests.ts", 'kind !== "failed" && kind !== "rejected"', "kind.length > 0"),
  ),
  mutant(
    "forgets-the-end-of-a-range",
    "I10",
    47,
    "The watermark of a key range counts for a larger one.",
    edit(
      "scan-state.ts",
      "return wasLarger ? { to, watermark: state.watermark } : { to };",
      "return { to, watermark: state.watermark };",
    ),
  ),
  mutant(
    "filters-a-scan-of-known-rows",
    "I10",
    100429,
    "The remote evaluates the filter although rows may have left it before the scan began.",
    edit("delta.ts", " && !delta.hadRows", ""),
  ),
  mutant(
    "stores-the-position-early",
    "I10",
    4,
    "The position of a scan is stored before the rows of its page.",
    edit(
      "delta.ts",
      "    await store.transact((draft) => {\n      apply(",
      '    await store.transact((draft) => advance(draft, range, answer, undefined));\n    await platform.sleep(1);\n    await store.transact((draft) => {\n      if (draft.get("scans", range.from)?.delta === undefined) updateScanState(draft, range, { delta });\n      apply(',
    ),
  ),
  mutant(
    "deletes-unconfirmed",
    "I9",
    1,
    "What a census does not return is deleted at once.",
    edit(
      "deletes.ts",
      "this.#inSteps(missing, markKey)",
      'this.#inSteps(missing, (draft, key) => draft.delete("rows", key))',
    ),
  ),
  mutant(
    "deletes-what-is-newer",
    "I9",
    1,
    "A census deletes rows that were changed after its request.",
    edit(
      "deletes.ts",
      "this.#inSteps(missing, markKey)",
      'this.#inSteps(missing, (draft, key) => draft.delete("rows", key))',
    ),
    edit(
      "delete-guard.ts",
      "if (view.isTouchedSince(key, sentAt)) unknown",
      "if (sentAt < 0) unknown",
    ),
  ),
  mutant(
    "deletes-forbidden-rows",
    "I9",
    29,
    "A row outside of the credential's range counts as deleted.",
    edit(
      "read-marked.ts",
      'if (answer.kind !== "found" && answer.kind !== "absent") return true;',
      'if (answer.kind !== "found" && answer.kind !== "absent" && answer.kind !== "forbidden") return true;',
    ),
  ),
  mutant(
    "confirms-every-mass-delete",
    "I9",
    830,
    "A mass delete is not probed.",
    edit(
      "delete-guard.ts",
      "const missing = [first, last];",
      'if (first) return "confirmed";\n  const missing = [first, last];',
    ),
  ),
  mutant(
    "takes-old-reads-for-new",
    "I8",
    286,
    "A read that may be old counts as new.",
    edit("requests.ts", "if (staleReadMs === 0) return", "if (staleReadMs >= 0) return"),
  ),
  mutant(
    "numbers-answers-not-tries",
    "I8",
    3,
    "An answer is as new as the moment at which it comes.",
    edit(
      "requests.ts",
      "sentAt = await this.beginRead();\n      return await send();",
      "const answer = await send();\n      sentAt = await this.beginRead();\n      return answer;",
    ),
  ),
  // ---- Following a feed
  mutant(
    "takes-a-feed-for-the-newest",
    "I8 I9",
    726,
    "A change that a feed brings counts as newer than all that the client knows.",
    edit("feed-follower.ts", "Math.max(this.#sentAt, this.#ordered.get(key) ?? 0)", "draft.commit"),
  ),
  mutant(
    "applies-before-the-head",
    "I8",
    37,
    "What a feed brings of the time before the request is applied one by one.",
    edit("feed-follower.ts", "if (!isBehind && this.#expected", "if (this.#expected"),
  ),
  mutant(
    "overlooks-gaps",
    "I8 I12 I15",
    11737,
    "A feed is complete although a table was deleted whose rows it has not named.",
    edit(
      "feed-follower.ts",
      "hasGap: progress.hasGap || hasGap === true ||",
      "hasGap: progress.hasGap ||",
    ),
    edit("feed-follower.ts", "if (hasGap) {", "if (hasGap && this.#gaps < 0) {"),
  ),
  mutant(
    "trusts-another-process",
    "I8 I12 I15",
    427,
    "A feed continues in another process of the remote, whatever commits it has.",
    edit(
      "feed-follower.ts",
      "if (opened.store === state.store) return opened;",
      "this.#progress = { ...state, store: opened.store, hasGap: false };\n    return opened;",
    ),
  ),
  mutant(
    "takes-any-commit-for-the-same",
    "I8 I12 I15",
    401,
    "A commit with the same sequence counts as the last one that was followed.",
    edit(
      "feed-follower.ts",
      "if (sequence !== expected.sequence || witness !== expected.text) return false;",
      "if (sequence !== expected.sequence) return false;",
    ),
  ),
  mutant(
    "stores-the-position-first",
    "I15",
    11,
    "The position is stored before what was applied up to it.",
    edit(
      "feed-follower.ts",
      "const changes = this.#changes.take();",
      "const changes = this.#changes.take().slice(1);",
    ),
  ),
  // ---- Whole partitions
  mutant(
    "takes-a-part-for-a-partition",
    "I18",
    9,
    "A page that has a part of a partition is applied.",
    edit("consistent-reading.ts", "isBegun || isOpen ? ageUnknown : sentAt", "sentAt"),
  ),
  mutant(
    "applies-what-it-can",
    "I18",
    1454,
    "Of a partition, what was not touched is applied, and the rest is marked.",
    edit(
      "consistent-reading.ts",
      'if (applied === "marked" && isReadable',
      "if (false && isReadable",
    ),
  ),
  mutant(
    "reads-a-partition-once",
    "I18",
    9,
    "Several pages count as of one moment.",
    edit(
      "consistent-reading.ts",
      "scanned.pages > 1 || unseen.length > 0 || !hasTimestampFilter",
      "scanned.pages < 0",
    ),
  ),
  mutant(
    "reads-members-alone",
    "I18",
    9,
    "What others have written together with a member of a push comes later than the member.",
    edit("read-back.ts", "await rules.consistent?.readPartition(", "await (async (..._) => true)("),
  ),
  mutant(
    "trusts-a-feed-after-a-gap",
    "I18",
    25543,
    "What a feed brings is applied before that which a gap has hidden.",
    edit("feed-follower.ts", "= isAllHeld || held", "= held"),
  ),
];

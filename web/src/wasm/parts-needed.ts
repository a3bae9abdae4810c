// The results of calls that did nothing, because parts or the deferred module are not loaded.

// Parts that a call needs are not in memory. The caller loads the first one, and as many of the
// others as it likes (the call would need them next), then makes the same call again.
export class PartsNeeded {
  readonly ids: readonly number[];

  constructor(ids: readonly number[]) {
    this.ids = ids;
  }
}

// The call needs the deferred module. The caller awaits load(), then makes the same call again.
export class DeferredModuleNeeded extends PartsNeeded {
  readonly load: () => Promise<void>;
  // Returns whether this message of a group needs the deferred module.
  readonly isNeededBy: (request: Uint8Array) => boolean;

  constructor(load: () => Promise<void>, isNeededBy: (request: Uint8Array) => boolean) {
    super([]);
    this.load = load;
    this.isNeededBy = isNeededBy;
  }
}

// The results of engine calls that did nothing because parts or a deferred module are not loaded.

// A call needs parts that are not in memory. The caller must load the first one, and may load
// others (the call would need them next). Then it must repeat the call.
export class PartsNeeded {
  readonly ids: readonly number[];

  constructor(ids: readonly number[]) {
    this.ids = ids;
  }
}

// A call needs a deferred module. The caller must await load() and then repeat the call.
export class DeferredModuleNeeded extends PartsNeeded {
  readonly load: () => Promise<void>;
  // Returns whether this message, one of several in a call, needs the module. undefined: messages
  // do not tell.
  readonly isNeededBy: ((request: Uint8Array) => boolean) | undefined;

  constructor(load: () => Promise<void>, isNeededBy?: (request: Uint8Array) => boolean) {
    super([]);
    this.load = load;
    this.isNeededBy = isNeededBy;
  }
}

// The handlers of the elements' events, as frameworks name them.

import type {
  ExplorerOpenEvent,
  PlaygroundRunEvent,
  PlaygroundStartEvent,
} from "../explorer/index.js";

export interface ExplorerEvents {
  "explorer-open": ExplorerOpenEvent;
  "explorer-change": Event;
}

export interface PlaygroundEvents {
  "playground-start": PlaygroundStartEvent;
  "playground-run": PlaygroundRunEvent;
}

/** A handler for each event. Its name is the prefix and the event's name. */
export type Handlers<Events, Prefix extends string> = {
  [Name in keyof Events & string as `${Prefix}${Name}`]?:
    | ((event: Events[Name]) => void)
    | undefined;
};

/** Handlers with names such as onExplorerOpen. */
export type CamelCaseHandlers<Events> = {
  [Name in keyof Events & string as CamelCase<`on-${Name}`>]?:
    | ((event: Events[Name]) => void)
    | undefined;
};

type CamelCase<Name extends string> = Name extends `${infer First}-${infer Rest}`
  ? `${First}${Capitalize<CamelCase<Rest>>}`
  : Name;

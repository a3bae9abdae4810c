// The remote of a peer in a process of its own.

import { ServerProcess } from "../server-process.ts";
import type { RemoteCalls } from "./remote.ts";

export type RemoteName = "json" | "pouchdb";

export class RemoteProcess extends ServerProcess<RemoteCalls> {
  static async start(name: RemoteName): Promise<RemoteProcess> {
    return new RemoteProcess(await ServerProcess.fork("peers/remote.ts", [name]));
  }
}

// The clients (follower tabs) of an owner. Each client has its own channel and its own CallServer.

import type { OwnerHost } from "../transport.ts";
import { CallServer, tabServerPolicy } from "./call-server.ts";
import type { Channel, ChannelFactory } from "./channel.ts";
import { clientChannelName, clientOfTab, type ToClient, type ToOwner } from "./messages.ts";
import { type LockRequest, onClientGone } from "./web-locks.ts";

export interface ClientConnectionsOptions {
  store: string;
  owner: string; // this owner's name in messages
  locks: LockManager;
  channels: ChannelFactory;
  nextSession(): number; // returns a number that this tab has not used for a session before
  askForHello(): void; // asks all tabs that are not connected to connect
  helloMs: number; // how long they may take
}

// What happens if the store is handed over and a client gets it:
//   serves    the client can serve the other tabs
//   fails     it has failed as an owner, or has another account
//   refuses   it is exclusive: the other tabs must close
export type Successor = "serves" | "fails" | "refuses";

interface ClientConnection {
  channel: Channel;
  server: CallServer | undefined;
  successor: Successor;
  gone: LockRequest; // granted when the client's tab has ended
}

export class ClientConnections {
  readonly #options: ClientConnectionsOptions;
  readonly #clients = new Map<string, ClientConnection>();
  #host: OwnerHost | undefined;
  #helloDone: Promise<void> | undefined; // after askForHello(): all tabs had time to connect
  #onPossibleOwner = () => {}; // called when a client that can own the store connects

  constructor(options: ClientConnectionsOptions) {
    this.#options = options;
  }

  // Connects a client. If it is already connected, begins a new session. In a new session, the
  // client sends all calls again that got no response.
  attach(client: string, successor: Successor): void {
    this.#detach(client);
    const { store, channels, locks } = this.#options;
    const channel = channels(clientChannelName(store, client), (message) =>
      this.#receive(client, message as ToOwner),
    );
    const gone = onClientGone(locks, store, client, () => this.#detach(client));
    const connection: ClientConnection = { channel, server: undefined, successor, gone };
    this.#clients.set(client, connection);
    if (this.#host !== undefined) this.#serve(client, connection, this.#host);
    if (successor === "serves") this.#onPossibleOwner();
  }

  get isEmpty(): boolean {
    return this.#clients.size === 0;
  }

  // Resolves to whether the store may be handed over: a client can serve the others, and none would
  // refuse them, because the lock decides which client gets the store. At the first time, waits
  // until such a client connects, at most `helloMs`.
  async findPossibleOwner(): Promise<boolean> {
    if (!this.#hasPossibleOwner) await this.#whenHelloDone();
    return this.#hasPossibleOwner;
  }

  get #hasPossibleOwner(): boolean {
    const successors = [...this.#clients.values()].map(({ successor }) => successor);
    return successors.includes("serves") && !successors.includes("refuses");
  }

  #whenHelloDone(): Promise<void> {
    this.#helloDone ??= new Promise((resolve) => {
      const timer = setTimeout(resolve, this.#options.helloMs);
      this.#onPossibleOwner = () => {
        clearTimeout(timer);
        resolve();
      };
      this.#options.askForHello();
    });
    return this.#helloDone;
  }

  // Starts to serve all clients. Before this call, clients can connect but get no responses.
  serve(host: OwnerHost): void {
    this.#host = host;
    for (const [client, connection] of this.#clients) this.#serve(client, connection, host);
  }

  close(): void {
    for (const client of [...this.#clients.keys()]) this.#detach(client);
  }

  #serve(client: string, connection: ClientConnection, host: OwnerHost): void {
    connection.server = new CallServer(
      host,
      this.#options.owner,
      connection.channel,
      tabServerPolicy,
      this.#options.nextSession(),
      clientOfTab(client),
    );
  }

  #receive(client: string, message: ToOwner): void {
    const connection = this.#clients.get(client);
    if (connection === undefined || message.to !== this.#options.owner) return;
    if (message.type === "ping") {
      const alive: ToClient = { from: this.#options.owner, type: "alive" };
      connection.channel.post(alive);
    } else if (message.type === "bye") {
      this.#detach(client);
    } else {
      connection.server?.receive(message);
    }
  }

  #detach(client: string): void {
    const connection = this.#clients.get(client);
    if (connection === undefined) return;
    this.#clients.delete(client);
    connection.server?.close();
    connection.channel.close();
    connection.gone.end();
  }
}

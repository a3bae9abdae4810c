// The owner's clients. Each has a channel of its own.

import type { Host } from "../transport.ts";
import { betweenTabs, CallServer } from "./call-server.ts";
import type { Channel, OpenChannel } from "./channel.ts";
import { clientChannel, type ToClient, type ToOwner } from "./messages.ts";
import { type LockClaim, whenGone } from "./store-lock.ts";

export interface ClientPortsOptions {
  store: string;
  owner: string; // its name in messages
  locks: LockManager;
  channels: OpenChannel;
}

interface Port {
  channel: Channel;
  server: CallServer | undefined;
  gone: LockClaim;
}

export class ClientPorts {
  readonly #o: ClientPortsOptions;
  readonly #ports = new Map<string, Port>();
  #host: Host | undefined;
  #sessions = 0;

  constructor(options: ClientPortsOptions) {
    this.#o = options;
  }

  // A client that is here already starts anew: it sends what was not answered again.
  attach(client: string): void {
    this.#detach(client);
    const { store, channels, locks } = this.#o;
    const channel = channels(clientChannel(store, client), (message) =>
      this.#receive(client, message as ToOwner),
    );
    const gone = whenGone(locks, store, client, () => this.#detach(client));
    const port: Port = { channel, server: undefined, gone };
    this.#ports.set(client, port);
    if (this.#host !== undefined) this.#serve(port, this.#host);
  }

  get empty(): boolean {
    return this.#ports.size === 0;
  }

  serve(host: Host): void {
    this.#host = host;
    for (const port of this.#ports.values()) this.#serve(port, host);
  }

  close(): void {
    for (const client of [...this.#ports.keys()]) this.#detach(client);
  }

  #serve(port: Port, host: Host): void {
    port.server = new CallServer(host, this.#o.owner, port.channel, betweenTabs, ++this.#sessions);
  }

  #receive(client: string, message: ToOwner): void {
    const port = this.#ports.get(client);
    if (port === undefined || message.to !== this.#o.owner) return;
    if (message.type === "ping") {
      const alive: ToClient = { from: this.#o.owner, type: "alive" };
      port.channel.post(alive);
    } else if (message.type === "bye") {
      this.#detach(client);
    } else {
      port.server?.receive(message);
    }
  }

  #detach(client: string): void {
    const port = this.#ports.get(client);
    if (port === undefined) return;
    this.#ports.delete(client);
    port.server?.close();
    port.channel.close();
    port.gone.end();
  }
}

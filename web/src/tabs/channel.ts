// Channels for messages. Between tabs, a channel is a BroadcastChannel, which any tab can join by
// its name. Between a page and its worker, it is a MessagePort, which can transfer buffers without
// a copy.

export interface Channel {
  // Sends a message. `bytes`: views in the message whose buffers may be transferred; the caller
  // must not use these views afterwards. `ports`: those in the message, which a BroadcastChannel
  // cannot send.
  post(message: unknown, bytes?: readonly Uint8Array[], ports?: readonly MessagePort[]): void;
  close(): void;
}

export type ChannelFactory = (name: string, onMessage: (message: unknown) => void) => Channel;

// Returns a function that opens a BroadcastChannel; undefined if the platform has none.
export function broadcastChannelFactory(): ChannelFactory | undefined {
  if (typeof BroadcastChannel === "undefined") return undefined;
  return (name, onMessage) => {
    const channel = new BroadcastChannel(name);
    channel.onmessage = (event) => onMessage(event.data);
    (channel as { unref?(): void }).unref?.(); // it must not keep a Node process alive
    let open = true;
    return {
      post(message) {
        if (open) channel.postMessage(message);
      },
      close() {
        open = false;
        channel.close();
      },
    };
  };
}

// Returns the bytes in a buffer that has no other content, because posting a view sends its whole
// buffer. Copies them only if needed.
export function ownBuffer(bytes: Uint8Array): Uint8Array {
  return bytes.byteLength === bytes.buffer.byteLength ? bytes : bytes.slice();
}

// Returns a channel over a port. post() transfers only buffers that a view covers completely,
// because other parts of a buffer may still be in use.
export function portChannel(port: MessagePort, onMessage: (message: unknown) => void): Channel {
  port.onmessage = (event) => onMessage(event.data);
  return {
    post(message, bytes = [], ports = []) {
      const movable = bytes.filter((view) => view === ownBuffer(view));
      const buffers = new Set(movable.map(({ buffer }) => buffer as ArrayBuffer));
      port.postMessage(message, [...buffers, ...ports]);
    },
    close() {
      port.close();
    },
  };
}

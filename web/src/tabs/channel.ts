// Where messages travel: between tabs over BroadcastChannel, which needs no introduction, and between a page and its worker over
// a port, which moves bytes instead of copying them.

export interface Channel {
  // `bytes`: buffers in the message that the sender gives away, where that is possible.
  post(message: unknown, bytes?: readonly Uint8Array[]): void;
  close(): void;
}

export type OpenChannel = (name: string, onMessage: (message: unknown) => void) => Channel;

// Undefined where there are none.
export function broadcastChannels(): OpenChannel | undefined {
  if (typeof BroadcastChannel === "undefined") return undefined;
  return (name, onMessage) => {
    const channel = new BroadcastChannel(name);
    channel.onmessage = (event) => onMessage(event.data);
    (channel as { unref?(): void }).unref?.(); // in Node it would keep the process alive
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

// What is posted has a buffer to itself: all of a buffer travels with a view of it.
export function ownBuffer(bytes: Uint8Array): Uint8Array {
  return bytes.byteLength === bytes.buffer.byteLength ? bytes : bytes.slice();
}

// Only whole buffers are moved: what else is in one may be somebody's still.
export function portChannel(port: MessagePort, onMessage: (message: unknown) => void): Channel {
  port.onmessage = (event) => onMessage(event.data);
  return {
    post(message, bytes = []) {
      const movable = bytes.filter((view) => view === ownBuffer(view));
      port.postMessage(message, [...new Set(movable.map(({ buffer }) => buffer as ArrayBuffer))]);
    },
    close() {
      port.close();
    },
  };
}

// Owns a listening socket that accepts nobody: connections beyond its short queue stay in the middle
// of their handshake, as with a host that does not answer.

import { libc, closeSocket, connectBlocking, tcpSocket } from "../../actors/executor/native.ts";

const bind = libc.func("int bind(int fd, void *address, uint32_t length)");
const listen = libc.func("int listen(int fd, int backlog)");
const getsockname = libc.func("int getsockname(int fd, void *address, void *length)");

export async function deafListener(): Promise<{ readonly port: number; close(): void }> {
  const fds = [tcpSocket("IPv4", 1_000)];
  const fd = fds[0]!;
  const address = new Uint8Array([2, 0, 0, 0, 127, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0]);
  if (bind(fd, address, address.length) !== 0 || listen(fd, 0) !== 0) throw new Error("cannot listen");
  getsockname(fd, address, Uint32Array.of(address.length));
  const port = new DataView(address.buffer).getUint16(2);
  // The queue takes one more than its length, at least.
  for (let full = false; !full; ) {
    const filler = tcpSocket("IPv4", 1_000);
    fds.push(filler);
    full = !(await connectBlocking(filler, { ip: "127.0.0.1", family: "IPv4", port }, 200));
  }
  return { port, close: () => fds.forEach(closeSocket) };
}

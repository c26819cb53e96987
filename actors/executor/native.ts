// Owns the calls into the operating system's socket interface. Linux only: the numbers below are
// its own (asm-generic, the same on x86-64 and arm64).
//
// 1. Everything here returns at once, except `waitForBytes` and `connectBlocking`: they block one
//    thread of libuv's pool, a lane, and never the thread that calls them.
// 2. Descriptors are close-on-exec: a child process must never hold a broker's connection open.

import koffi from "koffi";
import { getSystemErrorName } from "node:util";

// socket.h, in.h, tcp.h of linux/include/uapi and asm-generic.
const AF_UNIX = 1;
const AF_INET = 2;
const AF_INET6 = 10;
const SOCK_STREAM = 1;
const SOCK_CLOEXEC = 0o2000000;
const SOL_SOCKET = 1;
const SO_LINGER = 13;
const SO_RCVTIMEO = 20;
const SO_SNDTIMEO = 21;
const IPPROTO_TCP = 6;
const TCP_NODELAY = 1;
const TCP_USER_TIMEOUT = 18;
const MSG_PEEK = 0x02;
const MSG_DONTWAIT = 0x40;
const MSG_NOSIGNAL = 0x4000;
const SHUT_RDWR = 2;
// errno-base.h
const EAGAIN = 11;

/** The most calls that may wait in the pool at once: libuv's hard limit of 1024 threads, and some more. */
export const MAX_BLOCKING_CALLS = 1040;
const LANE_STACK_BYTES = 65_536;

// Once in each thread that loads this file, before the first library: koffi takes no change after that,
// so whoever else calls the C library takes it from here.
koffi.config({ max_async_calls: MAX_BLOCKING_CALLS, async_stack_size: LANE_STACK_BYTES, async_heap_size: LANE_STACK_BYTES });

// The program itself: node is linked to the C library of the machine, whatever its file is called.
export const libc = koffi.load(null);
const socketCall = libc.func("int socket(int domain, int type, int protocol)");
const socketpairCall = libc.func("int socketpair(int domain, int type, int protocol, _Out_ int *fds)");
const connectCall = libc.func("int connect(int fd, void *address, uint32_t length)");
const setsockoptCall = libc.func("int setsockopt(int fd, int level, int name, void *value, uint32_t length)");
const sendCall = libc.func("intptr_t send(int fd, void *bytes, size_t length, int flags)");
const recvCall = libc.func("intptr_t recv(int fd, void *bytes, size_t length, int flags)");
const shutdownCall = libc.func("int shutdown(int fd, int how)");
const closeCall = libc.func("int close(int fd)");
const inetPtonCall = libc.func("int inet_pton(int family, const char *text, void *address)");

/** A broker server's address in numbers: names are resolved before, in the pool's reserve. */
export interface SocketAddress {
  readonly ip: string;
  readonly family: "IPv4" | "IPv6";
  readonly port: number;
}

const failure = (call: string): Error => new Error(`${call}: ${getSystemErrorName(-koffi.errno())}`);

function must(call: string, result: number): number {
  if (result < 0) throw failure(call);
  return result;
}

function setInt(fd: number, level: number, name: number, value: number): void {
  must("setsockopt", setsockoptCall(fd, level, name, Int32Array.of(value), 4) as number);
}

function setTimeLimit(fd: number, name: number, limitMs: number): void {
  // A zero would mean "for ever".
  const micros = Math.max(1, Math.ceil(limitMs * 1000));
  const timeval = BigInt64Array.of(BigInt(Math.floor(micros / 1e6)), BigInt(micros % 1e6));
  must("setsockopt", setsockoptCall(fd, SOL_SOCKET, name, timeval, 16) as number);
}

/**
 * An unconnected TCP socket: reset at close instead of lingering, no delay, and given up by the
 * kernel when what was sent stays unacknowledged for `userTimeoutMs`.
 * @throws Error with the system's error name
 */
export function tcpSocket(family: SocketAddress["family"], userTimeoutMs: number): number {
  const fd = must("socket", socketCall(family === "IPv4" ? AF_INET : AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0) as number); // (2)
  try {
    must("setsockopt", setsockoptCall(fd, SOL_SOCKET, SO_LINGER, Int32Array.of(1, 0), 8) as number);
    setInt(fd, IPPROTO_TCP, TCP_NODELAY, 1);
    setInt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, userTimeoutMs);
  } catch (error) {
    closeSocket(fd);
    throw error;
  }
  return fd;
}

/** Two joined local sockets. @throws Error */
export function socketPair(): readonly [number, number] {
  const fds = [0, 0];
  must("socketpair", socketpairCall(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) as number);
  return fds as [number, number];
}

/** Blocks a lane until connected, refused or out of time. The system's error name stays in the lane: false says all. */
export function connectBlocking(fd: number, address: SocketAddress, limitMs: number): Promise<boolean> {
  setTimeLimit(fd, SO_SNDTIMEO, limitMs);
  const bytes = sockaddr(address);
  return new Promise((resolve, reject) => {
    connectCall.async(fd, bytes, bytes.length, (error: Error | null, result: number) => {
      if (error !== null) reject(error);
      // The mention of the bytes keeps them alive while the lane reads them.
      else resolve(result === 0 && bytes.length > 0);
    });
  });
}

export type SendResult =
  /** All of it is with the operating system. */
  | { readonly kind: "sent" }
  /** Nothing of it: the socket's buffer is full. */
  | { readonly kind: "would_block" }
  /** The first part of it. */
  | { readonly kind: "partly"; readonly bytes: number }
  | { readonly kind: "failed"; readonly detail: string };

/** One `send` that never waits. */
export function sendNow(fd: number, bytes: Uint8Array): SendResult {
  const sent = Number(sendCall(fd, bytes, bytes.length, MSG_DONTWAIT | MSG_NOSIGNAL));
  if (sent === bytes.length) return { kind: "sent" };
  if (sent >= 0) return { kind: "partly", bytes: sent };
  return koffi.errno() === EAGAIN ? { kind: "would_block" } : { kind: "failed", detail: failure("send").message };
}

/**
 * Blocks a lane until bytes came, the connection ended or `limitMs` passed. Returns how many bytes
 * are in `into`; 0 at the end of the connection, -1 for everything else, a signal among it.
 */
export function waitForBytes(fd: number, into: Uint8Array, limitMs: number): Promise<number> {
  setTimeLimit(fd, SO_RCVTIMEO, limitMs);
  return waitWithoutLimit(fd, into);
}

/** The same with no time-out: only a shutdown or bytes end it. */
export function waitWithoutLimit(fd: number, into: Uint8Array): Promise<number> {
  return new Promise((resolve, reject) => {
    recvCall.async(fd, into, into.length, 0, (error: Error | null, result: number | bigint) => {
      if (error !== null) reject(error);
      // The mention of `into` keeps it alive while the lane writes to it.
      else resolve(Math.min(Number(result), into.length));
    });
  });
}

/** `quiet`: connected and nothing to read. */
export function peek(fd: number): "quiet" | "bytes" | "ended" {
  const read = Number(recvCall(fd, new Uint8Array(1), 1, MSG_PEEK | MSG_DONTWAIT));
  if (read > 0) return "bytes";
  return read < 0 && koffi.errno() === EAGAIN ? "quiet" : "ended";
}

/** Ends both directions; whoever waits on the socket returns. The descriptor stays taken. */
export function shutdownSocket(fd: number): void {
  // ENOTCONN is what a socket says that never connected or has ended: what was wanted.
  shutdownCall(fd, SHUT_RDWR);
}

export function closeSocket(fd: number): void {
  closeCall(fd);
}

/** struct sockaddr_in or sockaddr_in6. */
function sockaddr(address: SocketAddress): Uint8Array {
  const v4 = address.family === "IPv4";
  const bytes = new Uint8Array(v4 ? 16 : 28);
  const view = new DataView(bytes.buffer);
  view.setUint16(0, v4 ? AF_INET : AF_INET6, true);
  view.setUint16(2, address.port);
  const ip = bytes.subarray(v4 ? 4 : 8, v4 ? 8 : 24);
  if ((inetPtonCall(v4 ? AF_INET : AF_INET6, address.ip, ip) as number) !== 1) throw new Error(`no ${address.family} address: ${address.ip}`);
  return bytes;
}

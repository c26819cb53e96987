// Owns who runs this process, as the operating system counts users.

export interface ServiceUser {
  readonly uid: number;
  readonly gid: number;
}

export const isRoot = (): boolean => process.getuid?.() === 0;

/** Whoever runs this process. */
export const ownUser = (): ServiceUser => ({ uid: process.getuid?.() ?? -1, gid: process.getgid?.() ?? -1 });

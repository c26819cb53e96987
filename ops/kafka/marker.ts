// Owns the word on the command lines of our Java processes that says to which folder they belong.
//
// 1. It is a digest: no folder's word is part of another's, whatever characters their paths have.

import { createHash } from "node:crypto";

/** A system property that nobody reads. */
export const marker = (folder: string): string => `-Dlockstep.folder=${createHash("sha256").update(folder).digest("hex").slice(0, 24)}`; // (1)

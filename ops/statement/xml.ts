// Owns the reading of XML: what begins, what ends, what text stands between.

import { SaxesParser } from "saxes";
import type { SaxesTagNS } from "saxes";

export type Tag = SaxesTagNS;

export interface Handlers {
  readonly open?: (tag: Tag) => void;
  readonly close?: (tag: Tag) => void;
  readonly text?: (text: string) => void;
}

/** @throws Error: it is not well-formed, or names an entity that XML does not have. */
export function parseXml(xml: string, { open, close, text }: Handlers): void {
  const parser = new SaxesParser({ xmlns: true });
  if (open !== undefined) parser.on("opentag", open);
  if (close !== undefined) parser.on("closetag", close);
  if (text !== undefined) {
    parser.on("text", text);
    parser.on("cdata", text);
  }
  parser.write(xml).close();
}

/** The value of an attribute, whatever prefix the file gives its namespace. */
export const attribute = ({ attributes }: Tag, local: string, isPrefixed = false): string | undefined =>
  Object.values(attributes).find((each) => each.local === local && (each.prefix !== "") === isPrefixed)?.value;

// Owns the Directory's twin; directoryRules.ts decides for both.

import type { Epoch } from "../../protocol/ids.ts";
import type { Directory } from "../../protocol/ports/storage.ts";
import { merged } from "../directoryRules.ts";
import type { AccountRow, MemoryCell } from "./cells.ts";

export function memoryDirectory(cell: MemoryCell): Directory {
  const accounts = () => [...cell.accounts.values()].map((row) => row.account).sort(byId);
  const links = () => [...cell.links.values()].sort(byId);
  return {
    accounts: async () => accounts(),
    links: async () => links(),
    async put(newAccounts, newLinks) {
      const all = merged({ accounts: accounts(), links: links() }, newAccounts, newLinks);
      const unowned = { owner: null, epoch: 0 as Epoch, projectedEpoch: 0 as Epoch };
      cell.accounts = new Map(all.accounts.map((account): [string, AccountRow] => [account.id, { ...(cell.accounts.get(account.id) ?? unowned), account }]));
      cell.links = new Map(all.links.map((link) => [link.id, link]));
    },
  };
}

const byId = (a: { readonly id: string }, b: { readonly id: string }): number => (a.id < b.id ? -1 : 1);

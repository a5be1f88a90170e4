import type { ExecutionContext } from 'ava';
import type { Json } from '../../domain/json-schema.ts';
import type { Account, Connection } from '../../networks/network.ts';
import { parseAllowList } from '../../runtime/egress/addresses.ts';
import { createEgress } from '../../runtime/egress/create-egress.ts';
import type { Downloader, Egress } from '../../runtime/egress/egress.ts';

/** Real egress that may reach one test's loopback servers. */
export const egressTo = (t: ExecutionContext, ...urls: readonly string[]): Egress =>
  waysOutTo(t, ...urls);

/** The same, with downloads. */
export function waysOutTo(t: ExecutionContext, ...urls: readonly string[]): Egress & Downloader {
  const entries = urls.map((url) => `127.0.0.1/32:${new URL(url).port}`);
  const egress = createEgress({ allow: parseAllowList(entries.join(',')) });
  t.teardown(() => egress.close());
  return egress;
}

export type OpenConnection = Connection & {
  /** The sessions that were stored, oldest first. */
  readonly saved: readonly Json[];
};

/** Opens an account for one attempt, as a worker does. `differently` replaces parts of the connection. */
export function openConnection(
  t: ExecutionContext,
  account: Account,
  differently: Partial<Connection> = {},
): OpenConnection {
  const saved: Json[] = [];
  const uploads = new Map<string, Json>();
  const { baseUrl = account.baseUrl, session = account.session } = differently;
  return {
    ...account,
    saved,
    saveSession: async (fresh) => {
      saved.push(fresh);
    },
    uploadsOf: ({ key }) => uploads.get(key) ?? null,
    saveUploads: async ({ key }, kept) => {
      uploads.set(key, kept);
    },
    http: egressTo(t, baseUrl),
    signal: new AbortController().signal,
    ...differently,
    get session() {
      return saved.at(-1) ?? session;
    },
  };
}

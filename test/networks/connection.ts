import type { ExecutionContext } from 'ava';
import type { Json } from '../../domain/json-schema.ts';
import type { Account, Connection } from '../../networks/network.ts';
import { parseAllowList } from '../../runtime/egress/operator-lists.ts';
import { createEgress } from '../../runtime/egress/create-egress.ts';
import type { Downloader, Egress } from '../../runtime/egress/egress.ts';

/** The real way out, opened for the loopback servers of one test. */
export const egressTo = (t: ExecutionContext, ...urls: readonly string[]): Egress =>
  waysOutTo(t, ...urls);

/** The same, also for downloads. */
export function waysOutTo(t: ExecutionContext, ...urls: readonly string[]): Egress & Downloader {
  const entries = urls.map((url) => `127.0.0.1/32:${new URL(url).port}`);
  const egress = createEgress({ allow: parseAllowList(entries.join(',')) });
  t.teardown(() => egress.close());
  return egress;
}

export type OpenConnection = Connection & {
  /** The sessions that were kept, oldest first. */
  readonly saved: readonly Json[];
};

/** Opens an account for one try, as a worker does. What is given on top replaces what the account says. */
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

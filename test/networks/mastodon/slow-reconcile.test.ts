import { mock } from 'node:test';
import test, { type ExecutionContext } from 'ava';
import { mastodonNetwork } from '../../../networks/mastodon/adapter.ts';
import type { PreparedPart } from '../../../networks/network.ts';
import type { Egress } from '../../../runtime/egress/egress.ts';
import { openConnection } from '../connection.ts';

const account = {
  baseUrl: 'http://127.0.0.1:9',
  remoteId: '1',
  handle: '@me@social.example',
  credentials: { accessToken: 'token' },
  session: null,
  settings: {},
};

const statusesOf = (count: number, content: string) =>
  Array.from({ length: count }, (_, index) => ({
    id: `${index + 1}`,
    uri: `https://social.example/${index + 1}`,
    content,
  }));

/** A server whose first page has these statuses, and which supports nothing else but a source of each. */
function serverWith(
  statuses: readonly object[],
  source?: string,
): Egress & { readonly pages: number } {
  let pages = 0;
  return {
    get pages() {
      return pages;
    },
    close: async () => undefined,
    request: async ({ url }) => {
      const isPage = /\/accounts\/1\/statuses\?/v.test(url);
      pages += isPage ? 1 : 0;
      const isSource = source !== undefined && url.endsWith('/source');
      const other = isSource ? { text: source } : { error: 'No' };
      const answer = Buffer.from(JSON.stringify(isPage ? (pages === 1 ? statuses : []) : other));
      const status = isPage || isSource ? 200 : 404;
      return { status, headers: {}, body: answer, truncated: false };
    },
  };
}

type Lookup = {
  readonly text: string;
  readonly statuses: readonly object[];
  readonly http?: Egress;
};

const reconcile = (
  t: ExecutionContext,
  { text, statuses, http = serverWith(statuses) }: Lookup,
) => {
  const part: PreparedPart = { key: 'k', text, media: [], options: {}, data: { sinceId: '0' } };
  return mastodonNetwork.reconcile(openConnection(t, account, { http }), {
    parts: [part],
    sent: [],
  });
};

/** The number of characters that are normalized during `work`, which is the main cost of a comparison. */
async function normalizedBy(work: () => Promise<unknown>): Promise<number> {
  const { mock: normalize } = mock.method(String.prototype, 'normalize');
  await work();
  const lengths = normalize.calls.map(({ this: text }) => String(text).length);
  normalize.restore();
  return lengths.reduce((sum, length) => sum + length, 0);
}

test.serial('a long text is prepared for comparison once, not for each status', async (t) => {
  const text = 'Long words. '.repeat(4000);
  const characters = await normalizedBy(() =>
    reconcile(t, { text, statuses: statusesOf(40, 'Hi') }),
  );
  t.true(characters < text.length * 10, `${characters} characters`);
});

test.serial('only as much of a status is read as the text can have become', async (t) => {
  const statuses = statusesOf(10, 'Hello and more. '.repeat(12_000));
  const characters = await normalizedBy(() => reconcile(t, { text: 'Hello all', statuses }));
  t.true(characters < 200_000, `${characters} characters`);
});

for (const length of [690_000, 100_000]) {
  const title = `80 sources of ${length} characters are not all compared with a long text`;
  test.serial(title, async (t) => {
    const statuses = statusesOf(80, '<p>HOSTILE</p>');
    const text = `HOSTILE ${'word '.repeat(9900)}`;
    const http = serverWith(statuses, 'x'.repeat(length));
    const characters = await normalizedBy(() => reconcile(t, { text, statuses, http }));
    t.true(characters < 5_000_000, `${characters} characters`);
  });
}

test.serial('a page with far more statuses than requested is refused', async (t) => {
  const statuses = statusesOf(42_000, 'Hi');
  const http = serverWith(statuses);
  const error = await t.throwsAsync(reconcile(t, { text: 'Hello all', statuses, http }));
  t.like(error, { code: 'network_unavailable', accepted: 'unknown' });
  t.is(http.pages, 1);
});

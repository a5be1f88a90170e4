import { mock } from 'node:test';
import test from 'ava';
import { mastodonNetwork } from '../../../networks/mastodon/adapter.ts';
import type { Options } from '../../../networks/content-rules.ts';
import type { Account, Finding, PreparedPart } from '../../../networks/network.ts';
import type { Egress, EgressResponse } from '../../../runtime/egress/egress.ts';
import { openConnection } from '../connection.ts';
import { startScriptedServer } from '../oauth/scripted-server.ts';

const account: Account = {
  baseUrl: 'http://127.0.0.1:9',
  remoteId: '1',
  handle: '@me@social.example',
  credentials: { accessToken: 'token' },
  session: null,
  settings: {},
};

type Status = {
  /** The text of the status's page. */
  readonly html: string;
  /** The text of its source; `html` by default. */
  readonly source?: string;
  /** The application that created it. */
  readonly by?: string;
};

type Server = Egress & { readonly asked: string[] };

/**
 * A server with these statuses, the oldest first, with ids from 1001. It accepts 300 calls, which is Mastodon's limit
 * for an account in five minutes.
 *
 * @param app The name of the token's application; unknown by default.
 */
function serverWith(statuses: readonly Status[], app?: string): Server {
  const asked: string[] = [];
  return {
    asked,
    close: async () => undefined,
    request: async ({ url }) => {
      const { pathname, searchParams } = new URL(url);
      asked.push(pathname);
      if (asked.length > 300) {
        return answer(429, { error: 'Too many requests' });
      }

      if (pathname.endsWith('/apps/verify_credentials')) {
        return app === undefined ? answer(403, { error: 'No' }) : answer(200, { name: app });
      }

      const [, id] = /\/statuses\/(\d+)\/source$/v.exec(pathname) ?? [];
      if (id !== undefined) {
        const { html = '', source = html } = statuses[Number(id) - 1001] ?? {};
        return answer(200, { id, text: source });
      }

      const after = Number(searchParams.get('min_id')) - 1000;
      const page = statuses.slice(after, after + 40).map(({ html, by }, index) => ({
        id: String(1001 + after + index),
        uri: `https://social.example/${1001 + after + index}`,
        content: `<p>${html}</p>`,
        application: by === undefined ? null : { name: by },
      }));
      return answer(200, page.toReversed());
    },
  };
}

const answer = (status: number, body: object): EgressResponse => ({
  status,
  headers: {},
  body: Buffer.from(JSON.stringify(body)),
  truncated: false,
});

const reconcile = (
  t: Parameters<typeof openConnection>[0],
  http: Egress,
  text: string,
  options: Options = {},
) => {
  const part: PreparedPart = { key: 'k', text, media: [], options, data: { sinceId: '1000' } };
  return mastodonNetwork.reconcile(openConnection(t, account, { http }), {
    parts: [part],
    sent: [],
  });
};

const idsOf = (finding: Finding): (string | undefined)[] =>
  finding.kind === 'found' ? finding.candidates.map(([part]) => part?.remoteId) : [];

test('among 350 newer posts a post is found, or found missing, within the limit of calls', async (t) => {
  const others = Array.from({ length: 350 }, (_, index) => ({
    html: `Weather at ${index} o'clock`,
  }));
  const there = serverWith([...others.slice(0, 200), { html: 'Hello all' }, ...others.slice(201)]);
  t.deepEqual(idsOf(await reconcile(t, there, 'Hello all')), ['1201']);
  t.true(there.asked.length < 20, `${there.asked.length}`);

  const missing = serverWith(others);
  t.deepEqual(await reconcile(t, missing, 'Hello all'), { kind: 'absent' });
  t.true(missing.asked.length < 20, `${missing.asked.length}`);

  const alike = serverWith(others);
  t.deepEqual(await reconcile(t, alike, "Weather at 500 o'clock"), { kind: 'absent' });
  t.true(alike.asked.length < 150, `${alike.asked.length}`);
});

test('a post is found by its source although its page has another text', async (t) => {
  const server = serverWith([
    { html: 'Something else of the sort' },
    {
      html: '<a href="https://a.example/x">Read</a> it today',
      source: '[Read](https://a.example/x) it **today**',
    },
  ]);
  t.deepEqual(idsOf(await reconcile(t, server, '[Read](https://a.example/x) it **today**')), [
    '1002',
  ]);
});

test('a status without a text is found if the server used its content warning as the text', async (t) => {
  const options = { spoiler_text: 'Spiders ahead' };
  const statuses = [{ html: 'Spiders ahead' }, { html: 'Something else' }, { html: '' }];
  t.deepEqual(idsOf(await reconcile(t, serverWith(statuses), '', options)), ['1003', '1001']);
  t.deepEqual(idsOf(await reconcile(t, serverWith(statuses), '')), ['1003']);
});

test('a source that a server has changed slightly matches the sent text; an exact one comes first', async (t) => {
  const touched = { html: 'Wait…  it’s “here” – now', source: 'Wait…\u00a0 it’s “here” – now' };
  const text = 'Wait... it\'s "here" -- now';
  t.deepEqual(idsOf(await reconcile(t, serverWith([touched]), text)), ['1001']);
  t.deepEqual(
    idsOf(await reconcile(t, serverWith([touched, { ...touched, source: text }]), text)),
    ['1002', '1001'],
  );
});

test('an equal post of another application is not taken for ours, if the server names applications', async (t) => {
  const theirs = { html: 'Good morning', by: 'Phone' };
  const ours = { html: 'Good morning', by: 'Punctual' };
  const look = async (statuses: readonly Status[], app?: string) =>
    idsOf(await reconcile(t, serverWith(statuses, app), 'Good morning'));
  t.deepEqual(await look([theirs], 'Punctual'), []);
  t.deepEqual(await look([theirs, ours], 'Punctual'), ['1002']);
  t.deepEqual(await look([theirs, ours]), ['1001', '1002']);
  t.deepEqual(await look([{ html: 'Good morning' }], 'Punctual'), ['1001']);
});

test('a post URL that is invalid or too long is not accepted', async (t) => {
  const server = await startScriptedServer(t, () => ({ json: status }));
  let status = {};
  const hostile = {
    baseUrl: server.url,
    remoteId: '1',
    handle: '@ana@social.example',
    credentials: { accessToken: 'a' },
    session: null,
    settings: {},
  };
  const part = { key: 'k', text: 'Hello', media: [], options: {}, data: { sinceId: null } };
  const send = () =>
    mastodonNetwork.send(openConnection(t, hostile), { parts: [part], sent: [] }, []);
  for (const url of [
    'https://x/\u0000',
    'https://[\ud800',
    'x/y',
    'https://bank.example@other.example/login',
    'http://%zz/',
    `https://x/${'日'.repeat(2030)}`,
    `https://${'x'.repeat(2100)}`,
  ]) {
    for (const addresses of [{ url, uri: 'https://x/1' }, { uri: url }]) {
      status = { id: '1', content: '<p>Hello</p>', ...addresses };
      const error = await t.throwsAsync(send());
      t.like(error, { code: 'network_unavailable', accepted: 'unknown' }, url.slice(0, 20));
    }
  }

  status = { id: '1', content: '<p>Hello</p>', uri: `https://x/${'y'.repeat(2000)}` };
  t.like(await send(), [{ remoteId: '1' }]);
});

const statusesOf = (count: number, content: string) =>
  Array.from({ length: count }, (_, index) => ({
    id: `${index + 1001}`,
    uri: `https://social.example/${index}`,
    content,
  }));

/** A server whose first page has these statuses, and which supports nothing else but a source of each. */
function serverWithPage(
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
      const body = isPage ? (pages === 1 ? statuses : []) : other;
      return answer(isPage || isSource ? 200 : 404, body);
    },
  };
}

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
  const http = serverWithPage(statusesOf(40, 'Hi'));
  const characters = await normalizedBy(() => reconcile(t, http, text));
  t.log(characters);
  t.true(characters < text.length * 10, `${characters} characters`);
});

test.serial('only as much of a status is read as the text can have become', async (t) => {
  const http = serverWithPage(statusesOf(10, 'Hello and more. '.repeat(12_000)));
  const characters = await normalizedBy(() => reconcile(t, http, 'Hello all'));
  t.log(characters);
  t.true(characters < 200_000, `${characters} characters`);
});

for (const length of [690_000, 100_000]) {
  const title = `80 sources of ${length} characters are not all compared with a long text`;
  test.serial(title, async (t) => {
    const text = `HOSTILE ${'word '.repeat(9900)}`;
    const http = serverWithPage(statusesOf(80, '<p>HOSTILE</p>'), 'x'.repeat(length));
    const characters = await normalizedBy(() => reconcile(t, http, text));
    t.log(characters);
    t.true(characters < 5_000_000, `${characters} characters`);
  });
}

test.serial('a page with far more statuses than requested is refused', async (t) => {
  const http = serverWithPage(statusesOf(42_000, 'Hi'));
  const error = await t.throwsAsync(reconcile(t, http, 'Hello all'));
  t.like(error, { code: 'network_unavailable', accepted: 'unknown' });
  t.is(http.pages, 1);
});

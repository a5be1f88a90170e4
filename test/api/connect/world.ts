import type { TestFn } from 'ava';
import { openBrowser, refreshOf, type Browser, type Seen } from './person.ts';
import type { Client } from '../../support/client.ts';
import { sharedApi, type SharedApi } from '../../support/kit.ts';
import { accountNamed, pretendOauth, type PretendOauth } from '../../support/pretend-oauth.ts';
import { sha256Hex } from '../../../runtime/secrets.ts';
import type { ApiOptions } from '../../support/punctual.ts';

export const server = {
  label: 'Your server',
  placeholder: 'https://social.example',
  required: true,
};

export type World = {
  readonly api: SharedApi;
  /** A network with one server and without input. */
  readonly fake: PretendOauth;
  /** A network with many servers, which needs a URL. */
  readonly many: PretendOauth;
};

/** An API with two networks that a test simulates, and a third one without settings. */
export function connectWorld(
  test: TestFn,
  options: ApiOptions = {},
  more: ApiOptions['connecting'] = {},
): World {
  const fake = pretendOauth();
  const many = pretendOauth({ fields: { url: server } });
  const missing = ['PUNCTUAL_BARE_CLIENT_ID', 'PUNCTUAL_BARE_CLIENT_SECRET'];
  const bare = pretendOauth({ missing });
  const oauth = { fake: fake.entry, many: many.entry, bare: bare.entry, ...more.oauth };
  const api = sharedApi(test, { connecting: { ...more, oauth }, ...options });
  return { api, fake, many };
}

/** Creates a link. */
export async function linkFor(client: Client, body: object = {}): Promise<string> {
  const made = await client.post('/channels/connect', { platform: 'fake', ...body });
  return String(made.body.link);
}

/** Opens a link and begins. @returns the network's authorization URL. */
export async function leaveFrom(browser: Browser, link: string): Promise<URL> {
  const page = await browser.get(link);
  return new URL(refreshOf(await browser.submit(page, 'begin')));
}

/** The callback URL with the network's answer. */
export function answerTo(at: URL, answer: Record<string, string>): string {
  const { redirect_uri: back = '', state = '' } = Object.fromEntries(at.searchParams);
  return `${back}?${new URLSearchParams({ state, ...answer })}`;
}

/** Completes the authorization with this code. */
export async function walk(browser: Browser, link: string, code: string): Promise<Seen> {
  return browser.get(answerTo(await leaveFrom(browser, link), { code }));
}

/** A workspace, a browser, and a code for an account that no other test uses. */
export async function stage({ api, fake }: World, { handle = '@ana' } = {}) {
  const client = await api.newClient('Ana & Co');
  const code = crypto.randomUUID();
  const remoteId = crypto.randomUUID();
  fake.codes.set(code, [accountNamed(handle, remoteId)]);
  const browser = openBrowser(api.punctual.url);
  const channels = async () => (await client.get('/channels')).body.channels;
  return { client, browser, code, remoteId, channels };
}

/** The database row of a link. */
export async function rowOf({ api }: World, link: string): Promise<Record<string, unknown>> {
  const [row] = await api.punctual.orm.em
    .fork()
    .execute<Record<string, unknown>[]>('select * from connect_links where token_hash = ?', [
      sha256Hex(tokenIn(link)),
    ]);
  return row ?? {};
}

/** Expires a link. */
export async function expire({ api }: World, link: string): Promise<void> {
  await api.punctual.orm.em
    .fork()
    .execute(`update connect_links set expires_at = now() - interval '1 s' where token_hash = ?`, [
      sha256Hex(tokenIn(link)),
    ]);
}

export const tokenIn = (link: string): string => link.split('/').at(-1) ?? '';

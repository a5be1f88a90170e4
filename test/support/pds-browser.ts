import http, { type IncomingHttpHeaders } from 'node:http';
import { text } from 'node:stream/consumers';
import type { BlueskyTestAccount } from './accounts.ts';

type Person = Pick<BlueskyTestAccount, 'handle' | 'password'>;

/**
 * Acts as the browser of an account's owner on the PDS's own pages: signs in and accepts or declines.
 *
 * @param url The address to which the app sent the browser.
 * @returns the address to which the PDS redirects the browser.
 */
export async function authorizeAtPds(
  url: string,
  { handle, password }: Person,
  says: 'yes' | 'no' = 'yes',
): Promise<URL> {
  const browser = createBrowser(url);
  await browser.open(url, 'cross-site');
  const credentials = { username: handle, password, locale: 'en', remember: false };
  const { account, ephemeralToken } = await browser.call('/sign-in', credentials);
  const [answer, input] = says === 'yes' ? ['/consent', { did: account.did }] : ['/reject', {}];
  const { url: next } = await browser.call(answer, input, ephemeralToken);
  const { headers } = await browser.open(next, 'same-origin');
  return new URL(headers.location ?? 'the PDS redirects nowhere');
}

/** The headers of a browser for a call that a page makes to its own server. */
const asPage = {
  'sec-fetch-mode': 'same-origin',
  'sec-fetch-site': 'same-origin',
  'sec-fetch-dest': 'empty',
};

type Answer = { readonly status: number; readonly headers: IncomingHttpHeaders; body: string };

/** Keeps cookies and sends a browser's Sec-Fetch headers, which the PDS checks and `fetch` cannot set. */
function createBrowser(page: string) {
  const send = cookieJar(page);
  return {
    open: (url: string, from: 'cross-site' | 'same-origin') =>
      send(url, {
        accept: 'text/html',
        'sec-fetch-mode': 'navigate',
        'sec-fetch-site': from,
        'sec-fetch-dest': 'document',
        ...(from === 'same-origin' && { referer: page }),
      }),

    /** A call of the PDS's own page to its server. */
    async call(path: string, input: object, token?: string) {
      const headers = {
        ...asPage,
        origin: new URL(page).origin,
        referer: page,
        ...(token !== undefined && { authorization: `Bearer ${token}` }),
      };
      const { status, body } = await send(`/@atproto/oauth-provider/~api${path}`, headers, input);
      if (status !== 200) {
        throw new Error(`The PDS answered ${path} with ${status}: ${body}`);
      }

      return JSON.parse(body);
    },
  };
}

/** Sends requests with the cookies of earlier answers. */
function cookieJar(page: string) {
  const cookies = new Map<string, string>();
  return async (url: string, headers: Record<string, string>, input?: object): Promise<Answer> => {
    const { host, port, pathname, search } = new URL(url, page);
    const request = http.request({
      host: '127.0.0.1',
      port,
      path: pathname + search,
      method: input ? 'POST' : 'GET',
      headers: {
        host,
        cookie: [...cookies].map(([name, value]) => `${name}=${value}`).join('; '),
        'user-agent': 'Mozilla/5.0',
        ...headers,
        ...(input && {
          'content-type': 'application/json',
          'x-csrf-token': cookies.get('csrf-token') ?? '',
        }),
      },
    });
    request.end(input && JSON.stringify(input));
    const response = await new Promise<http.IncomingMessage>((resolve, reject) => {
      request.on('response', resolve).on('error', reject);
    });
    for (const line of response.headers['set-cookie'] ?? []) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/v.exec(line) ?? [];
      cookies.set(name, value);
    }

    const { statusCode: status = 0 } = response;
    return { status, headers: response.headers, body: await text(response) };
  };
}

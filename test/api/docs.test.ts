import { readFile } from 'node:fs/promises';
import { request } from 'node:http';
import { text } from 'node:stream/consumers';
import test from 'ava';
import { sharedApi } from '../support/kit.ts';
import { rawCall } from '../support/raw-call.ts';

const api = sharedApi(test);

test('the docs page and all its files are served by this server, with their types', async (t) => {
  const { url } = api.punctual;
  const page = await rawCall(`${url}/docs`);
  t.is(page.status, 200);
  t.is(page.headers.get('content-type'), 'text/html; charset=utf-8');

  const html = String(page.body);
  const loaded = [...html.matchAll(/(?:src|href)="(?<path>[^"]+)"/gv)].map(
    ({ groups }) => groups?.['path'] ?? '',
  );
  t.true(loaded.length >= 6);
  const types: Record<string, string> = {
    css: 'text/css; charset=utf-8',
    js: 'text/javascript; charset=utf-8',
    svg: 'image/svg+xml',
    json: 'application/json; charset=utf-8',
  };
  for (const path of loaded) {
    t.regex(path, /^\/[^\/]/v, 'is on this server');
    const reply = await rawCall(url + path);
    t.is(reply.status, 200, path);
    t.is(reply.headers.get('content-type'), types[path.split('.').at(-1) ?? ''] ?? '', path);
    t.is(reply.headers.get('x-content-type-options'), 'nosniff', path);
  }
});

test('the docs page may load and call only this server, and cannot be framed', async (t) => {
  const { url } = api.punctual;
  const page = await rawCall(`${url}/docs`);
  const policy = new Map(
    (page.headers.get('content-security-policy') ?? '').split('; ').map((directive) => {
      const [name = '', ...sources] = directive.split(' ');
      return [name, sources.join(' ')];
    }),
  );
  t.is(policy.get('default-src'), "'none'");
  t.is(policy.get('script-src'), "'self'");
  t.is(policy.get('style-src'), "'self'");
  t.is(policy.get('connect-src'), "'self'");
  t.is(policy.get('frame-ancestors'), "'none'");
  t.notRegex([...policy.values()].join(' '), /unsafe|\*|http/v);

  const html = String(page.body);
  t.notRegex(
    html,
    /<script>|<style|\son\w+=|style=|https?:/v,
    'nothing inline, nothing from elsewhere',
  );
});

test('the docs show this server’s document, without an external validator', async (t) => {
  const { url } = api.punctual;
  const start = String((await rawCall(`${url}/docs/start.js`)).body);
  t.regex(start, /url: '\/openapi\.json'/v);
  t.regex(start, /validatorUrl: null/v);
});

test('no path under /docs leads to another file', async (t) => {
  const { url } = api.punctual;
  const names = [
    'package.json',
    'index.html',
    'routes.ts',
    'swagger-ui.js',
    'constructor',
    '__proto__',
  ];
  const climbs = [
    '../routes.ts',
    '..%2Froutes.ts',
    '%2e%2e/routes.ts',
    '..%5croutes.ts',
    'a/../../x',
  ];
  for (const name of [...names, ...climbs, '%00', 'start.js%00', '.', '', '%']) {
    const status = await rawStatus(url, `/docs/${name}`);
    // The path with a slash at the end is the page itself.
    t.is(status, name === '' ? 200 : 404, name);
  }
});

test('a browser with a cached page gets 304', async (t) => {
  const { url } = api.punctual;
  for (const path of ['/docs', '/docs/swagger-ui-bundle.js']) {
    const etag = (await rawCall(url + path)).headers.get('etag') ?? '';
    t.not(etag, '');
    const headers = { 'if-none-match': etag, 'cache-control': 'max-age=0' };
    const again = await rawCall(url + path, { headers });
    t.is(again.status, 304, path);
    t.is(again.body, '', path);
  }
});

test('the root lists addresses for a program, and sends a browser to the docs', async (t) => {
  const { url } = api.punctual;
  const { version } = JSON.parse(
    await readFile(new URL('../../package.json', import.meta.url), 'utf8'),
  );
  for (const accept of ['*/*', 'application/json']) {
    const { status, body } = await rawCall(url, { headers: { accept } });
    t.is(status, 200, accept);
    t.like(body, { name: 'Punctual', version });
    const { info } = (await rawCall(url + body.openapi)).body;
    t.is(info.version, version);
    for (const path of [body.docs, body.openapi, body.health]) {
      t.is((await rawCall(url + path)).status, 200, path);
    }
  }

  const browser = { accept: 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8' };
  const reply = await rawCall(url, { headers: browser, redirect: 'manual' });
  t.is(reply.status, 302);
  t.is(reply.headers.get('location'), '/docs');
  t.is(reply.headers.get('vary'), 'Accept');
});

/** Requests the literal path: `fetch` would resolve its dots. */
async function rawStatus(url: string, path: string): Promise<number | undefined> {
  const { hostname, port } = new URL(url);
  const sent = request({ hostname, port, path });
  const answer = await new Promise<import('node:http').IncomingMessage>((resolve, reject) => {
    sent.on('response', resolve).on('error', reject).end();
  });
  await text(answer);
  return answer.statusCode;
}

import axe from 'axe-core';
import type { Page } from 'playwright-core';
import { sharedChromium } from '../support/chromium.ts';
import { sharedApi } from '../support/kit.ts';
import { noTemporal } from '../support/media-library.ts';
import { needs } from '../support/needs.ts';

const test = needs('postgres', 'chromium');
const api = sharedApi(test, { temporalEnv: noTemporal });
const openPage = sharedChromium(test);

/** Opens pages, and records what their policy blocked and which other hosts they asked. */
async function watched(...args: Parameters<typeof openPage>) {
  const page = await openPage(...args);
  page.setDefaultTimeout(180_000); // The reference is slow to start on a busy machine.
  const faults: string[] = [];
  await page.exposeFunction('blocked', (what: string) => faults.push(what));
  await page.addInitScript(`document.addEventListener('securitypolicyviolation', (event) =>
    blocked([event.effectiveDirective, event.blockedURI, event.sample].join(' ')))`);
  page.on('request', (request) => {
    const { protocol, origin } = new URL(request.url());
    if (protocol !== 'data:' && origin !== api.punctual.url) {
      faults.push(request.url());
    }
  });
  page.on('pageerror', (error) => faults.push(String(error)));
  return { page, faults };
}

/** What axe finds: rules and how serious they are. */
async function barriers(page: Page): Promise<string[]> {
  await page.evaluate(axe.source);
  const { violations } = (await page.evaluate('axe.run()')) as axe.AxeResults;
  return violations.map(({ id, impact, nodes }) => `${impact} ${id}: ${nodes[0]?.html}`);
}

test('people can read the guides by keyboard and screen reader, in both colours and on a phone', async (t) => {
  const { page, faults } = await watched(t);
  for (const name of ['guides', 'guides/accounts', 'guides/webhooks', 'guides/errors']) {
    await page.goto(`${api.punctual.url}/docs/${name}`);
    t.deepEqual(await barriers(page), [], name);
  }

  await page.emulateMedia({ colorScheme: 'dark' });
  await page.setViewportSize({ width: 375, height: 700 });
  for (const path of ['/docs/guides/networks', '/docs/real-accounts']) {
    await page.goto(api.punctual.url + path);
    t.deepEqual(await barriers(page), [], path);
    t.is(await page.evaluate('document.documentElement.scrollWidth'), 375, path);
  }

  t.deepEqual(faults, []);
});

test('a person calls the API from the reference, which asks no other server and forgets the key with the page', async (t) => {
  const { url } = api.punctual;
  const { key } = await api.newClient();
  const { page, faults } = await watched(t);
  await page.goto(`${url}/docs/getWorkspace`, { waitUntil: 'commit' });
  await page.getByText('Checks an API key').first().waitFor();
  t.deepEqual(await barriers(page), []);
  await page.getByPlaceholder('Token').first().fill(key);
  await page.getByPlaceholder('Token').first().blur();
  await page
    .getByRole('button', { name: /Test Request/v })
    .first()
    .click();
  const called = page.waitForResponse(`${url}/api/v1/me`);
  await page.getByRole('button', { name: /Send/v }).first().click();
  t.is((await called).status(), 200);

  const stored = await page.evaluate(
    'JSON.stringify([localStorage, sessionStorage, document.cookie])',
  );
  t.false(String(stored).includes(key));
  t.is(String(await page.evaluate('JSON.stringify(localStorage)')), '{}');
  await page.reload({ waitUntil: 'commit' });
  t.is(await page.getByPlaceholder('Token').first().inputValue(), '');
  t.deepEqual(faults, []);
});

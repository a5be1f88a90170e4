import path from 'node:path';
import type { ExecutionContext, TestFn } from 'ava';
import type { Page } from 'playwright-core';
import { openNetworks } from '../../../../networks/registry.ts';
import { freePort } from '../../../../scripts/ports.ts';
import { openSandbox } from '../../../sandbox/open-sandbox.ts';
import { networkPorts } from '../../../support/accounts.ts';
import { sharedChromium } from '../../../support/chromium.ts';
import { newClient } from '../../../support/client.ts';
import { beforeTests } from '../../../support/kit.ts';
import { startApi } from '../../../support/punctual.ts';

/** An API that browsers reach, the sandbox and Chromium. @returns a function that opens a page for a new workspace. */
export function browserWorld(test: TestFn) {
  const openPage = sharedChromium(test);
  const shared = beforeTests(test, async (scope) => {
    const sandbox = await openSandbox(scope);
    const plcUrl = process.env['PUNCTUAL_TEST_PLC_URL'];
    const resolverUrl = process.env['PUNCTUAL_TEST_PDS_URL'];
    const port = await freePort();
    const settings = {
      ...(plcUrl ? { PUNCTUAL_BLUESKY_PLC_URL: plcUrl } : {}),
      ...(resolverUrl ? { PUNCTUAL_BLUESKY_RESOLVER_URL: resolverUrl } : {}),
    };
    const punctual = await startApi(scope, {
      port,
      publicUrl: `http://127.0.0.1:${port}`,
      sandboxUrl: sandbox.url,
      returnUrls: [`${sandbox.url}/`],
      connecting: openNetworks(settings),
      allowPorts: [...networkPorts(), ...[sandbox.url, plcUrl].flatMap(portOf)],
    });
    return { sandbox, punctual };
  });

  return async (t: ExecutionContext, options: Parameters<typeof openPage>[1] = {}) => {
    const { sandbox, punctual } = shared();
    const client = await newClient(punctual, 'Ana & Co');
    const page = await openPage(t, options);
    return {
      client,
      page,
      sandbox,
      newPage: () => openPage(t, options),
      linkFor: async (body: object): Promise<string> =>
        (await client.post('/channels/connect', body)).body.link,
      channels: async (): Promise<{ id: string; handle: string; platform: string }[]> =>
        (await client.get('/channels')).body.channels,
    };
  };
}

const portOf = (url: string | undefined): number[] => (url ? [Number(new URL(url).port)] : []);

/** Presses a button and waits for the next page. */
export const press = (page: Page, name: string | RegExp): Promise<void> =>
  page.getByRole('button', { name }).click();

const themes = [
  { theme: 'light', colorScheme: 'light', width: 1000, height: 750 },
  { theme: 'dark', colorScheme: 'dark', width: 1000, height: 750 },
  { theme: 'phone', colorScheme: 'light', width: 375, height: 700 },
] as const;

/** Saves screenshots of a page in the folder `PUNCTUAL_TEST_PICTURES`, if it is set. */
export async function picture(page: Page, name: string): Promise<void> {
  const folder = process.env['PUNCTUAL_TEST_PICTURES'];
  if (!folder) {
    return;
  }

  for (const { theme, colorScheme, width, height } of themes) {
    await page.emulateMedia({ colorScheme });
    await page.setViewportSize({ width, height });
    await page.screenshot({
      path: path.join(folder, `${name}-${theme}.png`),
      fullPage: true,
    });
  }
}

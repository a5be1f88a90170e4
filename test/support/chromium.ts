import type { TestFn } from 'ava';
import { chromium, type Browser, type BrowserContextOptions, type Page } from 'playwright-core';
import { beforeTests } from './before-tests.ts';
import { env } from './env.ts';

/** Starts one Chromium for the tests of a file. @returns a function that opens an isolated page. */
export function sharedChromium(test: TestFn) {
  const browser = beforeTests(test, async (scope): Promise<Browser> => {
    const started = await chromium.launch({
      executablePath: env('PUNCTUAL_TEST_CHROMIUM_PATH'),
      // Tests may run as root, and the browser opens only pages of the tests.
      chromiumSandbox: false,
      env: { ...process.env, ...JSON.parse(env('PUNCTUAL_TEST_CHROMIUM_ENV')) },
    });
    scope.teardown(() => started.close());
    return started;
  });
  return async (
    t: { teardown(end: () => unknown): void },
    options: BrowserContextOptions = {},
  ): Promise<Page> => {
    const context = await browser().newContext(options);
    t.teardown(() => context.close());
    context.setDefaultTimeout(60_000);
    return context.newPage();
  };
}

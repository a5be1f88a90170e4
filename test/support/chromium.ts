import type { TestFn } from 'ava';
import { chromium, type Browser, type BrowserContextOptions, type Page } from 'playwright-core';
import { beforeTests } from './before-tests.ts';
import { env } from './env.ts';

/** One Chromium for the tests of a file. @returns how to open a page that shares nothing with others. */
export function sharedChromium(test: TestFn) {
  const browser = beforeTests(test, async (scope): Promise<Browser> => {
    const started = await chromium.launch({
      executablePath: env('PUNCTUAL_TEST_CHROMIUM_PATH'),
      // Tests may run as root, and it opens nothing but what they started.
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

import { env } from '../../../support/env.ts';
import { takeGoToSocialAccount } from '../../../support/gotosocial-accounts.ts';
import { needs } from '../../../support/needs.ts';
import { browserWorld, picture, press } from './world.ts';

const test = needs('chromium', 'gotosocial');
const open = browserWorld(test);

test('a person connects a Mastodon account at its own server, by the pages of that server', async (t) => {
  const { page, linkFor, channels } = await open(t);
  const { username, email, password } = await takeGoToSocialAccount();
  const server = env('PUNCTUAL_TEST_GOTOSOCIAL_URL');
  await page.goto(await linkFor({ platform: 'mastodon' }));
  await picture(page, 'mastodon-1-link');
  await page.getByRole('textbox').fill(server);
  await press(page, 'Continue to Mastodon');
  await page.locator('input[type=password]').waitFor();
  t.is(new URL(page.url()).origin, server);
  await picture(page, 'mastodon-2-sign-in');
  await page.locator('input[name=username]').fill(email);
  await page.locator('input[type=password]').fill(password);
  await press(page, /sign in/iv);
  await page.getByRole('button', { name: /allow/iv }).waitFor();
  await picture(page, 'mastodon-3-consent');
  await press(page, /allow/iv);
  await page.getByText('is connected to Ana & Co').waitFor();
  await picture(page, 'mastodon-4-connected');
  const [channel, ...others] = await channels();
  t.is(channel?.platform, 'mastodon');
  t.true(channel?.handle.startsWith(`@${username}@`), channel?.handle);
  t.deepEqual(others, []);
});

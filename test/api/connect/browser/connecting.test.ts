import { env } from '../../../support/env.ts';
import { takeGoToSocialAccount } from '../../../support/gotosocial-accounts.ts';
import { takePdsAccount } from '../../../support/pds-accounts.ts';
import { needs } from '../../../support/needs.ts';
import { browserWorld, picture, press } from './world.ts';

const test = needs('chromium', 'gotosocial', 'pds');
const open = browserWorld(test);

const x = { platform: 'x', sandbox: true };

test('a person connects an X account in a browser, and the same link cannot connect another one', async (t) => {
  const { page, linkFor, channels, newPage } = await open(t);
  const link = await linkFor(x);
  await page.goto(link);
  await picture(page, 'x-1-link');
  t.regex(await page.locator('h1').innerText(), /Connect an? X account/v);
  await press(page, 'Continue to X');
  await page.getByRole('button', { name: 'Allow' }).waitFor();
  await picture(page, 'x-2-consent');
  await press(page, 'Allow');
  await page.getByText('is connected to Ana & Co').waitFor();
  await picture(page, 'x-3-connected');
  const [channel, ...others] = await channels();
  t.is(channel?.platform, 'x');
  t.deepEqual(others, []);

  const other = await newPage();
  await other.goto(link);
  await picture(other, 'x-4-used');
  t.is(await other.getByRole('button').count(), 0);
  t.is((await channels()).length, 1);
});

test('the pages work without scripts, on a phone', async (t) => {
  const { page, linkFor, channels } = await open(t, {
    javaScriptEnabled: false,
    viewport: { width: 375, height: 700 },
  });
  await page.goto(await linkFor(x));
  await press(page, 'Continue to X');
  await press(page, 'Allow');
  await page.getByText('is connected to').waitFor();
  t.is((await channels()).length, 1);
});

test('a person with a LinkedIn organisation chooses between it and the personal account', async (t) => {
  const { page, linkFor, channels } = await open(t);
  await page.goto(await linkFor({ platform: 'linkedin', sandbox: true }));
  await press(page, 'Continue to LinkedIn');
  await page.getByRole('button', { name: 'Allow' }).waitFor();
  await picture(page, 'linkedin-1-consent');
  await press(page, 'Allow');
  await page.getByRole('heading', { name: /^Choose/v }).waitFor();
  await picture(page, 'linkedin-2-choice');
  t.deepEqual(await channels(), []);

  const second = page.locator('label', { has: page.getByRole('radio') }).nth(1);
  const handle = (await second.innerText()).trim();
  await second.click();
  await press(page, 'Connect');
  await page.getByText('is connected to Ana & Co').waitFor();
  await picture(page, 'linkedin-3-connected');
  t.like(await channels(), [{ platform: 'linkedin', handle }]);
});

test('the YouTube channel that the person chose at Google is connected', async (t) => {
  const { page, linkFor, channels } = await open(t);
  await page.goto(await linkFor({ platform: 'youtube', sandbox: true }));
  await press(page, 'Continue to YouTube');
  await page.getByRole('radio', { name: /Second/v }).check();
  await picture(page, 'youtube-1-consent');
  await press(page, 'Allow');
  await page.getByText('is connected to Ana & Co').waitFor();
  await picture(page, 'youtube-2-connected');
  const [channel, ...others] = await channels();
  t.is(channel?.platform, 'youtube');
  t.regex(channel?.handle ?? '', /second/iv);
  t.deepEqual(others, []);
});

test('a person connects a Bluesky account at its own server, by the pages of that server', async (t) => {
  const { page, linkFor, channels } = await open(t);
  const { handle, password } = await takePdsAccount();
  await page.goto(await linkFor({ platform: 'bluesky' }));
  await picture(page, 'bluesky-1-link');
  await page.locator('#field-handle').fill(handle);
  await press(page, 'Continue to Bluesky');
  await page.locator('input[type=password]').waitFor();
  await picture(page, 'bluesky-2-pds');
  await page.locator('input[type=password]').fill(password);
  await press(page, 'Sign in');
  await press(page, /^(?:Authorize|Accept|Allow)/v);
  await page.getByText('is connected to Ana & Co').waitFor();
  await picture(page, 'bluesky-3-connected');
  t.like(await channels(), [{ platform: 'bluesky', handle }]);
});

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

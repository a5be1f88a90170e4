import { needs } from '../../../support/needs.ts';
import { browserWorld, picture, press } from './world.ts';

const test = needs('chromium');
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

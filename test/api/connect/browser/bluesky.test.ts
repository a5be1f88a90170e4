import { blueskyAccount } from '../../../support/accounts.ts';
import { takePdsAccount } from '../../../support/pds-accounts.ts';
import { needs } from '../../../support/needs.ts';
import { browserWorld, picture, press } from './world.ts';

const test = needs('chromium', 'pds');
const open = browserWorld(test);

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

test('a person connects a Bluesky account with an app password on the same page', async (t) => {
  const { page, linkFor, channels } = await open(t);
  const { handle, appPassword, baseUrl } = await blueskyAccount();
  await page.goto(await linkFor({ platform: 'bluesky' }));
  await page.getByText('Use an app password instead').click();
  await picture(page, 'bluesky-4-secret');
  await page.locator('#secret-url').fill(baseUrl);
  await page.locator('#secret-handle').fill(handle);
  await page.getByLabel('Your app password').fill('wrong');
  await press(page, /^Connect$/v);
  await page.getByRole('alert').waitFor();
  await picture(page, 'bluesky-5-refused');
  t.deepEqual(await channels(), []);

  await page.getByLabel('Your app password').fill(appPassword);
  await press(page, /^Connect$/v);
  await page.getByText('is connected to Ana & Co').waitFor();
  t.is((await channels()).length, 1);
});

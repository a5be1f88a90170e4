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

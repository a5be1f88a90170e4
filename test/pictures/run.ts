import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { chromium, type Browser, type Page } from 'playwright-core';
import sharp from 'sharp';
import { freePort } from '../../scripts/ports.ts';
import { runCommand } from '../../scripts/run-command.ts';
import { openScope, type Scope } from '../fuzz/scope.ts';
import { poll } from '../support/poll.ts';
import { findChromium } from '../support/services/chromium-program.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

// `npm run pictures`: starts the product as `npm start` does, with its own data and ports, publishes some posts, and
// takes the pictures of README and docs/ anew.

const root = path.join(import.meta.dirname, '..', '..');
const scope = openScope();
const interrupted = new AbortController();
for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
  process.once(name, () => {
    interrupted.abort();
    void scope.close().then(() => process.exit(1));
  });
}

type Scoped = Scope['t'];
type Product = Awaited<ReturnType<typeof startProduct>>;

try {
  const product = await startProduct(scope.t);
  const browser = await openChromium(scope.t);
  await save('temporal-ui', await pictureWorkflow(product, browser));
  await save('sandbox', await pictureTimeline(product, browser));
  await save('connect', await pictureConnecting(product, browser));
  await save('reference', await pictureReference(product, browser));
} catch (error) {
  console.error(error);
  process.exitCode = 1;
}
await scope.close();
process.exit();

/** Runs `npm start` in a temporary folder, without the settings of whoever runs this. */
async function startProduct(t: Scoped) {
  const data = path.join(await temporaryFolder(t), 'data');
  const settings = /^(?:PUNCTUAL_|TEMPORAL_|(?:DATABASE_URL|SECRET_KEY|HOST|PORT)$)/v;
  const env = {
    ...Object.fromEntries(Object.entries(process.env).filter(([name]) => !settings.test(name))),
    PUNCTUAL_DATA: data,
    XDG_CONFIG_HOME: path.join(data, '../home'),
    PORT: String(await freePort()),
  };
  const child = spawn(process.execPath, ['scripts/start.ts'], {
    cwd: root,
    env,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const closed = once(child, 'close');
  t.teardown(async () => {
    child.kill('SIGTERM');
    await closed;
  });
  let output = '';
  child.stdout.on('data', (text: Buffer) => {
    output += String(text);
  });
  const isReady = () => output.includes('Ctrl-C stops everything');
  await poll(isReady, (ready) => ready || child.exitCode !== null, 600_000);
  const printed = (name: string): string => {
    const [, value] = new RegExp(String.raw`${name} +(\S+)`, 'v').exec(output) ?? [];
    if (value === undefined) {
      throw new Error(`npm start did not print "${name}":\n${output}`);
    }

    return value;
  };
  return {
    root: new URL(printed('API')).origin,
    callWith: callerOf(printed('API')),
    key: printed('API key'),
    temporalUi: printed('Temporal UI'),
    sandbox: printed('Sandbox'),
    admin: (...args: readonly string[]) =>
      runCommand(process.execPath, ['scripts/admin.ts', ...args, '--json'], { cwd: root, env }),
  };
}

/** @returns a function that sends a GET without a body and a POST with one, and fails unless the answer is a success. */
function callerOf(api: string) {
  return async (key: string, address: string, body?: object) => {
    const answer = await fetch(`${api}${address}`, {
      method: body === undefined ? 'GET' : 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      ...(body && { body: JSON.stringify(body) }),
    });
    const text = await answer.text();
    if (!answer.ok) {
      throw new Error(`${address}: ${answer.status} ${text}`);
    }

    return JSON.parse(text);
  };
}

async function openChromium(t: Scoped): Promise<Browser> {
  const { signal } = interrupted;
  const found = await findChromium(process.env, { say: (line) => console.log(line), signal });
  const browser = await chromium.launch({
    executablePath: found.path,
    // It may run as root, and the browser opens only pages of the product.
    chromiumSandbox: false,
    env: { ...process.env, ...found.env },
  });
  t.teardown(() => browser.close());
  return browser;
}

async function openPage(
  browser: Browser,
  [width, height]: readonly [number, number],
  colorScheme: 'light' | 'dark' = 'light',
): Promise<Page> {
  const viewport = { width, height };
  const page = await browser.newPage({ viewport, colorScheme, timezoneId: 'UTC' });
  page.setDefaultTimeout(60_000);
  return page;
}

/** Channel ids of the demo workspace by network. */
async function demoChannels({ callWith, key }: Product): Promise<Record<string, string>> {
  const { channels } = await callWith(key, '/channels');
  const list = channels as readonly { id: string; platform: string }[];
  return Object.fromEntries(list.map(({ id, platform }) => [platform, id]));
}

/** Publishes a post on demo channels. @returns its id. */
async function publish({ callWith, key }: Product, body: object): Promise<string> {
  const { post } = await callWith(key, '/posts', { schedule_in_minutes: 0, ...body });
  const status = async () => {
    // A key may send 120 requests a minute.
    await sleep(1000);
    return (await callWith(key, `/posts/${post.id}`)).post.status;
  };
  await poll(status, (seen) => seen === 'published');
  return post.id;
}

/** Summary, details and timeline of a post that one network takes at the second attempt. */
async function pictureWorkflow(product: Product, browser: Browser): Promise<Buffer> {
  const { x = '', mastodon = '' } = await demoChannels(product);
  const id = await publish(product, {
    body: 'The new album is out today.',
    channel_bodies: { [x]: 'The new album is out today. #sandbox-busy' },
    channel_ids: [x, mastodon],
    external_id: 'album-17',
    schedule_in_minutes: 0.2,
  });
  const page = await openPage(browser, [1400, 1150]);
  await page.addInitScript("localStorage.setItem('navOpen', 'false')");
  await page.goto(`${product.temporalUi}/namespaces/default/workflows/post-${id}`);
  await page.waitForURL('**/timeline');
  await page.getByText('Publish to Mastodon').first().waitFor();
  await page.getByText('Publish to X').first().waitFor();
  const heading = await page.getByRole('heading', { name: 'Timeline' }).boundingBox();
  const y = Math.round(heading?.y ?? 0) - 16;
  const timeline = await page.screenshot({ clip: { x: 0, y, width: 1400, height: 320 } });
  await page.goto(page.url().replace(/timeline$/v, 'user-metadata'));
  // The Web UI shows Markdown in a frame of its own.
  const markdown = page.frameLocator('iframe');
  await markdown.first().getByText('external id album-17').waitFor();
  await markdown.last().getByText('The post is published').waitFor();
  const metadata = await page.screenshot({ clip: { x: 0, y: 0, width: 1400, height: 690 } });
  return arranged([1400, 690 + 320], [metadata, 0, 0], [timeline, 0, 690]);
}

async function pictureTimeline(product: Product, browser: Browser): Promise<Buffer> {
  const { x = '', linkedin = '', bluesky = '', mastodon = '' } = await demoChannels(product);
  await publish(product, {
    thread: [
      'How a post goes out at most once, in three parts.',
      'Before anything is sent, the intent is written down. An attempt that finds an open intent asks the network first.',
      'When it cannot know whether the network took the post, it says so, and a person decides. https://example.com/ledger #punctual',
    ],
    channel_ids: [mastodon],
  });
  const texts = {
    [linkedin]: 'Release day: one call, and the post is on five networks at its time.',
    [bluesky]: 'Release day ☕ posts and threads for five networks, by one API.',
    [x]: 'Release day ☕ https://example.com/notes #release',
    [mastodon]:
      'Release day ☕ The long version fits here: texts and threads, signed webhooks, and a workflow for each post that you can watch. https://example.com/notes #release',
  };
  for (const [channel, body] of Object.entries(texts)) {
    await publish(product, { body, channel_ids: [channel] });
  }
  const page = await openPage(browser, [1200, 800]);
  await page.goto(product.sandbox);
  await page.getByText('Live', { exact: true }).waitFor();
  return page.screenshot();
}

/** The first page of a link, and the last one of another in dark colours. */
async function pictureConnecting(product: Product, browser: Browser): Promise<Buffer> {
  const { stdout, stderr } = await product.admin('workspace', 'create', 'Ana & Co');
  const key = /svc_live_\w+/v.exec(stdout)?.[0];
  if (key === undefined) {
    throw new Error(`No workspace was created: ${stderr || stdout}`);
  }

  const linkFor = async (body: object): Promise<string> =>
    (await product.callWith(key, '/channels/connect', body)).link;
  const first = await openPage(browser, [580, 540]);
  await first.goto(await linkFor({ platform: 'mastodon' }));
  await first.getByText('Connect a Mastodon account').waitFor();

  const last = await openPage(browser, [580, 540], 'dark');
  await last.goto(await linkFor({ platform: 'x', sandbox: true }));
  await last.getByRole('button', { name: 'Continue to X' }).click();
  await last.getByRole('button', { name: 'Allow' }).click();
  await last.getByText('is connected to Ana & Co').waitFor();
  return arranged([1170, 540], [await first.screenshot(), 0, 0], [await last.screenshot(), 590, 0]);
}

/** A call in the reference with its sample for the SDK, and a guide on a phone in dark colours. */
async function pictureReference({ root: address }: Product, browser: Browser): Promise<Buffer> {
  const reference = await openPage(browser, [1280, 720]);
  await reference.goto(`${address}/docs/createPost`);
  // The first one belongs to the call before.
  await reference.getByRole('button', { name: 'curl' }).nth(1).click();
  await reference.getByRole('option', { name: 'TypeScript' }).first().click();
  await reference.getByText('posts.create').first().waitFor();
  await reference.mouse.move(600, 700);
  await reference.evaluate('document.activeElement.blur()');
  const guide = await openPage(browser, [375, 720], 'dark');
  await guide.goto(`${address}/docs/guides/first-post`);
  return arranged(
    [1280 + 20 + 375, 720],
    [await reference.screenshot(), 0, 0],
    [await guide.screenshot(), 1300, 0],
  );
}

type Placed = readonly [picture: Buffer, left: number, top: number];

/** Puts pictures onto a white one. */
function arranged(
  [width, height]: readonly [number, number],
  ...pictures: readonly Placed[]
): Promise<Buffer> {
  return sharp({ create: { width, height, channels: 3, background: 'white' } })
    .composite(pictures.map(([input, left, top]) => ({ input, left, top })))
    .png()
    .toBuffer();
}

async function save(name: string, picture: Buffer): Promise<void> {
  const file = path.join('docs', 'pictures', `${name}.png`);
  const small = await sharp(picture).png({ palette: true, effort: 10 }).toBuffer();
  await writeFile(path.join(root, file), small);
  console.log(`${file}: ${Math.round(small.length / 1024)} kB`);
}
